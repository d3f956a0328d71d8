"""Training as MLflow shows it while it goes on: a run a training, one a fold within it, each epoch as it ends."""

import logging
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from filelock import FileLock

from tworulers.io.paths import Layout
from tworulers.io.resume import DIGEST, Stamp
from tworulers.runner.extras import is_installed
from tworulers.runner.tracking.publishing import explain
from tworulers.runner.tracking.store import PATIENCE_S, connect, find_address, wait_for_lock
from tworulers.runner.tracking.trainings import (
    end_fold,
    end_training,
    find_last_step,
    list_folds,
    name_training,
    open_fold,
    open_training,
)
from tworulers.schema.file_names import escape_controls
from tworulers.schema.settings import Settings

AGAIN_AFTER_S = 20
"""How long MLflow is left alone after it failed; what it missed is shown then."""

ADDRESS = "MLFLOW_TRACKING_URI"

Epoch = Mapping[str, Any]


@dataclass
class LiveTraining:
    """Shows a training from a thread of its own, so that MLflow can neither end it nor hold it up.

    `began` is when the training did, in seconds since 1970; `tags` are those of its run, with its `folder`; `said` are
    the settings that are shown while it runs.
    """

    key: str
    name: str
    tags: Mapping[str, str]
    said: Mapping[str, Any]
    root: Path
    settings: Settings
    began: float
    failed: bool = False
    _queue: SimpleQueue[Any] = field(default_factory=SimpleQueue)
    _waiting: list[tuple[str, Epoch, float]] = field(default_factory=list)
    _loggers: dict[str, Any] = field(default_factory=dict)
    _last: dict[str, int] = field(default_factory=dict)
    _opened: tuple[Any, str, str] | None = None
    _monitor: Any = None
    _again: float = -math.inf

    def __post_init__(self) -> None:
        self._thread = Thread(target=self._show, daemon=True)
        self._thread.start()

    def report(self, fold: int | str, epoch: Epoch) -> None:
        """Have one finished epoch of a fold shown."""
        self._queue.put((str(fold), epoch, time.time()))

    def end(self, status: str) -> None:
        """Have all shown that is left, and the run ended; wait for it no longer than MLflow is waited for elsewhere."""
        self._queue.put(status)
        self._thread.join(2 * PATIENCE_S)

    def _show(self) -> None:
        # While the folds' own processes import as much, so that their first epoch finds all ready.
        with suppress(ImportError):
            import pytorch_lightning.loggers  # noqa: F401
        status = ""
        while not status:
            status = self._take()
            # What is left when a training ends while MLflow is away, publishing the result shows.
            if time.monotonic() < self._again:
                continue
            try:
                self._log()
                if status:
                    self._end(status)
            # Nothing that MLflow does may end a training.
            except Exception as error:
                self._again = time.monotonic() + AGAIN_AFTER_S
                self._warn(error)

    def _take(self) -> str:
        """Take all epochs that are there, waiting a while for the first; return the status of an ended training."""
        try:
            given = self._queue.get(timeout=1 if self._opened is None else None)
            while not isinstance(given, str):
                self._waiting.append(given)
                given = self._queue.get_nowait()
        except Empty:
            return ""
        return given

    def _log(self) -> None:
        client, experiment, parent = self._opened or self._open()
        while self._waiting:
            fold, epoch, ended = self._waiting[0]
            if fold not in self._loggers:
                began = ended - float(epoch["seconds"])
                run = open_fold(client, experiment, parent, fold, self.name, began)
                # A job of another fold may have ended the training meanwhile.
                client.update_run(parent, status="RUNNING")
                self._loggers[fold], self._last[fold] = self._make_logger(run), -1
            step = int(epoch["epoch"])
            # A fold that goes on from a checkpoint repeats the epochs after it.
            if step > self._last[fold]:
                shown = {
                    name: float(value)
                    for name, value in epoch.items()
                    if name != "epoch" and math.isfinite(value)
                }
                with _keeping_address():
                    self._loggers[fold].log_metrics(shown, step)
                self._last[fold] = step
            self._waiting.pop(0)

    def _open(self) -> tuple[Any, str, str]:
        """Connect, and find the run of this training or make it, with those of its folds that are there."""
        from mlflow.entities import Param

        tracking = self.settings.tracking
        client, experiment = connect(self.root, tracking)
        with self._alone_with_its_run():
            parent = open_training(client, experiment, self.key, self.name, self.tags, self.began)
        there = client.get_run(parent)
        new = {name: value for name, value in self.said.items() if name not in there.data.params}
        client.log_batch(parent, params=[Param(name, str(value)) for name, value in new.items()])
        alone = self.settings.configuration.fold
        for fold, run in list_folds(client, experiment, parent).items():
            if alone is not None and fold != str(alone):
                continue
            client.update_run(run.info.run_id, status="RUNNING")
            self._loggers[fold] = self._make_logger(run.info.run_id)
            self._last[fold] = find_last_step(run, ["train_loss"])
        if tracking.system_metrics and self._monitor is None:
            self._monitor = self._watch_machine(parent)
        self._opened = client, experiment, parent
        return self._opened

    def _make_logger(self, run: str) -> Any:
        from pytorch_lightning.loggers import MLFlowLogger

        uri = find_address(self.root, self.settings.tracking)
        return MLFlowLogger(
            self.settings.tracking.experiment, tracking_uri=uri, run_id=run, synchronous=True
        )

    def _watch_machine(self, parent: str) -> Any:
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

        uri = find_address(self.root, self.settings.tracking)
        logging.getLogger("mlflow.system_metrics").setLevel(logging.ERROR)
        monitor = SystemMetricsMonitor(parent, resume_logging=True, tracking_uri=uri)
        monitor.start()
        return monitor

    def _end(self, status: str) -> None:
        assert self._opened is not None
        client, experiment, parent = self._opened
        if self._monitor is not None:
            self._monitor.finish()
        alone = self.settings.configuration.fold
        with self._alone_with_its_run():
            if alone is None:
                end_training(client, parent, list_folds(client, experiment, parent), status)
                return
            if str(alone) not in self._loggers:
                open_fold(client, experiment, parent, str(alone), self.name, self.began)
            model = self.root / self.tags["folder"]
            folds = self.settings.grid.folds
            lacking = [str(fold) for fold in folds if not (model / f"fold_{fold}").is_dir()]
            end_fold(client, experiment, parent, str(alone), status, lacking)

    def _alone_with_its_run(self) -> FileLock:
        """Keep other jobs away from the run of a training while this one opens or ends it."""
        lock = self.root / "mlruns" / f".train_{self.key[0]}.lock"
        return FileLock(lock, timeout=wait_for_lock())

    def _warn(self, error: Exception) -> None:
        """Say once that this training cannot be watched just now."""
        if not self.failed:
            self.failed = True
            print(
                f"warning: MLflow does not show this training while it runs: {escape_controls(explain(error))}\n"
                "  It goes on all the same; its result can be published when it is finished.",
                file=sys.stderr,
                flush=True,
            )


@contextmanager
def showing_training(
    result: Path, name: str, made_from: Stamp, settings: Settings, layout: Layout, began: float
) -> Iterator[LiveTraining | None]:
    """Show a training in MLflow while it runs, unless tracking is off or MLflow is not installed.

    Parameters
    ----------
    result : the folder that it makes.
    name : of its run.
    made_from : all that it depends on.
    settings, layout : what it runs with.
    began : when, in seconds since 1970.
    """
    if not settings.tracking.enabled or not is_installed("mlflow"):
        yield None
        return
    place = layout.relative(result)
    tags = {"dataset": settings.dataset.name, "regime": settings.regime.name, "folder": place}
    tags["configuration"] = settings.configuration.name
    if settings.paths.name == "sweep":
        tags["sweep"] = settings.paths.outputs
    said = {key: value for key, value in made_from.items() if DIGEST not in str(value)}
    key = name_training(place, made_from)
    live = LiveTraining(key, name, tags, said, layout.root, settings, began)
    status = "FAILED"
    try:
        yield live
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        live.end(status)


@contextmanager
def _keeping_address() -> Iterator[None]:
    """Undo that Lightning's logger writes its address into the environment, which later runs would heed."""
    before = os.environ.get(ADDRESS)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(ADDRESS, None)
        else:
            os.environ[ADDRESS] = before
