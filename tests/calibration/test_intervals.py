"""Coverage of the enumerated DIR intervals is known from an independent enumeration (golden)."""

import numpy as np
import pytest
from calibration.intervals import cover_locations, cover_rate_difference, cover_ratio

pytestmark = pytest.mark.slow

GOLDEN = {  # n, rates: coverage of BCa and percentile
    ("38 / 38", "0.97 / 0.97"): (0.93, 0.9826),
    ("45 / 20", "0.95 / 0.95"): (0.6651, 0.5901),
    ("45 / 20", "0.95 / 0.85"): (0.8362, 0.9766),
    ("38 / 38", "0.95 / 0.8"): (0.9192, 0.9573),
    ("100 / 50", "0.95 / 0.85"): (0.898, 0.9529),
}


def test_exact_coverage_is_the_golden_one() -> None:
    rows = cover_ratio(50, 5, np.random.default_rng(0))
    for (n, rates), expected in GOLDEN.items():
        for kind, value in zip(("BCa", "percentile"), expected, strict=True):
            (found,) = (
                row
                for row in rows
                if row.scenario.startswith(f"{n} exams, rates {rates},")
                and row.what == f"exact {kind} interval holds it"
            )
            assert found.value == pytest.approx(value, abs=2e-3)
            assert found.holds


def test_differences_hold_what_they_promise() -> None:
    rows = [*cover_rate_difference(), *cover_locations(200, 60, np.random.default_rng(1))]
    assert len(rows) > 30
    assert all(row.holds for row in rows)
