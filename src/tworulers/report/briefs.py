"""What is said of a finished audit or comparison: lines and tables, for the page of a run and for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tworulers.battery.audit import AuditResult
from tworulers.battery.summary import OF_SCORE
from tworulers.diagnosis.comparison import Comparison
from tworulers.metrics.known.dice import DICE
from tworulers.report.audit_tables import tell_family
from tworulers.report.choose import rank_groupings
from tworulers.report.tables import (
    Table,
    escape_markdown,
    make_table,
    write_count,
    write_p,
    write_score,
)
from tworulers.report.words.answers import ANSWERS, tell_answers
from tworulers.report.words.groupings import name_row
from tworulers.report.words.headline import (
    tell_exams,
)
from tworulers.report.words.primary import remark_on_lock
from tworulers.report.words.read_facts import tell_best, tell_change
from tworulers.report.words.rulers import put_into_words, tell_four_fifths
from tworulers.report.words.verdicts import FLIPS
from tworulers.schema.settings import MACRO
from tworulers.schema.tables import list_rows, unpack_names

CONCERN = (
    "A changed conclusion is about the rulers; what holds for the patients is what the best labels "
    "there are show."
)
COUNTED = {
    "flips": "Conclusions, adjusted p",
    "flips_unadjusted": "Conclusions, raw p",
    "tests_changed": "Tests whose statistic changed with the ruler beyond chance",
    "verdicts": "Verdicts on the change",
    "gap_changes": "Gaps between groups",
}
"""The counts of a comparison that the page of a run lists."""

SHOWN = {
    "flips": "flips (adjusted)",
    "flips_unadjusted": "flips (raw)",
    "verdicts": "verdicts",
    "gap_changes": "gaps",
}
"""The counts of a comparison that a terminal shows, with their headings."""


def note_audit(found: AuditResult, start: str, no_verdict: str) -> str:
    """Say in Markdown what was audited and what each grouping showed, for the page of a run."""
    exams = f"{write_count(found.n_exams, 'exam')} of {write_count(found.n_patients, 'patient')}"
    if no_verdict:
        return f"{start} {exams}. No verdict: {no_verdict}."
    parts = [*_embolden(tell_best([found])), f"{start} {exams}."]
    parts += [tell_answers(found)] if len(found.tests) else []
    parts += remark_on_lock(found.settings.locked)
    for family in list_rows(found.families):
        parts.append(f"**{_capitalise(tell_family(family, found.by_patient))}.**")
    if len(found.groupings):
        parts.append(tabulate_groupings(found).to_markdown().strip())
        parts.append(
            "A difference that was not found may be there; the table `power` says how large."
        )
    return "\n\n".join(parts)


def tabulate_overall(found: AuditResult) -> Table:
    """Tabulate the scores over all exams, where nothing was grouped."""
    rows = []
    for row in list_rows(found.overall):
        metric = found.metrics[row["metric"]]
        name = f"{metric.name} ({metric.unit})" if metric.unit else metric.name
        scores = [write_score(row[column], metric) for column in OF_SCORE]
        counts = [row[f"n_{kind}"] for kind in ("infinite", "undefined", "partial")]
        rows.append([name, row["structure"], *scores, *counts])
    heads = ("metric", "structure", "mean", "SD", "median", "infinite", "undefined", "partial")
    return make_table(f"{name_audit(found)}, no groupings", heads, rows)


def tabulate_groupings(found: AuditResult, caption: str = "", most: int = 0) -> Table:
    """Tabulate what the tests of every grouping found.

    Parameters
    ----------
    found, caption : the audit, and what the table is called.
    most : of more groupings than so many only those with a primary question or the smallest p; 0 takes all.
    """
    groupings, note = found.groupings, ""
    if 0 < most < groupings["grouping"].nunique():
        first = rank_groupings(found.tests)[:most]
        total = write_count(groupings["grouping"].nunique(), "grouping")
        groupings = groupings[groupings["grouping"].isin(first)]
        note = f"{most} of {total}, those with the smallest p; the tables of the result hold all"
    rows = [
        [
            name_row(row),
            ", ".join(unpack_names(row["groups"])),
            row["n_left_out"],
            ", ".join(f"{word} {row[name]}" for name, word in ANSWERS.items() if row[name]),
            f"{row['significant']} of {row['tests_computed']}",
            write_p(row["smallest_p"]),
            write_p(row["smallest_p_fdr"]),
        ]
        for row in list_rows(groupings)
    ]
    heads = ("grouping", "groups", "left out", "answers", "significant", "smallest p", "adjusted")
    return make_table(caption, heads, rows, note)


def brief_rulers(found: Comparison, audits: Sequence[AuditResult] = ()) -> list[str | Table]:
    """Say what changed with the ruler, how close it is to the model, each changed conclusion, and last the answer.

    Parameters
    ----------
    found : the comparison.
    audits : of the model, whose best labels speak of the patients.
    """
    found = put_into_words(found)
    summary = found.summary
    told: list[str | Table] = [
        tabulate_outcomes(summary) if summary["flips"] else describe(summary)
    ]
    told.append(tell_closeness(found))
    told += filter(None, [tell_partial_macro(summary)])
    if leaning := tell_four_fifths(found):
        told.append(leaning)
    flipped = found.verdicts["flip"].isin(FLIPS)
    told += [tell_changed(summary), *found.verdicts.loc[flipped, "sentence"]]
    return [*told, *filter(None, [tell_best(audits), tell_change(summary)])]


def tell_partial_macro(summary: Mapping[str, Any]) -> str:
    """Say which macro scores of a comparison are over part of the structures; nothing where none is."""
    fewer = ", ".join(f"{n} of {name}" for name, n in summary["macro_partial"].items())
    start = "macro scores are over the structures defined on both sides: not all in"
    return f"{start} {fewer}" if fewer else ""


def note_comparison(summary: Mapping[str, Any], patients: str = "") -> str:
    """Say in Markdown what was compared and how often what came out, for the page of a run.

    Parameters
    ----------
    summary : of the comparison.
    patients : what the best labels say of the patients.
    """
    listed = [
        f"- {title}, {family} tests: {list_outcomes(outcomes)}"
        for kind, title in COUNTED.items()
        for family, outcomes in summary.get(kind, {}).items()
        if outcomes
    ]
    parts = [*_embolden(patients), *_embolden(tell_change(summary)), describe(summary)]
    parts += ["\n".join(listed)] if listed else []
    return "\n\n".join([*parts, *([CONCERN] if listed and "base_ruler" in summary else [])])


def _embolden(sentence: str) -> list[str]:
    """Write a sentence as bold Markdown that holds names from data; nothing where there is none."""
    return [f"**{escape_markdown(sentence)}**"] if sentence else []


def tabulate_outcomes(summary: Mapping[str, Any]) -> Table:
    """Tabulate how often what came out of a comparison, by family of tests."""
    shown = {kind: head for kind, head in SHOWN.items() if kind in summary}
    rows = [
        [family, *(list_outcomes(summary[kind].get(family, {})) for kind in shown)]
        for family in summary["flips"]
    ]
    return make_table(describe(summary), ("family", *shown.values()), rows)


def describe(summary: Mapping[str, Any]) -> str:
    """Say in a sentence what was compared."""
    if "base_regime" in summary:
        return (
            f"Regimes {summary['base_regime']} and {summary['other_regime']} under the "
            f"{summary['ruler']} ruler (provenance: {summary['provenance']})."
        )
    return (
        f"Predictions of {summary['regime']} under the {summary['base_ruler']} ruler (provenance: "
        f"{summary['base_provenance']}) and the {summary['other_ruler']} ruler (provenance: "
        f"{summary['other_provenance']}), which is {summary['status'].replace('_', ' ')}"
        f"{' to the model' if summary['status'] == 'too_close' else ''}. {tell_exams(summary)}"
    ).rstrip()


def tell_changed(summary: Mapping[str, Any]) -> str:
    """Say in how many tests the change of the ruler changed the test itself, beyond chance."""
    counts = summary["tests_changed"].items()
    parts = [f"{n['changed']} of {n['tested']} {family} tests" for family, n in counts]
    return f"changed with the ruler beyond chance: {', '.join(parts) or 'no test'}"


def tell_closeness(found: Comparison) -> str:
    """Say how well model, ruler and expert agree, and what is not known of it."""
    rows = found.closeness.set_index("structure")
    if rows.empty:
        return "closeness of the other ruler: unknown, since no Dice was scored"
    structure = MACRO if MACRO in rows.index else str(rows.index[0])
    row = rows.loc[structure]
    base, other = found.summary["base_ruler"], found.summary["other_ruler"]
    parts = [f"predictions with {base} {row['model_expert']:.4f}"]
    parts += [f"with {other} {row['model_ruler']:.4f}"]
    if np.isfinite(row["ruler_expert"]):
        parts.append(f"{other} with {base} {row['ruler_expert']:.4f}")
    inflation = found.inflation
    dice = (inflation["metric"] == DICE.name) & (inflation["structure"] == structure)
    scores = inflation[dice].iloc[0]
    parts.append(f"SD over exams {scores['sd_base']:.4f} and {scores['sd_other']:.4f}")
    if np.isfinite(row["vcr_mad"]):
        parts.append(f"spread (MAD) {row['vcr_mad']:.2f} times wider under {base}")
    if np.isfinite(row["forgiven"]):
        interval = f"{100 * row['forgiven_low']:.0f} to {100 * row['forgiven_high']:.0f}"
        parts.append(f"{100 * row['forgiven']:.0f} % of the error forgiven [{interval}]")
    if row["note"]:
        parts.append(str(row["note"]))
    status = str(row["status"]).replace("_", " ")
    return f"mean Dice ({structure}), {row['n']} exams: {', '.join(parts)}: {status}"


def name_audit(found: AuditResult) -> str:
    """Name an audit by model, reference, provenance and size."""
    exams = f"{write_count(found.n_exams, 'exam')} of {write_count(found.n_patients, 'patient')}"
    return f"{found.regime} by {found.ruler} ({found.provenance}), {exams}"


def list_outcomes(outcomes: Mapping[str, int]) -> str:
    """List how often what came out."""
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in outcomes.items())


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
