"""Intervals of odds differences hold what they promise, with several rows of a person, too."""

import numpy as np
import pytest
from calibration.odds import measure_odds

pytestmark = pytest.mark.slow


def test_odds_differences_hold_the_truth() -> None:
    rows = measure_odds(60, np.random.default_rng(0))
    assert len(rows) == 24
    assert [row for row in rows if not row.holds] == []
