"""Names and values that the commands do not know are told before any work, and none is taken from elsewhere."""

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from command import Outcome, Project

QUICK = (
    "tracking=off",
    "processes=1",
    "audit.metrics=[dice]",
    "audit.bootstrap_draws=50",
    "audit.permutations=20",
    "audit.power_draws=0",
    "audit.linear=false",
)
SCORES = "scores.provenance=gold"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.at(tmp_path / "project")


def save(path: Path, values: tuple[int, ...], width: int = 4) -> None:
    """Write a label map whose structures lie side by side."""
    label = np.zeros((8, 12, 4), np.int16)
    for place, value in enumerate(values):
        label[1 : 1 + width, 1 + 4 * place : 4 + 4 * place, 1:3] = value
    path.parent.mkdir(parents=True, exist_ok=True)
    nib.save(nib.Nifti1Image(label, np.diag([1.0, 1.0, 2.0, 1.0])), path)


def draw(folder: Path, values: tuple[int, ...] = (1, 2)) -> Path:
    """Write predictions, and references that differ from exam to exam."""
    for place in range(6):
        save(folder / "predictions" / f"e{place}.nii.gz", values)
        save(folder / "expert" / f"e{place}.nii.gz", values, 3 + place % 4)
    return folder


def judge(project: Project, data: Path, *more: str) -> Outcome:
    return project.run(
        "judge", "predictions.name=mine", f"predictions.folder={data / 'predictions'}",
        f"+predictions.references={{expert: {{folder: {data / 'expert'}, provenance: gold}}}}", *QUICK, *more,
    )  # fmt: skip


def test_values_that_fit_no_group_stop_before_any_image_is_read(
    project: Project, tmp_path: Path
) -> None:
    data = draw(tmp_path)
    (data / "expert" / "e0.nii.gz").write_bytes(b"damaged")
    sexes = ["weiblich", "männlich"] * 3
    rows = [f"e{place},{sex},{40 + place}" for place, sex in enumerate(sexes)]
    (data / "exams.csv").write_text("\n".join(["exam_id,sex,age", *rows]))
    done = judge(project, data, f"predictions.cohort={data / 'exams.csv'}", "attributes=[sex,age]")
    assert done.status == 1
    for word in (
        "'männlich': 3",
        "'weiblich': 3",
        "Female: Female, F",
        "levels.Female=['<value>']",
    ):
        assert word in done.said
    assert "damaged" not in done.said
    assert not (project.folder / "artifacts").exists()


def test_all_faults_of_names_and_table_come_at_once(project: Project, tmp_path: Path) -> None:
    data = draw(tmp_path)
    (data / "predictions" / "e5.nii.gz").unlink()
    rows = [f"e{place},F" for place in range(4)]
    (data / "exams.csv").write_text("\n".join(["exam_id,sex", *rows]))
    done = judge(project, data, f"predictions.cohort={data / 'exams.csv'}", "attributes=sex")
    assert done.status == 1
    assert "expected a prediction, found none" in done.said
    assert "e4" in done.said
    assert "expected a row that describes the exam" in done.said


def test_single_values_in_no_group_are_told_and_empty_groups_are_not(
    project: Project, tmp_path: Path
) -> None:
    table = tmp_path / "scores.csv"
    rows = [f"a{place},{sex},{0.7 + place / 100}" for place, sex in enumerate("MMMMMMXX")]
    table.write_text("\n".join(["exam_id,sex,dice_disc", *rows]))
    done = project.run("audit", f"scores.file={table}", SCORES, "attributes=sex", *QUICK)
    assert done.status == 0, done.said
    assert "2 exams are in no group, by value of column 'sex' 'X': 2" in done.said
    assert "Male: Male, M" in done.said
    assert "No exam succeeds" not in done.said
    assert "fewer than two groups have exams" in done.said
