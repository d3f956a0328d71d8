"""How often each group's exams succeed at a threshold, and how far the groups' rates lie apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tworulers.schema.metric import Metric
from tworulers.stats.clustered_rates import design_effect
from tworulers.stats.groups import GroupedSample
from tworulers.stats.types import BoolArray, FloatArray, IntArray, Row

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


def count_successes(sample: GroupedSample, threshold: float, metric: Metric) -> IntArray:
    """Count the exams of each group that score strictly better than the threshold, shape (k,)."""
    success = metric.succeeds(sample.values, threshold)
    return np.bincount(sample.codes[success], minlength=len(sample.names)).astype(np.int64)


def success_rate(successes: NDArray[np.number], n: NDArray[np.number]) -> FloatArray:
    """Successes over n, NaN where n is 0; arrays of one shape."""
    rate = np.full(np.shape(n), np.nan)
    np.divide(successes, n, out=rate, where=np.asarray(n) > 0)
    return rate


def count_effective(sample: GroupedSample, success: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Count how many independent exams, and successes among them, would leave each rate as unsure.

    They are n over the design effect of each group's patients (`design_effect`).

    Parameters
    ----------
    sample : the groups and patients of n exams.
    success : whether an exam succeeds, shape (n,).

    Returns
    -------
    Successes and n of each group, no whole numbers, each (k,); the plain counts in a group without a
    patient of several exams.
    """
    hits = np.bincount(sample.codes, weights=success, minlength=len(sample.names))
    effect = np.ones(len(hits))
    for g in range(len(hits)):
        here = sample.codes == g
        effect[g] = design_effect(success[here], sample.patients[here])
    return hits / effect, sample.sizes / effect


def rate_interval(
    successes: NDArray[np.number],
    n: NDArray[np.number],
    level: float = 0.95,
    method: Literal["wilson", "beta"] = "wilson",
) -> tuple[FloatArray, FloatArray]:
    """Give an interval of each rate, NaN where n is 0.

    Parameters
    ----------
    successes, n : counts, shape (k,); no whole numbers where `count_effective` made them.
    level : confidence level.
    method : `wilson` is the score interval (Wilson 1927), `beta` the exact one (Clopper and Pearson
        1934).
    """
    from statsmodels.stats.proportion import proportion_confint

    bounds = np.full((2, len(n)), np.nan)
    bounds[:, n > 0] = proportion_confint(successes[n > 0], n[n > 0], 1 - level, method)
    # At 0 and n the bound is 0 and 1; rounding must not step over it.
    return bounds[0].clip(0, None), bounds[1].clip(None, 1)


def bound_rate(
    rate: float, n: float, level: float = 0.95, method: Literal["wilson", "beta"] = "wilson"
) -> tuple[float, float]:
    """Give the interval of one rate of n exams, which may be a fraction; as of `rate_interval`.

    Wilson's is narrower than the exact one, but its lower bound passes over rates near zero: at 4 in
    1,000 and 30 exams it covers .87.
    """
    low, high = rate_interval(np.array([rate * n]), np.array([n]), level, method)
    return float(low[0]), float(high[0])


def newcombe_intervals(
    successes: NDArray[np.number],
    n: NDArray[np.number],
    first: IntArray,
    second: IntArray,
    level: float = 0.95,
) -> FloatArray:
    """Give the hybrid score interval of the difference of the rates of each pair, second minus first.

    It stays open where bootstrap intervals collapse to a point, as with no failure in either group.

    Parameters
    ----------
    successes, n : counts of each group, shape (k,); no whole numbers where `count_effective` made them.
    first, second : groups of each pair, shape (pairs,).
    level : confidence level.

    Returns
    -------
    Bounds, shape (2, pairs); NaN where a group is empty.

    Source: Newcombe 1998, method 10.
    """
    rate = success_rate(successes, n)
    low, high = rate_interval(successes, n, level)
    below, above = rate - low, high - rate
    difference = rate[second] - rate[first]
    return np.stack(
        [
            difference - np.sqrt(below[second] ** 2 + above[first] ** 2),
            difference + np.sqrt(below[first] ** 2 + above[second] ** 2),
        ]
    )


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
    """Give successes of n for each group at one threshold, with intervals of the rate.

    Returns
    -------
    One row a group, in order: group, threshold, n, successes, rate, then rate_low and rate_high,
    Wilson's over `n_effective` exams (`count_effective`), and wilson_low, wilson_high, exact_low,
    exact_high, which count every exam on its own.
    """
    n = sample.sizes
    successes = count_successes(sample, threshold, metric)
    columns: dict[str, Sequence[object] | FloatArray | IntArray] = {
        "group": sample.names,
        "n": n,
        "successes": successes,
        "rate": success_rate(successes, n),
    }
    effective = count_effective(sample, metric.succeeds(sample.values, threshold))
    columns["n_effective"] = effective[1]
    columns["rate_low"], columns["rate_high"] = rate_interval(*effective, level)
    columns["wilson_low"], columns["wilson_high"] = rate_interval(successes, n, level)
    columns["exact_low"], columns["exact_high"] = rate_interval(successes, n, level, "beta")
    return [
        {"threshold": threshold, **dict(zip(columns, row, strict=True))}
        for row in zip(*columns.values(), strict=True)
    ]
