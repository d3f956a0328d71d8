"""Volume similarity of worked cases, and what it is of empty masks."""

import numpy as np
import pytest

from tworulers.metrics.case import score_case
from tworulers.metrics.known.volume_similarity import VOLUME_SIMILARITY
from tworulers.schema.settings import Audit


@pytest.mark.parametrize(
    ("predicted", "reference", "expected"),
    [(6, 6, 1.0), (3, 6, 1 - 3 / 9), (6, 3, 1 - 3 / 9), (0, 6, 0.0), (6, 0, 0.0), (0, 0, np.nan)],
)
def test_worked_cases(predicted: int, reference: int, expected: float) -> None:
    """Voxels in two lines that never meet: only their number counts."""
    maps = np.zeros((2, 2, 8), np.uint8)
    maps[0, 0, :predicted] = maps[1, 1, :reference] = 1
    found = score_case(
        maps[0],
        maps[1],
        affine=np.diag([0.5, 0.5, 4, 1]),
        structures={"vb": 1},
        metrics=[VOLUME_SIMILARITY],
        settings=Audit(),
    ).set_index(["structure", "metric"])
    row = found.loc[("vb", "volume_similarity")]
    assert row["value"] == pytest.approx(expected, nan_ok=True)
    assert (row["undefined_because"] == "both_empty") is bool(np.isnan(expected))
