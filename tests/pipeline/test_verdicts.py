"""What a verdict may say, through the commands as a user types them, on small made files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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
