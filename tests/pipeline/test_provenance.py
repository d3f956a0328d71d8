"""Who drew a label, told by a joined table, and what is said where a machine's labels validate: by the command line."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "ingest"))
from tiny_sources import make_nnunet

from command import Project

EXAMS = [f"case_{n:02d}" for n in range(12)]
DRAWN = ["expert"] * 6 + ["Retrospective_auto"] * 6
CHOSEN = ("dataset=nnunet", "attributes=none", "tracking=off", "processes=1")
OWN = ("dataset.root=source", "dataset.structures={vertebra: 1, disc: 2}")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.at(tmp_path / "project")
    make_nnunet(project.folder / "source", EXAMS)
    return project


def write_table(project: Project, drawn: list[str]) -> str:
    people = pd.DataFrame({"exam_id": EXAMS, "provenance": drawn, "sex": ["F", "M"] * 6})
    people.to_csv(project.folder / "source/people.csv", index=False)
    return "dataset.reading.table=people.csv"


def test_a_joined_table_says_who_drew_each_label(project: Project) -> None:
    table = write_table(project, DRAWN)
    done = project.run("check", *CHOSEN, *OWN, table)
    assert done.status == 0, done.said
    assert "6 expert and 6 machine labels" in done.said
    assert "all count as experts'" not in done.said
    assert (done := project.run("cohort", *CHOSEN, *OWN, table)).status == 0, done.said
    cohort = project.read("cohort.parquet").set_index("exam_id")["provenance"]
    assert cohort.tolist() == ["gold"] * 6 + ["silver"] * 6


def test_a_word_that_tells_nothing_leaves_its_exam_out(project: Project) -> None:
    table = write_table(project, ["expert", "somebody", "", *DRAWN[3:]])
    done = project.run("check", *CHOSEN, *OWN, table)
    assert done.status == 1
    assert (
        "case_01, people.csv: expected gold or silver (expert or auto), found 'somebody'"
        in done.said
    )
    assert (done := project.run("cohort", *CHOSEN, *OWN, table)).status == 0, done.said
    kept = project.read("cohort.parquet")["exam_id"].tolist()
    assert kept == [EXAMS[0], *EXAMS[3:]]
    assert project.read("exclusions.parquet")["exam_id"].tolist() == EXAMS[1:3]


def test_machine_labels_in_validation_sets_are_said(project: Project) -> None:
    table = write_table(project, DRAWN)
    folds = [EXAMS[0:5:2] + EXAMS[6:7], EXAMS[1:5:2]]
    named = sorted({exam for fold in folds for exam in fold})
    content = [
        {"train": [exam for exam in named if exam not in fold], "val": fold} for fold in folds
    ]
    (project.folder / "source/splits_final.json").write_text(json.dumps(content))
    done = project.run("check", *CHOSEN, *OWN, table)
    assert (
        "splits_final.json: validation exams with a machine's labels: fold 0 1 of 4;" in done.said
    )
    assert project.run("cohort", *CHOSEN, *OWN, table).status == 0
    given = ("split=file", "split.file=source/splits_final.json", "grid.regimes=[mix,gold]")
    done = project.run("split", *CHOSEN, *OWN, *given)
    assert done.status == 0, done.said
    assert "mix: validation exams with a machine's labels: fold 0 1 of 4;" in done.said
    assert "gold: validation exams" not in done.said
