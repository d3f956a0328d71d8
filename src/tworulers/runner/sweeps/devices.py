"""Accelerators dealt out to the runs of a sweep that work side by side on one machine."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

VISIBLE = "CUDA_VISIBLE_DEVICES"
BOARDS = Path("/dev")
BOARD = re.compile(r"nvidia(\d+)")

_TAKEN: list[FileLock] = []
"""What this process holds until it ends: a board that it has begun to use cannot be exchanged for another."""


def list_devices() -> list[str]:
    """List the accelerators that this process may use: those that the environment names, else all of the machine."""
    named = os.environ.get(VISIBLE)
    if named is not None:
        return [name.strip() for name in named.split(",") if name.strip()]
    found = (BOARD.fullmatch(path.name) for path in BOARDS.glob("nvidia*"))
    return sorted((match[1] for match in found if match), key=int)


def take_devices(devices: Sequence[str], locks: Path, number: int, each: int) -> None:
    """Show this process a part of the accelerators alone: the run's own in turn, or the next that is free.

    A process that runs several jobs one after the other keeps what it took. Where more run than there are parts, those
    left over share in turn; where no part is large enough, all see all.

    Parameters
    ----------
    devices : all that the sweep may use.
    locks : a folder of the sweep, in which processes say what they took.
    number : of the run.
    each : how many accelerators a run uses.
    """
    parts = [devices[n : n + each] for n in range(0, len(devices) - each + 1, each)]
    if _TAKEN or not parts:
        return
    locks.mkdir(parents=True, exist_ok=True)
    turn = number % len(parts)
    os.environ[VISIBLE] = ",".join(parts[turn])
    for place in (*range(turn, len(parts)), *range(turn)):
        name = ",".join(parts[place]).replace("/", "_")
        lock = FileLock(locks / f"{name}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        _TAKEN.append(lock)
        os.environ[VISIBLE] = ",".join(parts[place])
        return
