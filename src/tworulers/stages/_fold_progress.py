"""What a person sees of training: a bar a fold on a terminal, ten plain lines a fold elsewhere."""

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tworulers.recipe.task import FoldTask

LINES_A_FOLD = 10


class FoldProgress:
    """Shows the epochs of folds that train side by side; `report` takes each finished epoch."""

    def __init__(self, tasks: Sequence[FoldTask]) -> None:
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
        state = (
            f"loss {epoch['train_loss']:.3f}, smoothed Dice {epoch['smoothed_pseudo_dice']:.3f}, "
            f"rate {epoch['learning_rate']:.1e}"
        )
        if self.bars is not None:
            row = self.rows[task.name]
            self.bars.start_task(row)
            self.bars.update(row, completed=done, state=state)
        elif done == epochs or done % max(1, round(epochs / LINES_A_FOLD)) == 0:
            left = epoch["seconds"] * (epochs - done)
            print(
                f"{task.name}: epoch {done} of {epochs}, {state}, {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )
