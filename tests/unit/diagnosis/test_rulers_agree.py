"""Two rulers' agreement in scores and label volumes, through a study."""

import numpy as np
import pandas as pd
import pytest

from tworulers.diagnosis.agreement import LABEL_VOLUME, tabulate_agreement
from tworulers.metrics.registry import METRICS
from tworulers.stats.agreement import measure_agreement

EXAMS = [f"e{i:02}" for i in range(24)]
RNG = np.random.default_rng(4)
FIRST, SECOND = RNG.uniform(0.7, 0.9, 24), RNG.uniform(0.75, 0.95, 24)


def make_side(dice: np.ndarray, volume: np.ndarray) -> pd.DataFrame:
    rows = {"exam_id": EXAMS, "structure": "disc"}
    return pd.concat(
        [
            pd.DataFrame({**rows, "metric": "dice", "value": dice}),
            pd.DataFrame({**rows, "metric": LABEL_VOLUME, "value": volume}),
        ],
        ignore_index=True,
    )


def test_scores_and_label_volumes_have_a_row_each_and_missing_exams_are_left_out() -> None:
    base = make_side(FIRST, 1000 * FIRST)
    other = make_side(SECOND, np.where(np.arange(24) == 3, np.nan, 1000 * SECOND))
    asked = pd.DataFrame({"structure": ["disc"], "metric": ["dice"]})
    table = tabulate_agreement(base, other, asked, METRICS, patients=None, level=0.9)
    assert table[["metric", "n"]].to_numpy().tolist() == [["dice", 24], [LABEL_VOLUME, 23]]
    keep = np.arange(24) != 3
    volumes = measure_agreement(1000 * FIRST[keep], 1000 * SECOND[keep], level=0.9)
    assert table.loc[1, "icc_low"] == pytest.approx(volumes.icc_low)
    scores = measure_agreement(FIRST, SECOND, level=0.9)
    assert table.loc[0, "upper_limit_high"] == pytest.approx(scores.upper_limit_high)


def test_exams_of_a_patient_are_taken_together() -> None:
    patients = pd.Series([f"p{i // 3}" for i in range(24)], index=EXAMS)
    asked = pd.DataFrame({"structure": ["disc"], "metric": ["dice"]})
    sides = make_side(FIRST, FIRST), make_side(SECOND, SECOND)
    table = tabulate_agreement(*sides, asked, METRICS, patients=patients, level=0.95)
    assert table["n_patients"].tolist() == [8, 8]
    own = measure_agreement(FIRST, SECOND, patients=np.arange(24) // 3)
    assert table.loc[0, "ccc_low"] == pytest.approx(own.ccc_low)
