"""How often each group's exams succeed at a threshold, and how far the groups' rates lie apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tworulers.schema import Metric
from tworulers.stats.groups import GroupedSample, Row

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TOLERANCE = 1e-12
"""Rates k/n that tie in theory differ by rounding in floats; they are compared with this tolerance.
"""


@dataclass(frozen=True)
class RateDisparity:
    """How far success rates lie apart: DPD, DIR, and what makes them uninformative.

    `saturated` means that every exam of every group succeeds; `below_four_fifths` that DIR is below
    the stated fraction, never true where DIR is undefined.
    """

    dpd: float
    dir: float
    saturated: bool
    below_four_fifths: bool
    undefined_because: str | None


def succeed(values: FloatArray, threshold: float, metric: Metric) -> NDArray[np.bool_]:
    """Tell which scores are strictly better than the threshold; an infinite distance is not."""
    return values > threshold if metric.higher_is_better else values < threshold


def count_successes(sample: GroupedSample, threshold: float, metric: Metric) -> IntArray:
    """Count the exams of each group that score strictly better than the threshold, shape (k,)."""
    success = succeed(sample.values, threshold, metric)
    return np.bincount(sample.codes[success], minlength=len(sample.names)).astype(np.int64)


def success_rate(successes: NDArray[np.number], n: NDArray[np.number]) -> FloatArray:
    """Successes over n, NaN where n is 0; arrays of one shape."""
    rate = np.full(np.shape(n), np.nan)
    np.divide(successes, n, out=rate, where=np.asarray(n) > 0)
    return rate


def wilson_interval(
    successes: IntArray, n: IntArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Give Wilson's score interval of each rate, NaN where n is 0 (Wilson 1927).

    Parameters
    ----------
    successes, n : counts, shape (k,).
    level : confidence level.
    """
    z = stats.norm.ppf(0.5 + level / 2)
    count = np.where(n > 0, n, np.nan).astype(float)
    rate = successes / count
    centre = (rate + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(rate * (1 - rate) / count + z**2 / (4 * count**2))
    # at 0 and n the bound is exactly 0 and 1; rounding must not step over it
    low = np.where(successes == 0, 0.0 * count, np.maximum(centre - half, 0.0))
    high = np.where(successes == n, 1.0 + 0.0 * count, np.minimum(centre + half, 1.0))
    return low, high


def clopper_pearson_interval(
    successes: IntArray, n: IntArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Give the exact interval of each rate, NaN where n is 0 (Clopper and Pearson 1934)."""
    tail = (1 - level) / 2
    count = np.where(n > 0, n, np.nan).astype(float)
    low = np.where(
        successes == 0, 0.0 * count, stats.beta.ppf(tail, successes, count - successes + 1)
    )
    high = np.where(
        successes == n,
        1.0 + 0.0 * count,
        stats.beta.ppf(1 - tail, successes + 1, count - successes),
    )
    return low, high


def newcombe_interval(
    successes: tuple[int, int], n: tuple[int, int], level: float = 0.95
) -> tuple[float, float]:
    """Give the hybrid score interval of the difference of two rates, second minus first (Newcombe
    1998, method 10).

    It stays open where bootstrap intervals collapse to a point, as with no failure in either group.
    """
    if min(n) == 0:
        return float("nan"), float("nan")
    s, m = np.array(successes, dtype=np.int64), np.array(n, dtype=np.int64)
    (first, second), (low, high) = s / m, wilson_interval(s, m, level)
    difference = second - first
    down = np.hypot(second - low[1], high[0] - first)
    up = np.hypot(high[1] - second, first - low[0])
    return float(difference - down), float(difference + up)


def parity_difference(successes: NDArray[np.number], n: NDArray[np.number]) -> FloatArray:
    """DPD, largest minus smallest rate over the last axis; NaN where a group has no exam."""
    rate = success_rate(successes, n)
    return np.asarray(rate.max(axis=-1) - rate.min(axis=-1))


def impact_ratio(successes: NDArray[np.number], n: NDArray[np.number]) -> FloatArray:
    """DIR, smallest over largest rate over the last axis; NaN for 0/0 or a group without exam."""
    rate = success_rate(successes, n)
    best, worst = rate.max(axis=-1), rate.min(axis=-1)
    ratio = np.full(np.shape(best), np.nan)
    np.divide(worst, best, out=ratio, where=best > 0)
    return ratio


def compare_rates(successes: IntArray, n: IntArray, four_fifths: float = 0.8) -> RateDisparity:
    """Reduce the rates of the groups that have exams to DPD and DIR.

    Parameters
    ----------
    successes, n : counts, shape (k,); a group without exams takes no part.
    four_fifths : DIR below it is flagged.
    """
    present = n > 0
    successes, n = successes[present], n[present]
    if len(n) < 2:
        return RateDisparity(
            float("nan"), float("nan"), False, False, "fewer than two groups have exams"
        )
    dpd, ratio = float(parity_difference(successes, n)), float(impact_ratio(successes, n))
    return RateDisparity(
        dpd=dpd,
        dir=ratio,
        saturated=bool((successes == n).all()),
        below_four_fifths=bool(ratio < four_fifths - TOLERANCE),
        undefined_because="no exam of any group succeeds (0/0)" if np.isnan(ratio) else None,
    )


def tabulate_rates(
    sample: GroupedSample, threshold: float, metric: Metric, level: float = 0.95
) -> list[Row]:
    """Give successes of n for each group at one threshold, with two intervals of the rate.

    Returns
    -------
    One row a group, in order: group, threshold, n, successes, rate, wilson_low, wilson_high,
    exact_low, exact_high.
    """
    n = sample.sizes
    successes = count_successes(sample, threshold, metric)
    columns: dict[str, Sequence[object] | FloatArray | IntArray] = {
        "group": sample.names,
        "n": n,
        "successes": successes,
        "rate": success_rate(successes, n),
    }
    columns["wilson_low"], columns["wilson_high"] = wilson_interval(successes, n, level)
    columns["exact_low"], columns["exact_high"] = clopper_pearson_interval(successes, n, level)
    return [
        {"threshold": threshold, **dict(zip(columns, row, strict=True))}
        for row in zip(*columns.values(), strict=True)
    ]
