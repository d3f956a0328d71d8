"""A small, seeded form of the calibration of patients with several exams."""

import numpy as np
import pytest
from calibration.patients import DESIGNS, LEVELS, TOPIC

pytestmark = pytest.mark.slow


def test_every_row_holds_in_a_small_run() -> None:
    rows = TOPIC.measure(60, np.random.default_rng(4))
    assert [row for row in rows if not row.holds] == []
    held = [row for row in rows if row.what in LEVELS and row.at_least == row.at_least]
    assert len(held) == 3 * len(DESIGNS) + 2
    # together they are many studies, so that a test that ignores patients is seen
    assert 0.03 < np.mean([row.value for row in held]) < 0.07
