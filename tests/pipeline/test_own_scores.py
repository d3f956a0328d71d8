"""Scores that we do not compute, and references that lack a structure, through the commands a person types."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
FEW = ("audit=quick", "tracking=off", "attributes=sex", "audit.linear=false")
OWN = "{volume_error: {title: Volume error, higher_is_better: false, unit: mm3}}"
ASKED = ("audit.metrics=[volume_error]", "+audit.thresholds.volume_error=100")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    return tmp_path


def run(project: Path, stage: str, *overrides: str, fails: bool = False) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", f"tworulers.stages.{stage}", *overrides],
        cwd=project, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode != 0) is fails, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done.stdout + done.stderr


def write_table(project: Path, name: str, slope: float) -> None:
    """Forty exams whose volume error is larger in men, one of them without a disc's."""
    rng = np.random.default_rng(5)
    sex = np.tile(["Female", "Male"], 20)
    error = 90 + slope * (sex == "Male") + rng.normal(0, 8, 40)
    table = pd.DataFrame(
        {
            "exam_id": [f"e{i:02}" for i in range(40)],
            "sex": sex,
            "volume_error_vb": error.round(3).astype(str),
            "volume_error_disc": (error + 5).round(3).astype(str),
        }
    )
    table.loc[3, "volume_error_disc"] = "NA"
    table.to_csv(project / name, index=False)


@pytest.mark.slow
def test_a_metric_of_ones_own_is_shown_as_declared_and_a_misspelt_one_refused(
    project: Path,
) -> None:
    write_table(project, "own.csv", 25.0)
    given = ("scores.file=own.csv", "scores.provenance=gold", f"+scores.measures={OWN}")
    said = run(project, "audit", *FEW, *ASKED, *given)
    assert "Volume error (mm3): lower is better" in said
    assert "1 of 40 exams: over the structures that are defined" in said
    assert "points" not in said
    (folder,) = (project / "artifacts/tables").rglob("audit.json")
    result = folder.parent
    (sentence,) = pd.read_parquet(result / "sentences.parquet")["sentence"]
    assert re.search(r"best Female, worst Male, medians [\d.]+ mm3 apart", sentence)
    metric = json.loads(folder.read_text())["metrics"]["volume_error"]
    assert (metric["unit"], metric["higher_is_better"]) == ("mm3", False)
    rates = pd.read_parquet(result / "rates.parquet")
    women = rates[(rates["structure"] == "vb") & (rates["group"] == "Female")].iloc[0]
    values = pd.read_csv(project / "own.csv").query("sex == 'Female'")["volume_error_vb"]
    assert women["successes"] == int((values < 100).sum()) > 0
    assert json.loads((result / "summary.json").read_text())["metrics"]
    overall = pd.read_parquet(result / "overall.parquet").set_index("structure")
    assert overall.loc["macro", ["n_exams", "n_undefined", "n_partial"]].tolist() == [40, 0, 1]
    before = {path: path.read_bytes() for path in result.rglob("*") if path.is_file()}
    misspelt = ("audit.metrics=[volume_error,volume_eror]", ASKED[1])
    said = run(project, "audit", *FEW, *misspelt, *given, fails=True)
    assert "no metric is called 'volume_eror' (did you mean 'volume_error'?)" in said
    assert before == {path: path.read_bytes() for path in result.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_two_tables_of_ones_own_are_compared_in_their_unit_over_what_both_define(
    project: Path,
) -> None:
    write_table(project, "own.csv", 3.0)
    write_table(project, "machine.csv", 30.0)
    machine = pd.read_csv(project / "machine.csv", dtype=str, keep_default_na=False)
    machine.loc[[3, 7], "volume_error_disc"] = ["95.0", "NA"]
    machine.to_csv(project / "machine.csv", index=False)
    given = ["scores.file=own.csv", "scores.provenance=gold", f"+scores.measures={OWN}"]
    given += ["against.file=machine.csv", "against.provenance=silver"]
    said = run(project, "compare", *FEW, *ASKED, *given, f"+against.measures={OWN}")
    assert "over the structures defined on both sides: not all in 2 of volume_error" in said
    (path,) = (project / "artifacts/tables").rglob("gold_and_silver/summary.json")
    sentences = pd.read_parquet(path.with_name("verdicts.parquet"))["sentence"]
    assert sentences.str.contains(r"gap [\d.]+ mm3 to [\d.]+ mm3").any()
    assert json.loads(path.read_text())["macro_partial"] == {"volume_error": 2}
    scores = pd.read_parquet(path.with_name("inflation.parquet")).set_index("structure")
    tables = [
        pd.read_csv(project / name).set_index("exam_id") for name in ("own.csv", "machine.csv")
    ]
    sides = [t[["volume_error_vb", "volume_error_disc"]] for t in tables]
    both = sides[0].notna() & sides[1].notna()
    means = [side.where(both).mean(axis=1).mean() for side in sides]
    found = scores.loc["macro", ["mean_base", "mean_other"]].tolist()
    assert found == pytest.approx(means)
    assert scores.loc["macro", "n"] == 40
    apart = OWN.replace("mm3", "ml")
    said = run(project, "compare", *FEW, *ASKED, *given, f"+against.measures={apart}", fails=True)
    assert "scores.measures and against.measures have to declare the same" in said


def draw(width: int, disc: bool) -> np.ndarray:
    label = np.zeros((14, 12, 4), np.uint8)
    label[2 : 2 + width, 2:9, 1:3] = 1
    if disc:
        label[2 : 2 + width, 9:11, 1:3] = 2
    return label


def make_folders(project: Path) -> None:
    """Twenty exams, two without a disc in any mask; a reference by experts and one by a machine."""
    rows = ["exam_id,sex"]
    for i in range(20):
        disc = i not in (4, 11)
        widths = {"predictions": 6, "expert": 6 + i % 5, "machine": 6 + (i + i // 2) % 4}
        for folder, width in widths.items():
            path = project / folder / f"e{i:02}.nii.gz"
            path.parent.mkdir(exist_ok=True)
            nib.save(nib.Nifti1Image(draw(width, disc), np.diag([1.0, 1.0, 3.0, 1.0])), path)
        rows.append(f"e{i:02},{('Female', 'Male')[i % 2]}")
    (project / "exams.csv").write_text("\n".join(rows))


@pytest.mark.slow
def test_the_page_names_the_smallest_p_the_recommended_interval_and_n_of_m(project: Path) -> None:
    make_folders(project)
    references = "{expert: {folder: expert, provenance: gold}, machine: {folder: machine, provenance: silver}}"
    run(
        project, "judge", *FEW, "predictions.name=theirs", "predictions.folder=predictions",
        f"+predictions.references={references}", "predictions.cohort=exams.csv",
        "+predictions.structures={vb: 1, disc: 2}", "processes=1",
    )  # fmt: skip
    judged = project / "artifacts/judged/theirs"
    page = re.sub(r"<svg.*?</svg>", " ", (judged / "report/index.html").read_text(), flags=re.S)
    for words in (
        "exact percentile interval (recommended)",
        "published BCa interval",
        "interval</th>",
        "Differences of success rates of Dice, macro, success &gt; 0.8",
        "2 of 20 over part of the structures",
    ):
        assert words in page, words
    audit = judged / "audits/theirs/expert"
    ratio = (
        pd.read_parquet(audit / "disparities.parquet")
        .query("metric == 'dice' and structure == 'macro' and primary")
        .iloc[0]
    )
    low, high = ratio["dir_exact_percentile_low"], ratio["dir_exact_percentile_high"]
    assert f"{low:.3f} to {high:.3f}" in page
    pair = (
        pd.read_parquet(audit / "differences.parquet")
        .query("metric == 'dice' and structure == 'macro'")
        .iloc[0]
    )
    bounds = 100 * pair[["rate_difference_low", "rate_difference_high"]].astype(float)
    assert f"{bounds.iloc[0]:.1f} to {bounds.iloc[1]:.1f}" in page
    tests = pd.read_parquet(audit / "tests.parquet")
    shown = re.findall(r"smallest p (\S+), adjusted", page)
    assert float(shown[0]) == pytest.approx(tests["p_verdict"].min(), abs=0.005)
