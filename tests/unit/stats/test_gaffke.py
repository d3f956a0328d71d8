import numpy as np
import pytest
from scipy import stats

from tworulers.stats.gaffke import bound_mean


def bound(values, units=None, seed=0, **others):
    rng = np.random.default_rng(seed)
    asked = {"low": 0.0, "high": 1.0, "draws": 20_000} | others
    return bound_mean(np.asarray(values, float), units, rng=rng, **asked)


def test_zeros_and_ones_have_the_exact_bounds_of_a_rate() -> None:
    """Of values at their bounds the weighted mean is a beta variable, as in Clopper and Pearson's interval."""
    low, high = bound([1] * 3 + [0] * 12, draws=200_000)
    exact = stats.binomtest(3, 15).proportion_ci(method="exact")
    assert [low, high] == pytest.approx([exact.low, exact.high], abs=0.003)


def test_it_moves_and_turns_with_the_values() -> None:
    values = np.random.default_rng(1).uniform(0.4, 0.9, 25)
    low, high = bound(values)
    assert bound(10 * values - 3, low=-3, high=7) == pytest.approx((10 * low - 3, 10 * high - 3))
    assert bound(1 - values) == pytest.approx((1 - high, 1 - low), abs=0.004)


def test_it_covers_where_failures_are_rarer_than_exams() -> None:
    rng = np.random.default_rng(2)
    truth, inside = 0.96 * 0.92 + 0.04 * 0.45, []
    for _ in range(300):
        values = np.where(
            rng.random(15) < 0.04, rng.uniform(0.2, 0.7, 15), rng.normal(0.92, 0.03, 15)
        )
        low, high = bound_mean(values.clip(0, 1), low=0, high=1, draws=1_000, rng=rng)
        inside.append(low <= truth <= high)
    assert np.mean(inside) > 0.95


def test_copies_of_an_exam_tell_no_more_than_the_exam() -> None:
    values = np.random.default_rng(3).uniform(0.4, 0.9, 12)
    copies = bound(np.repeat(values, 5), np.repeat(np.arange(12), 5))
    assert copies == pytest.approx(bound(values), abs=1e-12)
    assert bound(np.repeat(values, 5))[0] > copies[0] + 0.02


def test_many_exams_are_drawn_in_parts_and_none_have_no_bounds() -> None:
    low, high = bound(np.full(3_000, 0.5), draws=2_000)
    assert 0.498 < low < 0.5 < high < 0.502
    assert np.isnan(bound([])).all()


def test_a_value_outside_its_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="values from 0.2 to 1.2: expected 0 to 1"):
        bound([0.2, 1.2])
