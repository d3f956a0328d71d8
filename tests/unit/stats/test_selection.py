"""Order statistics of pairs, against all pairs formed."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tworulers.stats import selection
from tworulers.stats.selection import (
    median_of_differences,
    median_of_sums,
    quantile_of_differences,
)


def values_of(seed: int, n: int, coarse: bool) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=n)
    return drawn.round(1) if coarse else drawn


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 9_999), st.integers(1, 25), st.integers(1, 25), st.booleans(), st.booleans())
def test_what_is_found_is_bit_for_bit_that_of_all_pairs(
    seed: int, n: int, m: int, coarse: bool, at_once: bool
) -> None:
    x, y = values_of(seed, n, coarse), values_of(seed + 1, m, coarse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "ENUMERATED", 50_000 if at_once else 4)
        patch.setattr(selection, "SORTED", 10_000 if at_once else 0)
        first, second = np.triu_indices(n)
        assert median_of_sums(x) == np.median(0.5 * (x[first] + x[second]))
        differences = np.sort(np.subtract.outer(x, y), axis=None)
        assert [quantile_of_differences(x, y, k) for k in range(n * m)] == differences.tolist()
        assert median_of_differences(x, y) == np.median(differences)


@pytest.mark.parametrize("n", [15_000, 30_000])
def test_large_samples_are_cheap(n: int) -> None:
    values = values_of(0, n, coarse=False)
    tracemalloc.start()
    start = time.process_time()
    found = median_of_sums(values), median_of_differences(values[: n // 2], values[n // 2 :])
    seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.abs(found).max() < 0.05
    assert seconds < 1
    assert peak < 100e6


def test_infinite_values_lie_beyond_and_two_of_them_on_neither_side() -> None:
    x, y = np.array([np.inf, 1.0, np.inf]), np.array([0.0, np.inf])
    # inf - 0 twice, 1 - 0, 1 - inf, and inf - inf twice: half of them at each end
    found = [quantile_of_differences(x, y, k) for k in range(6)]
    assert found == [-np.inf, -np.inf, 1.0, np.inf, np.inf, np.inf]
    assert median_of_differences(x, y) == np.inf
    assert median_of_differences(y, x) == -np.inf
    assert np.isnan(median_of_differences(x[[0, 2]], y[[1, 1]]))
    assert np.isnan(median_of_differences(x, y[:0]))
    assert np.isnan(median_of_sums(x[:0]))
    with pytest.raises(ValueError, match="rank from 0 to 5, found 6"):
        quantile_of_differences(x, y, 6)
