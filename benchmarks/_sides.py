"""Two sides that take turns: each a process that stays, does a job when it is asked, and says what that took.

The standard library alone, so that the python of a peer's environment can import it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from _timing import THREADS

Answer = dict[str, Any]
"""`seconds` (CPU), `peak_mb` of the process so far, and whatever the job returned."""


class Side:
    """A process that waits for jobs; it ends when its standard input closes."""

    def __init__(self, command: Sequence[object], environment: Mapping[str, str] | None = None):
        settings = {**os.environ, **dict.fromkeys(THREADS, "1"), **(environment or {})}
        self._process = subprocess.Popen(
            [str(part) for part in command],
            env=settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Side:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def ask(self, job: str, **given: Any) -> Answer:
        """Let it do a job and return what it says.

        Raises
        ------
        RuntimeError : it ended instead of answering; what it said stands above.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([job, given]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args} ended with {self._process.wait()} in {job}")
        answer: Answer = json.loads(line)
        return answer


def serve(jobs: Mapping[str, Callable[..., Answer | None]]) -> None:
    """Do the jobs that are asked for, one a line; whatever they print goes to standard error.

    Parameters
    ----------
    jobs : by name. What a job returns is added to its seconds and peak; `seconds` of its own stand for the process's.
    """
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        for line in sys.stdin:
            job, given = json.loads(line)
            start = time.process_time()
            told = jobs[job](**given) or {}
            spent = time.process_time() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
            answers.write(json.dumps({"seconds": spent, "peak_mb": peak, **told}) + "\n")
            answers.flush()


def take_turns(
    sides: Mapping[str, Side], job: str, repeats: int, **given: Any
) -> dict[str, list[Answer]]:
    """Ask every side for the same job in turns (A B B A), and return the answers by side.

    The order is turned round every time, so that neither always runs on a machine that the other has warmed.
    """
    answers: dict[str, list[Answer]] = {name: [] for name in sides}
    for repeat in range(repeats):
        order = list(sides.items())
        for name, side in order if repeat % 2 == 0 else order[::-1]:
            answers[name].append(side.ask(job, **given))
    return answers


def list_seconds(answers: Sequence[Answer]) -> tuple[float, ...]:
    """Return what each repeat took."""
    return tuple(float(answer["seconds"]) for answer in answers)


def find_peak(answers: Sequence[Answer]) -> float:
    """Return the most memory that a side held, MB."""
    return max(float(answer["peak_mb"]) for answer in answers)
