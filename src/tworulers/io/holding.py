"""Results that a run writes, held until it ends so that no other run writes them at the same time."""

import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

LOCKS = ".locks"
"""Where locks lie below the project root: apart from results, whose folders are replaced and compared."""


class HeldError(ValueError):
    """Another run is writing the same result."""


@dataclass(frozen=True)
class Held:
    """What a run holds: its results, each with the settings of the one that stood there before, if any."""

    locks: Path
    stack: ExitStack
    before: dict[Path, str | None] = field(default_factory=dict)


_RUN: ContextVar[Held | None] = ContextVar("run", default=None)


@contextmanager
def holding_results(root: Path) -> Iterator[Held]:
    """Hold what the run within asks for by `hold`, until it ends."""
    with ExitStack() as stack:
        held = Held(root / LOCKS, stack)
        token = _RUN.set(held)
        try:
            yield held
        finally:
            _RUN.reset(token)


def hold(result: Path) -> None:
    """Hold a folder of results for the rest of this run; outside a command nothing is held.

    Raises
    ------
    HeldError : another run holds it; the message says which.
    """
    run = _RUN.get()
    place = result.resolve()
    if run is None or place in run.before:
        return
    run.locks.mkdir(exist_ok=True)
    name = hashlib.sha256(str(place).encode()).hexdigest()[:16]
    holder = run.locks / f"{name}.json"
    lock = FileLock(run.locks / f"{name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise HeldError(
            f"{result} is being written by {_describe(holder)}; run this again when that has ended, or write "
            "elsewhere with paths=sweep"
        ) from None
    run.stack.callback(lock.release)
    run.stack.callback(holder.unlink, missing_ok=True)
    about = {"process": os.getpid(), "host": platform.node(), "stage": Path(sys.argv[0]).stem}
    holder.write_text(json.dumps({**about, "since": time.strftime("%Y-%m-%d %H:%M:%S")}))
    settings = place / "config.yaml"
    run.before[place] = settings.read_text() if settings.is_file() else None


def _describe(holder: Path) -> str:
    """Say who holds a result; one that has only just begun has not said so yet."""
    try:
        about = json.loads(holder.read_text())
    except (OSError, ValueError):
        return "another run"
    return "process {process} on {host} ({stage}, since {since})".format(**about)
