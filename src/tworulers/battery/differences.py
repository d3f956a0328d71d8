"""How far two groups lie apart, with an interval: in medians, means and success rates."""

import numpy as np
from scipy import sparse, stats

from tworulers.stats.draw import count_draws
from tworulers.stats.groups import GroupedSample, group_means, group_medians
from tworulers.stats.interval import bound_pairs, percentile_interval
from tworulers.stats.rates import count_effective, newcombe_intervals, success_rate
from tworulers.stats.types import BoolArray, FloatArray, IntArray, Row

CHUNK = 2_000_000
"""Resampled values held in memory at a time."""


def draw_locations(
    sample: GroupedSample, draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw bootstrap medians and means (of finite scores) of each group, each (draws, k).

    Exams are drawn within groups. Where a unit (patient) has several exams, units are drawn from the
    whole set. NaN for a group without exams, or lost in a draw.
    """
    if len(np.unique(sample.units)) < len(sample.units):
        return _draw_cluster_locations(sample, draws, rng)
    return _draw_medians(sample, draws, rng), _draw_means(sample, draws, rng)


def _draw_medians(sample: GroupedSample, draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw medians without drawing exams.

    The median of n draws with replacement is an order statistic of n uniform positions, which is
    beta distributed, so that two random numbers a draw replace n (Efron 1979).
    """
    drawn = np.full((draws, len(sample.names)), np.nan)
    for g in range(len(sample.names)):
        ordered = np.sort(sample.of(g))
        n = len(ordered)
        if n == 0:
            continue
        half = (n + 1) // 2
        first = rng.beta(half, n - half + 1, size=draws)
        low = ordered[np.minimum((first * n).astype(int), n - 1)]
        if n % 2:
            drawn[:, g] = low
            continue
        # the next of the n - half positions above the first is their minimum
        second = first + (1 - first) * rng.beta(1, n - half, size=draws)
        high = ordered[np.minimum((second * n).astype(int), n - 1)]
        drawn[:, g] = np.where(low == high, low, (low + high) / 2)
    return drawn


def _draw_means(sample: GroupedSample, draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw means of the finite scores, some draws at a time."""
    drawn = np.full((draws, len(sample.names)), np.nan)
    for g in range(len(sample.names)):
        values = sample.of(g)
        values = values[np.isfinite(values)]
        if not len(values):
            continue
        step = max(1, CHUNK // len(values))
        for start in range(0, draws, step):
            now = min(step, draws - start)
            chosen = rng.integers(0, len(values), size=(now, len(values)))
            drawn[start : start + now, g] = values[chosen].mean(axis=1)
    return drawn


def _draw_cluster_locations(
    sample: GroupedSample, draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw patients from the whole set; medians and means of each group, (draws, k)."""
    k = len(sample.names)
    _, unit = np.unique(sample.units, return_inverse=True)
    count = int(unit.max()) + 1
    medians, means = np.full((draws, k), np.nan), np.full((draws, k), np.nan)
    step = max(1, CHUNK // max(count, len(unit)))
    for start in range(0, draws, step):
        now = min(step, draws - start)
        often = count_draws(np.arange(count), count, now, rng)
        for g in range(k):
            rows = np.flatnonzero(sample.codes == g)
            rows = rows[np.argsort(sample.values[rows], kind="stable")]
            weight = often[:, unit[rows]]
            medians[start : start + now, g] = _weighted_medians(sample.values[rows], weight)
            finite = np.isfinite(sample.values[rows])
            total = weight[:, finite].sum(axis=1)
            summed = weight[:, finite] @ sample.values[rows][finite]
            means[start : start + now, g] = np.divide(
                summed, total, out=np.full(now, np.nan), where=total > 0
            )
    return medians, means


def _weighted_medians(ordered: FloatArray, weight: IntArray) -> FloatArray:
    """Median of ordered values (n,) that count `weight` (draws, n) times; NaN without weight."""
    if not len(ordered):
        return np.full(len(weight), np.nan)
    cumulated = weight.cumsum(axis=1)
    total = cumulated[:, -1]
    low = ordered[np.argmax(cumulated >= ((total + 1) // 2)[:, None], axis=1)]
    high = ordered[np.argmax(cumulated >= (total // 2 + 1)[:, None], axis=1)]
    middle = np.where(low == high, low, (low + high) / 2)
    return np.where(total > 0, middle, np.nan)


def gap_interval(drawn: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Give the percentile interval of the largest minus the smallest group location.

    The gap cannot be negative, so that its interval never holds 0 well; it is a size, not a test.

    Parameters
    ----------
    drawn : bootstrap locations, shape (draws, k).
    level : confidence level.
    """
    usable = drawn[np.isfinite(drawn).all(axis=1)]
    return percentile_interval(np.ptp(usable, axis=1), level)


def expand_level(level: float, patients: int, groups: int) -> float:
    """Give the level at which a percentile interval of few patients covers as often as it should.

    A bootstrap distribution is as narrow as n - k over n says, and normal where t has tails
    (Hesterberg 2015, expanded percentile interval).

    Parameters
    ----------
    level : wanted.
    patients : that are drawn.
    groups : whose locations are estimated; with no more patients than groups the level is 1.
    """
    freedom = patients - groups
    if freedom < 1:
        return 1.0
    reach = stats.t.isf((1 - level) / 2, freedom) * np.sqrt(patients / freedom)
    return float(1 - 2 * stats.norm.sf(reach))


def compare_groups(
    sample: GroupedSample,
    success: BoolArray | None,
    medians: FloatArray,
    means: FloatArray,
    level: float = 0.95,
) -> list[Row]:
    """Give the signed differences of every pair of groups, second minus first.

    Parameters
    ----------
    sample : the scores.
    success : whether an exam succeeds, shape (n,); None where no threshold defines it.
    medians, means : bootstrap locations, each (draws, k).
    level : confidence level.

    Returns
    -------
    One row a pair: group_a, group_b, n_a, n_b, then value, low and high of median_difference and
    mean_difference (percentile intervals) and of rate_difference (Newcombe's interval, over the
    effective numbers of exams where a patient has several; groups that share patients count as
    independent there, which is wide where a patient's exams are alike). A pair with a group under
    two exams has no interval. Percentile intervals of repeated patients are at `expand_level`.
    """
    n = sample.sizes
    first, second = np.triu_indices(len(n), 1)
    enough = np.minimum(n[first], n[second]) >= 2
    levels = np.where(enough, _find_levels(sample, first, second, level), np.nan)
    rates = np.full((3, len(first)), np.nan)
    if success is not None:
        hits, effective = count_effective(sample, success)
        rate = success_rate(hits, effective)
        rates[0] = rate[second] - rate[first]
        rates[1:, enough] = newcombe_intervals(
            hits, effective, first[enough], second[enough], level
        )
    columns = {
        "n_a": n[first],
        "n_b": n[second],
        **_sign("median_difference", group_medians(sample), medians, (first, second), levels),
        **_sign("mean_difference", group_means(sample), means, (first, second), levels),
        **_name_bounds("rate_difference", *rates),
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {"group_a": sample.names[a], "group_b": sample.names[b]}
        | dict(zip(columns, row, strict=True))
        for a, b, row in zip(first, second, rows, strict=True)
    ]


def _find_levels(
    sample: GroupedSample, first: IntArray, second: IntArray, level: float
) -> FloatArray:
    """Give the level of each pair's percentile interval, (pairs,)."""
    if not sample.repeats:
        return np.full(len(first), level)
    k = len(sample.names)
    person = np.unique(sample.patients, return_inverse=True)[1]
    person, code = np.divmod(np.unique(person * k + sample.codes), k)
    member = sparse.csr_array((np.ones(len(code), dtype=np.int64), (code, person)))
    shared = (member @ member.T).toarray()
    patients = shared[first, first] + shared[second, second] - shared[first, second]
    at, which = np.unique(patients, return_inverse=True)
    return np.array([expand_level(level, int(count), 2) for count in at])[which]


def _sign(
    name: str,
    location: FloatArray,
    drawn: FloatArray,
    pairs: tuple[IntArray, IntArray],
    levels: FloatArray,
) -> dict[str, FloatArray]:
    """Difference of two locations with its percentile interval; NaN where infinity takes part."""
    finite = np.where(np.isfinite(location), location, np.nan)
    value = finite[pairs[1]] - finite[pairs[0]]
    return _name_bounds(name, value, *bound_pairs(drawn, *pairs, levels))


def _name_bounds(
    name: str, value: FloatArray, low: FloatArray, high: FloatArray
) -> dict[str, FloatArray]:
    return {name: value, f"{name}_low": low, f"{name}_high": high}
