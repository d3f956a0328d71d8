"""What the report says of whether the model's own confidence would have warned of its failures."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tworulers.report.audit_tables import name_titles
from tworulers.report.gallery import ShownAudit
from tworulers.report.page import Findings, Section, Warned
from tworulers.report.rows import iterate_rows
from tworulers.report.tables import (
    UNDEFINED,
    Table,
    make_table,
    write_interval,
    write_number,
    write_p,
    write_undefined,
)
from tworulers.schema import Provenance

DEFAULT = "confidence"
"""The uncertainty that is shown first."""

HOW = (
    "Confidence is computed without any reference, but which exams count as failed is the ruler's "
    "word. AUC is the chance that a failed exam looks less sure than an acceptable one: 0.5 warns "
    "of nothing. Rows are groups of failed exams, columns groups of acceptable ones; with one "
    "threshold for review for everybody, cells between groups count as well. A low row means that "
    "the group's failures slip through."
)
FEW = "†"


@dataclass(frozen=True)
class Answer:
    """Whether confidence warns by one ruler: of failures at all, and of all groups' alike.

    `warns` and `differs` are None where they could not be tested.
    """

    ruler: str
    warns: bool | None
    differs: bool | None
    concordance: float
    said: str


def tell_of_warning(
    findings: Findings, judged: Sequence[ShownAudit], grouping: str
) -> list[Section]:
    """Tell how well confidence warns by every ruler; nothing where no confidence was kept.

    Parameters
    ----------
    findings : with `warnings`.
    judged : the audits that the page is about.
    grouping : the one that is shown first; the others follow in the details.
    """
    regime, titles = judged[0].result.regime, name_titles(judged[0].result)
    shown = [
        (one, findings.warnings[regime, one.ruler])
        for one in judged
        if (regime, one.ruler) in findings.warnings
    ]
    groupings = list(dict.fromkeys(name for _, w in shown for name in w.cells["grouping"]))
    if not groupings:
        return []
    first = grouping if grouping in groupings else groupings[0]
    measures = list(dict.fromkeys(name for _, w in shown for name in w.cells["uncertainty"]))
    measure = DEFAULT if DEFAULT in measures else measures[0]
    others = [
        (one, findings.warnings[key])
        for key, one in findings.audits.items()
        if key[0] == regime and key in findings.warnings and one not in judged
    ]
    title = titles.get(first, first)
    answers = [answer(one, warned, first, measure) for one, warned in shown]
    tables = [tabulate_overall([*shown, *others], first, title, measure)]
    tables += [tabulate_matrix(one, warned, first, title, measure) for one, warned in shown]
    details = [tabulate_tests(one, warned, first, title, measure) for one, warned in shown]
    details += [tabulate_concordance(one, warned, first, title, measure) for one, warned in shown]
    details += [tabulate_matrix(one, warned, first, title, measure) for one, warned in others]
    asked = [(first, name) for name in measures if name != measure]
    asked += [(name, measure) for name in titles if name in groupings and name != first]
    details += [
        tabulate_matrix(one, warned, name, titles.get(name, name), kind)
        for name, kind in asked
        for one, warned in shown
    ]
    silver = any(one.result.provenance == Provenance.SILVER for one, _ in shown)
    agree = say_whether_rulers_agree(answers, made_of_predictions=silver)
    paragraphs = (HOW, *(one.said for one in answers), agree)
    return [
        Section(
            "warning",
            "Would the model's own confidence have warned?",
            tuple(text for text in paragraphs if text),
            tables=tuple(table for table in tables if table.rows),
            details=tuple(table for table in details if table.rows),
            details_title="Tests, no threshold, other rulers, uncertainties and groupings",
        )
    ]


def answer(one: ShownAudit, warned: Warned, grouping: str, measure: str) -> Answer:
    """Answer by one ruler: the failure rule, whether confidence warns, and of whom less.

    Confidence is said to warn where the concordance of all exams, which needs no threshold, has an
    interval above one half; groups differ where an adjusted p of a pair is below the level.
    """
    rules = _select(warned.cells, grouping, measure)["rule"]
    alpha = one.result.settings.alpha
    everyone = _select(warned.concordance, grouping, measure).query("worse_of == 'all'")
    start = f"Judged by {one.name}"
    if rules.empty or everyone.empty:
        return Answer(one.ruler, None, None, float("nan"), f"{start}: {measure} is not known.")
    all_exams = everyone.iloc[0]
    warns = None if pd.isna(all_exams["low"]) else bool(all_exams["low"] > 0.5)
    heard = {
        True: f"{measure} warns of worse exams",
        False: f"{measure} is not shown to warn of worse exams",
        None: f"whether {measure} warns could not be tested",
    }[warns]
    value = write_interval(
        *(write_number(float(all_exams[name]), 2) for name in ("concordance", "low", "high"))
    )
    tests = _select(warned.tests, grouping, measure)
    pairs = tests[(tests["family"] == "pairs") & tests["p_fdr"].notna()]
    differs = bool((pairs["p_fdr"] < alpha).any()) if len(pairs) else None
    if differs is None:
        between = "whether it warns less in one group could not be tested"
    elif differs:
        named = [
            f"{row.group_a} and {row.group_b} (adjusted p {write_p(row.p_fdr)}"
            + (f"; {_plain(row.remarks)})" if row.remarks else ")")
            for row in iterate_rows(pairs[pairs["p_fdr"] < alpha])
        ]
        between = f"within-group AUCs differ between {', '.join(named)}"
    else:
        between = (
            "no difference of within-group AUCs was found "
            f"(smallest adjusted p {write_p(pairs['p_fdr'].min())})"
        )
    said = (
        f"{start}, an exam fails where it is among the {rules.iloc[0]}"
        if str(rules.iloc[0]).startswith("worst")
        else f"{start}, an exam fails by {rules.iloc[0]}"
    )
    said += f": {heard} (concordance {value}), and {between}."
    return Answer(one.ruler, warns, differs, float(all_exams["concordance"]), said)


def say_whether_rulers_agree(answers: Sequence[Answer], *, made_of_predictions: bool) -> str:
    """Say whether the answer depends on the ruler; empty for a single ruler.

    Parameters
    ----------
    answers : by each ruler.
    made_of_predictions : whether one of the rulers is a model's predictions.
    """
    if len(answers) < 2:
        return ""
    if any(one.warns is None for one in answers):
        return "Whether the answer depends on the ruler cannot be said."
    parts = []
    if len({one.warns for one in answers}) > 1:
        parts.append("whether confidence warns at all")
    known = [one.differs for one in answers]
    heard = [f"concordance {write_number(one.concordance, 2)} by {one.ruler}" for one in answers]
    if None not in known and len(set(known)) > 1:
        parts.append("whether it warns of every group's failures alike")
    if parts:
        text = f"The answer depends on the ruler: the two differ on {' and on '.join(parts)}."
        if made_of_predictions:
            text += (
                " Errors that the model shares with the predictions that judge it are no failures "
                "to them, so the two rulers may ask confidence to find different exams."
            )
        return f"{text} Their difference is about the rulers."
    end = "" if None not in known else ", as far as the groups could be compared"
    text = f"Both rulers come to the same answer{end}"
    if not any(known):
        text += "; a difference between groups that was not found may be there all the same"
    return f"{text}. How well confidence warns is a matter of the ruler too: {', '.join(heard)}."


def tabulate_overall(
    shown: Sequence[tuple[ShownAudit, Warned]], grouping: str, title: str, measure: str
) -> Table:
    """Tabulate by ruler how well an uncertainty warns over all exams."""
    rows = []
    for one, warned in shown:
        cells = _select(warned.cells, grouping, measure)
        everyone = _select(warned.concordance, grouping, measure).query("worse_of == 'all'")
        if cells.empty or everyone.empty:
            continue
        whole = everyone.iloc[0]
        own = cells[cells["events_of"] == cells["non_events_of"]]
        sizes = own[["n_events", "n_non_events"]].sum()
        tests = _select(warned.tests, grouping, measure)
        pairs = tests[tests["family"] == "pairs"]["p_fdr"]
        rows.append(
            [
                one.name,
                f"{sizes['n_events']}/{sizes.sum()}",
                str(cells["rule"].iloc[0]),
                write_number(warned.overall.get(measure), 2),
                write_interval(
                    *(write_number(float(whole[n]), 2) for n in ("concordance", "low", "high"))
                ),
                write_p(pairs.min()) if pairs.notna().any() else write_undefined("not tested"),
            ]
        )
    columns = ["ruler", "failed", "what failed means", "AUC of all exams", "concordance of all"]
    columns.append(f"{title}: smallest adjusted p")
    note = (
        "Failed exams are counted within the grouping. Concordance: the chance that of two exams "
        "the worse one looks less sure, which needs no threshold. The AUC of all exams is no mean "
        "of the groups' AUCs."
    )
    if any(_select(w.cells, grouping, measure)["by_quantile"].any() for _, w in shown):
        note += (
            " Where the threshold of success leaves a group too few failures, the worst exams of "
            "the whole set fail instead, so two rulers with one share may call other exams failed."
        )
    return make_table(
        f"Does {measure} warn of failures? By provenance of the judge", columns, rows, note
    )


def tabulate_matrix(
    one: ShownAudit, warned: Warned, grouping: str, title: str, measure: str
) -> Table:
    """Tabulate the AUC of failed exams of each group against acceptable ones of each."""
    cells = _select(warned.cells, grouping, measure)
    order = list(dict.fromkeys(cells["non_events_of"]))
    failed = {row.events_of: row.n_events for row in iterate_rows(cells)}
    good = {row.non_events_of: row.n_non_events for row in iterate_rows(cells)}
    rows = []
    for group, part in cells.groupby("events_of", sort=False):
        written = {}
        for row in iterate_rows(part):
            value = write_interval(
                write_number(row.auc, 2, row.undefined_because),
                write_number(row.low, 2),
                write_number(row.high, 2),
            )
            few = row.auc == row.auc and bool(row.remarks)
            written[row.non_events_of] = value + (FEW if few else "")
        rows.append([f"{group} ({failed[group]} failed)", *(written[name] for name in order)])
    columns = ["failed exams of", *(f"acceptable, {name} ({good[name]})" for name in order)]
    rule = f"Failed: {cells['rule'].iloc[0]}. " if len(cells) else ""
    marked = any(cell.endswith(FEW) for line in rows for cell in line)
    note = rule + (f"{FEW} Fewer than ten on a side, or nothing varies." if marked else "")
    caption = f"{title}: AUC of {measure} for failure, judged by {one.name}"
    return make_table(caption, columns, rows, note.strip())


def tabulate_tests(
    one: ShownAudit, warned: Warned, grouping: str, title: str, measure: str
) -> Table:
    """Tabulate the tests of equal within-group AUCs."""
    tests = _select(warned.tests, grouping, measure)
    rows = [
        [
            f"{row.group_a} and {row.group_b}" if row.group_b else "all groups",
            write_number(row.difference, 3, row.undefined_because),
            write_p(row.p, row.undefined_because),
            write_p(row.p_fdr),
            f"{row.family_size} {row.family}" if row.family_size else UNDEFINED,
            _plain(row.remarks),
        ]
        for row in iterate_rows(tests)
    ]
    columns = ("groups", "difference of AUCs", "p", "adjusted p", "adjusted over", "remarks")
    note = "With fewer than ten failures in a group these tests reject too often."
    caption = f"{title}: tests of equal within-group AUCs of {measure}, judged by {one.name}"
    return make_table(caption, columns, rows, note)


def tabulate_concordance(
    one: ShownAudit, warned: Warned, grouping: str, title: str, measure: str
) -> Table:
    """Tabulate the question without a threshold: does the worse of two exams look less sure?"""
    rows = [
        [
            row.worse_of,
            row.better_of,
            write_interval(
                write_number(row.concordance, 2, row.undefined_because),
                write_number(row.low, 2),
                write_number(row.high, 2),
            ),
            f"{row.n_pairs}",
        ]
        for row in iterate_rows(_select(warned.concordance, grouping, measure))
    ]
    columns = ("worse exam of", "better exam of", "concordance", "pairs")
    caption = f"{title}: concordance of {measure} with the score, judged by {one.name}"
    return make_table(caption, columns, rows)


def _select(table: pd.DataFrame, grouping: str, measure: str) -> pd.DataFrame:
    return table[(table["grouping"] == grouping) & (table["uncertainty"] == measure)]


def _plain(remarks: object) -> str:
    return remarks.replace("_", " ") if isinstance(remarks, str) else ""
