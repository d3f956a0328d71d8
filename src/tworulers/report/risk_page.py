"""The text of a risk audit: overall AUC, matrix and within-group parity first, the rest below."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pandas as pd

from tworulers.auc.audit import RiskAudit
from tworulers.auc.matrix import HALF
from tworulers.auc.uses import APPRAISALS, AucMetric
from tworulers.report.rows import iterate_rows
from tworulers.report.tables import Table, escape_markdown, make_table
from tworulers.report.words.risk import INTERVALS, TITLES, WHY, say_why

BELOW = ", below one half"
"""Beside an AUC by which events rank below non-events."""


def write_risk_page(
    audit: RiskAudit,
    *,
    title: str,
    sentences: Sequence[str],
    notes: Sequence[str],
    figures: Sequence[str],
) -> str:
    """Write the audit as Markdown; undefined numbers say why, never 0.

    Parameters
    ----------
    sentences : what stands out.
    notes : what reading the table left out or changed.
    figures : paths of pictures, relative to the page.
    """
    overall = audit.overall
    parts = [
        f"# {escape_markdown(title)}",
        f"Use: {audit.use.name.replace('_', ' ')}. Ties count one half; a score's direction is never turned for a "
        "group.",
        f"**Overall AUC {_number(overall.value, overall.undefined_because)}** "
        f"{_interval(overall, overall.value)} over all usable rows"
        f"{BELOW if overall.value < HALF else ''}.",
        INTERVALS,
        "## What to keep in mind",
        _list(sentences),
    ]
    for grouping in audit.matrices:
        parts += _write_grouping(audit, grouping)
    parts += ["## Tests of within-group parity", _lay_out(tabulate_tests(audit.tests))]
    if figures:
        pictures = [f"![{escape_markdown(name)}]({quote(name)})" for name in figures]
        parts += ["## Figures", "\n\n".join(pictures)]
    return "\n\n".join([*parts, "## The table that was read", _list(notes)]) + "\n"


def brief_risk(audit: RiskAudit, title: str) -> Table:
    """Put the few lines that a person reads first in a table: each group's own AUC, and the test of all groups."""
    overall = audit.overall
    rows: list[tuple[str, ...]] = [
        (
            "all rows",
            "overall AUC",
            f"{overall.value:.4f}" + (BELOW if overall.value < HALF else ""),
            say_bounds(overall, overall.value),
            "",
            "",
        )
    ]
    for name in audit.matrices:
        cells = _of(audit.cells, name)
        for cell in iterate_rows(cells[cells["events_of"] == cells["non_events_of"]]):
            value = say_why(cell.undefined_because) if pd.isna(cell.auc) else f"{cell.auc:.4f}"
            value += BELOW if cell.below_half else ""
            bounds, n = say_bounds(cell, cell.auc), f"{cell.n_events} × {cell.n_non_events}"
            rows.append((name, f"AUC within {cell.events_of}", value, bounds, n, ""))
        tests = _of(audit.tests, name)
        test = next(iter(iterate_rows(tests[tests["group_a"] == "all"])))
        words = f"p = {test.p:.3f}, FDR {test.p_fdr:.3f}"
        words = "; ".join(filter(None, (test.undefined_because or words, test.remarks)))
        rows.append((name, "within-group parity, all groups", "", "", "", words))
    columns = ("grouping", "quantity", "value", "interval", "events × non-events", "test")
    return make_table(f"{title}, {audit.use.name}", columns, rows)


def _write_grouping(audit: RiskAudit, grouping: str) -> list[str]:
    parts = [f"## {escape_markdown(grouping)}"]
    for text, table in list_tables(audit, grouping):
        title, _, why = text.partition(": ")
        parts += [f"**{title}**{' ' if why else ''}{why}", _lay_out(replace(table, caption=""))]
    return parts


def list_tables(audit: RiskAudit, grouping: str) -> list[tuple[str, Table]]:
    """List the tables of a grouping, each with its title and why it may be trusted."""
    listed = [(_appraise(AucMetric.CELL), _tabulate_matrix(_of(audit.cells, grouping)))]
    for metric, rows in _of(audit.metrics, grouping).groupby("metric", sort=False):
        listed.append((_appraise(AucMetric(str(metric))), _tabulate_metric(rows)))
    for heading, table, tabulate in (
        ("Mean score and event rate by group", audit.mean_scores, _tabulate_means),
        ("Calibration by group (observed over expected events)", audit.calibration, _tabulate_calibration),
        ("Rates at the threshold", audit.rates, _tabulate_rates),
    ):  # fmt: skip
        if len(table):
            listed.append((heading, tabulate(_of(table, grouping))))
    return [(text, replace(table, caption=text.partition(": ")[0])) for text, table in listed]


def _of(table: pd.DataFrame, grouping: str) -> pd.DataFrame:
    return table[table["grouping"] == grouping]


def _lay_out(table: Table) -> str:
    return table.to_markdown().rstrip("\n")


def _list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escape_markdown(text)}" for text in texts)


def _appraise(metric: AucMetric) -> str:
    title = TITLES[metric].replace(": ", ", ")
    return f"{title} ({APPRAISALS[metric].replace('_', ' ')}): {WHY[metric]}"


def _tabulate_matrix(cells: pd.DataFrame) -> Table:
    rows = [
        [group, *(
            f"{_number(c.auc, c.undefined_because)} {_interval(c, c.auc)} ({c.n_events} × {c.n_non_events})"
            + (BELOW if c.below_half else "")
            for c in iterate_rows(row)
        )]
        for group, row in cells.groupby("events_of", sort=False)
    ]  # fmt: skip
    return make_table("", ["events of \\ non-events of", *(str(row[0]) for row in rows)], rows)


def _tabulate_metric(metrics: pd.DataFrame) -> Table:
    rows = []
    for row in iterate_rows(metrics):
        groups = f"{row.group_a} − {row.group_b}" if row.group_b else row.group_a
        groups = "largest disparity over all pairs" if row.group_a == "max" else groups
        numbers = [_number(value, row.undefined_because) for value in (row.value, row.signed)]
        rows.append(
            [
                groups,
                *numbers,
                _interval(row, row.signed),
                _p(row.p),
                _p(row.delong_p),
                row.better,
                row.remarks,
            ]
        )
    columns = ["groups", "value", "signed", "interval", "p", "p DeLong", "better", "remarks"]
    return make_table("", columns, rows)


def tabulate_tests(tests: pd.DataFrame) -> Table:
    """Tabulate the tests of within-group parity."""
    rows = [
        [row.grouping, f"{row.group_a} − {row.group_b}" if row.group_b else "all groups", _number(row.difference),
         _p(row.p, row.undefined_because), _p(row.p_fdr), _p(row.delong_p), f"{row.family_size} {row.family}",
         row.remarks]
        for row in iterate_rows(tests)
    ]  # fmt: skip
    columns = ["grouping", "compared", "difference", "p", "p FDR", "p DeLong", "family", "remarks"]
    return make_table("", columns, rows)


def _tabulate_means(means: pd.DataFrame) -> Table:
    rows = [
        [row.group, row.outcome.replace("_", "-"), row.n, _number(row.mean, row.undefined_because),
         _interval(row, row.mean), _number(row.prevalence)]
        for row in iterate_rows(means)
    ]  # fmt: skip
    return make_table("", ["group", "rows", "n", "mean score", "interval", "event rate"], rows)


def _tabulate_calibration(table: pd.DataFrame) -> Table:
    rows = [
        [row.group, row.n, row.n_events, _number(row.expected), _number(row.observed),
         _number(row.observed_over_expected, row.undefined_because), _bounds(row.ratio_low, row.ratio_high)]
        for row in iterate_rows(table[table["bin"] == "all"])
    ]  # fmt: skip
    columns = ["group", "n", "events", "expected rate", "observed rate", "observed / expected", "interval"]  # fmt: skip
    return make_table("", columns, rows)


def _tabulate_rates(table: pd.DataFrame) -> Table:
    rows = [
        [row.group, _number(row.threshold, "no events"), row.rate.replace("_", " "), f"{row.successes} / {row.n}",
         _number(row.value, row.undefined_because), _bounds(row.low, row.high)]
        for row in iterate_rows(table)
    ]  # fmt: skip
    return make_table("", ["group", "threshold", "rate", "count", "value", "interval"], rows)


def _number(value: float, undefined_because: str = "") -> str:
    if pd.isna(value):
        return f"undefined ({say_why(undefined_because)})" if undefined_because else "–"
    return f"{value:.4f}"


def _p(value: float, undefined_because: str = "") -> str:
    return "< 0.0001" if value < 1e-4 else _number(value, undefined_because)


def _interval(estimate: Any, value: float) -> str:
    """Write the interval of a value, or why a value that is defined has none."""
    because = "" if pd.isna(value) else estimate.undefined_because
    return _bounds(estimate.low, estimate.high, because)


def _bounds(low: float, high: float, undefined_because: str = "") -> str:
    if not pd.isna(low):
        return f"[{low:.3f}, {high:.3f}]"
    return f"(no interval: {undefined_because})" if undefined_because else ""


def say_bounds(estimate: Any, value: float) -> str:
    """Write the interval of a value, or why it has none."""
    if not pd.isna(estimate.low):
        return f"{estimate.low:.3f} to {estimate.high:.3f}"
    return "" if pd.isna(value) else f"none: {estimate.undefined_because}"
