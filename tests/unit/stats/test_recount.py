"""Bootstrap by counts, against the same draws sorted."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tworulers.stats import dispersion, recount
from tworulers.stats.groups import GroupedSample, pair_sample
from tworulers.stats.recount import Recount, find_deviations, find_medians


def sample_of(seed: int, n: int, k: int, exams: int, digits: int) -> GroupedSample:
    rng = np.random.default_rng(seed)
    base = rng.standard_t(3, size=n)
    other = (base + 0.3 * rng.normal(size=n)).round(digits)
    codes = np.append(np.arange(k), rng.integers(0, k, n - k))
    return pair_sample(base, other, codes, units=np.arange(n, dtype=np.int64) // exams)


@settings(max_examples=25)
@given(st.integers(0, 999), st.integers(8, 300), st.integers(1, 4), st.integers(1, 3), st.integers(0, 9))  # fmt: skip
def test_counts_give_what_sorted_draws_give(
    seed: int, n: int, k: int, exams: int, digits: int
) -> None:
    sample, found = sample_of(seed, n, k, exams, digits), []
    for most in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recount, "MANY", most)
            rng = np.random.default_rng(seed)
            found.append(dispersion._redraw_sides(sample, 40, rng))
    (medians, squares, mads), (plain, plain_squares, plain_mads) = found
    np.testing.assert_array_equal(medians, plain)
    np.testing.assert_array_equal(mads, plain_mads)
    np.testing.assert_allclose(squares, plain_squares, rtol=1e-9, atol=1e-12)


def test_a_draw_whose_middle_is_elsewhere_is_looked_at_whole() -> None:
    scores = np.sort(np.random.default_rng(0).normal(size=2000))
    often = np.ones((3, 2000))
    often[1, :1500], often[2, 500:] = 0, 0
    expected = [np.median(np.repeat(scores, row.astype(int))) for row in often]
    np.testing.assert_array_equal(find_medians(scores, often), expected)
    group, centres = [Recount(np.arange(2000), often)], np.array(expected)[:, None]
    deviations = [
        np.median(np.abs(np.repeat(scores, row.astype(int)) - at))
        for row, at in zip(often, expected, strict=True)
    ]
    np.testing.assert_array_equal(find_deviations(scores, group, centres), deviations)


def test_many_exams_take_blocks_of_draws() -> None:
    sample = sample_of(0, 20_000, 3, 1, 9)
    tracemalloc.start()
    dispersion.bootstrap_spread(sample, draws=200, rng=np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 200 draws of both sides at once are 64 MB an array
    assert peak < 10 * 8 * recount.COUNTED
