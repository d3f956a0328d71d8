"""A small pipeline, prepared once, that tests take copies of."""

import shutil
from pathlib import Path

import pytest
from finished_line import finish_line
from small_line import COHORT, NETWORK, ROOT, command, train_here

from tworulers.recipe import parallel


@pytest.fixture(scope="session")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a dozen exams, prepared, and one fold of an untaught gold model."""
    project = tmp_path_factory.mktemp("line")
    shutil.copytree(ROOT / "conf", project / "conf")
    shutil.copy(ROOT / "dvc.yaml", project)
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.setattr(parallel, "run_folds", train_here)
        assert command("cohort", *COHORT) == 0
        assert command("split", "split.folds=2", "split.test=0.3", "split.strata=[]") == 0
        assert command("plan", *NETWORK) == 0
        assert command("preprocess", *NETWORK) == 0
        assert command("train", "regime=gold", *NETWORK) == 0
        assert command("select", "regime=gold", *NETWORK) == 0
    assert Path.cwd() == before
    return project


@pytest.fixture(scope="session")
def finished(line: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of that project with scores, audits, a comparison, a report, a judgement and an audit of risks."""
    project = tmp_path_factory.mktemp("finished") / "project"
    shutil.copytree(line, project, symlinks=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        finish_line()
    return project


@pytest.fixture
def finished_line(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the finished project for each test, as the working folder."""
    shutil.copytree(finished, tmp_path / "project", symlinks=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def small_line(line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that project for each test, as the working folder; folds train in this process."""
    shutil.copytree(line, tmp_path / "project", symlinks=True)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr(parallel, "run_folds", train_here)
    return tmp_path / "project"
