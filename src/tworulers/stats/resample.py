"""How sure a disparity of success rates is: bootstrap intervals of DIR and DPD, drawn and exact."""

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.rates import TOLERANCE, impact_ratio

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Statistic = Callable[[NDArray[np.number], NDArray[np.number]], FloatArray]

MOST_TABLES = 4_000_000
"""Success tables above which the exact interval is not enumerated."""

NEGLIGIBLE = 1e-15
"""Probability below which a group's success count is left out of the enumeration."""


def named_stream(seed: int, *names: str) -> np.random.Generator:
    """Give a generator of its own to each named statistic, so that one more does not move another.

    Parameters
    ----------
    seed : of the run.
    names : what is drawn, such as `("bootstrap", "age_3bin", "macro", "dice")`.
    """
    keys = [crc32(name.encode()) for name in names]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=keys)))


@dataclass(frozen=True)
class Interval:
    """An interval, how it was made, and what to keep in mind about it.

    Attributes
    ----------
    low, high : bounds; NaN where none is given, with the reason in `note`.
    method : `bca`, `percentile` (BCa undefined), `degenerate` (every draw gives the estimate) or
        `none`.
    percentile_low, percentile_high : the percentile interval of the same draws.
    bias, acceleration : z0 and a of BCa; NaN where undefined.
    draws : how many draws gave a value.
    """

    low: float
    high: float
    method: str
    percentile_low: float
    percentile_high: float
    bias: float = float("nan")
    acceleration: float = float("nan")
    draws: int = 0
    note: str | None = None

    @property
    def degenerate(self) -> bool:
        """Whether every draw gave the estimate, so that the interval says nothing."""
        return self.method == "degenerate"


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


def find_patterns(
    codes: IntArray, success: NDArray[np.bool_], units: IntArray, k: int
) -> UnitPatterns:
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


def reduce_draws(estimate: float, drawn: FloatArray, acceleration: float, level: float) -> Interval:
    """Turn bootstrap draws into BCa bounds, or percentile bounds where BCa is undefined.

    Parameters
    ----------
    estimate : the value in the data.
    drawn : bootstrap values without NaN, shape (draws,).
    acceleration : a of BCa; NaN where undefined.
    level : confidence level.
    """
    nan = float("nan")
    if np.isnan(estimate) or len(drawn) == 0:
        return Interval(
            nan, nan, "none", nan, nan, draws=len(drawn), note="the estimate is undefined"
        )
    if np.abs(drawn - estimate).max() <= TOLERANCE:
        note = "every draw gives the estimate; see the exact bound of each rate"
        return Interval(
            estimate, estimate, "degenerate", estimate, estimate, draws=len(drawn), note=note
        )
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    low, high = map(float, np.quantile(drawn, tails))
    below = float((drawn < estimate - TOLERANCE).mean())
    bias = float(
        stats.norm.ppf(below + 0.5 * float((np.abs(drawn - estimate) <= TOLERANCE).mean()))
    )
    if not np.isfinite(bias) or np.isnan(acceleration):
        note = "BCa is undefined: " + (
            "no jackknife" if np.isfinite(bias) else "all draws on one side"
        )
        return Interval(low, high, "percentile", low, high, bias, acceleration, len(drawn), note)
    bca = np.quantile(drawn, adjust_tails(tails, bias, acceleration))
    return Interval(float(bca[0]), float(bca[1]), "bca", low, high, bias, acceleration, len(drawn))


def adjust_tails(tails: FloatArray, bias: float, acceleration: float) -> FloatArray:
    """BCa's percentiles in place of the nominal ones, both (2,) (Efron 1987)."""
    shifted = bias + stats.norm.ppf(tails)
    return np.asarray(stats.norm.cdf(bias + shifted / (1 - acceleration * shifted)))


def exact_interval(successes: IntArray, n: IntArray, level: float = 0.95) -> Interval:
    """Give DIR's stratified bootstrap interval in the limit of infinitely many draws.

    With group sizes fixed, the groups' success counts are independent binomials, so that all
    possible tables are enumerated with their probabilities; nothing is random.

    Parameters
    ----------
    successes, n : counts, shape (k,), every n at least 1.
    level : confidence level.
    """
    estimate = float(impact_ratio(successes, n))
    nan = float("nan")
    if np.isnan(estimate):
        return Interval(nan, nan, "none", nan, nan, note="no exam of any group succeeds (0/0)")
    ratio, weight = _enumerate(successes, n)
    if ratio is None or weight is None:
        note = f"more than {MOST_TABLES:,} success tables; see the drawn intervals"
        return Interval(nan, nan, "none", nan, nan, note=note)
    if np.abs(ratio - estimate).max() <= TOLERANCE:
        note = "every table gives the estimate; see the exact bound of each rate"
        return Interval(estimate, estimate, "degenerate", estimate, estimate, note=note)
    order = np.argsort(ratio)
    ratio, cumulated = ratio[order], np.cumsum(weight[order])
    below = _cumulated_until(ratio, cumulated, estimate - TOLERANCE)
    tied = _cumulated_until(ratio, cumulated, estimate + TOLERANCE) - below
    bias = float(stats.norm.ppf(below + tied / 2))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    percentile = _quantiles(ratio, cumulated, tails)
    acceleration = _stratified_acceleration(successes, n)
    if not np.isfinite(bias) or np.isnan(acceleration):
        note = "BCa is undefined"
        return Interval(*percentile, "percentile", *percentile, bias, acceleration, note=note)
    bca = _quantiles(ratio, cumulated, adjust_tails(tails, bias, acceleration))
    return Interval(*bca, "bca", *percentile, bias, acceleration)


def _enumerate(successes: IntArray, n: IntArray) -> tuple[FloatArray | None, FloatArray | None]:
    """DIR and probability of every table that can occur; (None, None) where there are too many."""
    supports = []
    for s, size in zip(successes, n, strict=True):
        count = np.arange(size + 1)
        mass = stats.binom.pmf(count, size, s / size)
        supports.append((count[mass > NEGLIGIBLE] / size, mass[mass > NEGLIGIBLE]))
    if np.prod([float(len(rate)) for rate, _ in supports]) > MOST_TABLES:
        return None, None
    worst, weight = supports[0]
    best = worst
    for rate, mass in supports[1:]:
        worst = np.minimum.outer(worst, rate).ravel()
        best = np.maximum.outer(best, rate).ravel()
        weight = np.multiply.outer(weight, mass).ravel()
    defined = best > 0
    weight = weight[defined]
    return worst[defined] / best[defined], weight / weight.sum()


def _cumulated_until(ordered: FloatArray, cumulated: FloatArray, value: float) -> float:
    """Probability of all values up to and including `value`."""
    position = int(np.searchsorted(ordered, value, side="right"))
    return float(cumulated[position - 1]) if position else 0.0


def _quantiles(
    ordered: FloatArray, cumulated: FloatArray, shares: FloatArray
) -> tuple[float, float]:
    """The smallest values whose cumulated probability reaches each of two shares."""
    positions = np.minimum(np.searchsorted(cumulated, shares - TOLERANCE), len(ordered) - 1)
    return float(ordered[positions[0]]), float(ordered[positions[1]])


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
