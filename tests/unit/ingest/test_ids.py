"""Ids that no file may be called by are a fault in every layout, and stop the reading before anything is written."""

from pathlib import Path

import pytest
from tiny_sources import STRUCTURES, draw_image, draw_label, make_decathlon, make_nnunet, save

from tworulers.ingest.faults import Fault, FaultKind, IngestError
from tworulers.ingest.read import ingest, read_source
from tworulers.schema.sources import Dataset, Reading

EXAMS = ["a", "b", "c\x1b[31m", "d\\e", "B"]


def make_folder(root: Path, exams: list[str]) -> Path:
    for seed, exam in enumerate(exams):
        save(root / f"{exam}.nii.gz", draw_image(seed))
        save(root / f"{exam}_seg.nii.gz", draw_label())
    return root


def list_id_faults(dataset: Dataset) -> list[Fault]:
    source = read_source(dataset)
    faults = [fault for fault in source.faults if fault.kind == FaultKind.IDS]
    with pytest.raises(IngestError) as error:
        ingest(dataset, Path(str(dataset.root)).parent, processes=1)
    assert error.value.faults == faults
    assert "\x1b" not in str(error.value)
    return faults


@pytest.mark.parametrize(
    ("layout", "make"),
    [("nnunet", make_nnunet), ("decathlon", make_decathlon), ("folder", make_folder)],
)
def test_every_layout_names_the_exams(tmp_path: Path, layout: str, make: object) -> None:
    root = make(tmp_path / "d", EXAMS)  # type: ignore[operator]
    dataset = Dataset("d", source=layout, root=str(root), structures=STRUCTURES)
    faults = list_id_faults(dataset)
    assert [fault.exam for fault in faults] == ["c\\x1b[31m", "d\\e", "B"]
    assert read_source(dataset).exams["exam_id"].tolist() == ["a"]


def test_patients_of_a_joined_table_are_told_by_exam(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "d", ["a", "b", "c", "d"])
    (root / "people.csv").write_text("exam_id,patient_id\na,../p\nb,P1\nc,p1\nd,P2\n")
    dataset = Dataset("d", source="nnunet", root=str(root), structures=STRUCTURES)
    dataset.reading = Reading(table="people.csv")
    slash, meeting = list_id_faults(dataset)
    assert "'../p' of exam a, which holds a slash" in slash.describe()
    assert "'P1' of exam b and 'p1' of exam c, which are one name" in meeting.describe()
    assert read_source(dataset).exams["exam_id"].tolist() == ["d"]
