"""The text of a risk audit: overall AUC, matrix and within-group parity first, the rest below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pandas as pd

from tworulers.report.rows import iterate_rows
from tworulers.stats.auc_audit import RiskAudit
from tworulers.stats.auc_uses import APPRAISALS, AucMetric

TITLES: dict[AucMetric, str] = {
    AucMetric.OVERALL: "Overall AUC",
    AucMetric.CELL: "AUC matrix",
    AucMetric.WITHIN_DIFFERENCE: "Within-group parity (difference of within-group AUCs)",
    AucMetric.WITHIN_RATIO: "Within-group parity (smaller AUC over larger)",
    AucMetric.CROSS_DIFFERENCE: "Cross-group parity (difference of mirrored cells)",
    AucMetric.XAUC1: "xAUC1: events of a group against all non-events",
    AucMetric.XAUC0: "xAUC0: all events against non-events of a group",
    AucMetric.XAUC1_DIFFERENCE: "xAUC1 parity",
    AucMetric.XAUC0_DIFFERENCE: "xAUC0 parity",
    AucMetric.GAP_TO_OVERALL: "Gap to overall",
    AucMetric.EQUITY_SCALED_PARITY: "Equity-scaled AUC, by within-group difference",
    AucMetric.EQUITY_SCALED_GAPS: "Equity-scaled AUC, by gaps to overall",
    AucMetric.MINIMUM: "Minimum of the within-group AUCs",
}


def write_risk_page(
    audit: RiskAudit, *, title: str, notes: Sequence[str], figures: Sequence[str]
) -> str:
    """Write the audit as Markdown; undefined numbers say why, never 0.

    Parameters:
        notes: what reading the table left out or changed.
        figures: paths of pictures, relative to the page.
    """
    overall = audit.overall
    parts = [
        f"# {_escape(title)}",
        f"Use: {str(audit.question.use).replace('_', ' ')}. Ties count one half; a score's "
        "direction is never turned for a group.",
        f"**Overall AUC {_number(overall.value, overall.undefined_because)}** "
        f"{_interval(overall, overall.value)} over all usable rows.",
        "## What to keep in mind",
        "\n".join(f"- {_escape(sentence)}" for sentence in audit.sentences),
    ]
    for grouping in audit.matrices:
        parts += _grouping_parts(audit, grouping)
    parts += ["## Tests of within-group parity", _write_tests(audit.tests)]
    parts += (
        ["## Figures", "\n\n".join(f"![{_escape(name)}]({quote(name)})" for name in figures)]
        if figures
        else []
    )
    parts += ["## The table that was read", "\n".join(f"- {_escape(note)}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def _grouping_parts(audit: RiskAudit, grouping: str) -> list[str]:
    cells = audit.cells[audit.cells["grouping"] == grouping]
    parts = [f"## {_escape(grouping)}", _appraise(AucMetric.CELL), _write_matrix(cells)]
    metrics = audit.metrics[audit.metrics["grouping"] == grouping]
    for metric in dict.fromkeys(metrics["metric"]):
        rows = metrics[metrics["metric"] == metric]
        parts += [_appraise(AucMetric(metric)), _write_metric(rows)]
    means = audit.mean_scores[audit.mean_scores["grouping"] == grouping]
    parts += ["**Mean score and event rate by group**", _write_means(means)]
    if len(audit.calibration):
        table = audit.calibration[audit.calibration["grouping"] == grouping]
        parts += ["**Calibration by group** (observed over expected events)",
                  _write_calibration(table)]  # fmt: skip
    if len(audit.rates):
        table = audit.rates[audit.rates["grouping"] == grouping]
        parts += ["**Rates at the threshold**", _write_rates(table)]
    return parts


def _appraise(metric: AucMetric) -> str:
    appraisal = APPRAISALS[metric]
    return f"**{TITLES[metric]}** ({str(appraisal.appraisal).replace('_', ' ')}). {appraisal.why}"


def _write_matrix(cells: pd.DataFrame) -> str:
    groups = list(dict.fromkeys(cells["events_of"]))
    lines = []
    for group, row in cells.groupby("events_of", sort=False):
        written = [
            f"{_number(c.auc, c.undefined_because)} {_interval(c, c.auc)} "
            f"({c.n_events} × {c.n_non_events})"
            for c in iterate_rows(row)
        ]
        lines.append([str(group), *written])
    return _write_table(["events of \\ non-events of", *groups], lines)


def _write_metric(rows: pd.DataFrame) -> str:
    lines = []
    for row in iterate_rows(rows):
        groups = f"{row.group_a} − {row.group_b}" if row.group_b else row.group_a
        groups = "largest disparity over all pairs" if row.group_a == "max" else groups
        because = row.undefined_because
        lines.append(
            [
                groups,
                _number(row.value, because),
                _number(row.signed, because),
                _interval(row, row.signed),
                _p(row.p),
                row.better,
                row.remarks,
            ]
        )
    return _write_table(["groups", "value", "signed", "interval", "p", "better", "remarks"], lines)


def _write_tests(tests: pd.DataFrame) -> str:
    lines = [
        [row.grouping, f"{row.group_a} − {row.group_b}" if row.group_b else "all groups",
         _number(row.difference), _p(row.p, row.undefined_because), _p(row.p_fdr),
         f"{row.family_size} {row.family}", row.remarks]
        for row in iterate_rows(tests)
    ]  # fmt: skip
    head = ["grouping", "compared", "difference", "p", "p FDR", "family", "remarks"]
    return _write_table(head, lines)


def _write_means(means: pd.DataFrame) -> str:
    lines = [
        [row.group, row.outcome.replace("_", "-"), str(row.n),
         _number(row.mean, row.undefined_because),
         _interval(row, row.mean),
         _number(row.prevalence)]
        for row in iterate_rows(means)
    ]  # fmt: skip
    return _write_table(["group", "rows", "n", "mean score", "interval", "event rate"], lines)


def _write_calibration(table: pd.DataFrame) -> str:
    lines = [
        [row.group, str(row.n), str(row.n_events), _number(row.expected), _number(row.observed),
         _number(row.observed_over_expected, row.undefined_because),
         _bounds(row.ratio_low, row.ratio_high)]
        for row in iterate_rows(table[table["bin"] == "all"])
    ]  # fmt: skip
    head = ["group", "n", "events", "expected rate", "observed rate", "observed / expected",
            "interval"]  # fmt: skip
    return _write_table(head, lines)


def _write_rates(table: pd.DataFrame) -> str:
    lines = [
        [row.group, _number(row.threshold, "no events"), row.rate.replace("_", " "),
         f"{row.successes} / {row.n}", _number(row.value, row.undefined_because),
         _bounds(row.low, row.high)]
        for row in iterate_rows(table)
    ]  # fmt: skip
    return _write_table(["group", "threshold", "rate", "count", "value", "interval"], lines)


def _write_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [[_escape(cell) for cell in row] for row in (head, *lines)]
    rows.insert(1, ["---"] * len(head))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", "|": "&#124;", "[": "&#91;", "`": "&#96;", "\n": " ", "\r": " "}
)


def _escape(text: str) -> str:
    """Write a text that may hold names from a table so that Markdown shows it as it is."""
    return str(text).translate(_ESCAPED)


def _number(value: float, undefined_because: str = "") -> str:
    if pd.isna(value):
        return f"undefined ({undefined_because})" if undefined_because else "–"
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
