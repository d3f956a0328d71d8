"""The trend test, held to counted pairs, to the textbook's variance, and to every arrangement of a small table."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from tworulers.stats.trend import compare_in_order, permute_trend


def count(values: np.ndarray, codes: np.ndarray) -> float:
    """Pairs of exams in which the one of the later group scores higher, ties half."""
    total = 0.0
    for i, j in combinations(range(len(values)), 2):
        if codes[i] != codes[j]:
            low, high = (i, j) if codes[i] < codes[j] else (j, i)
            total += (values[low] < values[high]) + 0.5 * (values[low] == values[high])
    return total


def textbook_p(values: np.ndarray, codes: np.ndarray) -> float:
    """Hollander and Wolfe's large-sample p with their variance under ties."""
    n, sizes = len(values), np.bincount(codes).astype(float)
    ties = np.unique(values, return_counts=True)[1].astype(float)

    def five(x: np.ndarray) -> float:
        return float((x * (x - 1) * (2 * x + 5)).sum())

    def three(x: np.ndarray) -> float:
        return float((x * (x - 1) * (x - 2)).sum())

    def two(x: np.ndarray) -> float:
        return float((x * (x - 1)).sum())

    variance = (n * (n - 1) * (2 * n + 5) - five(sizes) - five(ties)) / 72
    variance += three(sizes) * three(ties) / (36 * n * (n - 1) * (n - 2))
    variance += two(sizes) * two(ties) / (8 * n * (n - 1))
    z = (count(values, codes) - (n**2 - (sizes**2).sum()) / 4) / np.sqrt(variance)
    return float(2 * stats.norm.sf(abs(z)))


def test_statistic_and_p_are_jonckheeres() -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        values, codes = rng.normal(size=30).round(1), rng.integers(0, 4, 30)
        found = compare_in_order(values, codes)
        assert found.statistic == pytest.approx(count(values, codes))
        assert found.p == pytest.approx(textbook_p(values, codes), rel=1e-9)


def test_direction_and_limits() -> None:
    codes = np.repeat([0, 1, 2], 8)
    assert compare_in_order(codes + 0.0, codes).tau == pytest.approx(1)
    assert compare_in_order(-codes + 0.0, codes).tau == pytest.approx(-1)
    flat = compare_in_order(np.ones(24), codes)
    assert (flat.p, flat.tau) == (1.0, 0.0)
    worst = np.where(np.arange(24) > 20, np.inf, np.arange(24.0))
    assert compare_in_order(worst, codes).p < 1e-5
    one = compare_in_order(np.arange(3.0), np.zeros(3, dtype=int))
    assert one.undefined_because == "fewer than two groups have exams"


def test_permutation_moves_patients() -> None:
    rng = np.random.default_rng(1)
    patients = np.repeat(np.arange(6), 2)
    of_patient = np.array([0, 0, 1, 1, 2, 2])
    values = (rng.normal(size=6)[patients] + 0.5 * of_patient[patients]).round(1)
    values[::2] += 0.3
    half = (12**2 - 3 * 4**2) / 4
    far = abs(count(values, of_patient[patients]) - half)
    drawn = [
        abs(count(values, np.array(labels)[patients]) - half)
        for labels in set(permutations(of_patient.tolist()))
    ]
    exact = np.mean(np.array(drawn) >= far - 1e-9)
    found = permute_trend(values, of_patient[patients], patients, 4_000, np.random.default_rng(2))
    assert found == pytest.approx(exact, abs=0.03)
