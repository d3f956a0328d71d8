"""Ids, names and paths that lead out of the project: each command stops with one message, and nothing is touched."""

import os
import pickle
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import yaml

from command import Project
from tworulers.io.paths import Layout
from tworulers.schema.file_names import escape_controls
from tworulers.schema.settings import Settings


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
    project = Project.at(tmp_path / "project").folder
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "thesis.txt").write_text("years of work")
    return project


def save(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(array, np.diag([1.0, 1.0, 3.0, 1.0])), path)


def add_experiment(project: Path, name: str, content: dict[str, Any]) -> None:
    text = "# @package _global_\n" + yaml.safe_dump(content, sort_keys=False)
    (project / "conf" / "experiment" / f"{name}.yaml").write_text(text)


@pytest.fixture
def manifest(project: Path, tmp_path: Path) -> Path:
    """A manifest of four exams whose labels are written anew, and an experiment that reads it."""
    data = tmp_path / "data"
    label = np.zeros((8, 10, 6), np.uint8)
    label[1:5, 1:7, 1:4], label[1:5, 7:9, 1:5] = 1, 2
    rows = ["exam_id,image,label,provenance"]
    for seed in range(4):
        image = np.random.default_rng(seed).normal(100, 20, label.shape).astype(np.int16)
        save(data / "images" / f"e{seed}.nii.gz", image)
        save(data / "labels" / f"e{seed}.nii.gz", label)
        rows.append(f"e{seed},images/e{seed}.nii.gz,labels/e{seed}.nii.gz,gold")
    (data / "manifest.csv").write_text("\n".join(rows) + "\n")
    reading = {"table": "manifest.csv", "label_map": {1: 1, 2: 2}}
    structures = {"vb": 1, "disc": 2}
    content = {
        "defaults": [{"override /dataset": "manifest"}],
        "dataset": {"root": str(data), "structures": structures, "reading": reading},
        "tracking": {"enabled": False},
        "processes": 1,
    }
    add_experiment(project, "theirs", content)
    return data / "manifest.csv"


def stays_as_it_was(project: Path, stage: str, *arguments: str) -> str:
    """Run a command that has to stop with one message and change no file at all; return what it said."""
    before = list_files(project.parent)
    done = Project(project).run(stage, *arguments)
    assert done.status == 1, done.said
    assert done.said.count("error: ") == 1, done.said
    assert "Traceback" not in done.said
    assert "\x1b" not in done.said
    assert list_files(project.parent) == before
    return done.said


def test_an_exam_id_of_a_table_writes_nowhere_else(project: Path, manifest: Path) -> None:
    bad = [
        f"{project.parent}/keep/thesis",
        "../../../../../keep/thesis",
        "..",
        "a/b",
        "a\x1b[31m",
        "",
        "E3",
    ]
    with manifest.open("a") as table:
        table.writelines(f"{name},images/e0.nii.gz,labels/e0.nii.gz,gold\n" for name in bad)
    said = stays_as_it_was(project, "cohort", "experiment=theirs")
    assert "ids (7 faults)" in said
    for row, name in enumerate(bad[:-1], 6):
        assert f"found {name!r} in row {row}, which" in said
    assert "'E3' in row 12 and 'e3' in row 5, which are one name" in said


def test_results_are_replaced_and_may_go_where_the_command_line_says(
    project: Path, manifest: Path
) -> None:
    for _ in range(2):
        done = Project(project).run("cohort", "experiment=theirs")
        assert done.status == 0, done.said
    elsewhere = project.parent / "elsewhere"
    done = Project(project).run("cohort", "experiment=theirs", f"paths.outputs={elsewhere}")
    assert done.status == 0, done.said
    assert (elsewhere / "manifest" / "cohort" / "cohort.parquet").is_file()


@pytest.fixture
def judged(project: Path, tmp_path: Path) -> dict[str, Any]:
    """Predictions of four exams and an experiment that judges them, for tests to change."""
    label = np.zeros((8, 10, 6), np.uint8)
    label[1:5, 1:7, 1:4], label[1:5, 7:9, 1:5] = 1, 2
    for i in range(4):
        save(tmp_path / "predictions" / f"e{i}.nii.gz", label)
        save(tmp_path / "expert" / f"e{i}.nii.gz", np.roll(label, i % 2, axis=1))
    reference = {"folder": str(tmp_path / "expert"), "provenance": "gold"}
    return {
        "predictions": {
            "name": "theirs",
            "folder": str(tmp_path / "predictions"),
            "structures": {"vb": 1, "disc": 2},
            "references": {"expert": reference},
        },
        "defaults": [{"override /attributes": "none"}],
        "tracking": {"enabled": False},
        "processes": 1,
    }


def test_a_reference_that_is_a_path_deletes_nothing(
    project: Path, judged: dict[str, Any], tmp_path: Path
) -> None:
    references = judged["predictions"]["references"]
    names = [f"{tmp_path}/keep", "..", "../../../../keep", "a/b", "a\x1b[31m", "Expert"]
    for name in names:
        references[name] = references["expert"]
    add_experiment(project, "theirs", judged)
    said = stays_as_it_was(project, "judge", "experiment=theirs")
    for name in names[:-1]:
        assert f"the reference {escape_controls(name)!r} " in said
    assert "'Expert' and 'expert', which are one name" in said


def test_configured_names_that_are_paths_delete_nothing(project: Path) -> None:
    names = {
        "dataset.name": f"{project.parent}/keep",
        "regime.name": "..",
        "ruler.name": "../../keep",
        "configuration.name": "a/b",
        "attributes.name": ".hidden",
        "risk.name": f"{project.parent}/keep",
    }
    given = [f"{key}={name}" for key, name in names.items()]
    said = stays_as_it_was(project, "risk", "risk=table", *given)
    for key, name in names.items():
        assert f"{key} {name!r} " in said


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_a_table_of_risks_is_filed_under_its_name_alone(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="risk '.*' (holds a slash|begins with a dot|is empty)"):
        Layout.of_risk(Settings(), tmp_path, name)


def test_links_and_folders_of_others_are_left_alone(
    project: Path, judged: dict[str, Any], tmp_path: Path
) -> None:
    (project / "artifacts" / "risk").mkdir(parents=True)
    (project / "artifacts" / "risk" / "mine").symlink_to(tmp_path / "keep")
    said = stays_as_it_was(project, "risk", "risk=table", "risk.name=mine")
    assert "leads to" in said
    assert "nothing was written" in said
    foreign = project / "artifacts" / "risk" / "notes" / "risk_estimation"
    foreign.mkdir(parents=True)
    (foreign / "chapter.txt").write_text("by hand")
    (project / "scores.csv").write_text("risk,died,sex\n0.1,no,f\n0.9,yes,f\n0.2,no,m\n0.8,yes,m\n")
    said = stays_as_it_was(
        project, "risk", "risk=table", "risk.name=notes", "risk.file=scores.csv", "risk.score=risk",
        "risk.outcome=died", "risk.event='yes'", "+risk.groups.sex=sex", "use.bootstrap_draws=0",
    )  # fmt: skip
    assert "nothing says that it holds results" in said
    add_experiment(project, "theirs", judged)
    stale = project / "artifacts" / "judged" / "theirs" / "scores" / "theirs" / "by_hand"
    stale.mkdir(parents=True)
    (stale / "chapter.txt").write_text("by hand")
    assert f"{stale} would be replaced" in stays_as_it_was(project, "judge", "experiment=theirs")


def test_a_file_sends_no_results_out_of_the_project(project: Path, tmp_path: Path) -> None:
    content = {"defaults": [{"override /risk": "table"}], "tracking": {"enabled": False}}
    for place in (str(tmp_path / "keep"), "../keep"):
        add_experiment(project, "theirs", {**content, "paths": {"outputs": place}})
        said = stays_as_it_was(project, "risk", "experiment=theirs")
        assert f"paths.outputs is {place!r}, outside {project}" in said


class Trap:
    """A pickle that makes a file when it is read."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


def test_an_experiment_runs_no_code(project: Path, tmp_path: Path) -> None:
    marker = tmp_path / "keep" / "marker"
    (tmp_path / "trap.pkl").write_bytes(pickle.dumps(Trap(marker)))
    call = {"_target_": "pandas.read_pickle", "_args_": [str(tmp_path / "trap.pkl")]}
    (project / "conf" / "hydra" / "callbacks").mkdir(parents=True)
    (project / "conf" / "hydra" / "callbacks" / "theirs.yaml").write_text(
        yaml.safe_dump({"x": call})
    )
    content = {
        "defaults": [{"override /hydra/callbacks": "theirs"}],
        "hydra": {
            "callbacks": {"x": call},
            "launcher": {**call, "setup": ["touch marker"]},
            "job_logging": {"handlers": {"x": {"()": "os.mkdir", "path": str(marker)}}},
        },
        "audit": {"thresholds": call},
    }
    add_experiment(project, "theirs", content)
    said = stays_as_it_was(project, "show", "experiment=theirs")
    for key in (
        "hydra.callbacks.x._target_ names 'pandas.read_pickle'",
        "hydra.launcher._target_ names 'pandas.read_pickle'",
        "hydra.launcher.setup.0 decides",
        "hydra.job_logging.handlers.x.() decides",
        "audit.thresholds._target_ names",
    ):
        assert f"conf/experiment/theirs.yaml: {key}" in said
    assert "conf/hydra/callbacks/theirs.yaml: hydra.callbacks.x._target_ names" in said
    add_experiment(project, "sound", {"seed": 1})
    said = stays_as_it_was(project, "show", "-m", "paths=sweep", "experiment=sound,theirs")
    assert "conf/experiment/theirs.yaml: hydra.callbacks" in said
    assert not marker.exists()


def test_no_file_from_elsewhere_runs_code(project: Path, tmp_path: Path) -> None:
    marker, trap = tmp_path / "keep" / "marker", tmp_path / "trap.pkl"
    trap.write_bytes(pickle.dumps(Trap(marker)))
    evil = tmp_path / "evil" / "experiment" / "evil.yaml"
    evil.parent.mkdir(parents=True)
    call = {"_target_": "logging.FileHandler", "filename": str(tmp_path / "keep" / "thesis.txt")}
    content = {"hydra": {"callbacks": {"x": {**call, "mode": "w"}}}}
    evil.write_text("# @package _global_\n" + yaml.safe_dump(content))
    said = stays_as_it_was(
        project, "show", f"hydra.searchpath=[file://{tmp_path}/evil]", "experiment=evil"
    )
    assert "error: a configuration runs no code" in said
    assert "hydra.searchpath: compose files of conf/ alone" in said
    said = stays_as_it_was(project, "show", "--ex", str(trap))
    assert "--ex: compose files of conf/ alone" in said
    config = project / "conf" / "config.yaml"
    config.write_text(f"{config.read_text()}  searchpath: [file://{tmp_path}/evil]\n")
    said = stays_as_it_was(project, "show", "experiment=evil")
    assert "conf/config.yaml: hydra.searchpath.0 adds folders" in said
    assert not marker.exists()


def test_an_experiment_reads_no_secret(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cr3t")
    add_experiment(project, "theirs", {"dataset": {"title": "model ${oc.env:SECRET_TOKEN,}"}})
    said = stays_as_it_was(project, "show", "experiment=theirs")
    assert "dataset.title asks for the environment variable SECRET_TOKEN" in said
    assert "s3cr3t" not in said


@pytest.mark.parametrize(
    "config", ["defaults:\n  - _self_\nmodel: resnet18\n", "- 1\n", "a: [\n", ""]
)
def test_another_project_is_not_taken_for_ours(project: Path, tmp_path: Path, config: str) -> None:
    (tmp_path / "keep" / "conf").mkdir()
    (tmp_path / "keep" / "conf" / "config.yaml").write_text(config)
    (tmp_path / "keep" / "dvc.yaml").write_text("stages: {fit: {cmd: python fit.py}}\n")
    (tmp_path / "keep" / "notebooks").mkdir()
    said = stays_as_it_was(tmp_path / "keep" / "notebooks", "show")
    assert (
        f"{tmp_path}/keep has a conf/config.yaml and a dvc.yaml, but not those of tworulers" in said
    )
    assert "lack regime, ruler, schema" in said


def test_a_sweep_makes_its_folder_below_sweeps(project: Path, tmp_path: Path) -> None:
    for name in (f"{tmp_path}/keep", "../../keep"):
        said = stays_as_it_was(project, "show", "paths=sweep", f"hydra.job.name='{name}'")
        assert f"sweep {name!r} holds a slash" in said
