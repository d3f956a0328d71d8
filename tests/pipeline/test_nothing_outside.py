"""Ids, names and paths that lead out of the project: each command stops with one message, and nothing is touched."""

import os
import runpy
import shutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    """How a command ended, and all that it said."""

    status: int
    said: str


def run_command(project: Path, stage: str, *arguments: str) -> Done:
    """Run a stage as `python -m` does, in a forked process, so that what is imported need not be again."""
    said = project.parent / "said.txt"
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.chdir(project)
            place = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(place, 1)
            os.dup2(place, 2)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
            sys.argv = [f"{stage}.py", *arguments]
            try:
                runpy.run_module(f"tworulers.stages.{stage}", run_name="__main__", alter_sys=True)
                status = 0
            except SystemExit as stop:
                status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
    return Done(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.read_text())


def list_files(folder: Path) -> dict[str, bytes]:
    """Return all below a folder with its bytes; folders and links by what they are."""
    return {
        path.relative_to(folder).as_posix(): (
            b"link" if path.is_symlink() else path.read_bytes() if path.is_file() else b"folder"
        )
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout of its own, with a folder beside it that has to survive."""
    project = tmp_path / "project"
    shutil.copytree(ROOT / "conf", project / "conf")
    shutil.copy(ROOT / "dvc.yaml", project)
    shutil.copy(ROOT / "pyproject.toml", project)
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "thesis.txt").write_text("years of work")
    return project


Save = Callable[..., None]


def save(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(array, np.diag([1.0, 1.0, 3.0, 1.0])), path)


def add_experiment(project: Path, name: str, content: dict[str, object]) -> None:
    text = "# @package _global_\n" + yaml.safe_dump(content, sort_keys=False)
    (project / "conf" / "experiment" / f"{name}.yaml").write_text(text)


def test_an_exam_id_of_a_table_writes_nowhere_else(project: Path, tmp_path: Path) -> None:
    data, exams = tmp_path / "data", [f"e{i}" for i in range(4)]
    label = np.zeros((8, 10, 6), np.uint8)
    label[1:5, 1:7, 1:4], label[1:5, 7:9, 1:5] = 1, 2
    for seed, exam in enumerate(exams):
        image = np.random.default_rng(seed).normal(100, 20, label.shape).astype(np.int16)
        save(data / "images" / f"{exam}.nii.gz", image)
        save(data / "labels" / f"{exam}.nii.gz", label)
    bad = [
        f"{tmp_path}/keep/thesis",
        "../../../../../keep/thesis",
        "..",
        "a/b",
        "a\x1b[31m",
        "",
        "E3",
    ]
    rows = [
        f"{name},images/{exam}.nii.gz,labels/{exam}.nii.gz,gold"
        for name, exam in zip([*exams, *bad], [*exams, *["e0"] * len(bad)], strict=True)
    ]
    (data / "manifest.csv").write_text("\n".join(["exam_id,image,label,provenance", *rows]) + "\n")
    add_experiment(
        project,
        "theirs",
        {
            "defaults": [{"override /dataset": "manifest"}],
            "dataset": {
                "root": str(data),
                "structures": {"vb": 1, "disc": 2},
                "reading": {"table": "manifest.csv", "label_map": {1: 1, 2: 2}},
            },
            "tracking": {"enabled": False},
        },
    )  # fmt: skip
    before = {folder: list_files(tmp_path / folder) for folder in ("keep", "data")}
    done = run_command(project, "cohort", "experiment=theirs", "processes=1")
    assert done.status == 1
    assert done.said.count("error: ") == 1
    assert "ids (7 faults)" in done.said
    for row, name in enumerate(bad[:-1], 6):
        assert f"found {name!r} in row {row}, which" in done.said
    assert "'E3' in row 12 and 'e3' in row 5, which are one name" in done.said
    assert "\x1b" not in done.said
    assert {folder: list_files(tmp_path / folder) for folder in before} == before
    assert not (project / "artifacts").exists()
