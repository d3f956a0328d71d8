"""Bootstrap intervals: percentile, and bias-corrected and accelerated (BCa)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from tworulers.stats.groups import order_quantiles
from tworulers.stats.rates import TOLERANCE
from tworulers.stats.types import BoolArray, FloatArray, IntArray

NAN = float("nan")


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

    low: float = NAN
    high: float = NAN
    method: str = "none"
    percentile_low: float = NAN
    percentile_high: float = NAN
    bias: float = NAN
    acceleration: float = NAN
    draws: int = 0
    note: str | None = None

    @property
    def degenerate(self) -> bool:
        """Whether every draw gave the estimate, so that the interval says nothing."""
        return self.method == "degenerate"


def percentile_interval(
    drawn: FloatArray, level: float, *, observed: bool = False
) -> tuple[float, float]:
    """Give the equal-tailed interval of draws (n,): NaN is left out, infinite ones rank.

    Parameters
    ----------
    drawn : bootstrap values.
    level : confidence level.
    observed : whether a bound is one of the draws, as of ratios, where nothing lies between the
        largest finite and an infinite draw; else it lies between two draws.
    """
    valid = drawn[~np.isnan(drawn)]
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if observed and len(valid):
        low, high = np.quantile(valid, tails, method="inverted_cdf")
    else:
        low, high = order_quantiles(valid, tails)
    return float(low), float(high)


def bound_pairs(
    drawn: FloatArray, first: IntArray, second: IntArray, levels: FloatArray
) -> FloatArray:
    """Give the percentile interval of the difference of each pair of locations, second minus first.

    Memory is that of the draws of all locations once more, whatever the number of pairs.

    Parameters
    ----------
    drawn : bootstrap locations, shape (draws, k); a draw without a finite value of both counts for no pair of them.
    first, second : locations of each pair, shape (pairs,), 0 to k - 1.
    levels : confidence level of each pair, shape (pairs,); NaN for no interval.

    Returns
    -------
    Bounds, shape (2, pairs); NaN without a level or a draw.
    """
    side = np.ascontiguousarray(drawn.T)
    whole: BoolArray = np.isfinite(side)
    complete: BoolArray = np.asarray(whole.all(axis=1))
    bounds = np.full((2, len(first)), np.nan)
    for place, (a, b, level) in enumerate(zip(first, second, levels, strict=True)):
        if np.isnan(level):
            continue
        if complete[a] and complete[b]:
            moved = side[b] - side[a]
        else:
            used = whole[a] & whole[b]
            moved = side[b, used] - side[a, used]
        bounds[:, place] = percentile_interval(moved, float(level))
    return bounds


def ratio_of_means(
    numerator: FloatArray, denominator: FloatArray, level: float, units: IntArray | None = None
) -> tuple[float, float, float]:
    """Give the ratio of two paired means, with its t interval by linearisation.

    Parameters
    ----------
    numerator, denominator : (n,) of the same exams.
    level : nominal coverage.
    units : (n,) who each exam is of, whose exams are taken together; None takes each alone.

    Returns
    -------
    Ratio and bounds: NaN where the denominator's mean is not above 0; bounds NaN below two units.

    Notes
    -----
    The variance of the sum of residuals, numerator - ratio denominator, between units (Cochran 1977,
    section 6.3; 11.2 for units of several exams); t has one degree of freedom less than there are units.
    """
    total = float(denominator.sum())
    if not total > 0:
        return NAN, NAN, NAN
    ratio = float(numerator.sum()) / total
    residuals = numerator - ratio * denominator
    if units is not None:
        whose = np.unique(units, return_inverse=True)[1]
        residuals = np.bincount(whose, weights=residuals).astype(np.float64)
    count = len(residuals)
    if count < 2:
        return ratio, NAN, NAN
    error = float(np.sqrt(count / (count - 1) * (residuals @ residuals))) / total
    half = float(stats.t.isf((1 - level) / 2, count - 1)) * error
    return ratio, ratio - half, ratio + half


def reduce_draws(estimate: float, drawn: FloatArray, acceleration: float, level: float) -> Interval:
    """Turn bootstrap draws into BCa bounds, or percentile bounds where BCa is undefined.

    Parameters
    ----------
    estimate : the value in the data.
    drawn : bootstrap values without NaN, shape (draws,).
    acceleration : a of BCa; NaN where undefined.
    level : confidence level.
    """
    if np.isnan(estimate) or len(drawn) == 0:
        return Interval(draws=len(drawn), note="the estimate is undefined")
    tied = np.abs(drawn - estimate) <= TOLERANCE
    if tied.all():
        return degenerate_interval(estimate, len(drawn), "every draw gives the estimate")
    below = float((drawn < estimate - TOLERANCE).mean()) + 0.5 * float(tied.mean())
    found = accelerate(lambda shares: order_quantiles(drawn, shares), below, acceleration, level)
    return replace(found, draws=len(drawn))


def degenerate_interval(estimate: float, draws: int, note: str) -> Interval:
    """Give the point that all draws, or all tables, fall on."""
    bounds = (estimate, estimate, "degenerate", estimate, estimate)
    return Interval(*bounds, draws=draws, note=f"{note}; see the exact bound of each rate")


def accelerate(
    quantiles: Callable[[FloatArray], FloatArray], below: float, acceleration: float, level: float
) -> Interval:
    """Correct the percentiles of a bootstrap distribution for bias and skewness (Efron 1987).

    Parameters
    ----------
    quantiles : gives the values at shares (2,) of the distribution.
    below : share of the distribution below the estimate, half of what ties with it included.
    acceleration : a of BCa; NaN where undefined.
    level : confidence level.
    """
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    low, high = map(float, quantiles(tails))
    bias = float(stats.norm.ppf(below))
    plain = Interval(low, high, "percentile", low, high, bias, acceleration)
    if not np.isfinite(bias) or np.isnan(acceleration):
        why = "no jackknife" if np.isfinite(bias) else "all draws on one side"
        return replace(plain, note=f"BCa is undefined: {why}")
    shifted = bias + stats.norm.ppf(tails)
    shares = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
    low, high = map(float, quantiles(shares))
    return replace(plain, low=low, high=high, method="bca")
