"""What a verdict may say, through the commands as a user types them, on small made files."""

import json
import os
import shutil
import subprocess
import sys
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
    assert "0 significant" in said

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
    copy = closeness.set_index("structure").loc["macro"]
    assert 0 < copy["model_ruler"] - copy["model_expert"] < 0.03
    assert copy["forgiven_low"] > 0.9
    assert copy["status"] == "too_close"
    verdicts = pd.read_parquet(base / "comparisons/rulers/mine/expert_machine/verdicts.parquet")
    for sentence in verdicts["sentence"]:
        assert "the labels of experts (expert) show a difference between the patients" in sentence
        assert "not the patients" not in sentence
    summary = json.loads((base / "report/summary.json").read_text())
    first = summary["answer"].split(". ")[0]
    assert first.startswith("The labels of experts (expert) show a difference between the patients")
    assert "worst for Male" in first
    assert "The reference same" in summary["answer"]
    assert "is scored by its own predictions: no verdict" in summary["answer"]
    page = " ".join((base / "report/index.html").read_text().split())
    assert "not the patients" not in page
    assert page.index("is scored by its own predictions: no verdict") < page.index("<table")


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
    said = run(
        project, "compare", "scores.file=gold.csv", "scores.provenance=gold", "attributes=sex",
        "against.file=silver.csv", "against.provenance=silver", *SMALL,
    )  # fmt: skip
    (folder,) = (project / "artifacts/tables/gold").glob("*/gold_and_silver")
    verdicts = pd.read_parquet(folder / "verdicts.parquet").set_index("structure")
    same = verdicts.loc["macro"]
    assert (same["flip"], same["flip_unadjusted"]) == ("other_only", "both")
    assert same["verdict"] == "not_shown"
    assert same["not_shown_because"].startswith("made by the correction")
    assert "swap p 1, adjusted 1" in same["not_shown_because"]
    assert same["sentence"] in " ".join(said.split())
    assert set(verdicts.drop("macro")["verdict"]) == {"mixed"}
