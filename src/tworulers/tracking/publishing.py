"""Copies of results in MLflow: nothing of record lives only there, and showing a result cannot harm it."""

import hashlib
import math
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from filelock import FileLock, Timeout

from tworulers.schema import Tracking
from tworulers.tracking.names import name_metrics
from tworulers.tracking.record import RunRecord, read_record, was_made_to_be_shared
from tworulers.tracking.shown import SHARED_STAGES, list_shown, reduce_table
from tworulers.tracking.siblings import link_siblings, list_runs
from tworulers.tracking.store import (
    NOTE,
    PATIENCE_S,
    TrackingError,
    connect,
    find_address,
    hide_secrets,
)

LONGEST_VALUE = 5000
BATCH = 100
POINTS = 1000


def publish(folder: Path, root: Path, settings: Tracking) -> str:
    """Copy one result folder to MLflow unless it is there already; return the run's id.

    Of what was made to be passed on (`report.shared=true`) the page, its figures and their description are copied; a
    result that has none is not, and its id is empty.

    The key of a run is the hash of its record and of every file shown beside it. A run of the same result that was
    left unfinished is closed as killed; an older run of the same name is kept and tagged `superseded`.

    Raises
    ------
    ValueError : the result's record is damaged.
    TrackingError : whatever keeps MLflow from showing the result, in one line. The result itself is untouched.
    """
    record = read_record(folder)
    try:
        shared = was_made_to_be_shared(folder, root)
        if shared:
            if record.stage not in SHARED_STAGES:
                return ""
            record = replace(record, params={}, metrics={}, series={})
        return _publish(record, folder, root, settings, shared)
    except TrackingError:
        raise
    # MLflow, its databases, its web client and the file system each have errors of their own.
    except Exception as error:
        place = hide_secrets(find_address(root, settings))
        raise TrackingError(f"{place} cannot be used: {explain(error)}") from error


def explain(error: BaseException) -> str:
    """Say in one line what an error comes down to: its first cause, since those above it repeat whole addresses."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    said = " ".join(str(error).split())[:300] or "no reason given"
    return f"{type(error).__name__}: {said}"


def _publish(record: RunRecord, folder: Path, root: Path, settings: Tracking, shared: bool) -> str:
    client, experiment = connect(root, settings)
    shown = list_shown(folder, settings.row_level, shared)
    key = _key(record, folder, shown)
    for run in client.search_runs([experiment], f"tags.key = '{key}'"):
        if run.info.status == "FINISHED":
            return str(run.info.run_id)
        client.set_terminated(run.info.run_id, "KILLED")
    place = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else folder.name
    older = [
        run
        for run in list_runs(client, experiment, record.stage)
        if run.data.tags.get("folder") == place
    ]
    tags = {"key": key, "folder": place, "superseded": "no"}
    identity = _log(client, experiment, record, folder, shown, tags)
    for run in older:
        client.set_tag(run.info.run_id, "superseded", "yes")
        client.update_run(run.info.run_id, name=f"{run.info.run_name} (superseded)")
    told = RunRecord(**{**vars(record), "params": _name_params(record)})
    lock = root / "mlruns" / ".link.lock"
    try:
        # Two processes that link the same runs would each insert the same tag.
        with FileLock(lock, timeout=2 * PATIENCE_S):
            link_siblings(client, experiment, told)
    except Timeout as error:
        raise TrackingError(f"another process holds {lock}; the run itself is there") from error
    return identity


def _log(
    client: Any,
    experiment: str,
    record: RunRecord,
    folder: Path,
    shown: list[Path],
    tags: dict[str, str],
) -> str:
    """Make a run and fill it; a run that cannot be filled is closed as failed."""
    made_by = {"DVC_STAGE": os.environ["DVC_STAGE"]} if "DVC_STAGE" in os.environ else {}
    about = {
        NOTE: record.description,
        # Publishing is not what made a result, so its own name would say nothing in the column of sources.
        "mlflow.source.name": f"src/tworulers/stages/{record.stage}.py",
        "mlflow.source.type": "LOCAL",
        "stage": record.stage,
    }
    made = client.create_run(experiment, tags=about, run_name=record.name)
    run = str(made.info.run_id)
    try:
        _fill(client, run, record, {**name_metrics(record.tags), **tags, **made_by})
        for path in shown:
            place = path.parent.relative_to(folder).as_posix().removeprefix(".")
            reduced = reduce_table(path)
            if reduced is None:
                client.log_artifact(run, str(path), place)
                continue
            with TemporaryDirectory() as copies:
                copy = Path(copies) / path.name
                reduced.to_parquet(copy, index=False)
                client.log_artifact(run, str(copy), place)
        client.set_terminated(run)
    except BaseException:
        with suppress(Exception):
            client.set_terminated(run, "FAILED")
        raise
    return run


def _fill(client: Any, run: str, record: RunRecord, tags: dict[str, str]) -> None:
    from mlflow.entities import Metric, Param, RunTag

    undefined = sorted(name for name, value in record.metrics.items() if not math.isfinite(value))
    finite = {name: value for name, value in record.metrics.items() if math.isfinite(value)}
    named = name_metrics(finite)
    renamed = {new: old for new, old in zip(named, finite, strict=True) if new != old}
    if undefined:
        tags["undefined"] = ", ".join(undefined)
    if renamed:
        client.log_dict(run, renamed, "metric_names.json")
    points = [Metric(name, value, 0, 0) for name, value in named.items()] + [
        Metric(name, value, 0, step)
        for name, values in name_metrics(record.series).items()
        for step, value in enumerate(values)
        if math.isfinite(value)
    ]
    shown = [RunTag(name, str(value)[:LONGEST_VALUE]) for name, value in tags.items()]
    asked = [Param(name, value) for name, value in _name_params(record).items()]
    for start in range(0, len(shown), BATCH):
        client.log_batch(run, tags=shown[start : start + BATCH])
    for start in range(0, len(asked), BATCH):
        client.log_batch(run, params=asked[start : start + BATCH])
    for start in range(0, len(points), POINTS):
        client.log_batch(run, metrics=points[start : start + POINTS])


def _name_params(record: RunRecord) -> dict[str, str]:
    """Write the parameters of a result as MLflow keeps them."""
    from tworulers.told_settings import hide_places

    told = name_metrics(hide_places(record.params))
    return {name: str(value)[:LONGEST_VALUE] for name, value in told.items()}


def _key(record: RunRecord, folder: Path, shown: list[Path]) -> str:
    digest = hashlib.sha256(repr(record).encode())
    for path in shown:
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
