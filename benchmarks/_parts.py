"""Processor seconds of the parts of an audit: those of a part's functions, less those of other parts within them."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

WATCHED = (
    "battery.audit",
    "battery.answers",
    "battery.questions",
    "diagnosis.comparison",
    "diagnosis.disagreement",
)
"""Modules of the package whose calls into other modules are timed."""

PARTS = {
    "battery.answers": "published: tests, rates and their intervals",
    "battery.overview": "published: tests, rates and their intervals",
    "stats.permute": "permutations",
    "battery.linear": "joint model",
    "battery.unfound": "power",
    "battery.within": "within a margin",
    "battery.adjusted": "adjusted and ordered",
    "battery.unequal": "unequal spread",
    "battery.repeats": "repeated exams",
    "diagnosis.inflation": "comparison: paired differences",
    "diagnosis.by_group": "comparison: paired differences",
    "diagnosis.closeness": "comparison: closeness",
    "diagnosis.counterfactual": "comparison: parts and exchanged rulers",
    "stats.dispersion": "comparison: spread",
    "stats.paired_spread": "comparison: spread",
}
"""What a module's functions are part of; a module that is not named counts to the part that calls it."""

REST = "the rest"


class Clock:
    """Seconds of each part so far; a call within another part stops that one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._running = [REST]
        self._since = time.process_time()

    def switch(self, part: str | None) -> None:
        """Book the time since the last switch, and start a part, or with None go back to the one before."""
        now = time.process_time()
        mine = self._running[-1]
        self.seconds[mine] = self.seconds.get(mine, 0.0) + now - self._since
        self._since = now
        if part is None:
            self._running.pop()
        else:
            self._running.append(part)


@contextmanager
def watch_parts() -> Iterator[Clock]:
    """Time the parts of whatever runs meanwhile."""
    clock, replaced = Clock(), []
    for name in WATCHED:
        module = import_module(f"tworulers.{name}")
        for called, function in list(vars(module).items()):
            origin = getattr(function, "__module__", "").removeprefix("tworulers.")
            if inspect.isfunction(function) and origin != name and origin in PARTS:
                replaced.append((module, called, function))
                setattr(module, called, _time(clock, PARTS[origin], function))
    try:
        yield clock
    finally:
        for module, called, function in replaced:
            setattr(module, called, function)
        clock.switch(REST)


def _time(clock, part, function):
    @functools.wraps(function)
    def timed(*args, **named):
        clock.switch(part)
        try:
            return function(*args, **named)
        finally:
            clock.switch(None)

    return timed
