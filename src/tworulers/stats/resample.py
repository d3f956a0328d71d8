"""How sure a disparity of success rates is: bootstrap intervals of DIR and DPD, drawn and exact."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.interval import Interval, accelerate, degenerate_interval, reduce_draws
from tworulers.stats.rates import TOLERANCE, impact_ratio
from tworulers.stats.types import BoolArray, FloatArray, IntArray

Statistic = Callable[[NDArray[np.number], NDArray[np.number]], FloatArray]

MOST_TABLES = 4_000_000
"""Success tables, or pairs of a lowest and a highest rate, above which no exact interval is given."""

NEGLIGIBLE = 1e-15
"""Probability below which a group's success count is left out of the enumeration."""


@dataclass(frozen=True)
class UnitPatterns:
    """Exams or patients, told apart only by what they add to the success table.

    Attributes
    ----------
    successes, n : what one unit of each pattern adds to each group, shape (patterns, k).
    count : how many units have the pattern, shape (patterns,).
    """

    successes: IntArray
    n: IntArray
    count: IntArray


def find_patterns(codes: IntArray, success: BoolArray, units: IntArray, k: int) -> UnitPatterns:
    """Count units by what they add to the success table.

    Drawing exams one by one and drawing how often each pattern occurs are the same experiment; the
    second needs one multinomial number a pattern.

    Parameters
    ----------
    codes : group of each exam, shape (n,), 0 to k - 1.
    success : whether each exam succeeds, shape (n,).
    units : exam's unit of resampling, shape (n,): its own number, or its patient's.
    k : number of groups.
    """
    _, unit = np.unique(units, return_inverse=True)
    table = np.zeros((int(unit.max()) + 1 if len(unit) else 0, 2 * k), dtype=np.int64)
    np.add.at(table, (unit, codes), success.astype(np.int64))
    np.add.at(table, (unit, codes + k), 1)
    patterns, count = np.unique(table, axis=0, return_counts=True)
    return UnitPatterns(patterns[:, :k], patterns[:, k:], count.astype(np.int64))


def draw_tables(
    patterns: UnitPatterns, draws: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw units with replacement from the whole set; group sizes vary from draw to draw.

    Returns
    -------
    Successes and n of each group, each (draws, k).
    """
    total = int(patterns.count.sum())
    often = rng.multinomial(total, patterns.count / total, size=draws)
    return often @ patterns.successes, often @ patterns.n


def bootstrap_interval(
    patterns: UnitPatterns,
    statistic: Statistic,
    tables: tuple[IntArray, IntArray],
    level: float = 0.95,
) -> Interval:
    """Give the BCa interval of DIR or DPD with its percentile interval (Efron 1987).

    Draws that lose a group, or in which nobody succeeds, have no value and are left out. The
    acceleration leaves out one unit at a time.

    Parameters
    ----------
    patterns : the units.
    statistic : `impact_ratio` or `parity_difference`.
    tables : successes and n of each draw, each (draws, k), as `draw_tables` gives them.
    level : confidence level.
    """
    successes, n = patterns.count @ patterns.successes, patterns.count @ patterns.n
    estimate = float(statistic(successes, n))
    left_out = statistic(successes - patterns.successes, n - patterns.n)
    drawn = statistic(*tables)
    return reduce_draws(
        estimate, drawn[~np.isnan(drawn)], _acceleration(left_out, patterns.count), level
    )


def _acceleration(left_out: FloatArray, count: IntArray) -> float:
    """Skewness of the jackknife values, each of `count` units; NaN where they do not vary."""
    if np.isnan(left_out).any():
        return float("nan")
    u = np.average(left_out, weights=count) - left_out
    spread = float(count @ u**2)
    return float(count @ u**3) / (6 * spread**1.5) if spread > TOLERANCE**2 else float("nan")


def exact_interval(successes: IntArray, n: IntArray, level: float = 0.95) -> Interval:
    """Give DIR's stratified bootstrap interval in the limit of infinitely many draws.

    With group sizes fixed, the groups' success counts are independent binomials, so that every ratio of two rates has
    its probability, by listing all tables or, where these are more, all pairs of rates; nothing is random.

    Parameters
    ----------
    successes, n : counts, shape (k,), every n at least 1.
    level : confidence level.
    """
    estimate = float(impact_ratio(successes, n))
    if np.isnan(estimate):
        return Interval(note="no exam of any group succeeds (0/0)")
    found = _weigh_ratios(successes, n)
    if found is None:
        return Interval(note=f"more than {MOST_TABLES:,} success tables; see the drawn intervals")
    ratio, weight = found
    order = np.argsort(ratio)
    ratio, cumulated = ratio[order], np.cumsum(weight[order])

    def at(shares: FloatArray) -> FloatArray:
        """The smallest values whose cumulated probability reaches each share."""
        positions = np.searchsorted(cumulated, shares - TOLERANCE)
        return np.asarray(ratio[np.minimum(positions, len(ratio) - 1)])

    def until(value: float) -> float:
        """Probability of all values up to and including this one."""
        position = int(np.searchsorted(ratio, value, side="right"))
        return float(cumulated[position - 1]) if position else 0.0

    if np.abs(ratio - estimate).max() <= TOLERANCE:
        return degenerate_interval(estimate, 0, "every table gives the estimate")
    below, up_to = until(estimate - TOLERANCE), until(estimate + TOLERANCE)
    acceleration = _stratified_acceleration(successes, n)
    return accelerate(at, below + (up_to - below) / 2, acceleration, level)


def _weigh_ratios(successes: IntArray, n: IntArray) -> tuple[FloatArray, FloatArray] | None:
    """Give every DIR that can occur and its probability, repeated or not; None where there are too many."""
    supports = []
    for s, size in zip(successes, n, strict=True):
        count = np.arange(size + 1)
        mass = stats.binom.pmf(count, size, s / size)
        supports.append((count[mass > NEGLIGIBLE] / size, mass[mass > NEGLIGIBLE]))
    rates = np.unique(np.concatenate([rate for rate, _ in supports]))
    tables = float(np.prod([float(len(rate)) for rate, _ in supports]))
    if min(tables, len(rates) ** 2) > MOST_TABLES:
        return None
    list_all = _list_tables if tables <= len(rates) ** 2 else _list_extremes
    worst, best, weight = list_all(supports)
    defined = (best > 0) & (weight > 0)
    weight = weight[defined]
    return worst[defined] / best[defined], weight / weight.sum()


def _list_tables(
    supports: list[tuple[FloatArray, FloatArray]],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """List the lowest and the highest rate of every table, and its probability, from each group's rates and theirs."""
    worst, weight = supports[0]
    best = worst
    for rate, mass in supports[1:]:
        worst = np.minimum.outer(worst, rate).ravel()
        best = np.maximum.outer(best, rate).ravel()
        weight = np.multiply.outer(weight, mass).ravel()
    return worst, best, weight


def _list_extremes(
    supports: list[tuple[FloatArray, FloatArray]],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """List every pair of a lowest and a highest rate, and its probability, as `_list_tables` does of tables.

    Groups join one by one: a rate between the two so far leaves them, one beyond takes the place of one. No
    probability is a difference of others, so that what cannot occur has exactly none.
    """
    rates = np.unique(np.concatenate([rate for rate, _ in supports]))
    side = len(rates)
    joint = np.zeros((side, side))
    for g, (rate, mass) in enumerate(supports):
        own = np.zeros(side)
        own[np.searchsorted(rates, rate)] = mass
        if g == 0:
            np.fill_diagonal(joint, own)
            continue
        lower, upper = np.zeros((side, side)), np.zeros((side, side))
        lower[:-1] = np.cumsum(joint[:0:-1], axis=0)[::-1]
        upper[:, 1:] = np.cumsum(joint[:, :-1], axis=1)
        between = np.cumsum(np.triu(np.broadcast_to(own, joint.shape)), axis=1)
        joint = joint * between + own[:, None] * lower + upper * own
    lowest, highest = np.triu_indices(side)
    return rates[lowest], rates[highest], joint[lowest, highest]


def _stratified_acceleration(successes: IntArray, n: IntArray) -> float:
    """BCa's acceleration for groups of fixed size, from the jackknife within each group."""
    cubes = squares = 0.0
    for g, size in enumerate(n):
        if size < 2:
            return float("nan")
        count = np.array([successes[g], size - successes[g]])
        left_out = np.empty(2)
        for failed in (0, 1):
            s, m = successes.copy(), n.copy()
            s[g] -= 1 - failed
            m[g] -= 1
            left_out[failed] = impact_ratio(np.maximum(s, 0), m)
        if np.isnan(left_out[count > 0]).any():
            return float("nan")
        left_out[count == 0] = 0.0
        u = (size - 1) * (np.average(left_out, weights=count) - left_out) / size
        cubes += float(count @ u**3)
        squares += float(count @ u**2)
    return cubes / (6 * squares**1.5) if squares > TOLERANCE**2 else float("nan")
