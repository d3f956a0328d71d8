"""How numbers become cells: sensible digits, counts beside rates, reasons beside dashes."""

import html
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from rich.table import Table as RichTable
from rich.text import Text

from tworulers.schema.file_names import escape_controls
from tworulers.schema.metric import Metric

UNDEFINED = "—"
MARKDOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", "|": "&#124;", "[": "&#91;", "`": "&#96;", "\n": " ", "\r": " "}
)
MOST_NAMED = 8
"""Groups that are too small for a verdict and named."""

NUMBER = re.compile(r"^[<>]?\s?[-+−]?\d[\d.,]*( ?%)?( \[.*\])?†?$")


@dataclass(frozen=True)
class Table:
    """A finished table: its caption, which names what judged, its headings, cells and a note."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def shorten(self, most: int) -> "Table":
        """Keep the first rows of a long table, and say in its note how many there are."""
        if len(self.rows) <= most:
            return self
        left = f"{most} of {len(self.rows):,} rows are shown; the tables to download hold all."
        return replace(self, rows=self.rows[:most], note=f"{self.note} {left}".strip())

    def to_markdown(self) -> str:
        """Lay the table out in Markdown, as a text that holds names from data has to be written."""
        lines = [self.columns, tuple("---" for _ in self.columns), *self.rows]
        laid = "\n".join("| " + " | ".join(map(escape_markdown, line)) + " |" for line in lines)
        caption = f"**{escape_markdown(self.caption)}**" if self.caption else ""
        return "\n\n".join(filter(None, (caption, laid, escape_markdown(self.note)))) + "\n"

    def to_console(self) -> RichTable:
        """Lay the table out for a terminal: brackets are no markup, control characters are written out."""
        table = RichTable(title_justify="left", caption_justify="left")
        table.title = _as_text(self.caption) if self.caption else None
        table.caption = _as_text(self.note) if self.note else None
        for column in self.columns:
            table.add_column(_as_text(column), overflow="fold")
        for row in self.rows:
            table.add_row(*map(_as_text, row))
        return table

    def to_html(self, terms: Mapping[str, str] = MappingProxyType({})) -> str:
        """Lay the table out in HTML, all text escaped; headings that are `terms` carry what they mean."""
        head = "".join(f'<th scope="col">{_explain(name, terms)}</th>' for name in self.columns)
        body = "".join(
            "<tr>" + "".join(_cell(place, text) for place, text in enumerate(row)) + "</tr>"
            for row in self.rows
        )
        note = f'<p class="note">{html.escape(self.note)}</p>' if self.note else ""
        return (
            f'<div class="table" tabindex="0" role="group" aria-label="{html.escape(self.caption)}">'
            f"<table><caption>{html.escape(self.caption)}</caption>"
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
    """Write a score without its unit; undefined is an em dash with its reason."""
    if value is None or math.isnan(value):
        return write_undefined(because)
    return metric.write_bare(value)


def write_gap(value: float | None, metric: Metric, because: object = None) -> str:
    """Write a difference of scores with its unit, points or mm; undefined is an em dash with its reason."""
    if value is None or math.isnan(value):
        return write_undefined(because)
    return metric.write_difference(value)


def write_gap_estimate(values: Sequence[float], metric: Metric, because: object = None) -> str:
    """Write a difference of scores and its bounds: `1.10 points [0.30, 2.20]`."""
    low, high = (write_gap(x, metric).partition(" ")[0] for x in values[1:])
    return write_interval(write_gap(values[0], metric, because), low, high)


def write_apart(gap: float, metric: Metric) -> str:
    """Write how far medians lie apart: less than the last digit that is printed where they do, but not that far."""
    if gap == 0:
        return "medians equal, so that groups differ in spread or shape"
    told = metric.write_difference(gap)
    number, _, unit = told.partition(" ")
    return (
        f"medians {told if float(number.replace('∞', 'inf')) else f'less than 0.01 {unit}'} apart"
    )


def write_interval(value: str, low: str, high: str) -> str:
    """Write an estimate with its bounds; none is pretended where one is undefined."""
    if UNDEFINED in (low[:1], high[:1]):
        return value
    return f"{value} [{low}, {high}]"


def write_estimate(
    values: Sequence[float], write: Callable[[float], str], because: object = None
) -> str:
    """Write an estimate and its bounds, `0.02 [0.01, 0.03]`; an undefined one is a dash with its reason."""
    value, low, high = values
    if math.isnan(value):
        return write_undefined(because)
    return write_interval(
        write(value), *(write_undefined() if math.isnan(x) else write(x) for x in (low, high))
    )


def write_bounds(low: float, high: float, digits: int = 3) -> str:
    """Write an interval that stands alone: `0.81 to 1.00`."""
    return (
        UNDEFINED
        if math.isnan(low) or math.isnan(high)
        else f"{low:.{digits}f} to {high:.{digits}f}"
    )


def with_digits(digits: int) -> Callable[[float], str]:
    """Return the function that writes a number with fixed decimals."""
    return partial(write_number, digits=digits)


def write_share(share: float) -> str:
    """Write a share as per cent."""
    return UNDEFINED if math.isnan(share) else f"{100 * share:.0f} %"


def write_rate(successes: int, n: int) -> str:
    """Write a success rate with the counts it comes from: `20/21 (95 %)`."""
    return f"{successes}/{n} ({100 * successes / n:.0f} %)" if n else write_undefined("no exams")


def write_count(n: int, singular: str, plural: str = "") -> str:
    """Write a number of things: `1 exam`, `76 exams`."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def list_sizes(sizes: str, most: int) -> str:
    """Keep a list of groups with their sizes, or write how many there are and from how few to how many exams."""
    found = [int(n) for n in re.findall(r"\(n (\d+)\)", sizes)]
    if len(found) <= most:
        return sizes
    low, high = min(found), max(found)
    return f"{len(found)} groups (n {f'{low} each' if low == high else f'{low} to {high}'})"


def escape_markdown(text: str) -> str:
    """Write a text that may hold names from data so that Markdown shows it as it is."""
    return text.translate(MARKDOWN)


def _as_text(cell: str) -> Text:
    return Text(escape_controls(cell))


def _explain(name: str, terms: Mapping[str, str]) -> str:
    """Write a heading, with what it means where that is known."""
    text, meaning = html.escape(name), terms.get(name)
    return f'<abbr title="{html.escape(meaning)}">{text}</abbr>' if meaning else text


def _cell(place: int, text: str) -> str:
    if place == 0:
        return f'<th scope="row">{html.escape(text)}</th>'
    kind = ' class="number"' if NUMBER.match(text) or text[:1] in (UNDEFINED, "<") else ""
    return f"<td{kind}>{html.escape(text)}</td>"
