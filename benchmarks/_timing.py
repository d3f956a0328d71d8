"""Measurement of a process and of its parts; the standard library alone, so that the peer's python can import it."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LAST_LINES = 20
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Cost:
    """A whole process with its children: wall clock and processor seconds, peak of one process.

    `step` is seconds of a training step, where the process trained.
    """

    seconds: float
    cpu_seconds: float
    peak_gib: float
    step: float | None = None


def run_process(
    command: Sequence[str],
    log: Path,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
) -> Cost:
    """Run a command with one thread, in a folder where one is named, and measure it; the log keeps what it says.

    Raises
    ------
    RuntimeError : it failed; the message has the end of its log.
    """
    settings = {**os.environ, **dict.fromkeys(THREADS, "1"), **(environment or {})}
    log.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    with log.open("w") as stream:
        # Both sides end themselves when their standard input closes, so none outlives this process.
        process = subprocess.Popen(
            command,
            env=settings,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stdin is not None
    process.stdin.close()
    if process.returncode != 0:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-LAST_LINES:])
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{end}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)


def end_with_parent() -> None:
    """End this process when whoever started it is gone: its end of our standard input closes."""

    def wait() -> None:
        os.read(0, 1)  # not sys.stdin: its lock would be held in forked children
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def peak_gib() -> float:
    """Peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def write_range(values: Sequence[float], digits: int = 2) -> str:
    """Write the median of repeats with the lowest and highest."""
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
