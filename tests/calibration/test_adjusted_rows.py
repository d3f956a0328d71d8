"""A small, seeded form of the calibration of adjusted comparisons."""

import numpy as np
import pytest
from calibration.adjusted import TOPIC

pytestmark = pytest.mark.slow


def test_every_row_holds_in_a_small_run() -> None:
    rows = TOPIC.measure(40, np.random.default_rng(0))
    assert [row for row in rows if not row.holds] == []
    by_age, *_ = rows
    assert by_age.value > 0.5
    assert max(row.value for row in rows if row.scenario.startswith("spread")) > 0.08
