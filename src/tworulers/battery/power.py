"""How often the rank test would be significant in studies drawn anew, and how a verdict depends on n."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.schema.metric import DECIMALS
from tworulers.stats.families import adjust_p
from tworulers.stats.ranks import choose_kind
from tworulers.stats.types import FloatArray, IntArray

CACHED = 30_000
"""Weights taken at a time, so that all that is made of them stays in the processor's cache."""


def rank_p_of_draws(
    values: FloatArray, codes: IntArray, weight: NDArray[np.number], k: int, inflation: float = 1.0
) -> FloatArray:
    """Rank-test p of resampled studies in which exam i occurs `weight[i, b]` times.

    Two groups: Mann-Whitney by the normal approximation, corrected for ties and continuity; more:
    Kruskal-Wallis by chi squared over the groups present. NaN where fewer than two groups are
    present, 1 where no value varies.

    Parameters
    ----------
    values : scores of the exams, shape (n,), without NaN.
    codes : group of each exam, shape (n,).
    weight : occurrences, shape (n, draws).
    k : number of groups.
    inflation : how much more the rank sums scatter than those of independent exams, as a factor of their variance.

    Returns
    -------
    shape (draws,).
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    kind = np.result_type(weight, np.float32)
    member = (codes[order] == np.arange(k)[:, None]).astype(kind)
    step = max(1, CACHED // len(order))
    parts = [
        _sum_ranks(weight[order, at : at + step].astype(kind, copy=False), starts, member)
        for at in range(0, weight.shape[1], step)
    ]
    sizes, sums, cubes = (np.concatenate(part, axis=-1).T for part in zip(*parts, strict=True))
    n, groups = sizes.sum(axis=1), (sizes > 0).sum(axis=1)
    scatter = (n**3 - cubes) / 12 * inflation
    with np.errstate(divide="ignore", invalid="ignore"):
        p = choose_kind(k).p_of_sums(sums, sizes, scatter)
    return np.where(groups < 2, np.nan, np.where(scatter > 0, p, 1.0))


def _sum_ranks(
    tied: NDArray[np.number], starts: IntArray, member: NDArray[np.number]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Give exams and rank sums of each group, both (k, draws), and the sum of cubed ties, (draws,)."""
    tied_at = np.diff(starts, append=len(tied))
    parts = np.add.reduceat(tied, starts, axis=0) if len(starts) < len(tied) else tied
    rank = np.cumsum(parts, axis=0) - parts / 2 + np.asarray(0.5, dtype=tied.dtype)
    if len(starts) < len(tied):
        rank = np.repeat(rank, tied_at, axis=0)
    cubes = np.einsum("ij,ij,ij->j", parts, parts, parts)
    found = member @ tied, member @ (tied * rank), cubes
    sizes, sums, third = (np.asarray(one, dtype=np.float64) for one in found)
    return sizes, sums, third


def trace_verdicts(
    scores: pd.DataFrame,
    groups: pd.DataFrame,
    sizes: Sequence[int],
    draws: int,
    rng: np.random.Generator,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Give the probability of a significant verdict for each test as the number of exams grows.

    Exams are drawn with replacement from the audited ones, so this is what repeating the study on
    people like these would show. The whole family is corrected within each draw.

    Parameters
    ----------
    scores : one row an exam, one column a score; NaN is undefined.
    groups : same index, one ordered categorical column a grouping.
    sizes : numbers of exams.
    draws : studies drawn at each size.
    rng : source of chance.
    alpha : level.

    Returns
    -------
    One row a size, grouping and score: n, grouping, score, probability (raw p below alpha) and
    probability_fdr (adjusted p below alpha).
    """
    if not scores.index.equals(groups.index):
        raise ValueError("scores and groups are about different exams")
    tests = [(grouping, score) for grouping in groups for score in scores]
    values = np.round(scores.to_numpy(dtype=float), DECIMALS)
    rows = []
    for size in sizes:
        weight = _draw_whole_set(len(scores), size, draws, rng)
        p = np.full((draws, len(tests)), np.nan)
        for column, (grouping, score) in enumerate(tests):
            codes = np.asarray(groups[grouping].cat.codes, dtype=np.int64)
            y = values[:, scores.columns.get_loc(score)]
            used = (codes >= 0) & ~np.isnan(y)
            if used.any():
                k = len(groups[grouping].cat.categories)
                p[:, column] = rank_p_of_draws(y[used], codes[used], weight[used], k)
        raw, adjusted = (p < alpha).mean(axis=0), (adjust_p(p) < alpha).mean(axis=0)
        for column, (grouping, score) in enumerate(tests):
            rows.append(
                {
                    "n": size,
                    "grouping": grouping,
                    "score": score,
                    "probability": raw[column],
                    "probability_fdr": adjusted[column],
                }
            )
    return pd.DataFrame(rows)


def _draw_whole_set(n: int, size: int, draws: int, rng: np.random.Generator) -> IntArray:
    """Draw `size` of n exams with replacement: occurrences, shape (n, draws)."""
    return np.ascontiguousarray(rng.multinomial(size, np.full(n, 1 / n), size=draws).T)
