"""How numbers become cells: sensible digits, counts beside rates, reasons beside dashes."""

import html
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pandas as pd

from tworulers.schema import Metric
from tworulers.stats.spread import DECIMALS

UNDEFINED = "—"
NUMBER = re.compile(r"^[<>]?\s?[-+−]?\d[\d.,]*( ?%)?( \[.*\])?†?$")


@dataclass(frozen=True)
class Table:
    """A finished table: its caption, which names what judged, its headings, cells and a note."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def to_text(self) -> str:
        """Lay the table out in plain text, columns aligned."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.columns))]
        laid = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        rule = "  ".join("-" * width for width in widths)
        parts = [self.caption, "", laid[0], rule, *laid[1:]]
        return "\n".join([*parts, *(["", self.note] if self.note else [])]) + "\n"

    def to_markdown(self) -> str:
        """Lay the table out in Markdown."""
        lines = [self.columns, tuple("---" for _ in self.columns), *self.rows]
        laid = ["| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines]
        parts = [f"**{self.caption}**", "", *laid]
        return "\n".join([*parts, *(["", self.note] if self.note else [])]) + "\n"

    def to_html(self) -> str:
        """Lay the table out in HTML, all text escaped, numbers to the right."""
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self.columns)
        body = "".join(
            "<tr>" + "".join(_cell(place, text) for place, text in enumerate(row)) + "</tr>"
            for row in self.rows
        )
        note = f'<p class="note">{html.escape(self.note)}</p>' if self.note else ""
        return (
            f'<div class="table"><table><caption>{html.escape(self.caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}</div>"
        )


def make_table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = ""
) -> Table:
    """Make a table of cells written already; nothing else becomes text here."""
    cells = tuple(tuple(str(cell) for cell in row) for row in rows)
    return Table(caption, tuple(columns), cells, note)


def write_number(value: float | None, digits: int = 3, because: object = None) -> str:
    """Write a number with fixed decimals; undefined is an em dash with its reason."""
    if value is None or math.isnan(value):
        return write_undefined(because)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    # A rounded -0.00 reads as a direction that is not there.
    return f"{value:.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"


def write_undefined(because: object = None) -> str:
    """Write an em dash, and the reason if there is one."""
    reason = because.replace("_", " ") if isinstance(because, str) and because else ""
    return f"{UNDEFINED} ({reason})" if reason else UNDEFINED


def write_p(value: float | None, because: object = None) -> str:
    """Write a p value with two significant digits, those below .001 as such."""
    if value is None or math.isnan(value):
        return write_undefined(because)
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def write_score(value: float | None, metric: Metric, because: object = None) -> str:
    """Write a score without its unit: one from 0 to 1 with four decimals, others with three."""
    if metric.in_points or value is None or not math.isfinite(value):
        return write_number(value, 4, because)
    return keep_digits(value, 3)


def keep_digits(value: float, decimals: int) -> str:
    """Write a number with so many decimals, a small one with three digits."""
    # Differences are not known beyond this; a rounded -0.0 reads as a direction that is not there.
    value = round(value, DECIMALS) + 0.0
    small = 0 < abs(value) < 10.0 ** (1 - decimals)
    return f"{value:.3g}" if small else f"{value:.{decimals}f}"


def write_value(value: float | None, metric: Metric) -> str:
    """Write a score with its unit, as in a sentence: `0.8962`, `3.412 mm`."""
    return f"{write_score(value, metric)} {metric.unit}".strip()


def write_interval(value: str, low: str, high: str) -> str:
    """Write an estimate with its bounds; none is pretended where one is undefined."""
    if UNDEFINED in (low[:1], high[:1]):
        return value
    return f"{value} [{low}, {high}]"


def write_rate(successes: int, n: int) -> str:
    """Write a success rate with the counts it comes from: `20/21 (95 %)`."""
    return f"{successes}/{n} ({100 * successes / n:.0f} %)" if n else write_undefined("no exams")


def write_count(n: int, singular: str, plural: str = "") -> str:
    """Write a number of things: `1 exam`, `76 exams`."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def tell_more(table: pd.DataFrame, shown: Collection[tuple[str, str]], file: str) -> str:
    """Say how many scores of an audit's table are not on the page, and where they are; nothing where all are.

    Parameters
    ----------
    table : with `metric` and `structure`.
    shown : the (metric, structure) on the page.
    file : the file beside each audit that has them all.
    """
    scores = set(zip(table["metric"], table["structure"], strict=True)) if len(table) else set()
    more = len(scores - set(shown))
    if not more:
        return ""
    verb = "is" if more == 1 else "are"
    return f" {write_count(more, 'more score')} {verb} in {file} of each audit."


def _cell(place: int, text: str) -> str:
    if place == 0:
        return f'<th scope="row">{html.escape(text)}</th>'
    kind = ' class="number"' if NUMBER.match(text) or text[:1] in (UNDEFINED, "<") else ""
    return f"<td{kind}>{html.escape(text)}</td>"
