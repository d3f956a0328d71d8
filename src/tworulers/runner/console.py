"""What a command shows at its end: sentences and short tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from tworulers.progress import say
from tworulers.runner.outcome import SENTENCES

if TYPE_CHECKING:
    from tworulers.report.endings import Ending
    from tworulers.report.tables import Table


def tell(*told: str | Table) -> None:
    """Print lines and tables in turn."""
    for thing in told:
        if isinstance(thing, str):
            say(thing)
        else:
            Console(width=None if sys.stdout.isatty() else 120).print(thing.to_console())


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a short table of cells as they are."""
    # Stages that show one depend on nothing of the report.
    from tworulers.report.tables import make_table

    tell(make_table(title, columns, list(rows)))


def conclude(ending: Ending, where: str = "") -> None:
    """Print how a command ends: what has to be known before, one table, the lines of the answer, and where it lies."""
    tell(*ending.notes)
    if ending.table is not None:
        tell(ending.table)
    tell(*ending.lines, *filter(None, [where]))
    SENTENCES.extend(ending.lines)
