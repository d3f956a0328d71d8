"""Whether scores rise or fall along ordered groups."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from tworulers.stats.relabel import draw_labels
from tworulers.stats.types import FloatArray, IntArray


@dataclass(frozen=True)
class TrendTest:
    """Jonckheere and Terpstra's test.

    Attributes
    ----------
    statistic : pairs of exams of two groups in which the later group scores higher, ties half.
    tau : Kendall's tau b of score and group, positive where scores rise.
    p : two-sided, by the normal approximation, ties corrected; it counts exams as independent.
    """

    statistic: float
    tau: float
    p: float
    undefined_because: str | None = None


def compare_in_order(values: FloatArray, codes: IntArray) -> TrendTest:
    """Test for a trend over ordered groups (Terpstra 1952, Jonckheere 1954): Kendall's test of score and group.

    Parameters
    ----------
    values : scores, (n,), no NaN.
    codes : place of each exam's group in the order, (n,).
    """
    ranks = stats.rankdata(values)
    pairs = _count_pairs(codes)
    if pairs == 0:
        return TrendTest(np.nan, np.nan, np.nan, "fewer than two groups have exams")
    if np.ptp(ranks) == 0:
        return TrendTest(pairs / 2, 0.0, 1.0)
    found = stats.kendalltau(codes, ranks, method="asymptotic")
    excess = float(_count_excess(_compare_values(ranks), codes[None])[0])
    return TrendTest((pairs + excess) / 2, float(found.statistic), float(found.pvalue))


def permute_trend(
    values: FloatArray, codes: IntArray, patients: IntArray, draws: int, rng: np.random.Generator
) -> float:
    """Give the two-sided permutation p of the trend, labels moved over patients.

    Parameters
    ----------
    values, codes, patients : of each exam, (n,).
    draws : permutations.
    rng : source of chance.
    """
    signs = _compare_values(stats.rankdata(values))
    observed = float(_count_excess(signs, codes[None])[0])
    drawn = _count_excess(signs, draw_labels(codes, patients, draws, rng))
    reached = np.abs(drawn) >= abs(observed) - 1e-9
    return float((1 + reached.sum()) / (1 + draws))


def _count_pairs(codes: IntArray) -> float:
    sizes = np.bincount(codes)
    return float((len(codes) ** 2 - sizes @ sizes) / 2)


def _compare_values(ranks: FloatArray) -> FloatArray:
    return np.sign(ranks[None, :] - ranks[:, None])


def _count_excess(signs: FloatArray, labels: IntArray) -> FloatArray:
    """Count pairs that rise less those that fall, for labels (draws, n)."""
    total = np.zeros(len(labels))
    for group in range(1, int(labels.max()) + 1):
        lower = (labels < group).astype(np.float64) @ signs
        total += np.sum(lower * (labels == group), axis=1)
    return total
