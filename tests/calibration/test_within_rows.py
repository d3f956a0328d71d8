"""A small, seeded form of the calibration of equality within a margin."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from calibration.within import TOPIC

pytestmark = pytest.mark.slow


def test_every_row_holds_in_a_small_run() -> None:
    rows = TOPIC.measure(150, np.random.default_rng(0))
    assert [row for row in rows if not row.holds] == []
    # Levels that are far below their bound would say that nothing can be proved.
    assert np.mean([row.value for row in rows if np.isfinite(row.at_most)]) > 0.015
