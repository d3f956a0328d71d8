"""Regions and cascades, which are not done here, are refused before anything is spent."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from command import Project
from tworulers.schema.settings import Regime, Settings
from tworulers.schema.sources import Dataset
from tworulers.training.imported import gather_imported

MODEL = Path(__file__).parents[2] / "golden" / "tiny_model"


def take_in(folder: Path, structures: dict[str, int]) -> None:
    """Gather the models of a regime as prediction does."""
    dataset = Dataset("t", structures=structures)
    gather_imported(Settings(dataset=dataset, regime=Regime("theirs", models=[str(folder)])))


def change(file: Path, **keys: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **keys}))


def test_a_model_of_regions_or_of_a_cascade_is_not_taken_in(tmp_path: Path) -> None:
    folder = shutil.copytree(MODEL, tmp_path / "nnUNetTrainer__nnUNetPlans__3d_fullres")
    labels = json.loads((folder / "dataset.json").read_text())["labels"]
    structures = {name: value for name, value in labels.items() if value}
    take_in(folder, structures)
    plans = json.loads((folder / "plans.json").read_text())
    second = {"inherits_from": "3d_fullres", "previous_stage": "3d_lowres"}
    cascade = folder.with_name("nnUNetTrainer__nnUNetPlans__3d_cascade_fullres")
    shutil.copytree(folder, cascade)
    change(
        cascade / "plans.json",
        configurations={**plans["configurations"], "3d_cascade_fullres": second},
    )
    with pytest.raises(ValueError, match="3d_cascade_fullres is the second step of a cascade"):
        take_in(cascade, structures)
    change(folder / "dataset.json", labels={"background": 0, "whole": [1, 2], "core": 2})
    with pytest.raises(ValueError, match=r"dataset.json defines regions \(whole\)"):
        take_in(folder, structures)


def test_regions_are_refused_before_a_file_is_read(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    data = tmp_path / "data"
    (data / "imagesTr").mkdir(parents=True)
    (data / "labelsTr").mkdir()
    labels = {"background": 0, "whole": [1, 2], "core": 2}
    (data / "dataset.json").write_text(
        json.dumps({"channel_names": {"0": "MRI"}, "labels": labels})
    )
    given = ("dataset=nnunet", f"dataset.root={data}", "attributes=none", "tracking=off")
    for stage in ("check", "cohort", "plan"):
        done = project.run(stage, *given)
        assert done.status == 1, stage
        told = " ".join(done.said.split())
        assert "whole: [1, 2], a region of several" in told, stage
        assert "give the values their own structures" in told, stage
    assert not list(project.folder.rglob("*.parquet"))


def test_the_second_step_of_a_cascade_is_no_configuration(tmp_path: Path) -> None:
    project = Project.at(tmp_path / "project")
    done = project.run("train", "configuration=3d_cascade_fullres", "tracking=off")
    assert done.status == 1
    assert "3d_cascade_fullres" in done.said
    assert "3d_fullres" in done.said.replace("3d_cascade_fullres", "")
