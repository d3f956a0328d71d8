"""The verdict on every test of a comparison of rulers: measured one by one, settled together."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from tworulers.schema import Audit
from tworulers.stats.diagnosis import Verdict
from tworulers.stats.disagreement import (
    FIGURES,
    OF_PATIENTS,
    Disagreement,
    Row,
    order_groups,
    say_not_shown,
    say_verdict,
)
from tworulers.stats.families import adjust_family
from tworulers.stats.pairs import GroupedPair


@dataclass(frozen=True)
class MeasuredTest:
    """One test under two rulers.

    Attributes
    ----------
    row : what identifies it, its p on both sides, which sides are significant, counts, rulers.
    grouped : its scores by group.
    found : what was measured; None where fewer than two groups can be compared.
    """

    row: Row
    grouped: GroupedPair
    found: Disagreement | None


def settle_verdicts(measured: Sequence[MeasuredTest], status: str, settings: Audit) -> list[Row]:
    """Give every test its verdict and its sentence, or the reason why there is none.

    Parameters
    ----------
    measured : all tests of the comparison, since the p of exchanging the rulers is adjusted within
        each family of tests.
    status : how close the other ruler is to the model.
    settings : level and smallest group with a verdict.
    """
    adjusted = _adjust_exchanges(measured)
    rows = []
    for place, test in enumerate(measured):
        if test.found is None:
            silent: Row = {"verdict": str(Verdict.UNDEFINED), "reversal": False, "sentence": ""}
            silent |= {"consistent_with": "", "not_shown_because": ""}
            silent |= {"undefined_because": name_fault(test.grouped)}
            rows.append(test.row | silent | dict.fromkeys(FIGURES, np.nan))
            continue
        row = test.row | test.found.tabulate_figures() | order_groups(test.grouped)
        row["swap_p_fdr"] = float(adjusted[place])
        crosses = (row["p_fdr_own_exchanged"] < settings.alpha) == row["significant_other"]
        judgement = test.found.judge(
            row["significant_base"],
            row["significant_other"],
            settings.alpha,
            own_p_crosses=bool(crosses),
            swap_p=row["swap_p_fdr"],
        )
        row |= asdict(judgement)
        # Labels that may speak of the patients may be sharper than the base ruler's; a change they
        # make is no sign that it is false.
        if row["other_provenance"] in OF_PATIENTS and row["verdict"].startswith("false"):
            row["verdict"] = Verdict.NOT_SHOWN
        row["not_shown_because"] = say_not_shown(row)
        rows.append(_conclude(row, test.grouped, status, settings))
    return rows


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


def name_fault(grouped: GroupedPair) -> str:
    """Say why groups cannot be compared, and which have too few exams."""
    apart = "; not assessed: " + ", ".join(grouped.not_assessed) if grouped.not_assessed else ""
    return "fewer than two groups with two exams" + apart


def _adjust_exchanges(measured: Sequence[MeasuredTest]) -> NDArray[np.float64]:
    """Adjust the p of exchanging the rulers within each family."""
    raw = np.array([np.nan if x.found is None else x.found.swapped.p for x in measured])
    families = np.array([str(x.row["family"]) for x in measured])
    adjusted = np.full(len(measured), np.nan)
    for family in dict.fromkeys(families):
        mine = families == family
        adjusted[mine] = adjust_family(raw[mine]).adjusted
    return adjusted


def _conclude(row: Mapping[str, object], grouped: GroupedPair, status: str, settings: Audit) -> Row:
    """Settle the verdict of a row and write its sentence, or say why there is none."""
    settled: Row = dict(row)
    small = [
        f"{name} (n {size})"
        for name, size in zip(grouped.names, grouped.sizes, strict=True)
        if size < settings.min_group
    ]
    reason = None
    if np.isnan(settled["p_verdict_fdr_base"]) or np.isnan(settled["p_verdict_fdr_other"]):
        reason = "the test could not be computed under both rulers"
        if isinstance(settled["verdict_undefined_because"], str):
            reason = settled["verdict_undefined_because"]
    elif small:
        reason = f"a group below {settings.min_group} exams: {', '.join(small)}"
    verdict = settled["verdict"] if reason is None else Verdict.UNDEFINED
    # Agreement with a ruler that repeats the model confirms nothing; a disagreement still tells of
    # the ruler.
    leans_on_it = status == "too_close" and verdict is Verdict.STABLE
    if reason is None and (status == "identical" or leans_on_it):
        verdict = Verdict.TOO_CLOSE
    settled |= {"verdict": str(verdict), "undefined_because": reason}
    return settled | {"sentence": "" if reason else say_verdict(settled, grouped, status)}
