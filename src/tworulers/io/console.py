"""What a command shows: bars on a terminal, plain lines elsewhere, a short table at the end."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tworulers.file_names import escape_controls

Item = TypeVar("Item")
PLAIN_INTERVAL_S = 10.0


def say(text: str) -> None:
    """Print one line, control characters written out."""
    print(escape_controls(text), flush=True)


def track(items: Iterable[Item], total: int, description: str) -> Iterator[Item]:
    """Yield the items with a progress bar on a terminal, or a plain line every ten seconds and one at the end."""
    if sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as progress:
            yield from progress.track(items, total=total, description=description)
        return
    started = last = time.monotonic()
    done = 0
    for done, item in enumerate(items, start=1):
        yield item
        if time.monotonic() - last > PLAIN_INTERVAL_S:
            last = time.monotonic()
            print(f"{description}: {done} of {total}", file=sys.stderr, flush=True)
    print(
        f"{description}: {done} of {total} in {time.monotonic() - started:.0f} s",
        file=sys.stderr,
        flush=True,
    )


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a short table."""
    table = Table(title=_as_text(title), title_justify="left")
    for column in columns:
        table.add_column(_as_text(column))
    for row in rows:
        table.add_row(*map(_as_text, row))
    width = None if sys.stdout.isatty() else 120
    Console(width=width).print(table)


def _as_text(cell: object) -> Text:
    """Take a cell as it is: brackets are no markup, control characters are written out."""
    return Text(escape_controls(str(cell)))
