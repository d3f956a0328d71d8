"""A metric that one Python file and one line of configuration add: scored, audited, compared and shown like ours."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from command import ROOT, Project

OWN = """
from tworulers.metrics.overlap import Counts
from tworulers import Metric
from tworulers.metrics.registry import register_metric
from tworulers.schema.settings import Audit

def compute(counts: Counts, settings: Audit) -> float:
    return counts.predicted_mm3 - counts.reference_mm3

register_metric(Metric("signed_volume_error", "Signed volume error", higher_is_better=False, unit="µl", perfect=0.0,
                both_empty=0.0, compute=compute))
"""
ASKED = (
    "audit.extra_metrics=[signed_volume_error,volume_similarity,absolute_volume_error,surface_dice]"
)
FEW = ("audit=quick", "audit.linear=false", "tracking=off", "attributes=sex", "processes=2")
FEW += (
    "audit.bootstrap_draws=50",
    "audit.permutations=20",
    "audit.power_draws=20",
    "audit.metrics=[dice]",
)
HERE = (*FEW, ASKED, "+audit.thresholds.signed_volume_error=30")
NAME, LABEL = "signed_volume_error", "Signed volume error, macro (µl)"
EXAMS = [f"e{i:02}" for i in range(20)]
MODEL_WIDTH, SLICE_MM3 = 5, 1.0 * 1.0 * 3.0
WIDTHS = {exam: 3 + i % 5 for i, exam in enumerate(EXAMS)}


def draw(path: Path, width: int) -> None:
    label = np.zeros((14, 12, 4), np.uint8)
    label[2 : 2 + width, 2:9, 1:3] = 1
    label[2 : 2 + width, 9:11, 1:3] = 2
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(label, np.diag([1.0, 1.0, 3.0, 1.0])), path)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project whose file `own/volumes.py` adds a signed metric, and twenty exams of both sexes."""
    project = Project.at(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/volumes.py").write_text(OWN, encoding="utf-8")
    return project


def expected_errors() -> dict[str, float]:
    """By exam, the mean over both structures: 7 and 2 rows of 2 slices a voxel of width."""
    return {
        exam: (MODEL_WIDTH - width) * (7 + 2) / 2 * 2 * SLICE_MM3 for exam, width in WIDTHS.items()
    }


def macro_of(path: Path, metric: str) -> dict[str, float]:
    scores = pd.read_parquet(path).query(f"metric == '{metric}' and structure == 'macro'")
    return dict(zip(scores["exam_id"], scores["value"], strict=True))


def run(project: Project, stage: str, *overrides: str) -> str:
    """Run a stage in a process of its own, whose workers take the metric from the file themselves."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", f"tworulers.stages.{stage}", *overrides],
        cwd=project.folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done.stdout


def check_audit(folder: Path) -> None:
    """The declaration is in the audit, and its tests go by the declared direction."""
    declared = json.loads((folder / "audit.json").read_text())["metrics"][NAME]
    assert (declared["title"], declared["unit"]) == ("Signed volume error", "µl")
    tests = pd.read_parquet(folder / "tests.parquet").query(f"metric == '{NAME}'")
    assert set(tests["structure"]) == {"vb", "disc", "macro"}
    assert set(tests["family"]) == {"extra"}
    errors = pd.Series(expected_errors())
    rates = pd.read_parquet(folder / "rates.parquet").query(
        f"metric == '{NAME}' and structure == 'macro'"
    )
    assert rates["successes"].sum() == (errors < 30).sum() == 16


def test_score_and_audit_know_it(project: Project) -> None:
    base = project.folder / "artifacts/phantom"
    for exam, width in WIDTHS.items():
        draw(base / f"predictions/mix/labels/{exam}.nii.gz", MODEL_WIDTH)
        draw(project.folder / f"expert/{exam}.nii.gz", width)
    cohort = pd.DataFrame(
        {
            "exam_id": EXAMS,
            "patient_id": EXAMS,
            "image": "i.nii.gz",
            "label": [f"expert/{exam}.nii.gz" for exam in EXAMS],
            "provenance": "gold",
            "sex": ["Female", "Male"] * 10,
            "age": 50.0,
            "age_over_89": False,
            "race": "White",
            "ethnicity": "Not Hispanic",
            "manufacturer": "GE",
            "field_strength_t": 1.5,
            "spacing": "1x1x3",
            "shape": "14x12x4",
        }
    )
    split = cohort[["exam_id", "patient_id", "provenance"]].assign(
        regime="gold", stratum="all", split="test", fold=pd.NA, reason=None
    )
    for name, table in {"cohort/cohort": cohort, "split/splits": split}.items():
        (base / name).parent.mkdir(parents=True)
        table.to_parquet(base / f"{name}.parquet")
    which = ("dataset=phantom", "regime=mix", "ruler=gold")
    assert f"{NAME} " in run(project, "score", *which, *HERE)
    scored = base / "scores/mix/gold"
    assert macro_of(scored / "scores.parquet", NAME) == pytest.approx(expected_errors())
    alike = {
        exam: 1 - abs(MODEL_WIDTH - width) / (MODEL_WIDTH + width) for exam, width in WIDTHS.items()
    }
    assert macro_of(scored / "scores.parquet", "volume_similarity") == pytest.approx(alike)
    run(project, "audit", *which, *HERE)
    check_audit(base / "audits/mix/gold")


@pytest.mark.slow
def test_judge_shows_it_on_the_page(project: Project) -> None:
    rows = ["exam_id,sex"]
    for i, (exam, width) in enumerate(WIDTHS.items()):
        draw(project.folder / f"predictions/{exam}.nii.gz", MODEL_WIDTH)
        draw(project.folder / f"expert/{exam}.nii.gz", width)
        draw(project.folder / f"machine/{exam}.nii.gz", 4 + (i + i // 2) % 4)
        rows.append(f"{exam},{('Female', 'Male')[i % 2]}")
    (project.folder / "exams.csv").write_text("\n".join(rows))
    references = "{expert: {folder: expert, provenance: gold}, machine: {folder: machine, provenance: silver}}"
    done = project.run(
        "judge", *HERE, "predictions.name=theirs", "predictions.folder=predictions",
        f"+predictions.references={references}", "predictions.cohort=exams.csv",
        "+predictions.structures={vb: 1, disc: 2}",
    )  # fmt: skip
    assert done.status == 0, done.said
    judged = project.folder / "artifacts/judged/theirs"
    check_audit(judged / "audits/theirs/expert")
    page = (judged / "report/index.html").read_text(encoding="utf-8")
    page = re.sub(r"<svg.*?</svg>", " ", page, flags=re.DOTALL)
    assert f"Tests of {LABEL}" in page
    assert f"Success rates of {LABEL}, success &lt; 30 µl" in page
    assert "Absolute volume error, macro (mm3)" in page
    assert "Volume similarity, macro<" in page or "Volume similarity, macro by" in page
    assert "Surface Dice, macro" in page
    mean = np.mean(list(expected_errors().values()))
    inflation = pd.read_parquet(next(judged.rglob("inflation.parquet")))
    row = inflation.query(f"metric == '{NAME}' and structure == 'macro'").iloc[0]
    assert row["mean_base"] == pytest.approx(mean)
    assert row["mean_other"] < 0
    assert f"{row['mean_other']:.3f}" in page


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("Metric('own', 'Own', True)", "metric 'own' has no compute"),
        ("Metric('dice', 'Dice', True, compute=len)", "metric 'dice' is defined in"),
        ("Metric('My own', 'Own', True, compute=len)", "found 'My own'"),
        ("Metric('own', 'Own', True, needs='voxels')", "expected one of counts"),
    ],
)
def test_one_clear_error_where_the_file_adds_no_metric(
    project: Project, metric: str, message: str
) -> None:
    text = OWN.split("def compute")[0] + f"register_metric({metric})"
    (project.folder / "own/volumes.py").write_text(text)
    done = project.run("score", "dataset=phantom", "regime=mix", "ruler=gold", *HERE)
    assert done.status == 1
    assert "own/volumes.py cannot be run: ValueError: " in done.said
    assert message in done.said
    assert "Traceback" not in done.said
