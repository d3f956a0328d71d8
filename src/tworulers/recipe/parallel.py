"""Several folds side by side: each its own single-purpose process, none left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tworulers.recipe.task import FoldTask, fold_is_done

Epoch = dict[str, Any]
Report = Callable[[FoldTask, Epoch], None]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
LAST_LINES = 15
PATIENCE_S = 5.0


class FoldError(ValueError):
    """A fold failed; the message names it and says why."""


class _FoldProcess:
    """A running fold: its process, what it reports, and the end of what it complained."""

    def __init__(self, task: FoldTask, report: Report | None) -> None:
        scratch = Path(task.scratch)
        scratch.mkdir(parents=True, exist_ok=True)
        file = scratch / "task.json"
        file.write_text(json.dumps(asdict(task)))
        self.task, self.report = task, report
        self.fault: str | None = None
        self.complaints: list[str] = []
        environment = os.environ | {name: str(task.trainer.threads) for name in THREADS}
        # Ctrl-C is for the command, which ends its folds; a fold inherits what is blocked here.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        # The fold ends itself when its standard input closes, so none outlives a killed parent.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tworulers.recipe.train", str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.readers = [
            threading.Thread(target=self._read_reports, daemon=True),
            threading.Thread(target=self._read_complaints, daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def _read_reports(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.startswith("{"):
                continue
            content = json.loads(line)
            if "error" in content:
                self.fault = content["error"]
            elif "note" in content:
                print(f"{self.task.name}: {content['note']}", file=sys.stderr, flush=True)
            elif self.report is not None:
                self.report(self.task, content)

    def _read_complaints(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.complaints = [*self.complaints[-LAST_LINES:], line.rstrip()]

    def finish(self) -> None:
        """Check how the process ended."""
        for reader in self.readers:
            reader.join(PATIENCE_S)
        if self.process.returncode != 0:
            why = self.fault or "\n".join(
                [f"it ended with status {self.process.returncode}:", *self.complaints]
            )
            raise FoldError(f"{self.task.name} failed: {why}")

    def end(self) -> None:
        """End the process, gently first."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def run_folds(tasks: Sequence[FoldTask], parallel: int, report: Report | None = None) -> None:
    """Train folds as separate processes, at most `parallel` at once; finished folds are skipped.

    Parameters
    ----------
    tasks
        What to train; each keeps its results in its own output folder.
    parallel
        Processes at the same time. Each uses the threads its trainer names.
    report
        Told every finished epoch of every fold, from the thread that reads the fold's reports.

    Raises
    ------
    FoldError
        The first fold that fails, with its own error; the others are ended.
    """
    waiting = [task for task in tasks if not fold_is_done(task)]
    running: list[_FoldProcess] = []
    try:
        while waiting or running:
            while waiting and len(running) < max(1, parallel):
                running.append(_FoldProcess(waiting.pop(0), report))
            for fold in [fold for fold in running if fold.process.poll() is not None]:
                running.remove(fold)
                fold.finish()
            time.sleep(0.05)
    finally:
        for fold in running:
            fold.end()
