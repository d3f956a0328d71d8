"""Copies of results in MLflow: nothing of record lives only there, and showing a result cannot harm it."""

import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tworulers.runner.cost import name_costs
from tworulers.runner.tracking.circumstances import Circumstances, find_circumstances
from tworulers.runner.tracking.filling import fill_run, name_params, show_files, show_inputs
from tworulers.runner.tracking.headline import choose_headline, choose_params, tell_verdict
from tworulers.runner.tracking.mechanism import link_mechanism
from tworulers.runner.tracking.names import name_metrics
from tworulers.runner.tracking.notes import NOTE
from tworulers.runner.tracking.record import (
    RunRecord,
    find_dataset,
    read_record,
    was_made_to_be_shared,
)
from tworulers.runner.tracking.shown import SHARED_STAGES, list_shown
from tworulers.runner.tracking.siblings import identify, link_siblings, list_runs
from tworulers.runner.tracking.store import (
    RUNS_VERSION,
    VERSION,
    TrackingError,
    connect,
    find_address,
    hide_secrets,
    wait_for_lock,
)
from tworulers.runner.tracking.trainings import STAGE as TRAIN
from tworulers.runner.tracking.trainings import find_training, retire_repeated, show_curves
from tworulers.schema.damage import DamagedError
from tworulers.schema.settings import Tracking

COMPARED = ("audit", "compare")
"""Stages whose results say why those of the other differ."""

DETAILS = "details"


def publish(folder: Path, root: Path, settings: Tracking) -> str:
    """Copy one result folder to MLflow unless it is there already; return the run's id.

    Of what was made to be passed on (`report.shared=true`) the page, its figures and their description are copied; a
    result that has none is not, and its id is empty.

    The key of a run is the hash of its record and of every file shown beside it. A run of the same result that was
    left unfinished is closed as killed; an older run of the same name is kept and tagged `superseded`.

    Raises
    ------
    ValueError : the result's record, or a table that would be shown, is damaged.
    TrackingError : whatever keeps MLflow from showing the result, in one line. The result itself is untouched.
    """
    record = read_record(folder)
    try:
        shared = was_made_to_be_shared(folder, root)
        if shared:
            if record.stage not in SHARED_STAGES:
                return ""
            record = replace(record, params={}, metrics={}, series={}, inputs={})
        return _publish(record, folder, root, settings, shared)
    except (TrackingError, DamagedError):
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
    # Two processes that show the same result would each find nothing of it. Few locks serve all results.
    lock = root / "mlruns" / f".show_{key[0]}.lock"
    try:
        with FileLock(lock, timeout=wait_for_lock()):
            return _show(client, experiment, record, key, folder, root, shown, shared)
    except Timeout as error:
        raise TrackingError(f"another process holds {error.lock_file}") from error


def _show(
    client: Any,
    experiment: str,
    record: RunRecord,
    key: str,
    folder: Path,
    root: Path,
    shown: list[Path],
    shared: bool,
) -> str:
    """Show a result that no other process is showing, and link it; nothing where it is there."""
    place = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else folder.name
    for run in client.search_runs([experiment], f"tags.key = '{key}'"):
        if run.info.status == "FINISHED":
            if record.stage == TRAIN:
                retire_repeated(client, experiment, place)
            return str(run.info.run_id)
        client.set_terminated(run.info.run_id, "KILLED")
    older = [
        run
        for run in list_runs(client, experiment, record.stage)
        if run.data.tags.get("folder") == place
    ]
    made = find_circumstances(root, place)
    told = replace(record, params=name_params(record))
    costs = {} if shared else name_costs(root, place)
    tags = {
        **name_metrics({**find_dataset(folder, root), **record.tags}),
        **tell_verdict(record),
        **made.tags,
        **identify(told),
        "folder": place,
        "superseded": "no",
        VERSION: str(RUNS_VERSION),
    }
    live = find_training(client, experiment, place, folder) if record.stage == TRAIN else None
    identity = _log(client, experiment, record, costs, folder, shown, tags, key, made, live)
    for run in older:
        client.set_tag(run.info.run_id, "superseded", "yes")
        client.update_run(run.info.run_id, name=f"{run.info.run_name} (superseded)")
    # Two processes that link the same runs would each insert the same tag.
    with FileLock(root / "mlruns" / ".link.lock", timeout=wait_for_lock()):
        _link(client, experiment, told, place)
    return identity


def _link(client: Any, experiment: str, record: RunRecord, place: str) -> None:
    """Link the runs that belong beside a result just shown."""
    runs = list_runs(client, experiment, record.stage)
    link_siblings(client, experiment, record, runs)
    if record.stage in COMPARED:
        (other,) = set(COMPARED) - {record.stage}
        link_mechanism(client, experiment, place, [*runs, *list_runs(client, experiment, other)])


def _log(
    client: Any,
    experiment: str,
    record: RunRecord,
    costs: dict[str, float],
    folder: Path,
    shown: list[Path],
    tags: dict[str, str],
    key: str,
    made: Circumstances,
    live: Any | None,
) -> str:
    """Fill a run, `live` or a new one, and one within it for what its page has no room for."""
    headline = choose_headline(record)
    few = len(headline) < len(record.metrics)
    page = replace(record, metrics=headline, params=choose_params(record, few))
    # A page of few numbers leaves what it cost to its details.
    if not few:
        page = replace(page, metrics={**headline, **costs})
    about = {
        NOTE: record.description,
        # Publishing is not what made a result, so its own name would say nothing in the column of sources.
        "mlflow.source.name": f"src/tworulers/stages/{record.stage}.py",
        "mlflow.source.type": "LOCAL",
        "stage": record.stage,
    }
    series = page.series if record.stage == TRAIN else {}
    page = replace(page, series={} if series else page.series)
    if live is None:
        begun = client.create_run(
            experiment, tags=about, run_name=record.name, start_time=made.start
        )
        filled = {**tags, "key": key}
    else:
        begun, filled = live, {**about, **tags}
        known = {name for name in page.params if name in live.data.params}
        page = replace(
            page, params={name: one for name, one in page.params.items() if name not in known}
        )
    run = str(begun.info.run_id)
    try:
        fill_run(client, run, page, filled)
        show_inputs(client, run, record)
        show_files(client, run, folder, shown)
        if series:
            show_curves(
                client, experiment, run, record.name, series, begun.info.start_time, made.end
            )
        if few:
            details = replace(record, metrics={**record.metrics, **costs})
            _log_details(client, experiment, details, run, made)
        # A run that was watched is published only once it has this tag.
        client.set_tag(run, "key", key)
        client.set_terminated(run, end_time=made.end)
    except BaseException:
        if live is None:
            with suppress(Exception):
                client.set_terminated(run, "FAILED")
        raise
    return run


def _log_details(
    client: Any, experiment: str, record: RunRecord, parent: str, made: Circumstances
) -> None:
    """Show every number and setting of a result as a run within it."""
    tags = {"mlflow.parentRunId": parent, "stage": DETAILS, VERSION: str(RUNS_VERSION)}
    details = client.create_run(
        experiment, tags=tags, run_name=f"{DETAILS} · {record.name}", start_time=made.start
    ).info.run_id
    fill_run(client, details, record, {})
    client.set_terminated(details, end_time=made.end)


def _key(record: RunRecord, folder: Path, shown: list[Path]) -> str:
    digest = hashlib.sha256(f"{RUNS_VERSION} {record!r}".encode())
    for path in shown:
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
