"""Names and values that the commands do not know are told before any work, and none is taken from elsewhere."""

import sys
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from command import Outcome, Project

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "ingest"))
from tiny_sources import make_nnunet

pytestmark = pytest.mark.usefixtures("unrendered")

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
        f"predictions.references={{expert: {{folder: {data / 'expert'}, provenance: gold}}}}", *QUICK, *more,
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


def test_structures_are_named_after_their_values_where_nobody_names_them(
    project: Project, tmp_path: Path
) -> None:
    data = draw(tmp_path)
    done = judge(project, data, "attributes=none")
    assert done.status == 0, done.said
    first = "2 structures, named after their values; name them with predictions.structures={<name>: 1, <name>: 2}"
    assert done.said.startswith(first)
    assert set(project.read("scores.parquet")["structure"]) == {"label_1", "label_2", "macro"}
    for name in ("vb", "disc"):
        assert f" {name} " not in done.said


def test_a_binary_mask_has_one_structure_and_no_undefined_row(
    project: Project, tmp_path: Path
) -> None:
    data = draw(tmp_path, (1,))
    done = judge(project, data, "attributes=none")
    assert done.said.startswith("1 structure, named after")
    scores = project.read("scores.parquet")
    assert scores.loc[scores["metric"] == "dice", "value"].notna().all()
    assert "nan" not in done.said


@pytest.mark.parametrize("place", ["expert", ""])
def test_structures_are_called_as_dataset_json_says(
    project: Project, tmp_path: Path, place: str
) -> None:
    data = draw(tmp_path / "data")
    labels = '{"labels": {"background": 0, "Anterior": 1, "Posterior": 2}}'
    (data / place / "dataset.json").write_text(labels)
    done = judge(project, data, "attributes=none")
    assert done.status == 0, done.said
    assert "2 structures, as" in done.said
    assert "dataset.json names them: Anterior 1, Posterior 2" in done.said
    structures = set(project.read("scores.parquet")["structure"])
    assert structures == {"Anterior", "Posterior", "macro"}


def test_masks_with_none_of_the_structures_stop_with_the_values_found(
    project: Project, tmp_path: Path
) -> None:
    data = draw(tmp_path, (3, 255))
    done = judge(project, data, "attributes=none", "predictions.structures={anterior: 1}")
    assert done.status == 1
    for exam in range(6):
        assert f"e{exam}, expert" in done.said
    assert "expected label maps that hold anterior, found 0, 3, 255 alone" in done.said
    assert not (project.folder / "artifacts").exists()
    done = judge(project, data, "attributes=none", "predictions.structures={a: 3, b: 255, c: 4}")
    assert done.status == 0, done.said
    assert "no label map holds c, the values found are 0, " in done.said


def test_structures_with_values_above_255_are_scored_as_they_are(
    project: Project, tmp_path: Path
) -> None:
    data = draw(tmp_path, (1035, 2035))
    done = judge(
        project, data, "attributes=none", "predictions.structures={left: 1035, right: 2035}"
    )
    assert done.status == 0, done.said
    dice = project.read("scores.parquet").query("metric == 'dice' and exam_id == 'e0'")
    found = dice.set_index("structure")["value"]
    assert found[["left", "right"]].tolist() == pytest.approx([6 / 7, 6 / 7])


def test_a_label_map_without_names_and_names_without_a_value_are_refused(
    project: Project, tmp_path: Path
) -> None:
    data = draw(tmp_path)
    done = judge(project, data, "attributes=none", "predictions.label_map={a: ['1'], b: ['2']}")
    assert done.status == 1
    assert "predictions.structures is not set" in done.said
    assert "(a, b)" in done.said
    done = judge(project, data, "attributes=none", "predictions.structures={a: 1, b: 1, c: 0}")
    assert "c: 0 is background's" in done.said
    assert "a and b both have 1" in done.said


def check(project: Project, root: Path, *more: str) -> Outcome:
    return project.run(
        "check", "dataset=nnunet", f"dataset.root={root}", "attributes=none", "tracking=off", "processes=1", *more
    )  # fmt: skip


def test_a_data_set_is_called_as_its_dataset_json_says(project: Project, tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b"], {"Anterior": 1, "Posterior": 2})
    done = project.run(
        "cohort", "dataset=nnunet", f"dataset.root={root}", "attributes=none", "tracking=off", "processes=1"
    )  # fmt: skip
    assert done.status == 0, done.said
    assert set(project.read("volumes.parquet")["structure"]) == {"Anterior", "Posterior"}
    done = check(project, root, "dataset.structures={front: 1, back: 2}")
    assert done.status == 0, done.said
    assert "the source calls 1 'Anterior', here 'front'; 2 'Posterior', here 'back'" in done.said
    (root / "dataset.json").unlink()
    done = check(project, root)
    assert done.status == 1
    assert "structures are not named: there is no dataset.json in dataset.root" in done.said
    done = check(project, tmp_path / "moved")
    assert done.status == 1
    assert f"dataset.root is {tmp_path / 'moved'}, which is not there" in done.said


def test_swapped_structures_stop_before_any_image_is_read(project: Project, tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b"], {"disc": 1, "vertebra": 2})
    (root / "imagesTr" / "a_0000.nii.gz").write_bytes(b"damaged")
    asked = "dataset.structures={vb: 1, disc: 2}"
    done = check(project, root, asked, "check.depth=headers")
    assert done.status == 1
    assert "dataset.structures {'vb': 1, 'disc': 2}" in done.said
    done = project.run(
        "cohort", "dataset=nnunet", f"dataset.root={root}", asked, "attributes=none", "tracking=off", "processes=1"
    )  # fmt: skip
    assert done.status == 1
    assert "the source's labels {'disc': 1, 'vertebra': 2}" in done.said
    assert "damaged" not in done.said
    assert "a_0000" not in done.said


def test_a_manifest_asks_for_the_structures(project: Project, tmp_path: Path) -> None:
    done = project.run("check", "dataset=manifest", f"dataset.root={tmp_path}", "tracking=off")
    assert done.status == 1
    assert "dataset.structures" in done.said
    assert "vb" not in done.said


def test_who_drew_a_label_is_read_from_a_joined_table(project: Project, tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b", "c", "d", "e"])
    rows = ["a,expert", "b,Retrospective_auto", "c,somebody", "d,"]
    (root / "people.csv").write_text("\n".join(["exam_id,annotator", *rows]))
    done = project.run(
        "cohort", "dataset=nnunet", f"dataset.root={root}", "dataset.reading.table=people.csv", "attributes=none",
        "tracking=off", "processes=1",
    )  # fmt: skip
    assert done.status == 0, done.said
    assert "all count as experts'" not in done.said
    assert "1 expert and 1 machine labels" in done.said
    assert "'somebody'" in done.said
    drawn = project.read("cohort.parquet").set_index("exam_id")["provenance"].to_dict()
    assert drawn == {"a": "gold", "b": "silver"}
    reasons = project.read("exclusions.parquet").set_index("exam_id")["reason"]
    assert reasons.to_dict() == dict.fromkeys("cde", "who drew the label is not told")


def test_codes_for_nothing_are_data_where_a_person_says_so(
    project: Project, tmp_path: Path
) -> None:
    table = tmp_path / "scores.csv"
    rows = [f"a{n},{'none' if n % 2 else 'implant'},{0.7 + n / 100}" for n in range(8)]
    table.write_text("\n".join(["exam_id,metal,dice_disc", *rows]))
    levels = "{with: [implant], without: ['none']}"
    grouping = f"attributes.groupings={{metal: {{kind: levels, column: metal, levels: {levels}}}}}"
    for given, n in ((["scores.missing=[NA]"], 4), ([], 0)):
        outputs = f"paths.outputs=out{n}"
        done = project.run(
            "audit", f"scores.file={table}", SCORES, "attributes=none", grouping, outputs, *QUICK, *given
        )  # fmt: skip
        assert done.status == 0, done.said
        (path,) = (project.folder / f"out{n}").rglob("groups.parquet")
        counts = pd.read_parquet(path).set_index("group")["n"].to_dict()
        assert (counts["with"], counts["without"]) == (4, n)


def test_a_cohort_without_people_says_which_audits_will_be_refused(
    project: Project, tmp_path: Path
) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b", "c"])
    cohort = ("cohort", "dataset=nnunet", f"dataset.root={root}", "attributes=sex", "tracking=off")
    done = project.run(*cohort, "processes=1")
    assert done.status == 0, done.said
    assert "no exam has a group in sex: an audit of them will be refused" in done.said
    (root / "people.csv").write_text("exam_id,sex\na,weiblich\nb,männlich\nc,weiblich\n")
    (root / "imagesTr" / "a_0000.nii.gz").write_bytes(b"damaged")
    done = project.run(*cohort, "processes=1", "dataset.reading.table=people.csv")
    assert done.status == 1
    assert "'weiblich': 2, 'männlich': 1" in done.said
    assert "damaged" not in done.said
