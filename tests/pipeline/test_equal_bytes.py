"""Through the command line: equal results are equal files, and files that changed outside the project are seen."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[2]
EXAMS = ("a1", "b1", "c1")


def make_project(folder: Path) -> Path:
    shutil.copytree(ROOT / "conf", folder / "conf")
    shutil.copy(ROOT / "dvc.yaml", folder)
    return folder


def run(project: Path, stage: str, *overrides: str) -> None:
    command = [sys.executable, "-m", f"tworulers.stages.{stage}", "tracking=off", *overrides]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def read_files(project: Path) -> dict[str, bytes]:
    """Every file of the results, without what is kept only to be quick, and with which settings a person made them."""
    results = project / "artifacts"
    return {
        path.relative_to(results).as_posix(): path.read_bytes()
        for path in results.rglob("*")
        if path.is_file() and not {"scratch", "by_hand"} & set(path.parts)
    }


@pytest.mark.slow
def test_the_same_cohort_made_twice_is_the_same_files_whatever_else_is_set(tmp_path: Path) -> None:
    files = []
    for name, others in (("one", []), ("two", ["audit.thresholds.dice=0.7", "recipe=small"])):
        project = make_project(tmp_path / name)
        path = project / "conf" / "dataset" / "phantom.yaml"
        content: dict[str, Any] = yaml.safe_load(path.read_text())
        content["phantom"] |= {"patients": 24, "exams": 27, "gold_patients": 14}
        content["phantom"] |= {"shape": [16, 32, 32], "spacing": [4.0, 4.6, 2.8]}
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        run(project, "cohort", *others)
        run(project, "split", *others)
        files.append(read_files(project))
    assert files[0].keys() == files[1].keys()
    assert [name for name in files[0] if files[0][name] != files[1][name]] == []
    assert len(files[0]) > 70
    kept = yaml.safe_load(files[0]["phantom/split/config.yaml"])
    assert kept.keys() == {"dataset", "split", "grid"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An nnU-Net folder of three exams outside the project."""
    root = tmp_path / "data" / "Dataset001_Spine"
    rng = np.random.default_rng(0)
    for exam in EXAMS:
        label = np.zeros((8, 8, 8), np.uint8)
        label[2:4, 2:6, 2:6], label[4:6, 2:6, 2:6] = 1, 2
        image = rng.normal(100, 20, label.shape).astype(np.float32)
        for folder, name, array in (
            ("imagesTr", f"{exam}_0000", image),
            ("labelsTr", exam, label),
        ):
            (root / folder).mkdir(parents=True, exist_ok=True)
            nib.save(nib.Nifti1Image(array, np.eye(4)), root / folder / f"{name}.nii")
    described = {
        "channel_names": {"0": "T2"},
        "labels": {"background": 0, "vb": 1, "disc": 2},
        "numTraining": len(EXAMS),
        "file_ending": ".nii",
    }
    (root / "dataset.json").write_text(json.dumps(described))
    return root


@pytest.mark.slow
def test_a_label_that_was_replaced_outside_the_project_is_seen(
    tmp_path: Path, source: Path
) -> None:
    project = make_project(tmp_path / "project")
    given = ["dataset=nnunet", f"dataset.root={source}", "attributes=sex"]
    run(project, "inventory", *given)
    run(project, "cohort", *given)
    before = read_files(project)
    place = source / "labelsTr" / "b1.nii"
    stat = place.stat()
    content = bytearray(place.read_bytes())
    content[-100] = 1 - content[-100] % 2
    place.write_bytes(content)
    os.utime(place, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    run(project, "inventory", *given)
    run(project, "cohort", *given)
    after = read_files(project)
    changed = {name for name in before if before[name] != after[name]}
    assert {"nnunet/inventory.json", "nnunet/files/labels.json"} <= changed
    assert "nnunet/files/images.json" not in changed
    labels = [json.loads(files["nnunet/files/labels.json"]) for files in (before, after)]
    assert {exam for exam in labels[0] if labels[0][exam] != labels[1][exam]} == {"b1"}


def test_data_that_are_not_there_stop_the_inventory_before_anything_is_replaced(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path / "project")
    command = [sys.executable, "-m", "tworulers.stages.inventory", "dataset=nnunet"]
    env = {name: value for name, value in os.environ.items() if name != "TWORULERS_NNUNET"}
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "set dataset.root to the folder of the data" in done.stderr
    gone = subprocess.run(
        [*command, "dataset.root=/not/there"], cwd=project, env=env, capture_output=True, text=True
    )
    assert gone.returncode == 1
    assert (
        "dataset.root is /not/there, which is not there; set dataset.root to the folder"
        in gone.stderr
    )
    assert not (project / "artifacts").exists()
