"""What a change of the ruler did to each conclusion, and how close a ruler is to the model, in sentences."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tworulers.diagnosis.closeness import LIMIT
from tworulers.diagnosis.comparison import Comparison
from tworulers.diagnosis.known import DECLARED, Basis
from tworulers.diagnosis.mechanism import SHOWN, Mechanism
from tworulers.diagnosis.verdicts import Verdict
from tworulers.report.tables import write_apart, write_count
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Provenance
from tworulers.schema.tables import list_rows
from tworulers.stats.types import Row

CONCERN = "This concerns the ruler; of the patients it says nothing."
"""What ends a verdict where no labels that can say so show a difference between the patients."""

OF_PATIENTS: Mapping[str, str] = {
    Provenance.TRUTH: "the noise-free truth ({}) shows",
    Provenance.GOLD: "the labels of experts ({}) show",
}
"""Whose labels may speak of the patients, the best first."""

MECHANISMS: Mapping[Mechanism, tuple[str, str]] = {
    Mechanism.NOISE_SHOWN: (
        "{other} shows a difference that {base} does not, by less noise, not by a wider gap",
        "{other} does not show a difference that {base} shows, by more noise",
    ),
    Mechanism.GAP_SHOWN: (
        "{other} shows a difference that {base} does not, by a wider gap",
        "{other} does not show a difference that {base} shows, by a narrower gap",
    ),
    Mechanism.BOTH_SHOWN: (
        "{other} shows a difference that {base} does not, by less noise and a wider gap; the "
        "{larger_part} does more",
        "{other} does not show a difference that {base} shows, by more noise and a narrower gap; the "
        "{larger_part} does more",
    ),
    Mechanism.BY_CORRECTION: 2
    * (
        "the rulers fall on different sides of the level, made by the correction over the family and "
        "not by this test: with its own p alone exchanged, its adjusted p is {own:.2g}",
    ),
    Mechanism.LIKE_NOISE: (
        "{differ}; this is consistent with less noise under {other}, which is not shown: {chance}",
        "{differ}; this is consistent with more noise under {other}, which is not shown: {chance}",
    ),
    Mechanism.LIKE_GAP: (
        "{differ}; this is consistent with a wider gap under {other}, which is not shown: {chance}",
        "{differ}; this is consistent with a narrower gap under {other}, which is not shown: {chance}",
    ),
    Mechanism.LIKE_BOTH: (
        "{differ}; this is consistent with less noise and a wider gap under {other}, which is not "
        "shown: {chance}",
        "{differ}; this is consistent with more noise and a narrower gap under {other}, which is not "
        "shown: {chance}",
    ),
    Mechanism.UNATTRIBUTED: 2
    * ("{differ} without a change of gap or noise that could be told from chance",),
}
"""What made a conclusion change: where it was gained, and where it was lost."""

ACCUSED: Mapping[Verdict, str] = {
    Verdict.FALSE_CONFIDENCE: "false confidence",
    Verdict.FALSE_MAGNITUDE: "false magnitude",
    Verdict.MIXED: "false confidence and false magnitude",
    Verdict.REASSURANCE_BY_NOISE: "false reassurance by noise",
    Verdict.REASSURANCE_BY_MAGNITUDE: "false reassurance by magnitude",
    Verdict.REASSURANCE_BY_BOTH: "false reassurance by noise and by magnitude",
    Verdict.EXAGGERATED: "exaggerated",
    Verdict.UNDERSTATED: "understated",
}
"""What a ruler is charged with."""

AGREED: Mapping[Verdict, str] = {
    Verdict.EXAGGERATED: "{other} shows the difference larger than {base}",
    Verdict.UNDERSTATED: "{other} shows the difference smaller than {base}",
    Verdict.LARGER_GAP: "{other} shows the difference larger than {base}",
    Verdict.SMALLER_GAP: "{other} shows the difference smaller than {base}",
    Verdict.BOTH_DIFFER: "both rulers show a difference",
    Verdict.NEITHER_SHOWN: "neither ruler shows a difference, which is no sign of equality",
    Verdict.TOO_CLOSE: "{other} is {close} to the model: its agreement confirms nothing",
}
"""What is said where both rulers come to one conclusion, or one of them is no ruler."""

CLOSE: Mapping[str, str] = {"identical": "identical", "too_close": "too close"}
"""How near a ruler is to the model, by the status of a comparison."""

BECAUSE: Mapping[Basis, str] = {
    Basis.EXPERTS: "the labels of {other} are declared to be experts', which may be sharper: nothing "
    "false is shown",
    Basis.TRUTH: "the labels of {other} are declared to be the truth: nothing false is shown",
    Basis.BIASED: "the labels of {other} are biased as stated",
    Basis.COPIED: "{other} repeats the model's own errors, as {witness} demonstrates",
    Basis.SHARPER: "{other} does not repeat the model's own errors, as {witness} demonstrates, and may "
    "be the sharper ruler",
    Basis.SHARES_TRAINING: "{other} shares training data with the model",
    Basis.CORRECTED: "the labels of {base} are corrections of those of {other}{unchanged}, so that the two are no "
    "independent rulers: nothing false is shown; an expert who did not start from them{exams} would settle it",
    Basis.INDEPENDENT: "the labels of {other} are declared independent of the model: nothing false "
    "is shown",
    Basis.UNKNOWN: "cause unknown: copied or sharper cannot be told from these labels; a second "
    "expert{exams} would settle it",
}
"""What a charge, or its absence, rests on."""


def put_into_words(found: Comparison) -> Comparison:
    """Add the sentences of a comparison to its tables: of each verdict, and of what is not known of closeness.

    Columns `not_shown_because` and `sentence` of the verdicts and `note` of the closeness; a comparison that has them
    is returned as it is.
    """
    if "sentence" in found.verdicts:
        return found
    summary, rows = found.summary, list_rows(found.verdicts)
    reasons = [say_not_shown(row) for row in rows]
    said = [
        say_verdict(row, found.metrics[row["metric"]], summary["status"], summary["known"])
        for row in rows
    ]
    asked = summary["other_provenance"] not in DECLARED
    notes = [note_closeness(row, asked) for row in list_rows(found.closeness)]
    noted = {
        row["structure"]: {**summary["closeness"][row["structure"]], "note": note}
        for row, note in zip(list_rows(found.closeness), notes, strict=True)
    }
    return replace(
        found,
        verdicts=found.verdicts.assign(
            not_shown_because=pd.array(reasons, "str"), sentence=pd.array(said, "str")
        ),
        closeness=found.closeness.assign(note=pd.array(notes, "str")),
        summary={**summary, "closeness": noted},
    )


def say_verdict(row: Row, metric: Metric, status: str, known: Mapping[str, Any]) -> str:
    """Write a verdict with its figures in a few sentences; nothing where there is no verdict.

    Parameters
    ----------
    row : of the verdict table.
    metric : of its score.
    status : how close the other ruler is to the model.
    known : of the other ruler, as a comparison's summary tells it.
    """
    if row["verdict"] in ("", Verdict.UNDEFINED):
        return ""
    base, other = f"the {row['base_ruler']} ruler", f"the {row['other_ruler']} ruler"
    what = say_ruler(row, status, known)
    patients = say_of_patients(row, metric)
    what = f"{patients} Of the ruler: {what}" if patients else what
    figures = _write_figures(row, base, other, metric)
    said = [f"{row['grouping']}, {metric.name_of(row['structure'])}: {what} ({figures})."]
    if row["reversal"]:
        said.append(
            f"Best and worst group: {row['best_base']} and {row['worst_base']} under {base}, "
            f"{row['best_other']} and {row['worst_other']} under {other}."
        )
    if status == "too_close" and row["verdict"] != Verdict.TOO_CLOSE:
        said.append(
            f"{other[0].upper()}{other[1:]} is too close to the model: base no verdict on "
            "fairness on it."
        )
    said.append(
        f"Provenance: {row['base_ruler']} is {row['base_provenance']}{_say_corrected(row, known)}, "
        f"{row['other_ruler']} is {row['other_provenance']}."
    )
    return " ".join(said if patients else [*said, CONCERN])


def _say_corrected(row: Row, known: Mapping[str, Any]) -> str:
    return f" corrected from {row['other_ruler']}" if known.get("corrected") else ""


def say_ruler(row: Row, status: str, known: Mapping[str, Any]) -> str:
    """Say what the other ruler had to do with a conclusion, and on what a charge, or its absence, rests."""
    base, other = f"the {row['base_ruler']} ruler", f"the {row['other_ruler']} ruler"
    verdict = row["verdict"]
    if verdict in list(AGREED):
        close = CLOSE.get(status, CLOSE["too_close"])
        said = AGREED[Verdict(verdict)].format(base=base, other=other, close=close)
    else:
        lost = bool(row["significant_base"])
        said = MECHANISMS[Mechanism(row["mechanism"])][lost].format(
            base=base,
            other=other,
            larger_part=row["larger_part"],
            own=row["p_fdr_own_exchanged"],
            differ="the rulers fall on different sides of the level",
            chance=say_chance(row),
        )
    shown = row["mechanism"] in SHOWN
    if verdict in list(ACCUSED):
        return f"{said}; {say_basis(known, other)}: {ACCUSED[Verdict(verdict)]}"
    if shown and row["confirmed_by_truth"]:
        return f"{said}; the truth comes to the same conclusion: nothing false is shown"
    return f"{said}; {say_basis(known, other)}" if shown else said


def say_basis(known: Mapping[str, Any], other: str) -> str:
    """Say what is known of a ruler, as far as it bears on the word false.

    Parameters
    ----------
    known : of the ruler, as a comparison's summary tells it.
    other : what the ruler is called.
    """
    needed, heard = known["second_expert_exams"], known["testimony"]
    exams = f" on {needed} exams" if needed else ""
    witness = f"the {heard['witness']} ruler" if heard else ""
    made = known.get("corrected") or {"base": "", "unchanged": 0, "exams": 0}
    unchanged = f", unchanged in {made['unchanged']} of {made['exams']} exams" * bool(made["exams"])
    return BECAUSE[Basis(known["basis"])].format(
        other=other,
        base=f"the {made['base']} ruler",
        witness=witness,
        exams=exams,
        unchanged=unchanged,
    )


def say_chance(row: Row) -> str:
    """Say how far chance alone could have changed a test."""
    if np.isnan(row["swap_p"]):
        return "the change of the test was not tested (audit.permutations is 0)"
    return (
        f"the change of the test is within chance, swap p {row['swap_p']:.2g}, adjusted "
        f"{row['swap_p_fdr']:.2g}"
    )


def _write_figures(row: Row, base: str, other: str, metric: Metric) -> str:
    together = ", patients kept together" if row["verdict_by"] == "patient" else ""
    return (
        f"adjusted p {row['p_verdict_fdr_base']:.3g} under {base}, "
        f"{row['p_verdict_fdr_other']:.3g} under {other}{together}; "
        f"spread {row['base_ruler']} / {row['other_ruler']} {row['vcr_mad']:.2g} "
        f"[{row['vcr_mad_low']:.2g}, {row['vcr_mad_high']:.2g}]; "
        f"gap {metric.write_difference(row['gap_base'])} to {metric.write_difference(row['gap_other'])}; "
        f"exchanging the rulers p {row['swap_p']:.2g}, adjusted {row['swap_p_fdr']:.2g}"
    )


def tell_four_fifths(found: Comparison) -> str:
    """Say of success ratios below four fifths under one ruler only that one of the two is too close to the model.

    Nothing where there are no such ratios, or the other ruler is neither identical with the model nor too close to it.
    """
    summary, flips = found.summary, len(found.four_fifths)
    if not flips or summary["status"] not in CLOSE:
        return ""
    other = f"the {summary['other_ruler']} ruler"
    return (
        f"{write_count(flips, 'success ratio')} below four fifths under one ruler only: {other} is "
        f"{CLOSE[summary['status']]} to the model, so that what is gained or lost under {other} is no "
        "finding on the patients."
    )


def say_of_patients(row: Row, metric: Metric) -> str:
    """Say which difference between patients the best labels there are show; nothing where none do.

    Parameters
    ----------
    row : of the verdict table.
    metric : of its score.
    """
    for provenance, whose in OF_PATIENTS.items():
        for side in ("base", "other"):
            if row[f"{side}_provenance"] == provenance and row[f"significant_{side}"]:
                return (
                    f"{whose.format(row[f'{side}_ruler'])} a difference between the patients: "
                    f"best {row[f'best_{side}']}, worst {row[f'worst_{side}']}, "
                    f"{write_apart(row[f'gap_{side}'], metric)}, adjusted p "
                    f"{row[f'p_verdict_fdr_{side}']:.2g}."
                )
    return ""


def say_not_shown(row: Row) -> str:
    """Say why the mechanism of a changed conclusion is not shown; nothing where it is, or where none changed."""
    if row["mechanism"] in (*SHOWN, Mechanism.NONE, Mechanism.UNATTRIBUTED):
        return ""
    reasons = []
    if row["made_by_correction"]:
        reasons.append(
            "made by the correction: with the test's own p alone exchanged, its adjusted p is "
            f"{row['p_fdr_own_exchanged']:.2g}"
        )
    if row["within_chance"]:
        reasons.append(say_chance(row))
    return "; ".join(reasons)


def note_closeness(row: Mapping[str, Any], asked: bool) -> str:
    """Say what is not known of how close a ruler is to the model, and what is barely so.

    Parameters
    ----------
    row : of the table of closeness.
    asked : whether the ruler may repeat the model.
    """
    notes = []
    if not asked and row["status"] != "identical":
        notes.append("not asked of labels declared to be experts' or the truth")
    elif row["near_limit"]:
        notes.append(f"near the limit of {100 * LIMIT:.0f} % of the error forgiven")
    if not np.isfinite(row["ruler_expert"]):
        notes.append("ruler against expert unknown")
    if not np.isfinite(row["shared_error"]):
        notes.append("shared error unknown")
    return "; ".join(notes)
