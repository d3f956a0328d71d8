"""What a person sees of training: a bar a fold on a terminal; elsewhere ten lines a fold, and one a minute."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tworulers.recipe.task import FoldTask, fold_is_done

LINES_A_FOLD = 10
PLAIN_INTERVAL_S = 60.0


class FoldProgress:
    """Shows the epochs of folds that train side by side; `report` takes each finished epoch."""

    def __init__(self, tasks: Sequence[FoldTask]) -> None:
        self.took: dict[str, list[float]] = {task.name: [] for task in tasks}
        self.waiting = {task.name: task.recipe.epochs for task in tasks if not fold_is_done(task)}
        self.told = time.monotonic()
        self.bars: Progress | None = None
        self.rows: dict[str, Any] = {}
        if not sys.stderr.isatty():
            return
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        for task in tasks:
            self.rows[task.name] = self.bars.add_task(
                task.name, total=task.recipe.epochs, state="", start=False
            )

    def __enter__(self) -> Self:
        if self.bars is not None:
            self.bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bars is not None:
            self.bars.stop()

    def report(self, task: FoldTask, epoch: dict[str, Any]) -> None:
        """Show one finished epoch of one fold."""
        done, epochs = epoch["epoch"] + 1, task.recipe.epochs
        self.took[task.name].append(epoch["seconds"])
        self.waiting[task.name] = epochs - done
        state = (
            f"loss {epoch['train_loss']:.3f}, smoothed Dice {epoch['smoothed_pseudo_dice']:.3f}, "
            f"rate {epoch['learning_rate']:.1e}"
        )
        if self.bars is not None:
            row = self.rows[task.name]
            self.bars.start_task(row)
            self.bars.update(row, completed=done, state=state)
        elif (
            done == epochs
            or done % max(1, round(epochs / LINES_A_FOLD)) == 0
            or time.monotonic() - self.told > PLAIN_INTERVAL_S
        ):
            self.told = time.monotonic()
            print(
                f"{task.name}: epoch {done} of {epochs}, {state}, {self._tell_left(task, done)}",
                file=sys.stderr,
                flush=True,
            )

    def _tell_left(self, task: FoldTask, done: int) -> str:
        """Say how long this fold, and all folds, will take, from the mean of the epochs seen in this run.

        The first epoch is left out of the mean once there are others: it also compiles and reads for the first time.
        """
        left = _average(self.took[task.name]) * (task.recipe.epochs - done)
        told = f"{tell_duration(left)} left"
        if len(self.took) > 1:
            mean = _average([one for took in self.took.values() for one in took[1:] or took])
            at_once = max(1, min(task.trainer.parallel_folds, len(self.took)))
            longest = max(self.waiting.values(), default=0)
            epochs = max(longest, sum(self.waiting.values()) / at_once)
            told += f", {tell_duration(mean * epochs)} of all folds"
        return told


def tell_duration(seconds: float) -> str:
    """Write a duration in the unit that a person would use."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _average(seconds: Sequence[float]) -> float:
    steady = seconds[1:] or seconds
    return sum(steady) / len(steady)
