"""Is a ruler so close to the model that it cannot judge it?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.spread import DECIMALS, measure_spread

Floats = NDArray[np.float64]

LIMIT = 0.5
"""Share of the error held by the expert that a ruler forgives, from which it is too close.

Over 1,000 simulated studies of 20, 76 and 260 exams at Dice .80, .90, .95 and .98 (errors
log-normal over exams, coefficient of variation .3 and .6): second raters of equal noise were
called too close in none, raters with a third of the noise in at most .7 % (n = 20), copies that
forgive .6 in 90 % or more (n = 20) and in all (n = 76, 260), copies that forgive .7 or .8 in all.
"""

MARGIN = 0.03
"""Mean Dice by which the model must agree better with the ruler than either agrees with the expert.
"""

COLLAPSE = 2.0
"""Ratio of the median absolute deviations under expert and ruler from which spread counts as
collapsed.
"""


@dataclass(frozen=True)
class Closeness:
    """How model, ruler and expert agree, as mean Dice, and what follows.

    `status` is `identical`, `too_close` or `distinct`. `forgiven` is the share of the expert's error
    that the ruler forgives, (model_ruler - model_expert) / (1 - model_expert), with its interval;
    NaN where the expert holds none. `ruler_expert` is NaN where it is unknown, and `note` says so.
    """

    n: int
    model_ruler: float
    model_expert: float
    ruler_expert: float
    vcr_mad: float
    shared_error: float
    forgiven: float
    forgiven_low: float
    forgiven_high: float
    status: str
    note: str


def measure_closeness(
    model_ruler: Floats,
    model_expert: Floats,
    ruler_expert: Floats | None = None,
    shared_error: Floats | None = None,
    *,
    asked: bool = True,
    level: float = 0.95,
) -> Closeness:
    """Tell whether a ruler agrees with the model so well that it mostly repeats the model's own
    errors.

    Parameters
    ----------
    model_ruler, model_expert : (n,) Dice of the same predictions against the ruler and against the
        expert.
    ruler_expert : Dice of the ruler against the expert, any number of exams; None if unknown.
    shared_error : shared-error index of each exam, NaN where nobody errs; None if unknown.
    asked : whether the ruler may repeat the model; labels declared to be experts' or the truth may
        be near a good model without repeating it, and are called identical at most.
    level : of the interval of the forgiven share.

    Notes
    -----
    Too close: the ruler forgives more than half of the error that the expert holds against the
    model, and the model is as much nearer to it than it is to the expert; or the mean agreement of
    model and ruler exceeds both other means by more than .03, and the spread under the ruler is at
    most half of that under the expert. The first is relative to what is left, so that it can say so
    of a good model, too. Masks that agree everywhere are identical by definition.
    """
    a, c = float(np.mean(model_ruler)), float(np.mean(model_expert))
    b = (
        float(np.nanmean(ruler_expert))
        if ruler_expert is not None and len(ruler_expert)
        else np.nan
    )
    nearest = max(c, b) if np.isfinite(b) else c
    forgiven, low, high = _share_forgiven(model_ruler, model_expert, level)
    spread = measure_spread(model_expert, model_ruler, np.zeros(len(model_ruler), dtype=np.int64))
    collapsed = spread.mad_base >= COLLAPSE * spread.mad_other and spread.mad_base > 0
    if np.all(model_ruler >= 1 - 0.5 * 10.0**-DECIMALS):
        status = "identical"
    elif not asked:
        status = "distinct"
    elif (collapsed and a > nearest + MARGIN) or 1 - a < (1 - LIMIT) * (1 - nearest):
        status = "too_close"
    else:
        status = "distinct"
    known = shared_error[np.isfinite(shared_error)] if shared_error is not None else np.empty(0)
    notes = []
    if not asked and status != "identical":
        notes.append("not asked of labels declared to be experts' or the truth")
    elif low <= LIMIT <= high:
        notes.append(f"near the limit of {100 * LIMIT:.0f} % of the error forgiven")
    if not np.isfinite(b):
        notes.append("ruler against expert unknown")
    if len(known) == 0:
        notes.append("shared error unknown")
    return Closeness(
        n=len(model_ruler),
        model_ruler=a,
        model_expert=c,
        ruler_expert=b,
        vcr_mad=spread.vcr_mad,
        shared_error=float(known.mean()) if len(known) else np.nan,
        forgiven=forgiven,
        forgiven_low=low,
        forgiven_high=high,
        status=status,
        note="; ".join(notes),
    )


def _share_forgiven(
    model_ruler: Floats, model_expert: Floats, level: float
) -> tuple[float, float, float]:
    """Return 1 less the ratio of mean errors, with the interval of a paired ratio of means."""
    left, held = 1 - model_ruler, 1 - model_expert
    if not held.mean() > 0:
        return np.nan, np.nan, np.nan
    ratio = float(left.mean() / held.mean())
    n = len(held)
    if n < 2:
        return 1 - ratio, np.nan, np.nan
    error = float(np.std(left - ratio * held, ddof=1) / np.sqrt(n) / held.mean())
    half = float(stats.t.isf((1 - level) / 2, n - 1)) * error
    return 1 - ratio, 1 - ratio - half, min(1 - ratio + half, 1.0)
