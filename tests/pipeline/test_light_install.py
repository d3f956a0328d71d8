"""What works without the extras: audits, comparisons of label maps, risk scores; and what the rest says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "monai", "pytorch_lightning", "lightning", "mlflow", "dvc", "hydra_plugins"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
"""
FEW = ("audit=quick", "audit.linear=false")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with scores, label maps and risks of twenty exams, on a machine that has none of the extras."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sitecustomize.py").write_text(BLOCK)
    rng = np.random.default_rng(2)
    exams = [f"e{n:02}" for n in range(20)]
    table = pd.DataFrame({"exam_id": exams, "sex": ["Female", "Male"] * 10})
    table["dice_vb"] = rng.uniform(0.7, 0.9, 20).round(3)
    table["died"] = np.tile([0, 0, 1, 1], 5)
    table["risk"] = rng.uniform(0, 1, 20).round(3)
    table.to_csv(tmp_path / "table.csv", index=False)
    for folder in ("predicted", "expert"):
        (tmp_path / folder).mkdir()
        for n, exam in enumerate(exams):
            mask = np.zeros((8, 8, 4), np.uint8)
            mask[2:6, 2 : 5 + (n + len(folder)) % 3, 1:3] = 1
            nib.Nifti1Image(mask, np.eye(4)).to_filename(tmp_path / folder / f"{exam}.nii.gz")
    return tmp_path


def run(project: Path, *words: str) -> tuple[int, str]:
    paths = os.pathsep.join([str(project / "bin"), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=project, env=environment, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


SCORES = ("scores.file=table.csv", "scores.provenance=gold", "attributes=sex")
MASKS = (
    "attributes=sex",
    "predictions.name=mine",
    "predictions.folder=predicted",
    "predictions.structures={vb: 1}",
    "predictions.references={expert: {folder: expert, provenance: gold}}",
    "predictions.cohort=table.csv",
)
RISK = (
    "risk=table", "risk.file=table.csv", "risk.score=risk", "risk.outcome=died", "risk.event=1",
    "+risk.groups.sex=sex",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "overrides"),
    [
        ("audit", (*SCORES, *FEW)),
        ("judge", (*MASKS, *FEW)),
        ("risk", RISK),
        ("risk", (*RISK, "tracking=local")),
    ],
)
def test_an_audit_needs_no_extra_and_speaks_of_runs_only_where_they_were_asked_for(
    project: Path, stage: str, overrides: tuple[str, ...]
) -> None:
    status, said = run(project, "-m", f"tworulers.stages.{stage}", *overrides)
    assert status == 0, said
    told = [line for line in said.splitlines() if "MLflow" in line or "[track]" in line]
    wanted = [
        "warning: MLflow is not installed, so no run shows this result: pip install 'tworulers[track]'"
    ]
    assert told == wanted * ("tracking=local" in overrides)
    assert "Traceback" not in said
    assert list((project / "artifacts").rglob("run.json"))


def test_the_python_door_needs_no_extra(project: Path) -> None:
    code = (
        "import tworulers as tr, pandas as pd; t = pd.read_csv('table.csv').set_index('exam_id')\n"
        "print(tr.audit(t[['dice_vb']], t['sex'], provenance='gold'))\n"
        "print(tr.audit_risk('died', 'risk', ['sex'], data=t))\n"
        "masks = [f'{k}/e{n:02}.nii.gz' for k in ('predicted', 'expert') for n in range(20)]\n"
        "scores = tr.score_masks(masks[:20], masks[20:], labels={'vb': 1})\n"
        "print(len(scores), list(scores.metric.unique()))"
    )
    status, said = run(project, "-c", code)
    assert status == 0, said
    assert "Audit of 20 exams of 20 patients by gold labels" in said
    assert "40 ['dice', 'hd95']" in said.replace("\n", " ")


def test_tracking_that_is_off_is_not_spoken_of(project: Path) -> None:
    status, said = run(project, "-m", "tworulers.stages.risk", *RISK, "tracking=off")
    assert (status, "tworulers[" in said) == (0, False)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("train",), "train"),
        (("predict",), "train"),
        (("annotate",), "train"),
        (("publish",), "track"),
        (("audit", "-m", "hydra/launcher=joblib", "ruler=gold"), "launchers"),
    ],
)
def test_a_command_without_its_extra_names_it_in_one_line(
    project: Path, words: tuple[str, ...], extra: str
) -> None:
    status, said = run(project, "-m", f"tworulers.stages.{words[0]}", *words[1:])
    assert status == 1
    assert f"pip install 'tworulers[{extra}]'" in said
    assert len(said.strip().splitlines()) == 1, said
