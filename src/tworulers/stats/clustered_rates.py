"""How often exams fail, where failures are rare and patients have several exams."""

import numpy as np

from tworulers.stats.types import BoolArray, IntArray

LIKENESS = 5
"""So many patients with the rarer outcome weigh as much as taking a patient's exams for alike."""


def design_effect(outcome: BoolArray, units: IntArray) -> float:
    """Estimate how many times the variance of a rate is what exams of as many different patients would give.

    Parameters
    ----------
    outcome : (n,) of each exam.
    units : (n,) whose each is.

    Notes
    -----
    The variance of patients' totals over that of independent exams (Rao and Scott 1992), at least 1. Few patients with
    the rarer outcome say little of how alike a patient's exams are; the estimate is drawn towards complete likeness,
    by their number k over k + 5.
    """
    if not len(outcome):
        return 1.0
    place = np.unique(units, return_inverse=True)[1]
    exams = np.bincount(place)
    if exams.max() == 1:
        return 1.0
    alike, rate = float((exams**2).sum() / exams.sum()), float(outcome.mean())
    if rate in (0.0, 1.0) or len(exams) < 2:
        return alike
    with_it = np.bincount(place, weights=outcome)
    between = float(((with_it - exams * rate) ** 2).sum()) * len(exams) / (len(exams) - 1)
    seen = between * (len(outcome) - 1) / (len(outcome) ** 2 * rate * (1 - rate))
    known = min(int((with_it > 0).sum()), int((with_it < exams).sum()))
    weight = known / (known + LIKENESS)
    return max(1.0, min(weight * seen + (1 - weight) * alike, float(exams.max())))


def difference_interval(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float]:
    """Give the interval of second minus first from an estimate, low and high of each (Zou and Donner 2008).

    Distances to the bounds are added as squares; of Wilson's bounds it is the interval of Newcombe (1998).
    """
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    below, above = np.hypot(b - b_low, a_high - a), np.hypot(b_high - b, a - a_low)
    return float(b - a - below), float(b - a + above)
