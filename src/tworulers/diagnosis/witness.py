"""Does a ruler repeat the model's own errors, or is it nearer to the truth? What a second expert, or the truth, tells.

From the maps of a model, a ruler and one expert it cannot be told: whatever brings ruler and model together against the
expert may be errors that the two share, or the expert's own. With a second expert the four distances across the pairs
(model, ruler) and (expert, expert) exceed the two within them by four times what the pairs have apart, the four-point
condition of trees (Buneman 1971). Experts of their own noise have no errors in common beyond those of everyone, so what
is left is the error that model and ruler share.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from tworulers.stats.interval import ratio_of_means
from tworulers.stats.types import FloatArray, IntArray

HALF = 0.5
"""Share of the model's own error beyond which a ruler that repeats it is a copy."""

POWER = 0.8


@dataclass(frozen=True)
class Witnessed:
    """What a second expert or the truth says of a ruler.

    `shared_share` is the share of the model's own error that the ruler repeats, with its interval; `finding` is
    `copied` where the interval lies above one half, `sharper` where it lies below, else `undecided`.
    """

    witness: str
    n: int
    shared_share: float
    low: float
    high: float
    finding: str


def hear_truth(
    witness: str,
    model_ruler: FloatArray,
    model_truth: FloatArray,
    ruler_truth: FloatArray | None,
    *,
    patients: IntArray | None = None,
    level: float = 0.95,
) -> Witnessed:
    """Estimate the share of the model's error that a ruler repeats, by the truth.

    Parameters
    ----------
    witness : name of the truth ruler.
    model_ruler, model_truth, ruler_truth : (n,) Dice of the same exams; the last None if unknown.
    patients : (n,) whose exams they are, taken together; None takes exams alone.
    level : of the interval.

    Notes
    -----
    Distances are 1 - Dice; errors of two maps that differ are added, those that they share cancel, so that
    shared = (model_truth + ruler_truth - model_ruler) / 2. A ruler that was never held against the truth is at least
    model_truth - model_ruler away from it, which bounds the shared error from below, and can show a copy only.
    """
    a, c = 1 - model_ruler, 1 - model_truth
    shared = c - a if ruler_truth is None else (1 - ruler_truth + c - a) / 2
    found = _conclude(witness, shared, c, patients, level)
    if ruler_truth is None and found.finding != "copied":
        return replace(found, finding="undecided")
    return found


def hear_expert(
    witness: str,
    model_ruler: FloatArray,
    expert_expert: FloatArray,
    model_experts: FloatArray,
    ruler_experts: FloatArray,
    *,
    patients: IntArray | None = None,
    level: float = 0.95,
) -> Witnessed:
    """Estimate the share of the model's error that a ruler repeats, by two experts.

    Parameters
    ----------
    witness : name of the second expert's reference.
    model_ruler, expert_expert : (n,) Dice within the two pairs.
    model_experts, ruler_experts : (2, n) Dice across them, first and second expert.
    patients : (n,) whose exams they are, taken together; None takes exams alone.
    level : of the interval.
    """
    a, d = 1 - model_ruler, 1 - expert_expert
    c, b = 1 - model_experts, 1 - ruler_experts
    shared = (b.sum(axis=0) + c.sum(axis=0) - 2 * a - 2 * d) / 4
    return _conclude(witness, shared, (c.sum(axis=0) - d) / 2, patients, level)


def count_exams_needed(
    model_ruler: FloatArray, model_expert: FloatArray, ruler_expert: FloatArray | None, level: float
) -> int | None:
    """Count the exams that a second expert has to draw to settle whether a ruler is copied or sharper.

    Parameters
    ----------
    model_ruler, model_expert, ruler_expert : (n,) Dice of the same exams; the last None if unknown.
    level : of the two-sided test, whose power is .8.

    Returns
    -------
    The least n at which half of what looks like the expert's noise, if it is shared error, is told from none of it;
    None where the ruler forgives nothing on average, so that there is nothing to settle.

    Notes
    -----
    What looks like the expert's noise is (ruler_expert + model_expert - model_ruler) / 2 in distances, or
    model_expert - model_ruler where the ruler was never held against the expert. The second expert is taken to be as
    noisy as the first, and the four errors to be independent, which puts the variance of the estimate at most at 1.5
    times its own.
    """
    a, c = 1 - model_ruler, 1 - model_expert
    apparent = c - a if ruler_expert is None else (1 - ruler_expert + c - a) / 2
    mean = float(apparent.mean())
    if len(apparent) < 2 or not mean > 0:
        return None
    error = np.sqrt(1.5) * float(apparent.std(ddof=1))
    quantiles = stats.norm.isf((1 - level) / 2) + stats.norm.ppf(POWER)
    return max(2, int(np.ceil((quantiles * error / (HALF * mean)) ** 2)))


def _conclude(
    witness: str, shared: FloatArray, own: FloatArray, patients: IntArray | None, level: float
) -> Witnessed:
    """Give the paired ratio of means with its interval, and what follows."""
    share, low, high = ratio_of_means(shared, own, level, patients)
    finding = "copied" if low > HALF else "sharper" if high < HALF else "undecided"
    return Witnessed(witness, len(shared), share, low, high, finding)
