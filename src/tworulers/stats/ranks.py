"""Whether groups differ in the order of their scores, by how much, and which pairs do."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.families import adjust_p
from tworulers.stats.groups import GroupedSample, group_medians
from tworulers.stats.types import FloatArray, IntArray

EXACT_BELOW = 8
"""Mann-Whitney's p is exact where the smaller group has at most this many exams and no values tie.
"""

MOST_PAIRS = 100_000
"""Nor with so many pairs of exams, where it would take seconds. The normal p is the larger one in the tail there (8
against 12,000 exams: .0099 where .0080 is exact).
"""


Found = tuple[str, float, float, float, float]
"""Method, statistic, p, effect and textbook effect of a test."""


@dataclass(frozen=True)
class RankTest:
    """A rank test over the groups of one score, with its effect.

    Attributes
    ----------
    test : `mann_whitney` for two groups, `kruskal_wallis` for more, empty where there is no test.
    method : how p was computed: `exact`, `normal` (ties and continuity corrected), `chi2`, or `no
        variation`.
    statistic : U of the first group, or H corrected for ties.
    effect, effect_name : `rank_biserial` 1 - 2U/(n1 n2), positive where the *first* group scores
        lower; or `epsilon_squared` (H - k + 1)/(n - k), which many texts call eta squared of H.
    effect_textbook, effect_textbook_name : `cliffs_delta` 2U/(n1 n2) - 1, or
        `epsilon_squared_textbook` H/(n - 1).
    highest, lowest : position of the group with the highest and lowest mean rank; None where no
        value varies.
    """

    effect_name: str
    effect_textbook_name: str
    n: int
    test: str = ""
    method: str = ""
    statistic: float = np.nan
    p: float = np.nan
    effect: float = np.nan
    effect_textbook: float = np.nan
    highest: int | None = None
    lowest: int | None = None
    undefined_because: str | None = None


@dataclass(frozen=True)
class RankTestKind:
    """How a rank test is computed, permuted and drawn again; the number of groups chooses it.

    Attributes
    ----------
    name, effect_name, effect_textbook_name : as `RankTest` gives them.
    compute : what is found in a sample with mid-ranks (n,) that vary.
    constant : the statistic where no value varies, of the sizes (k,).
    p_of_sums : p from rank sums (..., k), sizes (..., k) and the scatter of the ranks (...).
    """

    name: str
    effect_name: str
    effect_textbook_name: str
    compute: Callable[[GroupedSample, FloatArray], Found]
    constant: Callable[[IntArray], float]
    p_of_sums: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def compare_ranks(sample: GroupedSample) -> RankTest:
    """Test whether groups differ in location: Mann-Whitney for two groups, Kruskal-Wallis for more.

    Infinite scores take part as the largest. Where no value varies p is 1 and the effect 0. A group
    under two exams, or fewer than two groups, cannot be tested: everything is NaN and
    `undefined_because` says why.

    Parameters
    ----------
    sample : groups in the order in which the two-group effect is read.
    """
    sizes = sample.sizes
    kind = choose_kind(len(sizes))
    base = RankTest(kind.effect_name, kind.effect_textbook_name, int(sizes.sum()))
    if fault := _name_fault(sample):
        return replace(base, undefined_because=fault)
    ranks = stats.rankdata(sample.values)
    if np.ptp(ranks) == 0:
        found: Found = ("no variation", kind.constant(sizes), 1.0, 0.0, 0.0)
    else:
        found = kind.compute(sample, ranks)
    means = sum_ranks(sample, ranks) / sizes
    apart = means.max() > means.min()
    return RankTest(
        *(base.effect_name, base.effect_textbook_name, base.n, kind.name, *found),
        highest=int(means.argmax()) if apart else None,
        lowest=int(means.argmin()) if apart else None,
    )


def choose_kind(k: int) -> RankTestKind:
    """Choose the rank test of k groups."""
    return MANN_WHITNEY if k == 2 else KRUSKAL_WALLIS


def sum_ranks(sample: GroupedSample, ranks: FloatArray) -> FloatArray:
    """Sum ranks (n,) by group, (k,)."""
    sums = np.bincount(sample.codes, weights=ranks, minlength=len(sample.names))
    return sums.astype(np.float64)


def scatter_of(ranks: FloatArray) -> FloatArray:
    """Sum of squared distances of mid-ranks (..., n) from their mean, (...): what ties take away
    from (n^3 - n) / 12.
    """
    centred = ranks - (ranks.shape[-1] + 1) / 2
    return np.asarray(np.einsum("...i,...i->...", centred, centred))


def kruskal_h(
    sums: FloatArray, sizes: NDArray[np.number], scatter: FloatArray | float
) -> FloatArray:
    """Kruskal and Wallis' H, corrected for ties; 0 where no rank varies.

    Parameters
    ----------
    sums, sizes : rank sums and exams of each group, (..., k); a group without exams takes no part.
    scatter : of the mid-ranks, (...), as `scatter_of` gives it.
    """
    n = sizes.sum(axis=-1)
    centred = sums - sizes * (n[..., None] + 1) / 2
    between = np.divide(centred**2, sizes, out=np.zeros(centred.shape), where=sizes > 0).sum(-1)
    share = np.divide(between, scatter, out=np.zeros(between.shape), where=np.asarray(scatter) > 0)
    return np.asarray((n - 1) * share)


def kruskal_rows(ranks: FloatArray, codes: IntArray) -> FloatArray:
    """H of each row of mid-ranks (rows, n), whose exams are in the groups `codes` (n,)."""
    sizes = np.bincount(codes)
    member = np.zeros((len(codes), len(sizes)))
    member[np.arange(len(codes)), codes] = 1.0
    return kruskal_h(ranks @ member, sizes, scatter_of(ranks))


def _compute_mann_whitney(sample: GroupedSample, ranks: FloatArray) -> Found:
    few = sample.sizes.min() <= EXACT_BELOW and sample.sizes.prod() < MOST_PAIRS
    exact = few and len(np.unique(ranks)) == len(ranks)
    way: Literal["exact", "asymptotic"] = "exact" if exact else "asymptotic"
    found = stats.mannwhitneyu(sample.of(0), sample.of(1), method=way)
    effect = 1 - 2 * float(found.statistic) / float(sample.sizes.prod())
    method = "exact" if exact else "normal"
    return method, float(found.statistic), float(found.pvalue), effect, -effect


def _p_of_mann_whitney(sums: FloatArray, sizes: FloatArray, scatter: FloatArray) -> FloatArray:
    """By the normal approximation, corrected for ties and continuity."""
    n, product = sizes.sum(axis=-1), sizes.prod(axis=-1)
    u = sums[..., 0] - sizes[..., 0] * (sizes[..., 0] + 1) / 2
    error = np.sqrt(product * scatter / (n * (n - 1)))
    z = np.maximum(np.abs(u - product / 2) - 0.5, 0) / error
    return np.asarray(np.minimum(2 * stats.norm.sf(z), 1.0))


def _compute_kruskal(sample: GroupedSample, ranks: FloatArray) -> Found:
    sums, sizes, scatter = sum_ranks(sample, ranks), sample.sizes, scatter_of(ranks)
    h, k, n = float(kruskal_h(sums, sizes, scatter)), len(sizes), len(ranks)
    return "chi2", h, float(stats.chi2.sf(h, k - 1)), (h - k + 1) / (n - k), h / (n - 1)


def _p_of_kruskal(sums: FloatArray, sizes: FloatArray, scatter: FloatArray) -> FloatArray:
    """By chi squared over the groups that have exams."""
    freedom = np.maximum((sizes > 0).sum(axis=-1) - 1, 1)
    return np.asarray(stats.chi2.sf(kruskal_h(sums, sizes, scatter), freedom))


MANN_WHITNEY = RankTestKind(
    "mann_whitney",
    "rank_biserial",
    "cliffs_delta",
    _compute_mann_whitney,
    lambda sizes: float(sizes.prod()) / 2,
    _p_of_mann_whitney,
)
KRUSKAL_WALLIS = RankTestKind(
    "kruskal_wallis",
    "epsilon_squared",
    "epsilon_squared_textbook",
    _compute_kruskal,
    lambda _: 0.0,
    _p_of_kruskal,
)


def _name_fault(sample: GroupedSample) -> str | None:
    """Say why a sample cannot be tested, or None."""
    sizes = sample.sizes
    if len(sizes) < 2:
        return f"fewer than two groups ({', '.join(sample.names) or 'none'})"
    small = [
        f"{name} (n {size})" for name, size in zip(sample.names, sizes, strict=True) if size < 2
    ]
    if small:
        return "group under two exams: " + ", ".join(small)
    if len(sizes) > 2 and sizes.sum() <= len(sizes):
        return "no more exams than groups"
    return None


def compare_pairs(
    sample: GroupedSample, correction: Literal["bonferroni", "holm"] = "bonferroni"
) -> pd.DataFrame:
    """Compare all pairs of groups on their joint ranks (Dunn 1964), corrected over the pairs.

    Returns
    -------
    One row a pair: group_a, group_b, z (positive where a ranks higher), p, p_adjusted, correction.
    """
    sizes, n = sample.sizes, len(sample.values)
    ranks = stats.rankdata(sample.values)
    means = sum_ranks(sample, ranks) / sizes
    variance = float(scatter_of(ranks)) / (n - 1)
    rows = []
    for a, b in combinations(range(len(sizes)), 2):
        error = np.sqrt(variance * (1 / sizes[a] + 1 / sizes[b]))
        z = float((means[a] - means[b]) / error) if error > 0 else 0.0
        rows.append(
            {
                "group_a": sample.names[a],
                "group_b": sample.names[b],
                "z": z,
                "p": 2 * stats.norm.sf(abs(z)),
            }
        )
    frame = pd.DataFrame(rows)
    p_adjusted = adjust_p(frame["p"].to_numpy(), correction)
    return frame.assign(p_adjusted=p_adjusted, correction=correction)


def compare_spreads(sample: GroupedSample) -> tuple[float, float]:
    """Test whether groups differ in spread, giving F and p (Brown and Forsythe 1974).

    Only finite scores take part. NaN twice where fewer than two groups have two of them, or nothing
    varies.
    """
    placed, distances = measure_distances(sample)
    if len(placed.names) < 2 or not any(
        np.ptp(distances[placed.codes == g]) > 0 for g in range(len(placed.names))
    ):
        return float("nan"), float("nan")
    found = stats.levene(*(placed.of(g) for g in range(len(placed.names))), center="median")
    return float(found.statistic), float(found.pvalue)


def measure_distances(sample: GroupedSample) -> tuple[GroupedSample, FloatArray]:
    """Measure how far each finite score lies from the median of its group.

    Returns
    -------
    The sample of finite scores in the groups that have two of them, n exams, and the distances (n,).
    """
    finite = np.isfinite(sample.values)
    kept = replace(
        sample,
        values=sample.values[finite],
        codes=sample.codes[finite],
        patients=sample.patients[finite],
        units=sample.units[finite],
    ).at_least(2)
    return kept, np.abs(kept.values - group_medians(kept)[kept.codes])
