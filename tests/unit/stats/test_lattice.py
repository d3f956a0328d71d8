"""Scores recorded coarsely: their unit is found, and ratios of their robust spread behave as of finer scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tworulers.stats.dispersion import bootstrap_spread, measure_spread
from tworulers.stats.groups import GroupedSample, pair_sample
from tworulers.stats.lattice import find_unit, spread_ties

CODES = np.repeat(np.arange(3), (21, 29, 26))


def draw_pair(seed: int, decimals: int, noise: float) -> GroupedSample:
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=(2, len(CODES)))
    base, other = 0.85 + 0.03 * shared, 0.9 + 0.03 * noise * (0.7 * shared + 0.714 * own)
    return pair_sample(base.round(decimals), other.round(decimals), CODES)


def test_the_unit_of_record_is_found() -> None:
    values = np.random.default_rng(0).normal(0.9, 0.03, 76)
    assert find_unit(values.round(2)) == pytest.approx(0.01)
    assert find_unit(values.round(3)) == pytest.approx(0.001)
    for parts in (2, 3, 4):
        means = values.round(2).reshape(-1, 2)[:, :1] + np.arange(parts * 38).reshape(38, -1) / 100
        means = np.hstack([means[:, 0], means.mean(axis=1), np.arange(9) * 0.01 / parts]).round(9)
        assert find_unit(means) == pytest.approx(0.01 / parts)
    assert np.isnan(find_unit(values))
    assert np.isnan(find_unit(values.round(4)))
    assert np.isnan(find_unit(np.ones(9)))
    assert np.isnan(find_unit(values[:0]))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 999), st.floats(-5, 5))
def test_ties_are_spread_over_half_a_unit_and_keep_their_order(seed: int, shift: float) -> None:
    values = np.random.default_rng(seed).normal(0.9, 0.03, 40).round(2) + shift
    finer = spread_ties(values, 0.01)
    assert np.abs(finer - values).max() < 0.005
    assert len(np.unique(finer)) == len(values)
    order = np.argsort(finer)
    assert (np.diff(values[order]) > -1e-9).all()
    for value in np.unique(values):
        tied = finer[values == value]
        assert tied.mean() == pytest.approx(value)
    assert np.array_equal(finer, spread_ties(values, 0.01))
    assert np.array_equal(values, spread_ties(values, np.nan))


def test_two_decimals_tell_a_collapsed_spread_as_four_do() -> None:
    shown = {4: [], 2: []}
    for seed in range(25):
        for decimals, kept in shown.items():
            drawn = bootstrap_spread(
                draw_pair(seed, decimals, 0.45), draws=300, rng=np.random.default_rng(seed)
            )
            assert np.isfinite(drawn.vcr_mad_high)
            kept.append(drawn.vcr_mad_low > 1)
    assert sum(shown[4]) >= 15
    assert sum(shown[2]) >= 0.8 * sum(shown[4])


def test_two_decimals_name_no_collapse_where_there_is_none() -> None:
    lows = [
        bootstrap_spread(draw_pair(seed, 2, 1.0), draws=300, rng=np.random.default_rng(seed))
        for seed in range(40)
    ]
    assert sum(drawn.vcr_mad_low > 1 for drawn in lows) <= 3


def test_the_row_says_the_coarser_unit_and_equal_scores_stay_equal() -> None:
    coarse = draw_pair(3, 2, 1.0)
    fine = draw_pair(3, 5, 1.0)
    assert measure_spread(coarse).coarse_unit == pytest.approx(0.01)
    assert np.isnan(measure_spread(fine).coarse_unit)
    mixed = pair_sample(fine.values[0], coarse.values[1].round(2), CODES)
    assert measure_spread(mixed).coarse_unit == pytest.approx(0.01)
    same = pair_sample(coarse.values[0], coarse.values[0], CODES)
    assert measure_spread(same).vcr_mad == 1
    assert measure_spread(coarse).mad_base == pytest.approx(measure_spread(fine).mad_base, rel=0.1)
