"""A small, seeded form of the calibration of the agreement of two raters."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from calibration.agreement import TOPIC

pytestmark = pytest.mark.slow


def test_every_row_holds_in_a_small_run() -> None:
    rows = TOPIC.measure(150, np.random.default_rng(2))
    assert [row for row in rows if not row.holds] == []
    assert np.mean([row.value for row in rows]) < 0.985
