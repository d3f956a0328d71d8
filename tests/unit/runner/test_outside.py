"""The inventory is made anew wherever anything that it was made of is another, and left alone where nothing is."""

import json
import os
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tworulers.runner.graph.outside import make_inventory

Project = tuple[Path, Path, list[str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project, the data outside it, and the calls of the stage, which lists the data's files."""
    root, data, calls = tmp_path / "project", tmp_path / "data", list[str]()
    for path in (
        root / "conf" / "dataset" / "phantom.yaml",
        data / "a.nii.gz",
        root / "mlruns" / "mlflow.db",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("root: null\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    inventory = root / "artifacts" / "phantom" / "inventory.json"
    inventory.parent.mkdir(parents=True)

    def run_module(name: str, **_: object) -> None:
        calls.append(name)
        files = {path.name: path.read_text() for path in sorted(data.iterdir())}
        inventory.write_text(json.dumps({"dataset.root": {"path": str(data), "files": files}}))

    monkeypatch.setattr(runpy, "run_module", run_module)
    monkeypatch.setattr("tworulers.runner.graph.outside.TICK_NS", -(10**18))
    return root, data, calls


CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "file of the data": lambda _, data: (data / "a.nii.gz").write_text("other"),
    "new file of the data": lambda _, data: (data / "b.nii.gz").write_text("new"),
    "lost file of the data": lambda _, data: (data / "a.nii.gz").unlink(),
    "lost data": lambda _, data: shutil.rmtree(data),
    "same size and time": lambda _, data: _put_in_place(data / "a.nii.gz"),
    "setting": lambda root, _: (root / "conf" / "dataset" / "phantom.yaml").write_text(
        "root: /x\n"
    ),
    "graph": lambda root, _: (root / "dvc.yaml").write_text("stages: {a: }\n"),
    "own file": lambda root, _: _write(root / "own" / "mine.py"),
    "lost runs": lambda root, _: (root / "mlruns" / "mlflow.db").unlink(),
    "inventory": lambda root, _: _write(root / "artifacts" / "phantom" / "inventory.json"),
}


def _write(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")


def _put_in_place(path: Path) -> None:
    """Replace a file by one of other content, the same size and the same time."""
    stat, other = path.stat(), path.with_name("other")
    other.write_text("ROOT: NULL\n")
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changed_is_looked_at(
    project: Project, change: Callable[[Path, Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    root, data, calls = project
    for _ in range(3):
        make_inventory(root, "phantom")
    assert len(calls) == 1
    assert "as they were" in "".join(capsys.readouterr())
    change(root, data)
    if data.is_dir():
        make_inventory(root, "phantom")
    else:
        with pytest.raises(FileNotFoundError):
            make_inventory(root, "phantom")
    assert len(calls) == 2


def test_another_variable_is_looked_at(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    root, _, calls = project
    make_inventory(root, "phantom")
    monkeypatch.setenv("DVC_STAGE", "inventory@phantom")
    make_inventory(root, "phantom")
    assert len(calls) == 1
    monkeypatch.setenv("TWORULERS_FOLDER", "/elsewhere")
    make_inventory(root, "phantom")
    assert len(calls) == 2


def test_what_was_just_written_is_looked_at_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is written to while it is read, or in the same tick of the clock, has the stamp of later bytes."""
    root, _, calls = project
    monkeypatch.setattr("tworulers.runner.graph.outside.TICK_NS", 2 * 10**9)
    make_inventory(root, "phantom")
    make_inventory(root, "phantom")
    assert len(calls) == 2
