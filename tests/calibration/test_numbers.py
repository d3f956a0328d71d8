"""A small, seeded form of what is measured of detectable gaps, ties and coarse scores."""

import numpy as np
import pytest
from calibration.numbers import DESIGNS, TIED, TOPIC

pytestmark = pytest.mark.slow


def test_every_row_holds_in_a_small_run() -> None:
    rows = TOPIC.measure(160, np.random.default_rng(2))
    assert [row for row in rows if not row.holds] == []
    assert len(rows) == 4 * len(DESIGNS) + 2 + 2 * len(TIED) + 5
