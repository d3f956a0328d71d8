"""A training is seen in MLflow while it goes on, in one run however often it is interrupted, and costs it nothing."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from small_line import NETWORK, ROOT

from tworulers.io.paths import Layout
from tworulers.runner.tracking.live import showing_training
from tworulers.runner.tracking.store import PATIENCE_S, connect
from tworulers.runner.tracking.trainings import list_folds
from tworulers.schema.settings import Configuration, Dataset, Paths, Regime, Settings, Tracking

SETTINGS = Tracking(name="local", experiment="tworulers-phantom", system_metrics=False)
PLACE = Path("artifacts/toy/models/mix/2d")
JOBS_PLACE = PLACE.with_name("3d_fullres")
TRAINED = Path("artifacts/phantom/models/gold/3d_fullres")
MADE_FROM = {"recipe.epochs": 4, "labels": "sha256:0"}


def compose(tracking: Tracking = SETTINGS) -> Settings:
    return Settings(
        dataset=Dataset(name="toy"), regime=Regime(name="mix"), tracking=tracking,
        configuration=Configuration(name="2d"), paths=Paths(name="repro"),
    )  # fmt: skip


def make_epoch(number: int) -> dict[str, float]:
    return {
        "epoch": number,
        "train_loss": 1.0 / (number + 1),
        "val_loss": float("nan"),
        "seconds": 2.0,
    }


def watch(
    root: Path,
    epochs: list[tuple[int, int]],
    made_from: dict[str, Any],
    settings: Settings,
    place: Path = PLACE,
) -> None:
    layout = Layout(root, root / "artifacts/toy", root / "artifacts/toy")
    with showing_training(
        root / place, "train · mix 2d", made_from, settings, layout, time.time() - 9
    ) as live:
        assert live is not None
        for fold, epoch in epochs:
            live.report(fold, make_epoch(epoch))
        if len(epochs) == 3:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a store of its own."""
    # So that no import takes the time that a training waits for MLflow when it ends.
    import_module("pytorch_lightning.loggers")
    root = tmp_path_factory.mktemp("runs")
    look(root)
    return root


@cache
def look(root: Path) -> tuple[Any, str]:
    return connect(root, SETTINGS)


def list_trainings(root: Path, place: Path = PLACE) -> list[Any]:
    client, experiment = look(root)
    condition = f"tags.stage = 'train' and tags.folder = '{place}'"
    return list(client.search_runs([experiment], condition, order_by=["attributes.start_time"]))


def list_points(root: Path, parent: str, metric: str = "train_loss") -> dict[str, list[int]]:
    """List the epochs that MLflow shows of each fold of a training."""
    client, experiment = look(root)
    folds = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{parent}'")
    return {
        run.data.tags["fold"]: [
            point.step for point in client.get_metric_history(run.info.run_id, metric)
        ]
        for run in folds
    }


def test_a_training_is_gone_on_with_in_its_run_and_another_ends_it(runs: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        watch(runs, [(0, 0), (1, 0), (0, 1)], MADE_FROM, compose())
    (first,) = list_trainings(runs)
    assert (first.info.status, first.data.params) == ("KILLED", {"recipe.epochs": "4"})
    assert first.info.end_time - first.info.start_time >= 9000
    # the newest checkpoint is older than the last epoch that was shown
    watch(runs, [(0, 1), (0, 2), (1, 1), (1, 2)], MADE_FROM, compose())
    (again,) = list_trainings(runs)
    assert (again.info.run_id, again.info.status) == (first.info.run_id, "FINISHED")
    assert list_points(runs, first.info.run_id) == {"0": [0, 1, 2], "1": [0, 1, 2]}
    assert list_points(runs, first.info.run_id, "val_loss") == {"0": [], "1": []}
    watch(runs, [(0, 0)], {**MADE_FROM, "recipe.epochs": 5}, compose())
    first, other = list_trainings(runs)
    assert [run.data.tags["superseded"] for run in (first, other)] == ["yes", "no"]
    assert "MLFLOW_TRACKING_URI" not in os.environ


def test_jobs_of_one_fold_share_a_run_that_ends_with_the_last(runs: Path) -> None:
    jobs = [compose(), compose(), compose()]
    for fold, job in enumerate(jobs):
        job.configuration.fold, job.grid.folds = fold, [0, 1, 2]

    def status() -> list[str]:
        """Return that of the training, and of the runs of its folds."""
        client, experiment = look(runs)
        (training,) = list_trainings(runs, JOBS_PLACE)
        there = list_folds(client, experiment, training)
        return [training.info.status, *(there[fold].info.status for fold in sorted(there))]

    layout = Layout(runs, runs / "artifacts/toy", runs / "artifacts/toy")
    about = (runs / JOBS_PLACE, "train · mix 2d", MADE_FROM)
    with showing_training(*about, jobs[0], layout, time.time()) as longest:
        assert longest is not None
        longest.report(0, make_epoch(0))
        while not list_trainings(runs, JOBS_PLACE) or status()[1:] != ["RUNNING"]:
            assert not longest.failed
            time.sleep(0.1)
        with pytest.raises(KeyboardInterrupt):
            watch(runs, [(1, epoch) for epoch in range(3)], MADE_FROM, jobs[1], JOBS_PLACE)
        assert status() == ["RUNNING", "RUNNING", "KILLED"]
    assert status() == ["KILLED", "FINISHED", "KILLED"]
    watch(runs, [(1, 3)], MADE_FROM, jobs[1], JOBS_PLACE)
    assert status() == ["RUNNING", "FINISHED", "FINISHED"]
    with pytest.raises(MemoryError), showing_training(*about, jobs[2], layout, 0.0):
        raise MemoryError
    assert status() == ["FAILED", "FINISHED", "FINISHED", "FAILED"]
    watch(runs, [(2, 0)], MADE_FROM, jobs[2], JOBS_PLACE)
    assert status() == ["FINISHED"] * 4
    # One of them trained again meets folds that are there.
    for fold in (0, 2):
        (runs / JOBS_PLACE / f"fold_{fold}").mkdir(parents=True)
    watch(runs, [(1, 0)], MADE_FROM, jobs[1], JOBS_PLACE)
    assert [run.info.status for run in list_trainings(runs, JOBS_PLACE)] == ["FINISHED"] * 2


def test_a_training_is_shown_only_where_runs_are(tmp_path: Path) -> None:
    layout = Layout(tmp_path, tmp_path / "artifacts/toy", tmp_path / "artifacts/toy")
    off = compose(replace(SETTINGS, enabled=False))
    with showing_training(tmp_path / PLACE, "train", MADE_FROM, off, layout, 0.0) as live:
        assert live is None
    assert not (tmp_path / "mlruns").exists()


def test_a_store_that_cannot_be_used_neither_ends_nor_holds_up_a_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away = compose(replace(SETTINGS, uri="postgresql://me:s3cr3t@127.0.0.1:9/runs"))
    before = time.monotonic()
    watch(tmp_path, [(0, epoch) for epoch in range(4)], MADE_FROM, away)
    assert time.monotonic() - before < 2 * PATIENCE_S + 2
    said = capsys.readouterr().err
    assert said.count("warning: MLflow does not show this training while it runs") == 1
    assert "s3cr3t" not in said


class Command:
    """The train stage as a person types it, its lines with when each came."""

    def __init__(self, project: Path, *arguments: str, **env: str) -> None:
        self.lines: list[tuple[float, str]] = []
        python = [sys.executable, "-u", "-m", "tworulers.stages.train", *arguments]
        self.process = subprocess.Popen(
            python,
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line))

    def when(self, fold: str, epoch: int) -> float | None:
        """When an epoch of a fold was said to be done."""
        said = re.compile(rf"fold {fold}: epoch {epoch} of ")
        return next((moment for moment, line in self.lines if said.search(line)), None)


@pytest.mark.slow
def test_three_points_of_each_fold_are_there_while_epoch_4_of_10_trains(
    line: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    shutil.copytree(line, project, symlinks=True)
    shutil.rmtree(project / "mlruns", ignore_errors=True)
    arguments = [
        "regime=gold", *NETWORK, "processes=1", "grid.folds=[0,1]", "recipe.epochs=10",
        "recipe.iterations=30", "recipe.augmentation=none", "trainer.parallel_folds=2",
        "trainer.checkpoint_every=1",
    ]  # fmt: skip
    # DVC runs the stage and publishes nothing, yet it is watched.
    env = {"DVC_STAGE": "train_gold", "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "1"}
    look(project)
    command = Command(project, *arguments, **env)
    seen: list[tuple[float, dict[str, list[int]]]] = []
    while command.when("0", 6) is None or command.when("1", 6) is None:
        assert command.process.poll() is None, command.lines
        parents = list_trainings(project, TRAINED)
        if parents:
            seen.append((time.monotonic(), list_points(project, parents[0].info.run_id)))
        time.sleep(0.3)
    os.killpg(command.process.pid, 9)
    command.process.wait()
    for fold in ("0", "1"):
        done, next_done = command.when(fold, 3), command.when(fold, 4)
        assert done is not None
        assert next_done is not None
        during = [points.get(fold) for moment, points in seen if done < moment < next_done]
        assert [0, 1, 2] in during, (done, next_done, seen)

    second = Command(project, *arguments, **env)
    assert second.process.wait(240) == 0, second.lines
    second.reader.join()
    (watched,) = list_trainings(project, TRAINED)
    assert watched.info.status == "FINISHED"
    assert "key" not in watched.data.tags
    assert any(name.startswith("system/") for name in watched.data.metrics)

    python = [sys.executable, "-m", "tworulers.stages.publish"]
    subprocess.run(
        python, cwd=project, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=True
    )
    (published,) = list_trainings(project, TRAINED)
    assert published.info.run_id == watched.info.run_id
    assert "key" in published.data.tags
    assert published.data.params["recipe.epochs"] == "10"
    assert any(name.startswith("validation/dice/") for name in published.data.metrics)
    assert {one.dataset.name for one in published.inputs.dataset_inputs} >= {
        "phantom/cohort", "phantom/split", "phantom/plan", "phantom/arrays/3d_fullres"
    }  # fmt: skip
    for points in list_points(project, published.info.run_id).values():
        assert Counter(points) == Counter(range(10))
