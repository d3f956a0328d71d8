"""The verdict on every test of a comparison of rulers: measured one by one, settled together."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from tworulers.battery.questions import Question, name_groups
from tworulers.diagnosis.disagreement import (
    FIGURES,
    Disagreement,
    order_groups,
)
from tworulers.diagnosis.known import RulerKnowledge
from tworulers.diagnosis.mechanism import SHOWN, Judgement, Mechanism
from tworulers.schema.settings import Audit
from tworulers.stats.families import adjust_within
from tworulers.stats.types import FloatArray, Row


class Verdict(StrEnum):
    """What may be said of a ruler's part in one conclusion, beside the names of mechanisms.

    The first eight accuse the ruler, and need more than figures; the others do not.
    """

    FALSE_CONFIDENCE = "false_confidence"
    FALSE_MAGNITUDE = "false_magnitude"
    MIXED = "mixed"
    REASSURANCE_BY_NOISE = "false_reassurance_by_noise"
    REASSURANCE_BY_MAGNITUDE = "false_reassurance_by_magnitude"
    REASSURANCE_BY_BOTH = "false_reassurance_by_both"
    EXAGGERATED = "exaggerated"
    UNDERSTATED = "understated"
    LARGER_GAP = "larger_gap"
    SMALLER_GAP = "smaller_gap"
    BOTH_DIFFER = "both_differ"
    NEITHER_SHOWN = "neither_shown"
    TOO_CLOSE = "too_close"
    UNDEFINED = "undefined"


AGREED = (Verdict.BOTH_DIFFER, Verdict.NEITHER_SHOWN)
"""Verdicts on conclusions that both rulers come to alike."""

GAINED = {
    Mechanism.NOISE_SHOWN: Verdict.FALSE_CONFIDENCE,
    Mechanism.GAP_SHOWN: Verdict.FALSE_MAGNITUDE,
    Mechanism.BOTH_SHOWN: Verdict.MIXED,
}
LOST = {
    Mechanism.NOISE_SHOWN: Verdict.REASSURANCE_BY_NOISE,
    Mechanism.GAP_SHOWN: Verdict.REASSURANCE_BY_MAGNITUDE,
    Mechanism.BOTH_SHOWN: Verdict.REASSURANCE_BY_BOTH,
}
"""What a shown mechanism is called where the ruler is known to be false, by what became of the conclusion."""

SIZES = {
    True: (Verdict.EXAGGERATED, Verdict.UNDERSTATED),
    False: (Verdict.LARGER_GAP, Verdict.SMALLER_GAP),
}
"""What a gap that both rulers show is called, by whether the ruler may be called false."""


@dataclass(frozen=True)
class MeasuredTest:
    """One test under two rulers.

    Attributes
    ----------
    row : what identifies it, its p on both sides, which sides are significant, counts, rulers.
    question : its scores by group.
    found : what was measured; None where fewer than two groups can be compared.
    """

    row: Row
    question: Question
    found: Disagreement | None


def settle_verdicts(
    measured: Sequence[MeasuredTest],
    status: str,
    settings: Audit,
    known: RulerKnowledge,
    confirmed: Collection[tuple[str, ...]] = (),
) -> list[Row]:
    """Give every test its mechanism and its verdict, or the reason why there is none.

    Parameters
    ----------
    measured : all tests of the comparison, since the p of exchanging the rulers is adjusted within
        each family of tests.
    status : how close the other ruler is to the model.
    settings : level and smallest group with a verdict.
    known : of the other ruler.
    confirmed : grouping, structure and metric of tests in which the truth comes to the other ruler's
        conclusion, which is not false there.
    """
    adjusted = _adjust_exchanges(measured)
    rows = []
    for place, test in enumerate(measured):
        if test.found is None:
            silent: Row = {"mechanism": str(Mechanism.NONE), "verdict": str(Verdict.UNDEFINED)}
            silent |= {"reversal": False, "undefined_because": name_fault(test.question)}
            rows.append(test.row | silent | dict.fromkeys(FIGURES, np.nan))
            continue
        row = test.row | test.found.tabulate_figures() | order_groups(test.question)
        row["swap_p_fdr"] = float(adjusted[place])
        crosses = (row["p_fdr_own_exchanged"] < settings.alpha) == row["significant_other"]
        judgement = test.found.judge(
            row["significant_base"],
            row["significant_other"],
            settings.alpha,
            own_p_crosses=bool(crosses),
            swap_p=row["swap_p_fdr"],
        )
        shown = tuple(str(row[name]) for name in ("grouping", "structure", "metric"))
        false = known.may_be_false and shown not in confirmed
        row |= judgement.tabulate() | {"confirmed_by_truth": shown in confirmed}
        row["verdict"] = name_verdict(
            judgement, row["significant_base"], row["significant_other"], may_be_false=false
        )
        rows.append(_conclude(row, test.question, status, settings))
    return rows


def name_verdict(
    judgement: Judgement, significant_base: bool, significant_other: bool, *, may_be_false: bool
) -> Verdict | Mechanism:
    """Name what may be said of the ruler's part in one conclusion.

    Parameters
    ----------
    judgement : what made the conclusion change, as far as that is shown.
    significant_base, significant_other : after adjustment.
    may_be_false : whether the ruler is declared or demonstrated to be a copy or biased.

    Returns
    -------
    An accusation where a mechanism is shown and the ruler may be false; else the mechanism's own name;
    where no conclusion changed, what both rulers show.
    """
    if significant_base != significant_other:
        accused = GAINED if significant_other else LOST
        return (
            accused[judgement.mechanism]
            if _accuses(judgement, may_be_false)
            else (judgement.mechanism)
        )
    if not significant_base:
        return Verdict.NEITHER_SHOWN
    larger, smaller = SIZES[may_be_false]
    if judgement.signs.grew:
        return larger
    return smaller if judgement.signs.shrank else Verdict.BOTH_DIFFER


def _accuses(judgement: Judgement, may_be_false: bool) -> bool:
    return may_be_false and judgement.mechanism in SHOWN


def count_changed(measured: Sequence[MeasuredTest], settings: Audit) -> dict[str, dict[str, int]]:
    """Count within each family the tests whose statistic changed with the ruler beyond chance."""
    adjusted = _adjust_exchanges(measured)
    families = np.array([str(x.row["family"]) for x in measured])
    return {
        str(family): {
            "changed": int((adjusted[families == family] < settings.alpha).sum()),
            "tested": int((~np.isnan(adjusted[families == family])).sum()),
        }
        for family in dict.fromkeys(families)
    }


def name_fault(question: Question) -> str:
    """Say why groups cannot be compared, and which have too few exams."""
    apart = f"; not assessed: {question.not_assessed}" if question.not_assessed else ""
    return "fewer than two groups with two exams" + apart


def _adjust_exchanges(measured: Sequence[MeasuredTest]) -> FloatArray:
    """Adjust the p of exchanging the rulers within each family."""
    raw = pd.Series([np.nan if x.found is None else x.found.swapped.p for x in measured])
    return adjust_within(raw, pd.Series([x.row["family"] for x in measured], dtype=object))


def _conclude(row: Mapping[str, object], question: Question, status: str, settings: Audit) -> Row:
    """Settle the verdict of a row, or say why there is none."""
    settled: Row = dict(row)
    small = name_groups(question.sample, settings.min_group)
    reason = None
    if np.isnan(settled["p_verdict_fdr_base"]) or np.isnan(settled["p_verdict_fdr_other"]):
        reason = "the test could not be computed under both rulers"
        if isinstance(settled["verdict_undefined_because"], str):
            reason = settled["verdict_undefined_because"]
    elif small:
        reason = f"a group below {settings.min_group} exams: {small}"
    verdict = settled["verdict"] if reason is None else Verdict.UNDEFINED
    # Agreement with a ruler that repeats the model confirms nothing; a disagreement still tells of
    # the ruler.
    leans_on_it = status == "too_close" and verdict in AGREED
    if reason is None and (status == "identical" or leans_on_it):
        verdict = Verdict.TOO_CLOSE
    return settled | {"verdict": str(verdict), "undefined_because": reason}
