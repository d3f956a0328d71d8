"""Is a ruler so close to the model that it cannot judge it?"""

from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd

from tworulers.diagnosis.by_group import number_patients
from tworulers.diagnosis.known import RulerKnowledge
from tworulers.diagnosis.pairs import Pair
from tworulers.diagnosis.witness import count_exams_needed
from tworulers.metrics.known.dice import DICE
from tworulers.schema.metric import DECIMALS
from tworulers.schema.settings import MACRO
from tworulers.stats.dispersion import measure_spread
from tworulers.stats.groups import pair_sample
from tworulers.stats.interval import ratio_of_means
from tworulers.stats.types import FloatArray, IntArray

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
    NaN where the expert holds none. `ruler_expert` is NaN where it is unknown, and so is `expert_ratio`,
    (1 - ruler_expert) / (1 - model_expert) with its interval: a copy is as far from the expert as the
    model (about 1), a ruler nearer to the truth is nearer to the expert, too (below 1, by how much
    depends on the noise of both). `near_limit` tells that the interval of `forgiven` holds the limit,
    `second_expert_exams` on how many exams a second expert would settle which it is.
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
    near_limit: bool
    expert_ratio: float
    expert_ratio_low: float
    expert_ratio_high: float
    second_expert_exams: float
    status: str


def measure_closeness(
    model_ruler: FloatArray,
    model_expert: FloatArray,
    ruler_expert: FloatArray | None = None,
    shared_error: FloatArray | None = None,
    *,
    asked: bool = True,
    corrected: bool = False,
    patients: IntArray | None = None,
    level: float = 0.95,
) -> Closeness:
    """Tell whether a ruler agrees with the model so well that it mostly repeats the model's own
    errors.

    Parameters
    ----------
    model_ruler, model_expert : (n,) Dice of the same predictions against the ruler and against the
        expert.
    ruler_expert : Dice of the ruler against the expert, of the same exams with NaN where unknown, or of
        any others, which only the mean is taken of; None if unknown.
    shared_error : shared-error index of each exam, NaN where nobody errs; None if unknown.
    asked : whether the ruler may repeat the model; labels declared to be experts' or the truth may
        be near a good model without repeating it, and are called identical at most.
    corrected : whether the expert corrected the ruler's labels; how near the two are then counts for nothing.
    patients : (n,) whose exams they are, taken together in intervals; None takes exams alone.
    level : of the intervals.

    Notes
    -----
    Too close: the ruler forgives more than half of the error that the expert holds against the
    model, and the model is as much nearer to it than it is to the expert; or the mean agreement of
    model and ruler exceeds both other means by more than .03, and the spread under the ruler is at
    most half of that under the expert. The first is relative to what is left, so that it can say so
    of a good model, too. Masks that agree everywhere are identical by definition.
    """
    a, c, b = *(float(np.mean(x)) for x in (model_ruler, model_expert)), _mean_known(ruler_expert)
    nearest = max(c, b) if np.isfinite(b) and not corrected else c
    forgiven, high, low = (
        1 - x for x in ratio_of_means(1 - model_ruler, 1 - model_expert, level, patients)
    )
    spread = measure_spread(pair_sample(model_expert, model_ruler, np.zeros(len(model_ruler), int)))
    collapsed = spread.mad_base >= COLLAPSE * spread.mad_other and spread.mad_base > 0
    repeats = (collapsed and a > nearest + MARGIN) or 1 - a < (1 - LIMIT) * (1 - nearest)
    status = "too_close" if asked and repeats else "distinct"
    if np.all(model_ruler >= 1 - 0.5 * 10.0**-DECIMALS):
        status = "identical"
    return Closeness(
        n=len(model_ruler),
        model_ruler=a,
        model_expert=c,
        ruler_expert=b,
        vcr_mad=spread.vcr_mad,
        shared_error=_mean_known(shared_error),
        forgiven=forgiven,
        forgiven_low=low,
        forgiven_high=min(high, 1.0),
        near_limit=bool(asked and low <= LIMIT <= high),
        **_hold_against_expert(model_ruler, model_expert, ruler_expert, patients, level, asked),
        status=status,
    )


def _hold_against_expert(
    model_ruler: FloatArray,
    model_expert: FloatArray,
    ruler_expert: FloatArray | None,
    patients: IntArray | None,
    level: float,
    asked: bool,
) -> dict[str, float]:
    """Compare how far ruler and model are from the expert, and count the exams that a second one would need."""
    known = np.zeros(len(model_ruler), bool)
    if ruler_expert is not None and len(ruler_expert) == len(known):
        known = np.isfinite(ruler_expert)
    ratio, low, high = np.nan, np.nan, np.nan
    against, used = None, ~known
    if ruler_expert is not None and known.any():
        against, used = ruler_expert[known], known
        who = None if patients is None else patients[known]
        ratio, low, high = ratio_of_means(1 - against, 1 - model_expert[known], level, who)
    needed = count_exams_needed(model_ruler[used], model_expert[used], against, level)
    return {
        "expert_ratio": ratio,
        "expert_ratio_low": low,
        "expert_ratio_high": high,
        "second_expert_exams": np.nan if needed is None or not asked else needed,
    }


def _mean_known(values: FloatArray | None) -> float:
    """Mean of the finite values; NaN without one."""
    known = np.empty(0) if values is None else values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def tabulate_closeness(
    pairs: list[Pair],
    ruler_against_expert: pd.DataFrame | None,
    shared_error: pd.DataFrame | None,
    *,
    known: RulerKnowledge,
    patients: pd.Series | None = None,
) -> pd.DataFrame:
    """Measure for each structure with Dice how close the other ruler is to the model."""
    rows = [
        {"structure": pair.structure}
        | asdict(
            measure_closeness(
                pair.other,
                pair.base,
                _pick(ruler_against_expert, pair),
                _pick(shared_error, pair),
                asked=known.may_repeat,
                corrected=known.corrected is not None,
                patients=number_patients(patients, pair.exams),
            )
        )
        for pair in pairs
        if pair.metric.name == DICE.name and len(pair.base) > 1
    ]
    return pd.DataFrame(rows, columns=["structure", *(column.name for column in fields(Closeness))])


def average_structures(scores: pd.DataFrame) -> pd.DataFrame | None:
    """Add the mean over structures of every exam to scores that have none; None without scores."""
    if scores.empty:
        return None
    macro: pd.DataFrame = scores.groupby("exam_id")[["value"]].mean().reset_index()
    parts = [scores[["exam_id", "structure", "value"]], macro.assign(structure=MACRO)]
    return pd.concat(parts, ignore_index=True)


def count_needed(closeness: pd.DataFrame) -> int | None:
    """Return on how many exams a second expert would tell a copied ruler from a sharper one, by the macro score or
    the structure that needs most; None where nothing calls for one.
    """
    rows = closeness.set_index("structure")["second_expert_exams"].dropna()
    if rows.empty:
        return None
    return int(rows[MACRO] if MACRO in rows.index else rows.max())


def overall_status(closeness: pd.DataFrame) -> str:
    """Judge the ruler by the macro score, or by its closest structure where there is none."""
    status = closeness.set_index("structure")["status"]
    if MACRO in status.index:
        return str(status[MACRO])
    found = set(status)
    return next(
        (name for name in ("identical", "too_close", "distinct") if name in found), "unknown"
    )


def _pick(table: pd.DataFrame | None, pair: Pair) -> FloatArray | None:
    """Return the values of one structure for the exams of a pair, NaN where a table has none; None without a table."""
    if table is None:
        return None
    rows = table[(table["structure"] == pair.structure) & table["exam_id"].isin(pair.exams)]
    if rows.empty:
        return None
    return rows.set_index("exam_id")["value"].reindex(pair.exams).to_numpy(dtype=np.float64)
