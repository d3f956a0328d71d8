"""Results that a run writes, held until it ends so that no other run writes them at the same time."""

import fcntl
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

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
    name = hashlib.sha256(str(place).encode()).hexdigest()[:16]
    lock = run.locks / f"{name}.lock"
    descriptor = _lock(lock)
    if descriptor is None:
        raise HeldError(
            f"{result} is being written by {_describe(lock)}; run this again when that has ended, or write "
            "elsewhere with paths=sweep"
        )
    run.stack.callback(_unlock, lock, descriptor)
    about = {"process": os.getpid(), "host": platform.node(), "stage": Path(sys.argv[0]).stem}
    about["since"] = time.strftime("%Y-%m-%d %H:%M:%S")
    os.write(descriptor, json.dumps(about).encode())
    settings = place / "config.yaml"
    run.before[place] = settings.read_text(errors="replace") if settings.is_file() else None


def _lock(path: Path) -> int | None:
    """Lock a file without waiting: its descriptor, or None where another process has it.

    A lock file is removed when it is given free, so one that is no longer there by then is not taken.
    """
    while True:
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                os.truncate(descriptor, 0)
                return descriptor
        os.close(descriptor)


def _unlock(path: Path, descriptor: int) -> None:
    """Give a lock free, and leave nothing behind."""
    path.unlink(missing_ok=True)
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
    with suppress(OSError):  # others are held
        path.parent.rmdir()


def _describe(lock: Path) -> str:
    """Say who holds a result; one that has only just begun has not said so yet."""
    try:
        about = json.loads(lock.read_text())
    except (OSError, ValueError):
        return "another run"
    return "process {process} on {host} ({stage}, since {since})".format(**about)
