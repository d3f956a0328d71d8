"""How large a gap these sizes and spreads could have shown, and how a verdict depends on n."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.families import adjust_rows
from tworulers.stats.groups import GroupedSample, group_medians, spread_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

STEPS = 10
"""Bisection steps of the smallest detectable gap: 1/1024 of the widest gap tried."""

WIDEST = 8.0
"""Widest gap tried, in pooled spreads around the group medians."""


@dataclass(frozen=True)
class DetectableGap:
    """The smallest gap that would have been found with the stated power.

    Attributes
    ----------
    gap : in the score's unit; NaN where no gap tried reaches the power, with the reason.
    power_at_observed : power at the gap seen in the data, spread evenly over the groups.
    alpha : level of the test.
    power : power asked for.
    draws : simulated studies.
    """

    gap: float
    power_at_observed: float
    alpha: float
    power: float
    draws: int
    undefined_because: str | None = None


def rank_p_of_draws(
    values: FloatArray, codes: IntArray, weight: NDArray[np.number], k: int
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

    Returns
    -------
    shape (draws,).
    """
    _, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    tied = weight[order].astype(np.float64)
    if len(starts) < len(order):
        tied = np.add.reduceat(tied, starts, axis=0)
    rank = np.cumsum(tied, axis=0) - tied / 2 + 0.5
    member = (codes == np.arange(k)[:, None]).astype(np.float64)
    sums = member @ (weight * rank[place])
    ties = np.einsum("ij,ij,ij->j", tied, tied, tied) - tied.sum(axis=0)
    return _p_of_rank_sums(sums.T, (member @ weight).T, ties)


def _p_of_rank_sums(sums: FloatArray, sizes: FloatArray, ties: FloatArray) -> FloatArray:
    """Rank-test p from rank sums and sizes (draws, k) and tie terms (draws,)."""
    n = sizes.sum(axis=1)
    present = sizes > 0
    groups = present.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        variation = 1 - ties / (n**3 - n)
        if sums.shape[1] == 2:
            product = sizes[:, 0] * sizes[:, 1]
            u = sums[:, 0] - sizes[:, 0] * (sizes[:, 0] + 1) / 2
            error = np.sqrt(product * (n + 1) / 12 * variation)
            z = np.maximum(np.abs(u - product / 2) - 0.5, 0) / error
            p = 2 * stats.norm.sf(z)
        else:
            squares = np.divide(sums**2, sizes, out=np.zeros_like(sums), where=present).sum(axis=1)
            h = (12 / (n * (n + 1)) * squares - 3 * (n + 1)) / variation
            p = stats.chi2.sf(h, np.maximum(groups - 1, 1))
    p = np.where(variation > 1e-12, np.minimum(p, 1.0), 1.0)
    return np.where(groups >= 2, p, np.nan)


def simulate_power(
    sample: GroupedSample,
    locations: FloatArray,
    alpha: float,
    draws: int,
    rng: np.random.Generator,
    noise: Literal["own", "normal"] = "own",
    sd: float | None = None,
) -> float:
    """Share of simulated studies with these group sizes whose rank test has p below alpha.

    Parameters
    ----------
    sample : whose group sizes, and residuals from group medians, are used.
    locations : location of each group, shape (k,).
    alpha : level.
    draws : simulated studies.
    rng : source of chance.
    noise : `own` resamples each group's residuals; `normal` draws noise of standard deviation `sd`.
    """
    if noise == "normal":
        if sd is None:
            raise ValueError("normal noise needs its standard deviation, sd")
        drawn = locations[sample.codes] + rng.normal(0, sd, size=(draws, len(sample.codes)))
        rank = drawn.argsort(axis=1).argsort(axis=1) + 1.0
        member = (sample.codes[:, None] == np.arange(len(locations))).astype(float)
        sizes = np.broadcast_to(member.sum(axis=0), (draws, len(locations)))
        return float((_p_of_rank_sums(rank @ member, sizes, np.zeros(draws)) < alpha).mean())
    weight = _draw_within_groups(sample, draws, rng)
    return _power_at(sample, _residuals(sample), weight, locations, alpha)


def _draw_within_groups(
    sample: GroupedSample, draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw exams with replacement within groups: occurrences, shape (n, draws)."""
    weight = np.zeros((len(sample.codes), draws))
    for g in range(len(sample.names)):
        rows = np.flatnonzero(sample.codes == g)
        size = len(rows)
        chosen = rng.integers(0, size, size=(draws, size)) + size * np.arange(draws)[:, None]
        often = np.bincount(chosen.ravel(), minlength=draws * size).reshape(draws, size)
        weight[rows] = often.T
    return weight


def _residuals(sample: GroupedSample) -> FloatArray:
    """Distance of each score from its group's median, rounded so that ties stay ties."""
    return np.round(sample.values - group_medians(sample)[sample.codes], 9)


def _power_at(
    sample: GroupedSample,
    residuals: FloatArray,
    weight: FloatArray,
    locations: FloatArray,
    alpha: float,
) -> float:
    shifted = np.round(locations[sample.codes] + residuals, 9)
    p = rank_p_of_draws(shifted, sample.codes, weight, len(sample.names))
    return float((p < alpha).mean())


def find_detectable_gap(
    sample: GroupedSample,
    alphas: Sequence[float],
    draws: int,
    rng: np.random.Generator,
    power: float = 0.8,
) -> list[DetectableGap]:
    """Find the smallest gap between first and last group that the rank test finds with 80 % power.

    Groups are shifted evenly in their order; each group's residuals from its median are resampled.
    The same draws serve every gap, so that power rises with the gap. A group's exams count as
    independent.

    Parameters
    ----------
    sample : groups in their order, each with at least two exams.
    alphas : levels of the test, such as alpha and alpha / m.
    draws : simulated studies, 2,000 or more.
    rng : source of chance.
    power : asked for.

    Returns
    -------
    One result a level, in order.
    """
    medians = group_medians(sample)
    k = len(medians)
    reason = None
    if k < 2 or sample.sizes.min() < 2:
        reason = "a group under two exams"
    elif not np.isfinite(medians).all():
        reason = "a group's median is infinite"
    else:
        residuals = _residuals(sample)
        widest = WIDEST * _typical_spread(residuals)
        if widest == 0:
            reason = "scores do not vary within groups"
    if reason is not None:
        nan = float("nan")
        return [DetectableGap(nan, nan, alpha, power, draws, reason) for alpha in alphas]
    weight = _draw_within_groups(sample, draws, rng)
    direction = np.linspace(-0.5, 0.5, k)
    return [
        _bisect(sample, residuals, weight, direction, widest, spread_of(medians), alpha, power)
        for alpha in alphas
    ]


def _typical_spread(residuals: FloatArray) -> float:
    """SD of the finite residuals, or their largest distance where only few differ from 0."""
    finite = residuals[np.isfinite(residuals)]
    return float(max(finite.std(), np.quantile(np.abs(finite), 0.9))) if len(finite) else 0.0


def _bisect(
    sample: GroupedSample,
    residuals: FloatArray,
    weight: FloatArray,
    direction: FloatArray,
    widest: float,
    observed: float,
    alpha: float,
    power: float,
) -> DetectableGap:
    def reached(gap: float) -> float:
        return _power_at(sample, residuals, weight, gap * direction, alpha)

    seen = reached(observed)
    if reached(widest) < power:
        reason = f"no gap reaches a power of {power:.0%} at these group sizes"
        return DetectableGap(float("nan"), seen, alpha, power, weight.shape[1], reason)
    low, high = 0.0, widest
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) >= power else (middle, high)
    return DetectableGap(high, seen, alpha, power, weight.shape[1])


def approximate_power(locations: FloatArray, sizes: IntArray, sd: float, alpha: float) -> float:
    """Kruskal-Wallis' power under normal noise, by the noncentral chi squared (Andrews 1954).

    Parameters
    ----------
    locations, sizes : of the groups, shape (k,).
    sd : of the noise.
    alpha : level.
    """
    k = len(locations)
    centre = np.average(locations, weights=sizes)
    shift = 3 / np.pi * float((sizes * (locations - centre) ** 2).sum()) / sd**2
    return float(stats.ncx2.sf(stats.chi2.ppf(1 - alpha, k - 1), k - 1, shift))


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
    values = scores.to_numpy(dtype=float)
    rows = []
    for size in sizes:
        weight = _draw_whole_set(len(scores), size, draws, rng)
        p = np.full((draws, len(tests)), np.nan)
        for column, (grouping, score) in enumerate(tests):
            codes = groups[grouping].cat.codes.to_numpy(dtype=np.int64)
            y = values[:, scores.columns.get_loc(score)]
            used = (codes >= 0) & ~np.isnan(y)
            if used.any():
                k = len(groups[grouping].cat.categories)
                p[:, column] = rank_p_of_draws(y[used], codes[used], weight[used], k)
        raw, adjusted = (p < alpha).mean(axis=0), (adjust_rows(p) < alpha).mean(axis=0)
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
