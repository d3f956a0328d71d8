"""Label maps made elsewhere may be annotated in part: no reference judges what it, or the expert, left out."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_sources import STRUCTURES, draw_label, save

from command import Project

EXAMS = [f"e{n}" for n in range(4)]
ASKED = ("predictions.name=m", "predictions.folder=p", "attributes=none", "audit.metrics=[dice]")
EXPERT = "predictions.references={expert: {folder: r, provenance: gold}}"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Predictions that are right where the experts looked, and wrong in the last two slices, which they did not."""
    project = Project.at(tmp_path / "project")
    for exam in EXAMS:
        label = draw_label()
        label[0, 0, 0] = 2
        predicted, drawn = label.copy(), label.copy()
        predicted[:, :, 4:], drawn[:, :, 4:] = 1, 9
        save(project.folder / "p" / f"{exam}.nii.gz", predicted)
        save(project.folder / "r" / f"{exam}.nii.gz", drawn)
        save(project.folder / "machine" / f"{exam}.nii.gz", label)
    rows = [f"{exam},{exam},F" for exam in EXAMS]
    (project.folder / "people.csv").write_text("\n".join(["exam_id,patient_id,sex", *rows]))
    return project


def judge(project: Project, *more: str) -> pd.Series:
    """Return the Dice by reference, exam and structure."""
    done = project.run(
        "judge", *ASKED, "predictions.cohort=people.csv", *more, "tracking=off", "processes=1",
        "audit.bootstrap_draws=20", "audit.permutations=20", "audit.power_draws=0",
    )  # fmt: skip
    assert done.status == 0, done.said[-1500:]
    scores = pd.concat(map(pd.read_parquet, project.folder.rglob("scores.parquet")))
    dice = scores[scores["metric"] == "dice"]
    return dice.set_index(["ruler", "exam_id", "structure"])["value"]


def test_every_reference_judges_what_the_expert_annotated(project: Project) -> None:
    both = "{expert: {folder: r, provenance: gold}, machine: {folder: machine, provenance: silver}}"
    named = f"predictions.structures={json.dumps(STRUCTURES).replace(chr(34), '')}"
    dice = judge(project, named, f"predictions.references={both}", "predictions.ignore=9")
    assert (dice == 1).all()
    assert set(dice.index.get_level_values("ruler")) == {"expert", "machine"}


def test_the_value_is_taken_from_a_declaration(project: Project) -> None:
    labels = {"background": 0, **STRUCTURES, "ignore": 9}
    (project.folder / "r" / "dataset.json").write_text(json.dumps({"labels": labels}))
    assert (judge(project, EXPERT) == 1).all()


def test_without_it_the_value_is_no_structures(project: Project) -> None:
    named = f"predictions.structures={json.dumps(STRUCTURES).replace(chr(34), '')}"
    done = project.run(
        "judge", *ASKED, named, EXPERT, "predictions.cohort=people.csv", "tracking=off"
    )
    assert done.status == 1
    assert "{9: 160}" in done.said


def test_masks_of_one_structure_have_no_such_value(project: Project) -> None:
    for exam in EXAMS:
        save(
            project.folder / "q" / f"{exam}.nii.gz",
            np.where(draw_label() == 1, 0.9, 0.1).astype(np.float32),
        )
    done = project.run(
        "judge", *ASKED, "predictions.structures={vertebra: 1}", "predictions.ignore=9",
        "predictions.threshold=0.5", "predictions.label_map={}",
        "predictions.references={expert: {folder: q, provenance: gold, threshold: 0.5}}",
        "predictions.folder=q", "predictions.cohort=people.csv", "tracking=off",
    )  # fmt: skip
    assert done.status == 1
    assert "which no value marks as not annotated" in done.said
