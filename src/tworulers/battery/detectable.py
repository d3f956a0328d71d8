"""How large a gap between groups of these sizes and spreads would have been found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from tworulers.battery.power import rank_p_of_draws
from tworulers.schema.metric import DECIMALS
from tworulers.stats.draw import count_draws, draw_within_groups
from tworulers.stats.groups import GroupedSample, group_medians, order_quantiles, spread_of
from tworulers.stats.permute import permute_sums
from tworulers.stats.ranks import kruskal_h, scatter_of
from tworulers.stats.selection import median_of_differences
from tworulers.stats.types import FloatArray, IntArray

MOST_SIMULATED = 1_000
"""Exams up to which studies are simulated; beyond, power is that of the noncentral chi squared."""

WIDEST = 8.0
"""Widest gap tried, in spreads around the group medians."""

CURVE = 9
"""Gaps at which a power curve is simulated; powers between them are interpolated."""

RESAMPLED = 100
"""Samples drawn anew to see how much the answer owes to the exams that happened to be there."""

STEPS = 7
"""Bisection steps of the gap of such a sample, within a factor of `FACTOR`: to two per cent."""

FACTOR = 4.0

SPREAD = np.array([0.1, 0.9])
"""Quantiles given of the answers of samples drawn anew."""

PERMUTED = 500
"""Permutations that tell how much wider the test statistic scatters where patients are kept together."""


@dataclass(frozen=True)
class DetectableGap:
    """The smallest gap that would have been found with the stated power.

    Attributes
    ----------
    detectable_gap : in the score's unit; NaN where no gap tried reaches the power, with the reason.
    detectable_gap_low, detectable_gap_high : between which four of five such studies would put it, since the spread of
        few exams is itself uncertain; infinite where more than a tenth of them find no such gap.
    power_at_observed : power at the gap seen in the data, spread evenly over the groups.
    alpha : level of the test.
    power : power asked for.
    draws : simulated studies; 0 where the power is asymptotic.
    """

    detectable_gap: float
    detectable_gap_low: float
    detectable_gap_high: float
    power_at_observed: float
    alpha: float
    power: float
    draws: int
    undefined_because: str | None = None


def find_detectable_gap(
    sample: GroupedSample,
    alphas: Sequence[float],
    draws: int,
    rng: np.random.Generator,
    power: float = 0.8,
) -> list[DetectableGap]:
    """Find the smallest gap between first and last group that the rank test finds with 80 % power.

    Groups whose ranks are level are shifted evenly in their order, half of the studies up the order and half down, and
    each group's residuals are drawn anew, by patients. Residuals are first stretched by sqrt(m / (m - 1)) for m
    patients, since those from a group's own median are too short. One curve, from the same draws, serves all levels.
    Where patients have several exams, the statistic is divided by what it has on average, for each degree of freedom,
    when labels are permuted with patients kept together.

    Parameters
    ----------
    sample : groups in their order, each with at least two exams.
    alphas : levels of the test, such as alpha and alpha / m.
    draws : simulated studies, 2,000 or more; the same source of chance gives the same draws to every score.
    rng : source of chance.
    power : asked for.

    Returns
    -------
    One result a level, in order.
    """
    if reason := _name_fault(sample):
        return [not_found(alpha, reason, power) for alpha in alphas]
    noise = _take_noise(sample)
    asymptotic = len(sample.codes) > MOST_SIMULATED
    seen, widest = spread_of(group_medians(sample)), WIDEST * _typical_spread(noise.values)
    inflation = measure_inflation(sample, rng)
    starts = [
        _approximate(noise, need_of(a, len(noise.names), power) * inflation, widest) for a in alphas
    ]
    if asymptotic:
        found, at_seen = starts, _approximate_power(noise, seen, alphas, inflation)
    else:
        found, at_seen = _simulate(
            noise, (seen, widest), starts, alphas, draws, rng, inflation, power
        )
    known = next((gap for gap in found if np.isfinite(gap)), np.nan)
    low, high = _resample(noise, known, rng) / known
    none = f"no gap reaches a power of {power:.0%} at these group sizes"
    return [
        DetectableGap(
            *(gap, gap * low, gap * high, reached, alpha, power, 0 if asymptotic else draws),
            undefined_because=none if np.isnan(gap) else None,
        )
        for gap, reached, alpha in zip(found, at_seen, alphas, strict=True)
    ]


def not_found(alpha: float, reason: str, power: float = 0.8) -> DetectableGap:
    """Say why no gap can be given."""
    return DetectableGap(np.nan, np.nan, np.nan, np.nan, alpha, power, 0, reason)


def measure_inflation(sample: GroupedSample, rng: np.random.Generator) -> float:
    """Give the mean of H over permutations that keep patients together, as a multiple of its k - 1 of single exams.

    1 where every patient has one exam, and at least 1.
    """
    if len(np.unique(sample.patients)) == len(sample.patients):
        return 1.0
    ranks = stats.rankdata(np.round(sample.values, DECIMALS))
    permuted = permute_sums(sample, ranks, PERMUTED, rng)
    h = kruskal_h(permuted.sums, permuted.sizes, scatter_of(ranks))
    return float(max(h.mean() / (len(sample.names) - 1), 1.0))


@cache
def need_of(alpha: float, k: int, power: float) -> float:
    """Find the noncentrality with which chi squared of k - 1 degrees of freedom reaches a power at a level."""
    critical = stats.chi2.isf(alpha, k - 1)
    return float(
        optimize.brentq(
            lambda x: stats.ncx2.sf(critical, k - 1, x) - power, 1e-6, 50 + 4 * critical
        )
    )


def _name_fault(sample: GroupedSample) -> str | None:
    medians = group_medians(sample)
    if len(sample.names) < 2 or sample.sizes.min() < 2:
        return "a group under two exams"
    if not np.isfinite(medians).all():
        return "a group's median is infinite"
    if _typical_spread(np.round(sample.values - medians[sample.codes], DECIMALS)) == 0:
        return "scores do not vary within groups"
    if _count_patients(sample).min() < 2:
        return "a group under two patients"
    return None


def _count_patients(sample: GroupedSample) -> FloatArray:
    return np.array(
        [len(np.unique(sample.patients[sample.codes == g])) for g in range(len(sample.names))],
        dtype=np.float64,
    )


def _take_noise(sample: GroupedSample) -> GroupedSample:
    """Put stretched residuals in the place of scores, groups level in their ranks, and patients in that of units."""
    stretch = _stretch(sample)[sample.codes]
    residuals = stretch * (sample.values - group_medians(sample)[sample.codes])
    parts = [residuals[sample.codes == g] for g in range(len(sample.names))]
    off = np.array([median_of_differences(part, residuals) for part in parts])
    values = np.round(residuals - np.where(np.isfinite(off), off, 0.0)[sample.codes], DECIMALS)
    return replace(sample, values=values, units=sample.patients)


def _stretch(sample: GroupedSample) -> FloatArray:
    """Give the factors that make up for residuals taken from a group's own location, (k,)."""
    n = _count_patients(sample)
    return np.asarray(np.sqrt(n / (n - 1)))


def _typical_spread(residuals: FloatArray) -> float:
    """SD of the finite residuals, or their largest distance where only few differ from 0."""
    finite = residuals[np.isfinite(residuals)]
    return float(max(finite.std(), np.quantile(np.abs(finite), 0.9))) if len(finite) else 0.0


def _direct(sample: GroupedSample) -> FloatArray:
    """Give the place of each group in a gap of 1, (k,)."""
    return np.linspace(-0.5, 0.5, len(sample.names))


def _measure_h(noise: GroupedSample, gap: float) -> float:
    """Give the noncentrality of the residuals themselves with the groups so far apart."""
    place = gap * _direct(noise)[noise.codes]
    return float(_part_rows(noise.values[None], place[None], noise.codes, len(noise.names))[0])


def _approximate(noise: GroupedSample, need: float, widest: float) -> float:
    """Find the gap with the noncentrality that is needed; NaN where the widest has less."""
    if _measure_h(noise, widest) < need:
        return np.nan
    low, high = 0.0, widest
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if _measure_h(noise, middle) >= need else (middle, high)
    return high


def _approximate_power(
    noise: GroupedSample, gap: float, alphas: Sequence[float], inflation: float
) -> list[float]:
    freedom, noncentral = len(noise.names) - 1, max(_measure_h(noise, gap) / inflation, 1e-9)
    critical = stats.chi2.isf(np.array(alphas), freedom)
    return [float(reached) for reached in stats.ncx2.sf(critical, freedom, noncentral)]


def _simulate(
    noise: GroupedSample,
    gaps: tuple[float, float],
    starts: list[float],
    alphas: Sequence[float],
    draws: int,
    rng: np.random.Generator,
    inflation: float,
    power: float,
) -> tuple[list[float], list[float]]:
    """Give the gap that reaches the power at each level, and the power of each at the gap seen; `gaps` are the one seen
    and the widest tried.
    """
    seen, widest = gaps
    weight, k = _draw_weights(noise, draws, rng), len(noise.names)
    direction, levels = _direct(noise)[noise.codes], np.array(alphas)

    def reach(gap: float) -> FloatArray:
        parts = []
        for sign, part in ((1.0, weight[:, ::2]), (-1.0, weight[:, 1::2])):
            shifted = np.round(sign * gap * direction + noise.values, DECIMALS)
            parts.append(rank_p_of_draws(shifted, noise.codes, part, k, inflation))
        return np.asarray((np.concatenate(parts)[:, None] < levels).mean(axis=0))

    known = [gap for gap in starts if np.isfinite(gap)]
    low, high = (
        (min(known) * 0.6, min(max(known) * 1.6, widest)) if known else (widest / 20, widest)
    )
    curve = _trace(reach, low, high, widest, power)
    return [_cross(*curve, place, power) for place in range(len(alphas))], list(reach(seen))


def _draw_weights(
    noise: GroupedSample, draws: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Draw patients with replacement within groups: occurrences of each exam, (n, draws)."""
    weight = np.zeros((len(noise.codes), draws), dtype=np.float32)
    for g in range(len(noise.names)):
        rows = np.flatnonzero(noise.codes == g)
        _, patient = np.unique(noise.patients[rows], return_inverse=True)
        count = int(patient.max()) + 1
        weight[rows] = count_draws(np.arange(count), count, draws, rng).T[patient]
    return weight


def _trace(
    reach: Callable[[float], FloatArray], low: float, high: float, widest: float, power: float
) -> tuple[FloatArray, FloatArray]:
    """Simulate powers over a range of gaps that is widened until all levels cross the power, if they do."""
    gaps = np.geomspace(low, high, CURVE)
    powers = np.array([reach(gap) for gap in gaps])
    if powers[0].max() >= power:
        more = np.geomspace(low / 16, low, CURVE)[:-1]
        gaps, powers = np.append(more, gaps), np.vstack([[reach(gap) for gap in more], powers])
    if powers[-1].min() < power and high < widest:
        more = np.geomspace(high, widest, CURVE)[1:]
        gaps, powers = np.append(gaps, more), np.vstack([powers, [reach(gap) for gap in more]])
    return gaps, powers


def _cross(gaps: FloatArray, powers: FloatArray, place: int, power: float) -> float:
    """Find where the power of one level is first reached, between gaps by the normal quantiles of their powers."""
    reached = powers[:, place] >= power
    if not reached.any():
        return np.nan
    first = int(reached.argmax())
    if first == 0:
        return float(gaps[0])
    low, high = stats.norm.ppf(np.clip(powers[first - 1 : first + 1, place], 1e-4, 1 - 1e-4))
    share = (stats.norm.ppf(power) - low) / (high - low) if high > low else 1.0
    return float(gaps[first - 1] + share * (gaps[first] - gaps[first - 1]))


def _resample(noise: GroupedSample, gap: float, rng: np.random.Generator) -> FloatArray:
    """Give the 10 and 90 % quantiles of the detectable gap over samples drawn anew, (2,).

    Each has the noncentrality of the sample itself where its own residuals, stretched again, are so far apart.
    """
    if np.isnan(gap):
        return np.full(2, np.nan)
    k, direction = len(noise.names), _direct(noise)
    need = _measure_h(noise, gap)
    values, codes = _redraw_noise(noise, rng)
    low, high = (np.full(len(values), factor) for factor in (1 / FACTOR, FACTOR))
    place = gap * direction[codes]
    found = _part_rows(values, high[:, None] * place, codes, k) >= need
    for _ in range(STEPS):
        middle = np.sqrt(low * high)
        enough = _part_rows(values, middle[:, None] * place, codes, k) >= need
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return order_quantiles(np.where(found, np.sqrt(low * high), np.inf), SPREAD) * gap


def _redraw_noise(noise: GroupedSample, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Draw patients anew within groups: stretched residuals (draws, width), NaN beyond a draw's exams, and the group of
    each column.
    """
    draws = int(np.clip(RESAMPLED * MOST_SIMULATED / len(noise.codes), 20, RESAMPLED))
    padded = np.append(noise.values, np.nan)
    drawn = draw_within_groups(noise, draws=draws, rng=rng)
    parts = [factor * padded[one] for factor, one in zip(_stretch(noise), drawn, strict=True)]
    codes = np.repeat(np.arange(len(parts), dtype=np.int64), [part.shape[1] for part in parts])
    return np.concatenate(parts, axis=1), codes


def _part_rows(values: FloatArray, place: FloatArray, codes: IntArray, k: int) -> FloatArray:
    """H of the ranks' change, half of it, as the groups of each row go to their places and to the opposite ones.

    It is the noncentrality, rid of where the groups happen to lie. Ties in any order; NaN takes no part.
    """
    there = ~np.isnan(values)
    change = np.where(there, _rank_rows(values + place) - _rank_rows(values - place), 0.0) / 2
    member = (codes[:, None] == np.arange(k)).astype(np.float64)
    sizes = there @ member
    n = sizes.sum(axis=1)
    return np.asarray(((change @ member) ** 2 / sizes).sum(axis=1) * 12 / (n * (n + 1)))


def _rank_rows(values: FloatArray) -> FloatArray:
    ranks = np.empty(values.shape)
    order = np.argsort(values, axis=1)
    np.put_along_axis(ranks, order, np.arange(1.0, values.shape[1] + 1)[None], axis=1)
    return ranks
