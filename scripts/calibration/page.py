"""The calibration as a page: a section a topic, every cell with its standard error and its bound."""

from collections.abc import Mapping
from typing import Any

from calibration.rows import WIDENING, Row, Topic
from tworulers.report.words.methods import NOT_MEASURED

INTRODUCTION = (
    "# Calibration: how often tests, intervals and verdicts are right\n\n"
    "Levels of tests and verdicts and coverages of intervals, measured by simulation. A value is the share of "
    "simulated studies unless its row says otherwise, with its standard error. *Must* is the bound that has to "
    f"hold; it is widened by {WIDENING:g} standard errors, and a row beyond it is marked. The digest is of the code "
    "that was measured, without comments and docstrings; a test compares it with the code as it is, and others "
    "repeat a small form of each topic. Made by `./scripts/campaign calibration`.\n\n"
    f"{NOT_MEASURED}"
)


def write_page(topics: Mapping[str, Topic], record: Mapping[str, Any]) -> str:
    """Write the page of what was measured, in the order of the topics."""
    parts = [INTRODUCTION, _tell_measured(record)]
    for name, measured in record.items():
        topic = topics[name]
        rows = [Row.of(row) for row in measured["rows"]]
        parts.append(f"## {topic.title}\n\n{topic.introduction}\n\n{_tabulate(rows)}")
    return "\n\n".join(parts) + "\n"


def count_broken(measured: Mapping[str, Any]) -> int:
    """Count the rows of a topic that lie beyond their bound."""
    return sum(not Row.of(row).holds for row in measured["rows"])


def _tell_measured(record: Mapping[str, Any]) -> str:
    lines = [
        "| topic | rows | beyond their bound | studies a cell | CPU s | seed | digest |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in record.items():
        figures = (
            len(one["rows"]),
            count_broken(one),
            one["studies"],
            one["cpu_seconds"],
            one["seed"],
        )
        lines.append(f"| {name} | {' | '.join(map(str, figures))} | `{one['digest']}` |")
    return "\n".join(lines)


def _tabulate(rows: list[Row]) -> str:
    lines = [
        "| scenario | what | value | ± SE | studies | must | |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (row.scenario, row.what, _write(row.value), _write(row.standard_error))
        mark = "" if row.holds else "**beyond**"
        lines.append(f"| {' | '.join(cells)} | {row.studies} | {_tell_bound(row)} | {mark} |")
    return "\n".join(lines)


def _tell_bound(row: Row) -> str:
    low, high = row.at_least, row.at_most
    if low == low and high == high:
        return f"{low:g} to {high:g}"
    return f"at least {low:g}" if low == low else f"at most {high:g}" if high == high else ""


def _write(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.0f}"
