"""`dvc repro` fills MLflow wherever its store is not there: in a new clone, after a pull, and once it was emptied."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo

from tworulers.runner.tracking import RunRecord, write_record

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

STEPS = ("conf/dvc.yaml:code", "dvc.yaml:publish", "conf/dvc.yaml:inventory")


def dvc(project: Path, *arguments: str) -> str:
    env = {**os.environ, "DVC_NO_ANALYTICS": "1", "PYTHONPATH": str(ROOT / "src")}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    command = [sys.executable, "-m", "dvc", *arguments]
    done = subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shown(project: Path) -> set[str]:
    with closing(sqlite3.connect(project / "mlruns" / "mlflow.db")) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM runs")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The last step of the graph alone, over stand-ins of what the others make, one of which is a result."""
    project = tmp_path / "one"
    shutil.copytree(ROOT / "conf", project / "conf")
    (project / "src").symlink_to(ROOT / "src")
    shutil.copy(ROOT / "dvc.yaml", project)
    publish = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["publish"]
    for dep in publish["deps"]:
        place = project / dep.replace("${item.dataset}", "phantom")
        if dep.startswith("artifacts/$"):
            place.mkdir(parents=True)
            (place / "stand-in").write_text(dep)
    tags = {"dataset": "phantom", "regime": "mix", "ruler": "gold"}
    write_record(RunRecord("report", "told", "What.", tags), project / "artifacts/phantom/report")
    Repo.init(str(project), no_scm=True)
    return project


def test_an_empty_store_is_filled_wherever_the_results_are_there(project: Path) -> None:
    dvc(project, "repro", "-s", *STEPS)
    assert shown(project) == {"told"}
    assert "publish" not in dvc(project, "status")
    recorded = (project / "dvc.lock").read_text()

    clone = project.with_name("two")
    shutil.copytree(project, clone, symlinks=True, ignore=shutil.ignore_patterns("mlruns"))
    for emptied in (clone, project):
        shutil.rmtree(emptied / "mlruns", ignore_errors=True)
        dvc(emptied, "repro", "-s", *STEPS)
        assert shown(emptied) == {"told"}
        assert (emptied / "dvc.lock").read_text() == recorded

    (project / "mlruns" / "mlflow.db").unlink()
    dvc(project, "repro", "-s", *reversed(STEPS))
    assert shown(project) == {"told"}
