"""Whatever is wrong with MLflow, a finished audit stays finished, and what the warning says to type works."""

import os
import re
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tworulers.io.paths import Layout
from tworulers.runner.tracking import RunRecord, write_record
from tworulers.runner.tracking.publishing import publish
from tworulers.runner.tracking.showing import show_result
from tworulers.runner.tracking.store import PATIENCE_S, connect
from tworulers.schema.settings import Tracking

ROOT = Path(__file__).parents[2]
LIMIT_S = 10
"""How long a finished stage may wait for a server; asked of the requests it makes, not of the clock."""

SETTINGS = Tracking(name="local", experiment="toy")

FIRST, SECOND = "first.csv", "patients/Jane Doe 1931/second.csv"
"""Tables of scores, from the project's folder."""


def run(project: Path, *arguments: str, fails: bool = False, **env: str) -> str:
    """Run a stage as a person types it, from the project's folder; return all it printed."""
    python = [sys.executable, "-m", *arguments]
    done = subprocess.run(
        python,
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = done.stdout + done.stderr
    assert (done.returncode != 0) is fails, said
    assert "Traceback" not in said, said
    return said


def audit(project: Path, table: str, **env: str) -> str:
    choices = ["attributes=none", "audit=quick", "audit.bootstrap_draws=20", "audit.power_draws=0"]
    given = [f"scores.file={table}", "scores.provenance=gold"]
    return run(project, "tworulers.stages.audit", *choices, *given, **env)


def publish_as_told(said: str) -> list[str]:
    """The command that a warning says to type, as arguments."""
    assert said.count("warning:") == 1, said
    found = re.search(r"publish it later with: python -m (.+)", said)
    assert found is not None, said
    return shlex.split(found[1])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("one") / "one"
    shutil.copytree(ROOT / "conf", project / "conf")
    shutil.copy(ROOT / "dvc.yaml", project)
    (project / Path(SECOND).parent).mkdir(parents=True)
    for table, lift in ((FIRST, 0.0), (SECOND, 0.01)):
        rows = [f"e{i:02d},{0.8 + 0.01 * i + lift:.2f}" for i in range(12)]
        (project / table).write_text("exam_id,disc_dice\n" + "\n".join(rows) + "\n")
    return project


def runs_of(project: Path, experiment: str = "tworulers-phantom") -> list[tuple[str, str]]:
    with closing(sqlite3.connect(project / "mlruns" / "mlflow.db")) as connection:
        return connection.execute(
            "SELECT r.status, r.artifact_uri FROM runs r JOIN experiments e USING (experiment_id)"
            " WHERE e.name = ? ORDER BY r.start_time",
            (experiment,),
        ).fetchall()


@pytest.mark.slow
def test_a_server_away_a_move_and_a_deleted_experiment_lose_nothing(project: Path) -> None:
    away = audit(project, FIRST, MLFLOW_TRACKING_URI="http://me:s3cr3t@127.0.0.1:9/?key=s3cr3t")
    assert "s3cr3t" not in away
    assert not any(b"s3cr3t" in path.read_bytes() for path in project.rglob("*") if path.is_file())
    told = publish_as_told(away)
    run(project, *told)
    ((status, _),) = runs_of(project)
    assert status == "FINISHED"

    moved = project.with_name("two")
    project.rename(moved)
    assert "warning" not in audit(moved, SECOND)
    assert not project.exists()
    here = (moved / "mlruns" / "artifacts").as_uri()
    shown = runs_of(moved)
    assert len(shown) == 2
    assert all(place.startswith(here) for _, place in shown)
    for _, place in shown:
        assert (Path(place.removeprefix("file://")) / "summary.json").is_file()
    with closing(sqlite3.connect(moved / "mlruns" / "mlflow.db")) as connection:
        files = connection.execute("SELECT value FROM params WHERE key = 'scores.file'").fetchall()
    assert sorted(files) == [("first.csv",), ("second.csv",)]
    assert not any(
        b"Jane" in path.read_bytes() for path in (moved / "mlruns").rglob("*") if path.is_file()
    )

    with closing(sqlite3.connect(moved / "mlruns" / "mlflow.db")) as connection, connection:
        connection.execute(
            "UPDATE experiments SET lifecycle_stage = 'deleted' WHERE name LIKE 'tworulers-%'"
        )
    binned = audit(moved, SECOND, **{"TWORULERS_AGAIN": "1"})
    command = publish_as_told(binned)
    restore = re.search(r"`(MLFLOW_TRACKING_URI=\S+ mlflow experiments restore [^`]+)`", binned)
    assert restore is not None, binned
    subprocess.run(
        restore[1], shell=True, check=True, capture_output=True, timeout=120,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    run(moved, *command)
    assert [status for status, _ in runs_of(moved)] == ["FINISHED"] * 2
    moved.rename(project)


def layout_of(folder: Path) -> Layout:
    return Layout(folder, folder / "artifacts", folder / "artifacts")


def make_result(folder: Path, name: str = "gold", **more: object) -> Path:
    place = folder / "artifacts" / "toy" / name
    place.mkdir(parents=True)
    tags = {"dataset": "toy", "regime": "mix", "ruler": name}
    write_record(RunRecord("audit", name, "What.", tags, sibling_tag="ruler", **more), place)  # type: ignore[arg-type]
    return place


def expect_a_warning(
    folder: Path, words: str, capsys: pytest.CaptureFixture[str], settings: Tracking = SETTINGS
) -> None:
    result = make_result(folder)
    assert not show_result(result, layout_of(folder), settings)
    said = capsys.readouterr().err
    assert words in said
    assert f"tracking.folder={result}" in publish_as_told(said), "as seen from where it is typed"


@pytest.fixture
def silent_server() -> Iterator[tuple[str, list[socket.socket]]]:
    """A server that takes connections and never answers, and the connections it took."""
    taken: list[socket.socket] = []

    def listen(server: socket.socket) -> None:
        while True:
            try:
                taken.append(server.accept()[0])
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=listen, args=(server,), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", taken
        server.shutdown(socket.SHUT_RDWR)


def test_a_server_that_never_answers_is_given_up(
    tmp_path: Path,
    silent_server: tuple[str, list[socket.socket]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    address, taken = silent_server
    settings = Tracking(name="server", experiment="toy", uri=address)
    expect_a_warning(tmp_path, "timed out", capsys, settings)
    assert len(taken) * PATIENCE_S < LIMIT_S


def test_a_database_server_that_is_away_is_given_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uri = "postgresql://me:s3cr3t@127.0.0.1:9/runs"
    settings = Tracking(name="server", experiment="toy", uri=uri)
    expect_a_warning(tmp_path, "postgresql://127.0.0.1:9/runs does not answer", capsys, settings)


def test_a_locked_store_is_given_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(make_result(tmp_path, "before"), tmp_path, SETTINGS)
    with closing(sqlite3.connect(tmp_path / "mlruns" / "mlflow.db")) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        expect_a_warning(tmp_path, "in use by another process", capsys)


def test_a_store_left_half_made_is_set_aside_and_made_again(tmp_path: Path) -> None:
    database = tmp_path / "mlruns" / "mlflow.db"
    database.parent.mkdir()
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE review_queues (id INTEGER)")
    assert show_result(make_result(tmp_path), layout_of(tmp_path), SETTINGS)
    assert [status for status, _ in runs_of(tmp_path, "toy")] == ["FINISHED"]


def test_a_damaged_store_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = tmp_path / "mlruns" / "mlflow.db"
    database.parent.mkdir()
    database.write_bytes(b"no database" * 1000)
    expect_a_warning(tmp_path, "move it away", capsys)


def test_a_copy_writes_into_its_own_store(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    publish(make_result(first), first, SETTINGS)
    shutil.copytree(first, second)
    before = sorted(path for path in first.rglob("*"))
    publish(make_result(second, "silver"), second, SETTINGS)
    assert sorted(path for path in first.rglob("*")) == before
    assert all((second / "mlruns").as_uri() in place for _, place in runs_of(second, "toy"))


def test_an_apostrophe_and_a_missing_user_are_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr("getpass.getuser", nobody)
    params = {"attributes.groupings.d'accord.title": 'a "b" c', "audit.alpha": 0.05}
    for name in ("o'brien", 'say "yes"'):
        result = make_result(tmp_path, name, params=params)
        assert show_result(result, layout_of(tmp_path), SETTINGS)
    client, experiment = connect(tmp_path, SETTINGS)
    runs = client.search_runs([experiment])
    assert {run.data.tags["ruler"] for run in runs} == {"o'brien", 'say "yes"'}
    assert all(
        "Beside it, with another ruler" in run.data.tags["mlflow.note.content"] for run in runs
    )
