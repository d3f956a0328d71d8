"""What a command says while it works: single lines, and how far it is."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tworulers.schema.file_names import escape_controls

Item = TypeVar("Item")
PLAIN_INTERVAL_S = 60.0
QUIET = "TWORULERS_QUIET"
"""The variable of the environment with which nothing is said of progress, here and in processes started from here."""


COLUMNS = (
    TextColumn("{task.description}", markup=False),
    BarColumn(),
    MofNCompleteColumn(),
    TimeRemainingColumn(),
)


def say(text: str) -> None:
    """Print one line, control characters written out."""
    print(escape_controls(text), flush=True)


def track(items: Iterable[Item], total: int, description: str) -> Iterator[Item]:
    """Yield the items with a bar and the time left on a terminal, else with a line a minute and one at the end."""
    if os.environ.get(QUIET):
        yield from items
        return
    if sys.stderr.isatty():
        with Progress(*COLUMNS, console=Console(stderr=True)) as progress:
            yield from progress.track(items, total=total, description=description)
        return
    started, done = time.monotonic(), 0
    lines = _Lines(description, total)
    for done, item in enumerate(items, start=1):
        yield item
        lines.tell(done)
    print(
        f"{description}: {done} of {total} in {time.monotonic() - started:.0f} s",
        file=sys.stderr,
        flush=True,
    )


@contextmanager
def following(description: str, total: int) -> Iterator[Callable[[str], None]]:
    """Give a function that is told each part of a work as its turn comes, and shows how far it is, as `track` does.

    Parameters
    ----------
    description : what is worked on.
    total : how many parts there are.
    """
    if os.environ.get(QUIET) or total < 2:
        yield lambda _: None
    elif sys.stderr.isatty():
        with Progress(*COLUMNS, console=Console(stderr=True), transient=True) as progress:
            begun = progress.add_task(description, total=total)
            seen = count()
            yield lambda _: progress.update(begun, completed=next(seen))
    else:
        lines, seen = _Lines(description, total), count()
        yield lambda _: lines.tell(next(seen))


class _Lines:
    """Prints how far a work is, a line a minute."""

    def __init__(self, description: str, total: int) -> None:
        self.description, self.total = description, total
        self.started = self.last = time.monotonic()

    def tell(self, done: int) -> None:
        """Print how many parts are done, where a minute has passed since it was last said."""
        now = time.monotonic()
        if not done or now - self.last <= PLAIN_INTERVAL_S:
            return
        self.last = now
        left = (now - self.started) / done * (self.total - done)
        print(
            f"{self.description}: {done} of {self.total}, about {max(1, round(left / 60))} min left",
            file=sys.stderr,
            flush=True,
        )
