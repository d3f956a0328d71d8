"""Is a ruler so close to the model that it cannot judge it?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tworulers.stats.spread import DECIMALS, measure_spread

Floats = NDArray[np.float64]

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

    `status` is `identical`, `too_close` or `distinct`. `ruler_expert` is NaN where it is unknown,
    and `note` says so.
    """

    n: int
    model_ruler: float
    model_expert: float
    ruler_expert: float
    vcr_mad: float
    shared_error: float
    status: str
    note: str


def measure_closeness(
    model_ruler: Floats,
    model_expert: Floats,
    ruler_expert: Floats | None = None,
    shared_error: Floats | None = None,
) -> Closeness:
    """Tell whether a ruler agrees with the model so well that it mostly repeats the model's own
    errors.

    Parameters
    ----------
    model_ruler, model_expert : (n,) Dice of the same predictions against the ruler and against the
        expert.
    ruler_expert : Dice of the ruler against the expert, any number of exams; None if unknown.
    shared_error : shared-error index of each exam, NaN where nobody errs; None if unknown.

    Notes
    -----
    Too close: the mean agreement of model and ruler exceeds both other means by more than .03, and
    the spread under the ruler is at most half of that under the expert. Masks that agree everywhere
    are identical by definition.
    """
    a, c = float(np.mean(model_ruler)), float(np.mean(model_expert))
    b = (
        float(np.nanmean(ruler_expert))
        if ruler_expert is not None and len(ruler_expert)
        else np.nan
    )
    spread = measure_spread(model_expert, model_ruler, np.zeros(len(model_ruler), dtype=np.int64))
    collapsed = spread.mad_base >= COLLAPSE * spread.mad_other and spread.mad_base > 0
    if np.all(model_ruler >= 1 - 0.5 * 10.0**-DECIMALS):
        status = "identical"
    elif collapsed and a > max(c, b if np.isfinite(b) else c) + MARGIN:
        status = "too_close"
    else:
        status = "distinct"
    known = shared_error[np.isfinite(shared_error)] if shared_error is not None else np.empty(0)
    notes = []
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
        status=status,
        note="; ".join(notes),
    )
