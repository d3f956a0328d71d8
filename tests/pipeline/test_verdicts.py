"""What a verdict may say, through the commands as a user types them, on small made files."""

import json
import os
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from scipy import ndimage

ROOT = Path(__file__).parents[2]
SMALL = ("audit.bootstrap_draws=200", "audit.permutations=1000", "audit.power_draws=50")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    return tmp_path


def run(project: Path, stage: str, *overrides: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", f"tworulers.stages.{stage}", *overrides, "tracking.enabled=false"],
        cwd=project, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return " ".join(done.stdout.split())


def write_repeated_patients(folder: Path) -> None:
    """Write 40 patients with three exams each, sexes at random: exams alone seem to differ."""
    rng = np.random.default_rng(29)
    patient = np.repeat(np.arange(40), 3)
    sex = rng.permutation(np.repeat(["F", "M"], 20))[patient]
    own = 0.04 * np.sqrt(0.6) * rng.normal(size=40)[patient]
    dice = 0.85 + own + 0.04 * np.sqrt(0.4) * rng.normal(size=120)
    table = pd.DataFrame({"exam_id": [f"e{i:03}" for i in range(120)], "sex": sex})
    table["patient_id"] = [f"p{i:02}" for i in patient]
    table.assign(dice_macro=dice).to_csv(folder / "silver.csv", index=False)
    shuffled = rng.permutation(dice)
    table.assign(dice_macro=shuffled).to_csv(folder / "gold.csv", index=False)


@pytest.mark.slow
def test_where_patients_repeat_significance_keeps_them_together(project: Path) -> None:
    write_repeated_patients(project)
    given = ("attributes=sex", *SMALL)
    said = run(project, "audit", "scores.file=silver.csv", "scores.provenance=silver", *given)
    (folder,) = (project / "artifacts/tables/silver").glob("*/silver")
    (test,) = pd.read_parquet(folder / "tests.parquet").to_dict("records")
    assert test["p_fdr"] < 0.05 < test["p_verdict_fdr"]
    assert test["p_verdict"] == test["p_permutation"]
    assert (test["verdict_by"], test["significant"]) == ("patient", False)
    (sentence,) = pd.read_parquet(folder / "sentences.parquet")["sentence"]
    assert "no difference was shown" in sentence
    assert "permutation of 40 patients, each patient's exams kept together" in sentence
    assert "differs 0" in said

    said = run(
        project, "compare", "scores.file=gold.csv", "scores.provenance=gold",
        "against.file=silver.csv", "against.provenance=silver", *given,
    )  # fmt: skip
    (folder,) = (project / "artifacts/tables/gold").glob("*/gold_and_silver")
    (flip,) = pd.read_parquet(folder / "flips.parquet").to_dict("records")
    assert flip["p_fdr_other"] < 0.05 <= flip["p_fdr_base"]
    assert (flip["flip"], flip["flip_unadjusted"]) == ("neither", "neither")


def write_label_maps(folder: Path) -> None:
    """Write predictions of 40 exams and three references of them.

    The experts disagree with the predictions by about 1.6 % of the structure, more so in men; the
    machine's labels are the predictions but for a few voxels; the third are the predictions.
    """
    rng = np.random.default_rng(5)
    rows = ["exam_id,sex"]
    inside = np.zeros((24, 24, 12), np.uint8)
    inside[2:22, 2:22, 1:11] = 1
    border = np.argwhere(inside & ~ndimage.binary_erosion(inside))
    for i in range(40):
        exam, sex = f"e{i:02}", "FM"[i % 2]
        rows.append(f"{exam},{sex}")
        moved = {"expert": int(rng.integers(30, 70)) + 60 * (i % 2), "machine": 5, "same": 0}
        for name, voxels in ({"predictions": 0} | moved).items():
            label = inside.copy()
            label[tuple(border[rng.permutation(len(border))[:voxels]].T)] = 0
            place = folder / name / f"{exam}.nii.gz"
            place.parent.mkdir(exist_ok=True)
            nib.save(nib.Nifti1Image(label, np.diag([1.0, 1.0, 3.0, 1.0])), place)
    (folder / "exams.csv").write_text("\n".join(rows))


def test_the_patients_come_first_and_copies_and_the_predictions_themselves_are_named(
    project: Path,
) -> None:
    write_label_maps(project)
    references = ", ".join(
        f"{name}: {{folder: {project / name}, provenance: {provenance}}}"
        for name, provenance in (("expert", "gold"), ("machine", "silver"), ("same", "silver"))
    )
    run(
        project, "judge", "predictions.name=mine", f"predictions.folder={project / 'predictions'}",
        f"+predictions.references={{{references}}}", f"predictions.cohort={project / 'exams.csv'}",
        "+predictions.structures={organ: 1}", "attributes=sex", "audit.metrics=[dice]", *SMALL,
    )  # fmt: skip
    base = project / "artifacts/judged/mine"
    closeness = pd.read_parquet(base / "comparisons/rulers/mine/expert_machine/closeness.parquet")
    copy = closeness.set_index("structure").loc["organ"]
    assert 0 < copy["model_ruler"] - copy["model_expert"] < 0.03
    assert copy["forgiven_low"] > 0.9
    assert copy["status"] == "too_close"
    verdicts = pd.read_parquet(base / "comparisons/rulers/mine/expert_machine/verdicts.parquet")
    for sentence in verdicts["sentence"]:
        assert "the labels of experts (expert) show a difference between the patients" in sentence
        assert "not the patients" not in sentence
    summary = json.loads((base / "report/summary.json").read_text())
    assert summary["patients"].startswith("By the experts' labels (expert, ")
    assert "groups differ by Sex" in summary["patients"]
    assert "worst for Male" in summary["patients"]
    assert "it is too close to the model" in summary["ruler"]
    assert "The reference same" in summary["ruler"]
    assert "is scored by its own predictions: no verdict" in summary["ruler"]
    page = " ".join((base / "report/index.html").read_text().split())
    assert "not the patients" not in page
    assert page.index("is scored by its own predictions: no verdict") < page.index("<table")


@pytest.mark.slow
def test_a_correction_makes_no_mechanism(project: Path) -> None:
    """Nine scores, of which silver finds many: the first one's own p would not change under gold."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"exam_id": [f"e{i:02}" for i in range(60)], "sex": ["F", "M"] * 30})
    male = (table["sex"] == "M").to_numpy()
    score = 0.9 - 0.02 * rng.exponential(size=60)
    for ruler, gap, noise in (("gold", 0.0, 1.0), ("silver", 0.02, 0.2)):
        wide = table.assign(dice_macro=score - 0.006 * male)
        for structure in ("a", "b", "c", "d", "e", "f", "g"):
            drawn = 0.9 - 0.02 * noise * rng.exponential(size=60) - gap * male
            wide[f"dice_{structure}"] = drawn
        wide.to_csv(project / f"{ruler}.csv", index=False)
    run(
        project, "compare", "scores.file=gold.csv", "scores.provenance=gold", "attributes=sex",
        "against.file=silver.csv", "against.provenance=silver", *SMALL,
    )  # fmt: skip
    (folder,) = (project / "artifacts/tables/gold").glob("*/gold_and_silver")
    verdicts = pd.read_parquet(folder / "verdicts.parquet").set_index("structure")
    same = verdicts.loc["macro"]
    assert (same["flip"], same["flip_unadjusted"]) == ("other_only", "both")
    assert (same["mechanism"], same["verdict"]) == 2 * ("made_by_correction",)
    assert (same["own_p_crosses"], same["change_shown"]) == (False, False)
    assert same["not_shown_because"].startswith("made by the correction")
    assert "swap p 1, adjusted 1" in same["not_shown_because"]
    page = unescape((folder / "report" / "index.html").read_text())
    assert same["sentence"].partition(": ")[2] in " ".join(page.split())
    others = verdicts.drop("macro")
    assert set(others["mechanism"]) == set(others["verdict"]) == {"both_parts_shown"}
    assert others["sentence"].str.contains("copied or sharper cannot be told").all()

    run(
        project, "compare", "scores.file=gold.csv", "scores.provenance=gold", "attributes=sex",
        "against.file=silver.csv", "against.provenance=silver",
        "against.relation=shares_training", *SMALL,
    )  # fmt: skip
    folders = (project / "artifacts/tables/gold").glob("*/gold_and_silver*")
    newest = max(folders, key=lambda path: path.stat().st_mtime)
    accused = pd.read_parquet(newest / "verdicts.parquet").set_index("structure")
    assert accused.loc["macro", "verdict"] == "made_by_correction"
    assert set(accused.drop("macro")["verdict"]) == {"mixed"}
    assert accused.loc["a", "sentence"].count("the silver ruler shares training data") == 1


def write_two_experts(folder: Path) -> None:
    """Write predictions that leave out voxels of their own, a machine's labels without the same, and experts'."""
    rng = np.random.default_rng(6)
    rows = ["exam_id,sex"]
    inside = np.zeros((24, 24, 12), np.uint8)
    inside[2:22, 2:22, 1:11] = 1
    border = np.argwhere(inside & ~ndimage.binary_erosion(inside))
    for i in range(24):
        exam = f"e{i:02}"
        rows.append(f"{exam},{'FM'[i % 2]}")
        left_out = {
            name: border[rng.permutation(len(border))[:voxels]]
            for name, voxels in (("predictions", 60), ("first", 80), ("second", 80), ("machine", 6))
        }
        left_out["machine"] = np.concatenate([left_out["predictions"][:55], left_out["machine"]])
        for name, voxels in left_out.items():
            label = inside.copy()
            label[tuple(voxels.T)] = 0
            place = folder / name / f"{exam}.nii.gz"
            place.parent.mkdir(exist_ok=True)
            nib.save(nib.Nifti1Image(label, np.diag([1.0, 1.0, 3.0, 1.0])), place)
    (folder / "exams.csv").write_text("\n".join(rows))


@pytest.mark.slow
def test_a_second_expert_tells_a_copy_which_one_alone_cannot(project: Path) -> None:
    write_two_experts(project)
    drawn = {"first": "gold", "second": "gold", "machine": "silver"}
    for names, basis in ((("first", "machine"), "unknown"), ((*drawn,), "demonstrated_copy")):
        references = ", ".join(
            f"{name}: {{folder: {project / name}, provenance: {drawn[name]}}}" for name in names
        )
        run(
            project, "judge", f"predictions.name={basis}",
            f"predictions.folder={project / 'predictions'}",
            f"+predictions.references={{{references}}}",
            f"predictions.cohort={project / 'exams.csv'}", "+predictions.structures={organ: 1}",
            "attributes=sex", "audit.metrics=[dice]", *SMALL,
        )  # fmt: skip
        compared = project / f"artifacts/judged/{basis}/comparisons/rulers/{basis}/first_machine"
        known = json.loads((compared / "summary.json").read_text())["known"]
        assert known["basis"] == basis
        assert known["second_expert_exams"] >= 2
    assert known["testimony"]["witness"] == "second"
    assert known["testimony"]["low"] > 0.5
    closeness = pd.read_parquet(compared / "closeness.parquet").set_index("structure").loc["organ"]
    assert closeness["expert_ratio_low"] <= closeness["expert_ratio"] <= 1.05
