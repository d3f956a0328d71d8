"""The page of a risk audit, of the same parts as that of an audit of scores: the answer, then what lies behind it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from tworulers.auc.audit import RiskAudit
from tworulers.auc.detectable import tabulate_detectable
from tworulers.report.data_files import DIGITS
from tworulers.report.page import Cell, Page, Section, VerdictTable
from tworulers.report.render import Picture
from tworulers.report.risk_page import list_tables, say_bounds, tabulate_tests
from tworulers.report.rows import find_row, iterate_rows
from tworulers.report.tables import Table, make_table, write_count, write_p
from tworulers.report.words.risk import INTERVALS, say_why
from tworulers.schema.file_names import name_file

TABLES = ("cells", "metrics", "tests", "mean_scores", "calibration", "rates")
"""The tables of a risk audit."""

KINDS = ("matrix", "scores", "roc_across")
"""What is drawn of a grouping."""

MOST_NAMED = 6
"""Groups whose AUC a row of the verdict names; of more the lowest and the highest."""

CAPTION = "How well the score ranks the members of each group"
COLUMNS = ("Grouping", "AUC within each group (events × non-events)", "Do groups differ?")

DIFFERS, NOT_SHOWN = "differs", "no difference shown"

FOOTER = (
    "Made by tworulers. A difference that is not shown is no proof that there is none; ties count one half, and a "
    "score's direction is never turned for a group."
)


def lay_out_risk(
    audit: RiskAudit,
    *,
    title: str,
    rows: int,
    sentences: Sequence[str],
    notes: Sequence[str],
    pictures: Sequence[Picture],
    facts: Sequence[tuple[str, str]],
    command: tuple[str, str],
) -> Page:
    """Lay out the page.

    Parameters
    ----------
    audit : the audit.
    title : of the score.
    rows : of the table that were audited.
    sentences : what stands out.
    notes : what reading the table left out or changed.
    pictures : its figures.
    facts, command : what it was made from, and how it is made again.
    """
    opened, folded = _list_groupings(audit, pictures)
    parity = [tabulate_tests(audit.tests)]
    use = audit.use.name.replace("_", " ")
    if missed := say_missed(audit):
        opened.append(Section("missed", "What could have been missed", missed))
    return Page(
        title=title,
        kicker=f"Risk score, {write_count(rows, 'row')}, used for {use}",
        sentences=say_verdict(audit),
        verdicts=_tabulate_verdict(audit),
        opened=opened,
        folded=[
            Section("words", "The verdict in full", [*sentences, INTERVALS]),
            *folded,
            Section("tests", "Tests of within-group parity", tables=parity, data=("tests",)),
            Section("read", "The table that was read", notes),
        ],
        facts=facts,
        commands=[command],
        data=_list_data(audit),
        footer=FOOTER,
    )


def _list_groupings(
    audit: RiskAudit, pictures: Sequence[Picture]
) -> tuple[list[Section], list[Section]]:
    """List what is seen at once, the matrix of the first grouping, and all there is of each, folded."""
    opened, folded = [], []
    data = ("cells", "metrics", "mean_scores", "calibration", "rates")
    for place, name in enumerate(audit.matrices):
        named = {f"{name_file(name)}_{kind}" for kind in KINDS}
        drawn = [picture for picture in pictures if picture.name in named]
        if place == 0:
            opened.append(
                Section("matrix", f"AUC of every two groups of {name}", pictures=drawn[:1])
            )
            drawn = drawn[1:]
        texts, tables = zip(*list_tables(audit, name), strict=True)
        whole = Section(f"grouping-{place}", f"All of {name}", texts, drawn, tables)
        folded.append(replace(whole, data=data, printed=place == 0))
    return opened, folded


def _list_data(audit: RiskAudit) -> dict[str, str]:
    tables = {name: getattr(audit, name) for name in TABLES}
    return {
        name: table.to_csv(index=False, float_format=DIGITS)
        for name, table in tables.items()
        if len(table)
    }


def say_verdict(audit: RiskAudit) -> tuple[str, ...]:
    """Say how well the score ranks everybody, and by which groupings the members of groups are ranked unalike."""
    return tuple(filter(None, (_say_overall(audit), _say_parity(audit))))


def _say_overall(audit: RiskAudit) -> str:
    overall = audit.overall
    if pd.isna(overall.value):
        return f"The overall AUC is undefined: {overall.undefined_because}."
    bounds = say_bounds(overall, overall.value)
    below = ", worse than chance" if overall.value < 0.5 else ""
    return f"Over all rows the score has an AUC of {overall.value:.3f} ({bounds}){below}."


def _say_parity(audit: RiskAudit) -> str:
    """Say by which groupings the AUC within groups differs, and by which that is not shown."""
    words = {name: _answer(audit, name)[0] for name in audit.matrices}
    told = []
    if found := [name for name, word in words.items() if word == DIFFERS]:
        told.append(f"the AUC within groups differs by {', '.join(found)}")
    if not_shown := [name for name, word in words.items() if word == NOT_SHOWN]:
        told.append(
            f"no difference of the AUC within groups is shown by {', '.join(not_shown)}, which is no proof that there "
            "is none"
        )
    if untested := [name for name, word in words.items() if word not in (DIFFERS, NOT_SHOWN)]:
        told.append(f"it could not be tested by {', '.join(untested)}")
    text = "; ".join(told)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _answer(audit: RiskAudit, grouping: str) -> tuple[str, str]:
    """Return the answer of a grouping, and the p it rests on or why there is none."""
    test = find_row(audit.tests, grouping=grouping, group_a="all")
    if test is None or pd.isna(test.p):
        return "not tested", "" if test is None else str(test.undefined_because)
    differs = (test.p_fdr if test.p_fdr == test.p_fdr else test.p) < 1 - audit.use.level
    remarks = f"; {test.remarks.replace('_', ' ')}" if test.remarks else ""
    return DIFFERS if differs else NOT_SHOWN, (
        f"p {write_p(test.p)}, adjusted {write_p(test.p_fdr)}{remarks}"
    )


def say_missed(audit: RiskAudit) -> list[str]:
    """Say how large a difference of AUCs could have been missed; nothing where every grouping shows one."""
    reach = tabulate_detectable(audit)
    missed = [name for name in audit.matrices if _answer(audit, name)[0] == NOT_SHOWN]
    sizes = reach.loc[reach["grouping"].isin(missed), "detectable_difference"].dropna()
    if sizes.empty:
        return []
    low, high = (f"{100 * size:.1f} points" for size in (sizes.min(), sizes.max()))
    size = low if low == high else f"{low} to {high}, depending on the groups,"
    return [
        f"Where no difference is shown, differences of AUC below {size} would probably have been missed."
    ]


def _tabulate_verdict(audit: RiskAudit) -> VerdictTable | None:
    rows, tones = [], []
    for name in audit.matrices:
        gap, lines, word, p = _tell(audit, name, MOST_NAMED)
        rows.append([Cell(name), Cell(gap, lines), Cell(word, [p], _MEANINGS[word])])
        tones.append("loud" if word == DIFFERS else "calm" if word == NOT_SHOWN else "mute")
    if not rows:
        return None
    return VerdictTable(CAPTION, COLUMNS, rows, tones)


def tabulate_risk_briefly(audit: RiskAudit, most: int) -> Table:
    """Make a table of the first rows of that one, with the lowest and the highest AUC alone, as a card has room for."""
    rows = []
    for name in list(audit.matrices)[:most]:
        gap, lines, word, _ = _tell(audit, name, 2)
        rows.append([name, "; ".join([gap, *lines]), word])
    left = len(audit.matrices) - len(rows)
    note = f"{len(rows)} of {write_count(len(audit.matrices), 'grouping')}" if left else ""
    return make_table(CAPTION, COLUMNS, rows, note)


def _tell(audit: RiskAudit, name: str, most: int) -> tuple[str, list[str], str, str]:
    """Write of a grouping how far AUCs lie apart, those of at most so many groups, the answer, and its p."""
    cells = audit.cells[audit.cells["grouping"] == name]
    own = cells[cells["events_of"] == cells["non_events_of"]]
    told = own
    if len(own) > most:
        ranked = own.dropna(subset=["auc"]).sort_values("auc", kind="stable")
        told = pd.concat([ranked.head(most // 2), ranked.tail(most // 2)])
    lines = [_write_cell(cell) for cell in iterate_rows(told)]
    if len(told) < len(own):
        lines.append(f"{len(told)} of {len(own)} groups: the lowest and the highest")
    spread = own["auc"].max() - own["auc"].min()
    gap = "" if pd.isna(spread) else f"{100 * spread:.1f} points between lowest and highest"
    return gap, lines, *_answer(audit, name)


def _write_cell(cell: Any) -> str:
    """Write the AUC within a group with its interval and counts, or why there is none."""
    if pd.isna(cell.auc):
        return f"{cell.events_of}: {say_why(cell.undefined_because)}"
    bounds = say_bounds(cell, cell.auc)
    return f"{cell.events_of}: {cell.auc:.3f} ({bounds}), n {cell.n_events} × {cell.n_non_events}"


_MEANINGS = {
    DIFFERS: "the AUC within groups differs by more than chance, after correction over the groupings",
    NOT_SHOWN: "no difference of the AUC within groups is shown, which is no proof that there is none",
    "not tested": "too few events or rows to test whether groups differ",
}
