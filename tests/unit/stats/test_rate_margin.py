"""Differences of failure rates against a margin: bounds, their p, and patients with several exams."""

import numpy as np
import pytest
from scipy import stats

from tworulers.stats.rate_margin import bound_difference, count_independent, p_inside


def test_without_failures_the_bound_is_that_of_clopper_and_pearson() -> None:
    low, high = bound_difference(np.array([0.0, 0.0]), np.array([38.0, 30.0]), 0.05)
    assert high == pytest.approx(1 - 0.05 ** (1 / 30))
    assert low == pytest.approx(-(1 - 0.05 ** (1 / 38)))
    p = p_inside(np.array([0.0, 0.0]), np.array([38.0, 38.0]), 0.1)
    assert p == pytest.approx(0.9**38)


def test_a_bound_reaches_the_margin_at_its_p() -> None:
    rates, n = np.array([[3 / 40, 5 / 50], [0.0, 2 / 30], [1.0, 1.0]]), np.array([[40.0, 50.0]] * 3)
    p = p_inside(rates, n, 0.2)
    low, high = bound_difference(rates, n, p)
    assert np.maximum(high, -low) == pytest.approx(0.2)
    assert p_inside(rates, n, 0.3) == pytest.approx(np.minimum(p_inside(rates, n, 0.3), p))


def test_bounds_hold_the_difference_at_their_level() -> None:
    """Every pair of counts with its probability: no bound is short in more than 5 % of studies."""
    worst = 0.0
    for n, m, p, q in ((30, 30, 0.0, 0.1), (29, 29, 0.02, 0.12), (60, 8, 0.05, 0.15)):
        x, y = (grid.ravel() for grid in np.meshgrid(np.arange(n + 1), np.arange(m + 1)))
        weight = stats.binom.pmf(x, n, p) * stats.binom.pmf(y, m, q)
        rates = np.stack([x / n, y / m], axis=-1)
        high = bound_difference(rates, np.broadcast_to([float(n), float(m)], rates.shape), 0.05)[1]
        worst = max(worst, float(weight[high < q - p].sum()))
    assert 0 < worst <= 0.05


def test_a_difference_at_the_margin_or_beyond_has_no_p() -> None:
    assert p_inside(np.array([0.0, 0.2]), np.array([50.0, 50.0]), 0.1) == 1.0


def test_exams_of_a_patient_count_as_one() -> None:
    assert count_independent(np.arange(7)) == 7
    assert count_independent(np.repeat(np.arange(5), 3)) == pytest.approx(5)
    assert count_independent(np.array([0, 0, 0, 1])) == pytest.approx(1.6)
