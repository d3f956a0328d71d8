"""A small, seeded form of the calibration of the permutation p of success rates."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from calibration.impact_ratio import TOPIC

pytestmark = pytest.mark.slow


def test_every_row_holds_in_a_small_run() -> None:
    rows = TOPIC.measure(100, np.random.default_rng(1))
    assert [row for row in rows if not row.holds] == []
    assert sum("over seeds" in row.what for row in rows) == 3
    assert max(row.value for row in rows) > 0
