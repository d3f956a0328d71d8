"""A project whose pipeline has come as far as scores: sixty made-up exams, two regimes under two rulers."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd

from tworulers.io.records import write_table

ROOT = Path(__file__).parents[1]
EXAMS = [f"e{i:02}" for i in range(60)]
QUICK = (
    "audit=quick",
    "audit.metrics=[dice]",
    "audit.bootstrap_draws=20",
    "audit.permutations=20",
    "audit.power_draws=0",
    "attributes=sex",
    "grid.rulers=[gold,silver]",
)


def make_scored(project: Path) -> Path:
    """Make the project below a folder; return the folder of its dataset's results."""
    shutil.copytree(ROOT / "conf", project / "conf")
    shutil.copy(ROOT / "dvc.yaml", project)
    base = project / "artifacts" / "phantom"
    write_table(_make_cohort(), base / "cohort" / "cohort.parquet")
    expert = np.clip(np.random.default_rng(0).normal(0.85, 0.05, 60), 0, 1)
    # The silver ruler repeats the gold model and forgives the mixed one; women fare worse by it alone.
    forgiving = 0.96 + 0.2 * (expert - 0.85) - 0.008 * (np.arange(60) % 2 == 0)
    for regime in ("gold", "mix"):
        for ruler, values in (("gold", expert), ("silver", forgiving)):
            values = np.ones(60) if regime == "gold" and ruler == "silver" else values
            scores = _make_scores(regime, ruler, values)
            write_table(scores, base / "scores" / regime / ruler / "scores.parquet")
    return base


def _make_cohort() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "exam_id": EXAMS,
            "patient_id": EXAMS,
            "image": "i",
            "label": "l",
            "provenance": "gold",
            "sex": ["F", "M"] * 30,
            "age": [30.0, 45.0, 70.0] * 20,
            "age_over_89": False,
            "race": None,
            "ethnicity": None,
            "manufacturer": None,
            "field_strength_t": 3.0,
            "spacing": "1x1x1",
            "shape": "9x9x9",
        }
    )


def _make_scores(regime: str, ruler: str, values: np.ndarray) -> pd.DataFrame:
    rows = pd.DataFrame({"exam_id": EXAMS, "regime": regime, "ruler": ruler, "provenance": ruler})
    parts = [
        rows.assign(structure=structure, metric="dice", value=values)
        for structure in ("vb", "disc", "macro")
    ]
    reason = pd.array([None], "str")[0]
    return pd.concat(parts, ignore_index=True).assign(undefined_because=reason)
