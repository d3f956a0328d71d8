"""The store that runs are shown in: a local SQLite file or a server, made whole, found where it lies, or refused."""

import os
import socket
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from filelock import FileLock, Timeout

from tworulers.runner.extras import MissingExtraError, require
from tworulers.runner.tracking.notes import NOTE
from tworulers.runner.tracking.pages import STATE as VIEW_STATE
from tworulers.runner.tracking.pages import TAG as VIEW_TAG
from tworulers.runner.tracking.pages import keep_view
from tworulers.schema.settings import Tracking

GUIDE = """Each run is one result of the pipeline, a copy of the folder that its tag `folder` names.

- **report**: the answer; the whole page is its artifact `index.html`.
- **audit · regime by ruler**: verdicts by one ruler. To see two rulers side by side, tick two runs of one regime \
and press Compare, or follow the link in a run's description; another link leads to why they differ.
- **rulers · ..** and **regimes · ..**: what changes with the ruler or with the regime, and why.
- **train · ..**: one run a fold within it, with losses and Dice by epoch while it trains, below Model metrics.
- **details · ..**: every number and setting of the run that it lies in.

Tables and figures are artifacts. A difference is one in the eyes of the ruler named, whose provenance is a tag.
"""
"""What the page of the experiment says to whoever opens it first."""

VERSION = "runs_version"
RUNS_VERSION = 2
"""How runs are written, as their tag `runs_version` says. Those without it are of version 1, in which a run holds all
its numbers: they are read, and superseded once the result is shown again."""

PATIENCE_S = 4
"""How long one request, one lock or one connection may take before a finished stage goes on without it."""

REQUEST_LIMITS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": str(PATIENCE_S),
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "0",
    "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER": "0",
}
LONG_LIMITS = {
    **REQUEST_LIMITS,
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
}
DATABASE_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}


class TrackingError(Exception):
    """Runs cannot be shown; the message says why and, where there is a way, how to mend it."""


def connect(root: Path, settings: Tracking) -> tuple[Any, str]:
    """Connect to the project's store, made under a lock on first use.

    Parameters
    ----------
    root : the project root; the local store is `mlruns/mlflow.db`, its artifacts `mlruns/artifacts`.
    settings : experiment name and, for a server, its address; `MLFLOW_TRACKING_URI` overrides both.

    Returns
    -------
    MLflow's client, and the id of the experiment.

    Raises
    ------
    TrackingError : MLflow is not installed; the store does not answer, is in use, or holds the experiment in its bin.
    """
    try:
        require("track", "showing runs (tracking=off does without)")
    except MissingExtraError as error:
        raise TrackingError(str(error)) from error
    for name, value in {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_LOGGING_LEVEL": "ERROR",
        "GIT_PYTHON_REFRESH": "quiet",
        **REQUEST_LIMITS,
    }.items():
        os.environ.setdefault(name, value)
    store = root / "mlruns"
    database = store / "mlflow.db"
    uri = find_address(root, settings)
    local = uri == f"sqlite:///{database}"
    store.mkdir(exist_ok=True)
    # Others wait for the lock, and these imports take longer than all that is done under it.
    import mlflow

    if not uri.startswith("http"):
        import mlflow.store.tracking.sqlalchemy_store  # noqa: F401
    try:
        with FileLock(store / ".init.lock", timeout=wait_for_lock()):
            if local:
                ready_database(database)
            else:
                knock(uri)
            return _open_experiment(uri, settings.experiment, store)
    except Timeout as error:
        raise TrackingError(f"another process holds {store / '.init.lock'}") from error


def find_address(root: Path, settings: Tracking) -> str:
    """Find the address of the store: the environment's, the settings' or the project's own file."""
    own = f"sqlite:///{root / 'mlruns' / 'mlflow.db'}"
    return os.environ.get("MLFLOW_TRACKING_URI") or settings.uri or own


def is_gone(root: Path, settings: Tracking) -> bool:
    """Tell whether the store of runs is this project's own file, and not there."""
    database = root / "mlruns" / "mlflow.db"
    return find_address(root, settings) == f"sqlite:///{database}" and not database.is_file()


def require_address(settings: Tracking) -> None:
    """Refuse to begin with a server whose address nobody gave.

    Raises
    ------
    ValueError : naming the variable that is not set.
    """
    if settings.name == "server" and not (os.environ.get("MLFLOW_TRACKING_URI") or settings.uri):
        raise ValueError(
            "tracking=server needs an address; set MLFLOW_TRACKING_URI, or tracking.uri=..."
        )


def require_readable(runs: Iterable[Any]) -> None:
    """Refuse to write among runs that a newer version of the project wrote.

    Raises
    ------
    TrackingError : naming the version, and what to do.
    """
    newest = max((int(run.data.tags.get(VERSION, 1)) for run in runs), default=1)
    if newest > RUNS_VERSION:
        raise TrackingError(
            f"the experiment holds runs of version {newest}, and this is written for up to {RUNS_VERSION}: update "
            "tworulers, or name another experiment: tracking.experiment=..."
        )


def wait_longer() -> None:
    """Give a server more time, where showing results is all that was asked for."""
    for name, value in LONG_LIMITS.items():
        os.environ.setdefault(name, value)


def wait_for_lock() -> float:
    """Say for how many seconds another process may hold a lock: twice as long as a request may take."""
    return 2 * float(os.environ.get("MLFLOW_HTTP_REQUEST_TIMEOUT", PATIENCE_S))


def ready_database(database: Path) -> None:
    """Have the local database whole, free to write, and pointing to where it lies.

    A database that was left half made before its first run is set aside and made again.

    Raises
    ------
    TrackingError : another process is writing to it, or it is no database.
    """
    if database.is_file() and not _is_whole(database):
        database.replace(database.with_name(f"{database.name}.unfinished"))
    if not database.is_file():
        _make_database(database)
    _follow_move(database)


def knock(uri: str) -> None:
    """Ask whether a database server takes connections; web servers are asked by the first request.

    Raises
    ------
    TrackingError : nobody answers at its address.
    """
    parts = urlsplit(uri)
    port = parts.port or DATABASE_PORTS.get(parts.scheme.partition("+")[0])
    if parts.hostname is None or port is None or parts.scheme.startswith("http"):
        return
    try:
        socket.create_connection((parts.hostname, port), PATIENCE_S).close()
    except OSError as error:
        raise TrackingError(f"{hide_secrets(uri)} does not answer ({error})") from error


def hide_secrets(uri: str) -> str:
    """Write an address without user, password and query."""
    parts = urlsplit(uri)
    place = parts.netloc.rpartition("@")[2]
    if not place:
        return uri.partition("?")[0]
    return urlunsplit((parts.scheme, place, parts.path, "", ""))


def _is_whole(database: Path) -> bool:
    """Tell whether a database may be used: it holds a run, or MLflow finished making it."""
    with closing(sqlite3.connect(database, timeout=PATIENCE_S)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()
            found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {name for (name,) in found}
            if "runs" in tables and connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone():
                return True
            if not {"experiments", "alembic_version"} <= tables:
                return False
            # The experiment is made last, so one of ours says that all before it was.
            return bool(
                connection.execute(
                    "SELECT 1 FROM experiments WHERE artifact_location LIKE '%/mlruns/artifacts' LIMIT 1"
                ).fetchone()
            )
        except sqlite3.OperationalError as error:
            raise TrackingError(f"{database} is in use by another process ({error})") from error
        except sqlite3.DatabaseError as error:
            raise TrackingError(
                f"{database} is damaged ({error}); move it away, and a new one is filled from the results"
            ) from error


def _make_database(database: Path) -> None:
    """Make an empty database beside its place and move it there, so that a kill leaves no half of one."""
    for left in database.parent.glob(f".*.{database.name}*"):
        left.unlink(missing_ok=True)
    import mlflow

    temporary = database.with_name(f".{os.getpid()}.{database.name}")
    mlflow.MlflowClient(f"sqlite:///{temporary}").search_experiments(max_results=1)
    temporary.replace(database)


def _follow_move(database: Path) -> None:
    """Point every run to the artifacts beside the database, where the project was moved or copied.

    MLflow keeps absolute addresses and would make the old folder again, or write into the original of a copy.
    """
    here = (database.parent / "artifacts").as_uri()
    with closing(sqlite3.connect(database, timeout=PATIENCE_S)) as connection, connection:
        found = connection.execute(
            "SELECT DISTINCT artifact_location FROM experiments WHERE artifact_location LIKE '%/mlruns/artifacts'"
        )
        for (there,) in found.fetchall():
            if there == here:
                continue
            for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
                connection.execute(
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?)"
                    f" WHERE substr({column}, 1, ?) = ?",
                    (here, len(there) + 1, len(there), there),
                )


def _open_experiment(uri: str, name: str, store: Path) -> tuple[Any, str]:
    import mlflow

    client = mlflow.MlflowClient(uri)
    found = client.get_experiment_by_name(name)
    if found is None:
        location = None if uri.startswith("http") else (store / "artifacts").as_uri()
        tags = {NOTE: GUIDE, VIEW_TAG: VIEW_STATE}
        return client, client.create_experiment(name, artifact_location=location, tags=tags)
    if found.lifecycle_stage == "deleted":
        raise TrackingError(
            f"the experiment {name!r} is in MLflow's bin; restore it with `MLFLOW_TRACKING_URI="
            f"{hide_secrets(uri)} mlflow experiments restore --experiment-id {found.experiment_id}`, "
            "or name another: tracking.experiment=..."
        )
    if NOTE not in found.tags:
        client.set_experiment_tag(found.experiment_id, NOTE, GUIDE)
    keep_view(client, found)
    return client, str(found.experiment_id)
