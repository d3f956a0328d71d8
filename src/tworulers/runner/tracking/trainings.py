"""Runs of a training in MLflow, one within it for each fold: found again after an interruption, and when published."""

import json
import math
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tworulers.io.resume import DIGEST, STAMP, Stamp, digest, read_stamp
from tworulers.runner.tracking.names import name_metrics, slug
from tworulers.runner.tracking.notes import NOTE
from tworulers.runner.tracking.store import RUNS_VERSION, VERSION

STAGE, FOLD = "train", "fold"
TRAINING = "training"
"""The tag that holds what a training is made from and where it goes, which is the same each time it is gone on with."""

PARENT = "mlflow.parentRunId"
POINTS = 1000


def name_training(place: str, made_from: Stamp) -> str:
    """Return what tells a training from any other: a digest of its folder and of all that it is made from."""
    return digest({"folder": place, **json.loads(json.dumps(made_from))}).removeprefix(DIGEST)


def find_training(client: Any, experiment: str, place: str, folder: Path) -> Any | None:
    """Find the run in which a finished training was watched, which no published result has taken yet."""
    made_from = read_stamp(folder / STAMP)
    if made_from is None:
        return None
    key = name_training(place, made_from)
    found = [
        run for run in list_watched(client, experiment, place) if run.data.tags[TRAINING] == key
    ]
    return found[0] if found else None


def list_watched(client: Any, experiment: str, place: str) -> list[Any]:
    """List the runs in which trainings of a folder were watched and that are not published, newest first."""
    condition = f"tags.stage = '{STAGE}' and tags.superseded = 'no'"
    found = client.search_runs([experiment], condition, order_by=["attributes.start_time DESC"])
    # A place may hold a quote, which no condition can.
    return [
        run
        for run in found
        if run.data.tags.get("folder") == place
        and TRAINING in run.data.tags
        and "key" not in run.data.tags
    ]


def retire_repeated(client: Any, experiment: str, place: str) -> None:
    """Tag the runs of trainings that made again what is shown already: the run that shows it stands for them."""
    for run in list_watched(client, experiment, place):
        if run.info.status == "FINISHED":
            client.set_tag(run.info.run_id, "superseded", "yes")
            client.update_run(run.info.run_id, name=f"{run.info.run_name} (superseded)")


def open_training(
    client: Any, experiment: str, key: str, name: str, tags: Mapping[str, str], began: float
) -> str:
    """Go on with the run of a training that was interrupted, or make one; end those of other trainings of its folder.

    Parameters
    ----------
    client, experiment : MLflow's client, and the id of the experiment.
    key : of the training, by `name_training`.
    name : of a new run.
    tags : of a new run, with its `folder`.
    began : when it did, in seconds since 1970.
    """
    mine = None
    for run in list_watched(client, experiment, tags["folder"]):
        unfinished = run.info.status != "FINISHED"
        if mine is None and unfinished and run.data.tags[TRAINING] == key:
            mine = run.info.run_id
            client.update_run(mine, status="RUNNING")
            continue
        if unfinished:
            end_training(client, run.info.run_id, list_folds(client, experiment, run), "KILLED")
        client.set_tag(run.info.run_id, "superseded", "yes")
    if mine is not None:
        return str(mine)
    about = {
        NOTE: "This training is under way, or was ended before its result was published.",
        "mlflow.source.name": f"src/tworulers/stages/{STAGE}.py",
        "mlflow.source.type": "LOCAL",
        "stage": STAGE,
        TRAINING: key,
        "superseded": "no",
        VERSION: str(RUNS_VERSION),
    }
    made = client.create_run(
        experiment, start_time=round(1000 * began), run_name=name, tags={**tags, **about}
    )
    return str(made.info.run_id)


def list_folds(client: Any, experiment: str, parent: Any) -> dict[str, Any]:
    """List the runs of the folds of a training, by fold."""
    identity = parent if isinstance(parent, str) else parent.info.run_id
    found = client.search_runs([experiment], f"tags.`{PARENT}` = '{identity}'")
    return {run.data.tags[FOLD]: run for run in found if FOLD in run.data.tags}


def open_fold(client: Any, experiment: str, parent: str, fold: str, name: str, began: float) -> str:
    """Make the run of a fold within that of its training."""
    tags = {PARENT: parent, "stage": FOLD, FOLD: fold, VERSION: str(RUNS_VERSION)}
    made = client.create_run(
        experiment, start_time=round(1000 * began), run_name=f"{name} · fold {fold}", tags=tags
    )
    return str(made.info.run_id)


def end_training(client: Any, parent: str, folds: Mapping[str, Any], status: str) -> None:
    """End the run of a training and those of its folds that are not finished."""
    for run in folds.values():
        if run.info.status != "FINISHED":
            client.set_terminated(run.info.run_id, status)
    client.set_terminated(parent, status)


def end_fold(
    client: Any, experiment: str, parent: str, alone: str, status: str, lacking: Collection[str]
) -> None:
    """End the run of the one fold that a job trains, and that of its training unless other folds are yet to come.

    Parameters
    ----------
    client, experiment : MLflow's client, and the id of the experiment.
    parent : the run of the training.
    alone, status : the fold, and how it ended.
    lacking : folds of the model that are not there.
    """
    runs = list_folds(client, experiment, parent)
    client.set_terminated(runs[alone].info.run_id, status)
    found = {fold: run.info.status for fold, run in runs.items()}
    # A fold that is there was finished, whatever MLflow saw of it.
    ended = {fold: one for fold, one in found.items() if fold in lacking or one == "RUNNING"}
    ended[alone] = status
    if "RUNNING" in ended.values():
        return
    worst = next((one for one in ("FAILED", "KILLED") if one in ended.values()), "FINISHED")
    if worst != "FINISHED" or set(lacking) <= ended.keys():
        client.set_terminated(parent, worst)


def find_last_step(run: Any, metrics: Sequence[str]) -> int:
    """Return the last epoch that the run of a fold shows, from 0; -1 before the first."""
    return max((one.step for one in run.data._metric_objs if one.key in metrics), default=-1)


def show_curves(
    client: Any,
    experiment: str,
    parent: str,
    name: str,
    series: Mapping[str, Sequence[float]],
    start: int | None,
    end: int | None,
) -> None:
    """Show how each fold learnt in a run of its own, adding the epochs that it does not show yet.

    Parameters
    ----------
    client, experiment : MLflow's client, and the id of the experiment.
    parent, name : the run of the training, and how it is called.
    series : values by epoch, named `fold_<number>/<quantity>`.
    start, end : when the training began and ended, in milliseconds since 1970, if that is known.
    """
    from mlflow.entities import Metric

    there = list_folds(client, experiment, parent)
    by_fold: dict[str, dict[str, Sequence[float]]] = {}
    for of, values in series.items():
        fold, _, quantity = of.removeprefix("fold_").partition("/")
        by_fold.setdefault(fold, {})[slug(quantity)] = values
    for fold, curves in by_fold.items():
        run = there.get(fold)
        last = -1 if run is None else find_last_step(run, list(curves))
        began = time.time() if start is None else start / 1000
        identity = (
            open_fold(client, experiment, parent, fold, name, began)
            if run is None
            else run.info.run_id
        )
        points = [
            Metric(quantity, value, round(1000 * time.time()), step)
            for quantity, values in name_metrics(curves).items()
            for step, value in enumerate(values)
            if step > last and math.isfinite(value)
        ]
        for first in range(0, len(points), POINTS):
            client.log_batch(identity, metrics=points[first : first + POINTS])
        if run is None or run.info.status != "FINISHED":
            client.set_terminated(identity, end_time=end)
