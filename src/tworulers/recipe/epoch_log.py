"""A Lightning logger that hands each finished epoch on, for whoever watches a training from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from tworulers.recipe.module import EpochRecord


class EpochLogger(Logger):
    """Tells `report` every finished epoch, in the first process alone."""

    def __init__(self, report: Callable[[EpochRecord], None]) -> None:
        super().__init__()
        self.report = report

    @property
    def name(self) -> str:
        """What it logs."""
        return "epochs"

    @property
    def version(self) -> str:
        """There is one."""
        return ""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Tell a finished epoch."""
        assert step is not None
        self.report(EpochRecord(epoch=step, **metrics))

    @rank_zero_only
    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to tell: the task says all."""
