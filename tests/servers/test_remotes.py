"""Results pushed to a remote and pulled into a new clone: a repro there runs what always runs, and fills MLflow."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import takewhile
from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo

from documents import list_commands
from tworulers.runner.tracking import RunRecord, write_record

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

RULERS = ("gold", "silver")
RUNS = {"report", *(f"audit · mix by {ruler}" for ruler in RULERS)}


def run(folder: Path, *command: str) -> str:
    env = {**os.environ, "DVC_NO_ANALYTICS": "1", "PYTHONPATH": str(ROOT / "src")}
    env |= {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret"}
    env |= {
        f"GIT_{who}_{what}": "me@here"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def list_always(project: Path) -> list[str]:
    """List the steps that run each time, as DVC names them."""
    found = []
    for file in ("dvc.yaml", "conf/dvc.yaml"):
        stages = yaml.safe_load((project / file).read_text())["stages"]
        found += [f"{file}:{name}" for name, stage in stages.items() if stage.get("always_changed")]
    return found


def stand_in(path: Path) -> None:
    """Make a file or a folder that stands for what a step leaves."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix:
        path.write_text("{}\n")
        return
    path.mkdir()
    (path / "stand-in").write_text(path.name)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's own graph, whose outputs are recorded: stand-ins, but for three results that MLflow shows."""
    project = tmp_path_factory.mktemp("made") / "one"
    for name in ("conf", "src/tworulers"):
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("dvc.yaml", ".dvcignore", ".gitignore"):
        shutil.copy(ROOT / name, project)
    run(project, "git", "init", "--quiet")
    run(project, "dvc", "init", "--quiet")
    run(project, "dvc", "repro", "--quiet", "--single-item", *list_always(project))
    base = project / "artifacts" / "phantom"
    for ruler in RULERS:
        tags = {"dataset": "phantom", "regime": "mix", "ruler": ruler}
        record = RunRecord("audit", f"audit · mix by {ruler}", "What.", tags, sibling_tag="ruler")
        write_record(record, base / "audits" / "mix" / ruler)
    write_record(RunRecord("report", "report", "What.", {"dataset": "phantom"}), base / "report")
    with Repo(str(project)) as repo:
        stages = repo.index.stages
        places = [Path(one.fs_path) for stage in stages for one in (*stage.outs, *stage.deps)]
    # A place within another comes first, and is then part of that one.
    for place in sorted(dict.fromkeys(places), key=lambda place: -len(place.parts)):
        if place.is_relative_to(base) or place.is_relative_to(project / "mlruns"):
            stand_in(place)
    run(project, "dvc", "commit", "--force", "--quiet")
    shutil.rmtree(project / "mlruns")
    run(project, "dvc", "repro", "--quiet", "--single-item", "publish")
    run(project, "git", "add", "--all")
    run(project, "git", "commit", "--quiet", "--message", "Record")
    return project


@pytest.fixture
def bucket() -> Iterator[str]:
    boto3 = pytest.importorskip("boto3", reason="needs the extra remotes")
    pytest.importorskip("dvc_s3", reason="needs the extra remotes")
    moto = pytest.importorskip("moto.server", reason="needs moto, of the extra dev")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        address = "http://{}:{}".format(*server.get_host_and_port())
        keys = {"aws_access_key_id": "me", "aws_secret_access_key": "secret"}
        client = boto3.client("s3", endpoint_url=address, region_name="us-east-1", **keys)
        client.create_bucket(Bucket="results")
        yield address
    finally:
        server.stop()


def push_and_repeat(project: Path, clone: Path, *remote: list[str]) -> None:
    """Push to a remote, clone, pull and repro; see that MLflow is filled and nothing else was done."""
    for setting in remote:
        run(project, "dvc", "remote", *setting)
    run(project, "git", "commit", "--all", "--quiet", "--message", "Name the remote")
    run(project, "dvc", "push", "--quiet")
    run(project.parent, "git", "clone", "--quiet", str(project), str(clone))
    assert not (clone / "artifacts").exists()
    run(clone, "dvc", "pull", "--quiet")
    said = run(clone, "dvc", "repro")
    ran = {name.partition("@")[0] for name in re.findall(r"Running stage '([^']+)'", said)}
    assert ran == {*list_always(clone), "publish"}, said
    with closing(sqlite3.connect(clone / "mlruns" / "mlflow.db")) as connection:
        assert {name for (name,) in connection.execute("SELECT name FROM runs")} == RUNS
    assert run(clone, "git", "status", "--porcelain") == ""


def list_settings(place: str, **given: str) -> list[list[str]]:
    """List what the page says of a remote at a place, with what is there instead."""
    commands = [one.words for one in list_commands("servers") if one.words[:2] == ["dvc", "remote"]]
    first = next(n for n, words in enumerate(commands) if place in words)
    others = takewhile(lambda words: words[2] == "modify", commands[first + 1 :])
    return [[given.get(word, word) for word in words[2:]] for words in (commands[first], *others)]


def test_a_folder_remote_fills_a_new_clone(made: Path, tmp_path: Path) -> None:
    project, store = tmp_path / "one", str(tmp_path / "store")
    shutil.copytree(made, project, symlinks=True)
    settings = list_settings("/disk/store", **{"/disk/store": store})
    push_and_repeat(project, tmp_path / "two", *settings)


def test_a_bucket_fills_a_new_clone(made: Path, bucket: str, tmp_path: Path) -> None:
    project = tmp_path / "one"
    shutil.copytree(made, project, symlinks=True)
    settings = list_settings("s3://results/tworulers", **{"http://127.0.0.1:9000": bucket})
    push_and_repeat(project, tmp_path / "two", *settings)
