"""Runs on a server: PostgreSQL by itself and behind MLflow's own, which is killed midway."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import PATIENCE_S, Server, make_database
from tracking.campaign import begin_publishing, find_faults, make_results, publish_at_once

from documents import list_commands
from tworulers.runner.tracking.store import connect
from tworulers.schema.settings import Tracking

pytestmark = pytest.mark.slow
RESULTS = 8


def settings_of(address: str) -> Tracking:
    return Tracking(name="server", experiment="tworulers-phantom", uri=address)


def test_several_writers_share_a_database(postgres: str, tmp_path: Path) -> None:
    address = make_database(postgres, "shared")
    make_results(tmp_path / "one", 4)
    assert publish_at_once(tmp_path / "one", 3, MLFLOW_TRACKING_URI=address) == []
    assert find_faults(tmp_path / "one", 4, settings_of(address)) == []


@pytest.fixture
def server(postgres: str, tmp_path: Path) -> Iterator[Server]:
    server = Server(make_database(postgres, "served"), tmp_path / "files")
    yield server
    server.kill()


def count_runs(project: Path, settings: Tracking) -> int:
    client, experiment = connect(project, settings)
    return len(client.search_runs([experiment]))


def test_a_server_killed_midway_is_filled_by_publishing_again(
    server: Server, tmp_path: Path
) -> None:
    project, settings = tmp_path / "project", settings_of(server.address)
    make_results(project, RESULTS)
    server.start()
    writer = begin_publishing(project, MLFLOW_TRACKING_URI=server.address)
    until = time.monotonic() + PATIENCE_S
    while count_runs(project, settings) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    server.kill()
    said = writer.communicate(timeout=PATIENCE_S)[0]
    assert writer.returncode == 1, said
    assert re.search(r"MLflow cannot show artifacts/phantom/audits/\S+: http://127", said)
    assert "Traceback" not in said

    server.start()
    _, _, address, publish = list_commands("servers")[:4]
    assert address.words[1] == "MLFLOW_TRACKING_URI=http://127.0.0.1:5000"
    told = ["-m", *publish.words]
    again = begin_publishing(project, *told, MLFLOW_TRACKING_URI=server.address)
    assert again.wait(PATIENCE_S) == 0, again.communicate()[0]
    assert publish_at_once(project, 1, MLFLOW_TRACKING_URI=server.address) == []
    assert find_faults(project, RESULTS, settings) == []
    assert list(server.files.rglob("summary.json"))
