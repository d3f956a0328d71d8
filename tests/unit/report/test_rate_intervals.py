"""Which interval of a ratio of success rates is recommended, and what it is called."""

from types import SimpleNamespace

import numpy as np
import pytest

from tworulers.report.rate_intervals import (
    explain_recommended,
    name_recommended,
    recommend_interval,
)


@pytest.mark.parametrize(
    ("unit", "exact", "expected"),
    [
        ("exam", (0.7, 0.9), (0.7, 0.9, False)),
        ("exam", (np.nan, np.nan), (0.6, 1.0, True)),
        ("patient", (0.7, 0.9), (0.6, 1.0, True)),
    ],
)
def test_it_is_the_exact_one_unless_patients_are_drawn_or_tables_are_too_many(
    unit: str, exact: tuple[float, float], expected: tuple[float, float, bool]
) -> None:
    ratio = SimpleNamespace(
        dir_exact_percentile_low=exact[0],
        dir_exact_percentile_high=exact[1],
        dir_percentile_low=0.6,
        dir_percentile_high=1.0,
    )
    assert recommend_interval(ratio, unit) == expected


def test_it_is_called_what_it_is() -> None:
    assert name_recommended("exam") == "exact percentile interval (recommended)"
    assert name_recommended("patient") == "percentile interval (recommended)"
    assert "patients are drawn with all their exams" in explain_recommended("patient")
