"""Whether an uncertainty foretells poor scores equally well in every group, without a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tworulers.auc.matrix import encode_groups
from tworulers.schema.metric import Metric
from tworulers.stats.types import FloatArray, IntArray

BLOCK = 512


@dataclass(frozen=True)
class ConcordanceMatrix:
    """Cell (g, h): chance that the worse exam, of g, looks more suspect than the better one, of h.

    Attributes
    ----------
    groups : K names.
    cells : shape (K, K); NaN where no pair counts (`undefined_because`).
    se : shape (K, K), standard errors; NaN with fewer than two clusters.
    n_pairs : pairs with different scores behind each cell, shape (K, K).
    n_exams : exams used of each group, shape (K,).
    overall, overall_se : concordance over all pairs: the pair-weighted sum of the cells.
    """

    groups: tuple[str, ...]
    cells: FloatArray
    se: FloatArray
    n_pairs: IntArray
    n_exams: IntArray
    overall: float
    overall_se: float

    def undefined_because(self, g: int, h: int) -> str:
        """Why cell (g, h) has no value; empty where it has one."""
        if self.n_pairs[g, h]:
            return ""
        return f"no exam of {self.groups[g]} scores below an exam of {self.groups[h]}"


@dataclass(frozen=True)
class Failures:
    """Which exams count as failed, and by what rule.

    Attributes
    ----------
    event : shape (n,), 1 failed, 0 acceptable, NaN where the exam has no score.
    rule : the rule in words, such as "macro Dice <= 0.8" or "worst 25 % of all exams".
    threshold : the value at which exams fail.
    by_quantile : true where the quantile stood in for the threshold.
    """

    event: FloatArray
    rule: str
    threshold: float
    by_quantile: bool


def measure_concordance(
    uncertainty: ArrayLike,
    score: ArrayLike,
    group: ArrayLike,
    *,
    metric: Metric,
    cluster: ArrayLike | None = None,
    group_order: Sequence[str] | None = None,
) -> ConcordanceMatrix:
    """Estimate C_gh = P(u_i > u_j | i scores worse than j, i in g, j in h), ties in u one half.

    Pairs with equal scores do not count; an infinite distance is worse than any finite one. All
    pairs are compared in blocks, O(n^2) time and O(n) memory. Standard errors sum each exam's
    (or patient's) influence on the ratio of concordant to counted pairs.

    Parameters
    ----------
    uncertainty : shape (n,), higher is more suspect.
    score : shape (n,), a segmentation score; `metric` tells its direction.
    group : shape (n,), names; blank is left out.
    cluster : shape (n,), patients where one has several exams.

    Source: Harrell's concordance index by group; the influence of a ratio of U-statistics.
    """
    suspect = np.asarray(uncertainty, dtype=np.float64)
    quality = np.asarray(score, dtype=np.float64) * metric.sign
    codes, groups = encode_groups(group, group_order)
    if not suspect.shape == quality.shape == codes.shape:
        raise ValueError(
            f"uncertainty {suspect.shape}, score {quality.shape} and group {codes.shape} "
            "need one length"
        )
    used = np.flatnonzero(~np.isnan(suspect) & ~np.isnan(quality) & (codes >= 0))
    units = used if cluster is None else np.asarray(cluster, dtype=object)[used]
    owner = np.unique(np.asarray(units).astype(str), return_inverse=True)[1]
    pairs = _count_pairs(suspect[used], quality[used], codes[used], len(groups))
    return _reduce(pairs, codes[used], groups, owner)


def mark_failures(
    score: ArrayLike,
    group: ArrayLike,
    *,
    metric: Metric,
    structure: str,
    threshold: float,
    quantile: float,
    min_events: int,
) -> Failures:
    """Call an exam failed by a threshold, or by a quantile where a group has too few failures.

    Success is strict (above a threshold of Dice, below one in mm), so an exam at the threshold
    fails. The quantile is taken over the whole set, never within a group: else every group would
    fail equally often by construction. Exams tied with the quantile fail together.

    Parameters
    ----------
    score : shape (n,); NaN stays NaN, an infinite distance fails.
    metric, structure : what is scored.
    threshold : of success.
    quantile : share of the worst exams that fail where the threshold leaves too few.
    min_events : failures that every group must have for the threshold to stand.
    """
    values = np.asarray(score, dtype=np.float64)
    codes, groups = encode_groups(group)
    sign, name = metric.sign, metric.name_of(structure)
    word = "<=" if metric.higher_is_better else ">="
    known = ~np.isnan(values)
    failed = known & ~metric.succeeds(values, threshold)
    counts = np.bincount(codes[failed & (codes >= 0)], minlength=len(groups))
    if groups and counts.min() >= min_events:
        return Failures(_mark(failed, known), f"{name} {word} {threshold:g}", threshold, False)
    ordered = np.sort(sign * values[known])
    if ordered.size == 0:
        return Failures(_mark(failed, known), "no exam has a score", float("nan"), True)
    rank = max(1, int(np.ceil(quantile * ordered.size - 1e-9)))
    cut = float(ordered[rank - 1])
    rule = f"worst {quantile:.0%} of all exams ({name} {word} {sign * cut:.4g})"
    return Failures(_mark(known & (sign * values <= cut), known), rule, sign * cut, True)


def _mark(failed: NDArray[np.bool_], known: NDArray[np.bool_]) -> FloatArray:
    return np.where(known, failed.astype(np.float64), np.nan)


@dataclass(frozen=True)
class _PairCounts:
    """Per exam and group: concordant and counted pairs, as the worse and as the better exam."""

    worse_won: FloatArray
    worse_all: FloatArray
    better_won: FloatArray
    better_all: FloatArray


def _count_pairs(
    suspect: FloatArray, quality: FloatArray, codes: IntArray, n_groups: int
) -> _PairCounts:
    size = suspect.size
    member = np.zeros((size, n_groups))
    member[np.arange(size), codes] = 1.0
    counts = [np.zeros((size, n_groups)) for _ in range(4)]
    for start in range(0, size, BLOCK):
        rows = slice(start, min(start + BLOCK, size))
        worse = (quality[rows, None] < quality[None, :]).astype(np.float64)
        wins = (suspect[rows, None] > suspect[None, :]).astype(np.float64)
        wins += 0.5 * (suspect[rows, None] == suspect[None, :])
        wins *= worse
        counts[0][rows] = wins @ member
        counts[1][rows] = worse @ member
        counts[2] += wins.T @ member[rows]
        counts[3] += worse.T @ member[rows]
    return _PairCounts(*counts)


def _reduce(
    pairs: _PairCounts,
    codes: IntArray,
    groups: tuple[str, ...],
    owner: IntArray,
) -> ConcordanceMatrix:
    side = len(groups)
    n_owners = int(owner.max()) + 1 if owner.size else 0
    won = np.array([pairs.worse_won[codes == g].sum(axis=0) for g in range(side)])
    counted = np.array([pairs.worse_all[codes == g].sum(axis=0) for g in range(side)])
    won, counted = won.reshape(side, side), counted.reshape(side, side)
    cells = np.divide(won, counted, out=np.full((side, side), np.nan), where=counted > 0)
    se = np.full((side, side), np.nan)
    for g, h in zip(*np.nonzero(counted), strict=True):
        influence = np.where(
            codes == g, pairs.worse_won[:, h] - cells[g, h] * pairs.worse_all[:, h], 0
        )
        influence = influence + np.where(
            codes == h, pairs.better_won[:, g] - cells[g, h] * pairs.better_all[:, g], 0
        )
        se[g, h] = _summed_error(influence / counted[g, h], owner, n_owners)
    total = counted.sum()
    overall = float(won.sum() / total) if total else float("nan")
    influence = (pairs.worse_won + pairs.better_won).sum(axis=1) - overall * (
        pairs.worse_all + pairs.better_all
    ).sum(axis=1)
    overall_se = _summed_error(influence / total, owner, n_owners) if total else float("nan")
    return ConcordanceMatrix(
        groups=groups,
        cells=cells,
        se=se,
        n_pairs=counted.astype(np.int64),
        n_exams=np.bincount(codes, minlength=side),
        overall=overall,
        overall_se=overall_se,
    )


def _summed_error(influence: FloatArray, owner: IntArray, n_owners: int) -> float:
    summed = np.bincount(owner, influence, minlength=n_owners)
    touched = int(np.unique(owner[influence != 0]).size)
    if n_owners < 2:
        return float("nan")
    # The factor is that of the exams in question: few of them must not look like many.
    factor = touched / (touched - 1) if touched > 1 else 1.0
    return float(np.sqrt(factor * (summed @ summed)))
