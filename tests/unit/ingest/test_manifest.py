"""A manifest: paths below the root, provenance as stated, zeros kept, faults in one list."""

from pathlib import Path

import pytest
from tiny_sources import STRUCTURES, draw_image, draw_label, save

from tworulers.ingest.assemble import Ingested
from tworulers.ingest.faults import IngestError
from tworulers.ingest.read import ingest
from tworulers.schema.sources import Dataset, Reading

HEADER = "exam_id,patient_id,image,label,provenance,sex,age,site\n"


def make_manifest(root: Path, body: str, header: str = HEADER) -> Path:
    for seed, exam in enumerate(("001", "002", "003")):
        save(root / "scans" / f"{exam}.nii.gz", draw_image(seed))
        save(root / "masks" / f"{exam}.nii.gz", draw_label())
    (root / "manifest.csv").write_text(header + body)
    return root


def read(root: Path, reading: Reading | None = None) -> Ingested:
    dataset = Dataset("m", source="manifest", root=str(root), structures=STRUCTURES)
    dataset.reading = reading or Reading(table="manifest.csv")
    return ingest(dataset, root.parent, processes=1)


def row(exam: str, provenance: str = "gold", extra: str = "F,54,A") -> str:
    return f"{exam},P{exam},scans/{exam}.nii.gz,masks/{exam}.nii.gz,{provenance},{extra}\n"


def test_a_sound_manifest(tmp_path: Path) -> None:
    body = row("001") + row("002", "auto", "M,> 89,B") + row("003", "expert", "Not Reported,,B")
    ingested = read(make_manifest(tmp_path / "d", body))
    cohort = ingested.cohort
    assert [fault for fault in ingested.faults if not fault.note] == []
    assert cohort["exam_id"].tolist() == ["001", "002", "003"]
    assert cohort["provenance"].tolist() == ["gold", "silver", "gold"]
    assert cohort["age_over_89"].tolist() == [False, True, False]
    assert cohort["site"].tolist() == ["A", "B", "B"]
    assert cohort["image"].tolist()[0] == "d/scans/001.nii.gz"
    assert cohort["expert_volume_mm3"].isna().tolist() == [False, True, False]


def test_a_silver_exam_may_have_no_label_yet(tmp_path: Path) -> None:
    body = row("001") + "002,P2,scans/002.nii.gz,,silver,M,60,B\n"
    cohort = read(make_manifest(tmp_path / "d", body)).cohort
    assert cohort["label"].isna().tolist() == [False, True]


@pytest.mark.parametrize("cell", ["../outside.nii.gz", "/etc/hostname"])
def test_files_outside_the_root_are_refused(tmp_path: Path, cell: str) -> None:
    body = row("001") + f"002,P2,{cell},masks/002.nii.gz,gold,M,60,B\n"
    ingested = read(make_manifest(tmp_path / "d", body))
    assert ingested.cohort["exam_id"].tolist() == ["001"]
    assert "outside the data root" in ingested.exclusions["reason"].iloc[0]


def test_an_exam_whose_drawer_is_unknown_is_left_out(tmp_path: Path) -> None:
    ingested = read(make_manifest(tmp_path / "d", row("001") + row("002", "Bob")))
    assert ingested.cohort["exam_id"].tolist() == ["001"]
    assert any("'Bob'" in fault.describe() for fault in ingested.faults)


def test_an_expert_list_decides(tmp_path: Path) -> None:
    root = make_manifest(tmp_path / "d", row("001", "") + row("002", "") + row("003", ""))
    (root / "experts.txt").write_text("masks\n002.nii.gz\n")
    cohort = read(root, Reading(table="manifest.csv", experts="experts.txt")).cohort
    assert cohort["provenance"].tolist() == ["silver", "gold", "silver"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    body = row("001") + "009,P9,scans/009.nii.gz,masks/009.nii.gz,gold,M,60,B\n"
    ingested = read(make_manifest(tmp_path / "d", body))
    assert ingested.exclusions["exam_id"].tolist() == ["009"]
    assert "scans/009.nii.gz" in ingested.exclusions["reason"].iloc[0]


def test_columns_can_be_mapped_and_missing_ones_are_named(tmp_path: Path) -> None:
    root = make_manifest(tmp_path / "d", "001,scans/001.nii.gz\n", "study,file\n")
    with pytest.raises(IngestError, match=r"exam_id, image.*reading.columns"):
        read(root)
    columns = {"exam_id": "study", "image": "file"}
    cohort = read(root, Reading(table="manifest.csv", columns=columns)).cohort
    assert cohort["patient_id"].tolist() == ["001"]


def test_an_exam_can_be_left_out_by_hand(tmp_path: Path) -> None:
    root = make_manifest(tmp_path / "d", row("001") + row("002"))
    ingested = read(root, Reading(table="manifest.csv", exclude=["002"]))
    assert ingested.cohort["exam_id"].tolist() == ["001"]
    assert ingested.exclusions["reason"].tolist() == ["left out by dataset.reading.exclude"]
