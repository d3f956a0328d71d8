"""Whether groups differ in the order of their scores, by how much, and which pairs do."""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.groups import GroupedSample

FloatArray = NDArray[np.float64]

EXACT_BELOW = 8
"""Mann-Whitney's p is exact where the smaller group has at most this many exams and no values tie.
"""


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

    test: str
    method: str
    statistic: float
    p: float
    effect: float
    effect_name: str
    effect_textbook: float
    effect_textbook_name: str
    n: int
    highest: int | None
    lowest: int | None
    undefined_because: str | None = None


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
    k, n = len(sizes), int(sizes.sum())
    too_few = _name_fault(sample)
    two = k == 2
    names = (
        ("rank_biserial", "cliffs_delta")
        if two
        else ("epsilon_squared", "epsilon_squared_textbook")
    )
    if too_few:
        nan = float("nan")
        return RankTest("", "", nan, nan, nan, names[0], nan, names[1], n, None, None, too_few)
    ranks = stats.rankdata(sample.values)
    means = np.bincount(sample.codes, weights=ranks) / sizes
    if np.ptp(ranks) == 0:
        statistic = float(sizes.prod()) / 2 if two else 0.0
        test = "mann_whitney" if two else "kruskal_wallis"
        return RankTest(
            test, "no variation", statistic, 1.0, 0.0, names[0], 0.0, names[1], n, None, None
        )
    highest: int | None = int(means.argmax())
    lowest: int | None = int(means.argmin())
    if means.max() == means.min():
        highest = lowest = None
    if two:
        tied = len(np.unique(sample.values)) < n
        exact = sizes.min() <= EXACT_BELOW and not tied
        found = stats.mannwhitneyu(
            sample.of(0), sample.of(1), method="exact" if exact else "asymptotic"
        )
        effect = 1 - 2 * float(found.statistic) / float(sizes.prod())
        method = "exact" if exact else "normal"
        u, p = float(found.statistic), float(found.pvalue)
        return RankTest(
            "mann_whitney", method, u, p, effect, names[0], -effect, names[1], n, highest, lowest
        )
    h = kruskal_statistic(ranks, means * sizes, sizes)
    p = float(stats.chi2.sf(h, k - 1))
    epsilon, textbook = (h - k + 1) / (n - k), h / (n - 1)
    return RankTest(
        "kruskal_wallis", "chi2", h, p, epsilon, names[0], textbook, names[1], n, highest, lowest
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


def kruskal_statistic(
    ranks: FloatArray, rank_sums: FloatArray, sizes: NDArray[np.integer]
) -> float:
    """Kruskal and Wallis' H, corrected for ties, from mid-ranks (n,) and the groups' rank sums
    (k,).
    """
    n = len(ranks)
    raw = 12 / (n * (n + 1)) * float((rank_sums**2 / sizes).sum()) - 3 * (n + 1)
    return raw / (1 - tie_term(ranks) / (n**3 - n))


def tie_term(values: FloatArray) -> float:
    """Sum of t^3 - t over all runs of t equal values."""
    _, counts = np.unique(values, return_counts=True)
    return float((counts.astype(float) ** 3 - counts).sum())


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
    means = np.bincount(sample.codes, weights=ranks, minlength=len(sizes)) / sizes
    variance = n * (n + 1) / 12 - tie_term(ranks) / (12 * (n - 1))
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
    frame["p_adjusted"] = _correct(frame["p"].to_numpy(), correction)
    return frame.assign(correction=correction)


def _correct(p: FloatArray, correction: str) -> FloatArray:
    """Correct the p-values of all pairs."""
    if correction == "bonferroni":
        return np.minimum(p * len(p), 1.0)
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def compare_spreads(sample: GroupedSample) -> tuple[float, float]:
    """Test whether groups differ in spread, giving F and p (Brown and Forsythe 1974).

    Only finite scores take part. NaN twice where fewer than two groups have two of them, or nothing
    varies.
    """
    parts = [part[np.isfinite(part)] for part in (sample.of(g) for g in range(len(sample.names)))]
    parts = [part for part in parts if len(part) >= 2]
    distances = [np.abs(part - np.median(part)) for part in parts]
    if len(parts) < 2 or not any(np.ptp(d) > 0 for d in distances):
        return float("nan"), float("nan")
    found = stats.levene(*parts, center="median")
    return float(found.statistic), float(found.pvalue)
