"""The ten messages that a first use found worst say what was found, and what to type."""

import re
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from command import Project

JUDGE = ("judge", "--reference", "expert=gold:expert", "--structures", "box=1", "--fast", "--processes", "1",
         "tracking=off")  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Twelve exams, whose predictions lie in one folder as they are and in another with a suffix."""
    project = Project.at(tmp_path_factory.mktemp("project"))
    mask = np.zeros((8, 8, 4), np.uint8)
    mask[2:6, 2:5, 1:3] = 1
    exams = [f"e{n:02}" for n in range(12)]
    for folder, suffix in (("mine", ""), ("suffixed", "_pred"), ("expert", "")):
        (project.folder / folder).mkdir()
        for exam in exams:
            path = project.folder / folder / f"{exam}{suffix}.nii.gz"
            nib.Nifti1Image(mask, np.eye(4)).to_filename(path)
    table = pd.DataFrame({"exam_id": exams, "sex": ["F", "M"] * 6, "age": 50})
    table.to_csv(project.folder / "exams.csv", index=False)
    table.assign(age=[50] * 11 + [-1]).to_csv(project.folder / "odd.csv", index=False)
    table.rename(columns={"exam_id": "Case No"}).to_csv(project.folder / "case.csv", index=False)
    german = table["sex"].map({"F": "weiblich", "M": "männlich"})
    table.assign(sex=german).to_csv(project.folder / "german.csv", index=False)
    return project


def refuse(project: Project, *words: str) -> str:
    """Type a command that is refused; return what it says."""
    done = project.type(*words)
    assert done.status in (1, 2), done.out + done.err
    assert "Traceback" not in done.err
    return " ".join(done.err.split())


def test_help_of_a_stage_leads_to_the_help_of_the_command(project: Project) -> None:
    done = project.run("judge", "--help")
    assert "`tworulers judge --help` says what it takes" in done.said
    assert len(done.said.split()) < 300


def test_names_with_a_suffix_are_one_fault_with_its_cure(project: Project) -> None:
    said = refuse(
        project, *JUDGE, "--predictions", "suffixed", "--table", "exams.csv", "--by", "sex"
    )
    assert "pairing (1 fault)" in said
    assert "set predictions.pattern='{exam}_pred', then 12 pair" in said


def test_a_folder_that_is_not_there_is_named_with_its_neighbour(project: Project) -> None:
    said = refuse(project, *JUDGE, "--predictions", "mines", "--table", "exams.csv", "--by", "sex")
    assert "pairing (1 fault)" in said
    assert "did you mean 'mine'?" in said


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        ((*JUDGE, "--predictions", "mine", "--table", "case.csv"), "predictions.cohort_columns"),
        (("audit", "--scores", "gold:case.csv", "tracking=off"), "scores.columns"),
    ],
)  # fmt: skip
def test_a_table_without_ids_says_what_it_has_and_which_setting_names_them(
    project: Project, words: tuple[str, ...], setting: str
) -> None:
    said = refuse(project, *words, "--by", "sex")
    assert "found the columns Case No, sex, age" in said
    (mend,) = re.findall(r'"([\w.]+=\'[^\']+\')"', said)
    assert mend == f"{setting}.exam_id='Case No'"
    assert "a column exam_id" not in refuse(project, *words, "--by", "age", mend)


def test_two_sets_of_groupings_are_asked_in_one_audit_or_in_two(project: Project) -> None:
    said = refuse(project, "audit", "attributes=sex,age", "tracking=off")
    assert "for all in one audit: attributes.by=[sex,age] (--by sex,age)" in said
    assert "for an audit each: -m attributes=sex,age" in said


def test_an_age_that_is_none_can_be_declared_a_code(project: Project) -> None:
    words = (*JUDGE, "--predictions", "mine", "--table", "odd.csv", "--by", "age:median")
    said = refuse(project, *words)
    assert "found '-1'" in said
    (codes,) = re.findall(r"\((missing=\[.*?\]) of the table\)", said)
    assert "'-1'" not in refuse(project, *words, f"predictions.{codes}", "audit.alpha=no")


def test_values_that_are_in_no_group_are_listed_with_those_known(project: Project) -> None:
    said = refuse(project, *JUDGE, "--predictions", "mine", "--table", "german.csv", "--by", "sex")
    assert "'männlich': 6, 'weiblich': 6" in said
    assert "Female: Female, F; Male: Male, M" in said
    assert "attributes.groupings.sex.levels.Female=" in said


def test_tables_over_other_exams_are_both_named(project: Project, tmp_path: Path) -> None:
    for name, first in (("gold", 0), ("other", 100)):
        table = pd.DataFrame({"exam_id": [f"e{first + n}" for n in range(9)], "dice_box": 0.9})
        table.assign(sex="F").to_csv(project.folder / f"{name}.csv", index=False)
    said = refuse(project, "compare", "--scores", "gold:gold.csv", "--scores", "silver:other.csv", "--by", "sex",
                  "tracking=off")  # fmt: skip
    assert "gold.csv (9 exams) and other.csv (9 exams) have 0 exams in common" in said


def test_a_data_set_without_a_folder_says_which_variable_names_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TWORULERS_HIPPOCAMPUS", raising=False)
    said = refuse(project, "cohort", "dataset=hippocampus", "tracking=off")
    assert "export TWORULERS_HIPPOCAMPUS=/path/to/the/data" in said
