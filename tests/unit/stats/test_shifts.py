"""Simultaneous intervals of shifts."""

import numpy as np
import pytest
from scipy import stats

from tworulers.stats.shifts import shift_pairs


def test_the_shift_is_the_median_of_differences_and_bounds_are_differences() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], (9, 12, 7))
    values = rng.normal(size=28).round(2) + codes
    for pair in shift_pairs(values, codes, np.arange(28)):
        x, y = values[codes == pair.first], values[codes == pair.second]
        differences = np.subtract.outer(y, x).ravel()
        assert pair.shift == pytest.approx(np.median(differences))
        for bound in (pair.low, pair.high):
            assert np.abs(differences - bound).min() < 1e-9
        assert pair.low < pair.shift < pair.high


def test_two_large_groups_are_near_the_known_interval() -> None:
    """Against the normal rank interval, which holds where spreads are equal."""
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1], 150)
    values = rng.normal(size=300) + 0.3 * codes
    (pair,) = shift_pairs(values, codes, np.arange(300))
    differences = np.sort(np.subtract.outer(values[150:], values[:150]).ravel())
    place = 150 * 150 / 2 - stats.norm.ppf(0.975) * np.sqrt(150 * 150 * 301 / 12)
    low, high = differences[round(place)], differences[-round(place)]
    assert (pair.low, pair.high) == pytest.approx((low, high), abs=0.02)


def test_more_pairs_and_patients_that_repeat_widen() -> None:
    rng = np.random.default_rng(2)
    codes, who = np.repeat([0, 1, 2], 20), np.arange(60)
    values = rng.normal(size=60)
    alone = shift_pairs(values[:40], codes[:40], who[:40])[0]
    among = shift_pairs(values, codes, who)[0]
    assert among.high - among.low > alone.high - alone.low
    doubled = shift_pairs(np.tile(values, 2), np.tile(codes, 2), np.tile(who, 2))[0]
    ignored = shift_pairs(np.tile(values, 2), np.tile(codes, 2), np.arange(120))[0]
    assert doubled.high - doubled.low == pytest.approx(among.high - among.low, rel=0.05)
    assert ignored.high - ignored.low < 0.8 * (among.high - among.low)


def test_few_and_infinite_scores() -> None:
    codes = np.repeat([0, 1], (2, 6))
    (few,) = shift_pairs(np.arange(8.0), codes, np.arange(8))
    assert few.undefined_because == "a group has fewer than 3 patients"
    codes = np.repeat([0, 1], 4)
    (small,) = shift_pairs(np.array([1.0, 5, 2, 6, 3, 7, 4, 8]), codes, np.arange(8), 0.99)
    assert (small.low, small.high) == (-np.inf, np.inf)
    codes = np.repeat([0, 1], 20)
    values = np.where(np.arange(40) > 27, np.inf, np.arange(40) % 20)
    (lost,) = shift_pairs(values, codes, np.arange(40))
    assert lost.high == np.inf
