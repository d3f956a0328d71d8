"""Families of inputs that break readers: each is named with its numbers; sound exams stay in."""

import ast
import gzip
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_sources import (
    AFFINE,
    STRUCTURES,
    draw_image,
    draw_label,
    make_decathlon,
    make_nnunet,
    save,
)

from tworulers.ingest.assemble import Ingested
from tworulers.ingest.faults import IngestError
from tworulers.ingest.read import ingest, write_mapped_labels
from tworulers.io.label_maps import read_label
from tworulers.schema.sources import Dataset, Reading
from tworulers.schema.table_models import Cohort, check_table


def read(root: Path, source: str = "nnunet", **fields: object) -> Ingested:
    structures = fields.pop("structures", STRUCTURES)
    dataset = Dataset("tiny", source=source, root=str(root), structures=structures, **fields)
    ingested = ingest(dataset, root.parent, processes=1)
    check_table(ingested.cohort, Cohort, "cohort")
    return ingested


def lines(ingested: Ingested) -> str:
    return "\n".join(fault.describe() for fault in ingested.faults if not fault.note)


def shift(root: Path) -> None:
    moved = AFFINE.copy()
    moved[0, 3] += 40
    save(root / "labelsTr" / "bad.nii.gz", draw_label(), moved)


def interpolate(root: Path) -> None:
    label = draw_label().astype(np.float32)
    label[0, 0, :3] = [1.37, 0.62, 0.25]
    save(root / "labelsTr" / "bad.nii.gz", label)


def use_255(root: Path) -> None:
    save(root / "labelsTr" / "bad.nii.gz", (draw_label() == 1).astype(np.uint8) * 255)


def use_negative(root: Path) -> None:
    save(root / "labelsTr" / "bad.nii.gz", -draw_label().astype(np.int16))


def cut_slice(root: Path) -> None:
    save(root / "labelsTr" / "bad.nii.gz", draw_label()[..., :5])


def swap_axes(root: Path) -> None:
    save(root / "labelsTr" / "bad.nii.gz", draw_label().swapaxes(0, 1))


def add_volume(root: Path) -> None:
    image = draw_image(5)
    save(root / "imagesTr" / "bad_0000.nii.gz", np.stack([image, image], -1))


def shear(root: Path) -> None:
    sheared = AFFINE.copy()
    sheared[0, 1] = 0.05
    save(root / "imagesTr" / "bad_0000.nii.gz", draw_image(5), sheared)
    save(root / "labelsTr" / "bad.nii.gz", draw_label(), sheared)


def flip_storage(root: Path) -> None:
    flipped = AFFINE @ np.diag([-1.0, 1, 1, 1])
    flipped[0, 3] = AFFINE[0, 3] + 0.5 * 7
    save(root / "labelsTr" / "bad.nii.gz", draw_label()[::-1], flipped)


def change_spacing(root: Path) -> None:
    save(root / "labelsTr" / "bad.nii.gz", draw_label(), AFFINE @ np.diag([1.0, 1, 1.1, 1]))


def write_metres(root: Path) -> None:
    metres = AFFINE @ np.diag([1e-3, 1e-3, 1e-3, 1])
    save(root / "imagesTr" / "bad_0000.nii.gz", draw_image(5), metres)
    save(root / "labelsTr" / "bad.nii.gz", draw_label(), metres)


def break_affine(root: Path) -> None:
    path = root / "imagesTr" / "bad_0000.nii.gz"
    content = bytearray(gzip.decompress(path.read_bytes()))
    content[312:328] = bytes(16)  # the third row of the sform
    path.write_bytes(gzip.compress(bytes(content)))


def truncate(root: Path) -> None:
    path = root / "imagesTr" / "bad_0000.nii.gz"
    path.write_bytes(path.read_bytes()[: int(0.6 * path.stat().st_size)])


def misname(root: Path) -> None:
    path = root / "imagesTr" / "bad_0000.nii.gz"
    path.write_bytes(gzip.decompress(path.read_bytes()))


def empty_file(root: Path) -> None:
    (root / "labelsTr" / "bad.nii.gz").write_bytes(b"")


def write_text(root: Path) -> None:
    (root / "labelsTr" / "bad.nii.gz").write_bytes(gzip.compress(b"<html>not found</html>" * 50))


def remove_label(root: Path) -> None:
    (root / "labelsTr" / "bad.nii.gz").unlink()


def remove_image(root: Path) -> None:
    (root / "imagesTr" / "bad_0000.nii.gz").unlink()


def put_nan(root: Path) -> None:
    image = draw_image(5).astype(np.float32)
    image[2, 2, :2] = np.nan
    save(root / "imagesTr" / "bad_0000.nii.gz", image)


def make_constant(root: Path) -> None:
    save(root / "imagesTr" / "bad_0000.nii.gz", np.zeros((8, 10, 6), np.int16))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (shift, ["labelsTr/bad.nii.gz", "-10 x 20 x 30", "30 x 20 x 30", "40 mm"]),
        (interpolate, ["labelsTr/bad.nii.gz", "3 label voxels", "1.37"]),
        (use_255, ["labelsTr/bad.nii.gz", "{255: 72}"]),
        (use_negative, ["labelsTr/bad.nii.gz", "-1: 72", "-2: 32"]),
        (cut_slice, ["(8, 10, 6)", "(8, 10, 5)"]),
        (swap_axes, ["(8, 10, 6)", "(10, 8, 6)"]),
        (add_volume, ["imagesTr/bad_0000.nii.gz", "2 volumes"]),
        (shear, ["0.0995", "0.5 x 0.502494 x 4"]),
        (flip_storage, ["orientation RAS", "LAS"]),
        (change_spacing, ["0.5 x 0.5 x 4", "0.5 x 0.5 x 4.4"]),
        (write_metres, ["implausible spacing 0.0005 x 0.0005 x 0.004", "metres"]),
        (break_affine, ["singular"]),
        (truncate, ["imagesTr/bad_0000.nii.gz", "ends early"]),
        (misname, ["imagesTr/bad_0000.nii.gz", "not compressed"]),
        (empty_file, ["labelsTr/bad.nii.gz", "0 bytes"]),
        (write_text, ["labelsTr/bad.nii.gz", "NIfTI"]),
        (remove_label, ["imagesTr/bad_0000.nii.gz", "a label"]),
        (remove_image, ["labelsTr/bad.nii.gz", "an image"]),
        (put_nan, ["imagesTr/bad_0000.nii.gz", "2 voxels"]),
        (make_constant, ["imagesTr/bad_0000.nii.gz", "0 in every voxel"]),
    ],
)
def test_a_bad_exam_is_left_out_by_name_and_the_good_one_stays(
    tmp_path: Path, damage: Callable[[Path], None], words: list[str]
) -> None:
    root = make_nnunet(tmp_path / "data", ["bad", "good"])
    damage(root)
    ingested = read(root)
    assert list(ingested.cohort["exam_id"]) == ["good"]
    assert list(ingested.exclusions["exam_id"]) == ["bad"]
    for word in ["bad", *words]:
        assert word in lines(ingested)
        assert word in ingested.exclusions["reason"].iloc[0]


def test_a_sound_folder_has_no_fault_and_counts_its_voxels(tmp_path: Path) -> None:
    ingested = read(make_nnunet(tmp_path / "data", ["case_0000", "case_0001"]))
    assert lines(ingested) == ""
    assert list(ingested.cohort["exam_id"]) == ["case_0000", "case_0001"]
    assert ingested.cohort["spacing"].tolist() == ["0.5x0.5x4"] * 2
    assert ingested.cohort["expert_volume_mm3"].tolist() == [104.0, 104.0]
    volumes = ingested.volumes.set_index(["exam_id", "structure"])["volume_mm3"]
    assert volumes["case_0001", "disc"] == 32.0


@pytest.mark.parametrize(
    "label",
    [
        draw_label().astype(np.int64),
        draw_label().astype(np.float64),
        draw_label().astype(np.float32) + np.float32(1e-7),
        draw_label()[..., None],
    ],
    ids=["int64", "float64", "rounding", "trailing axis"],
)
def test_harmless_storage_is_read(tmp_path: Path, label: np.ndarray) -> None:
    root = make_nnunet(tmp_path / "data", ["a"])
    save(root / "labelsTr" / "a.nii.gz", label)
    ingested = read(root)
    assert lines(ingested) == ""
    assert ingested.cohort["shape"].tolist() == ["8x10x6"]
    assert ingested.volumes["volume_mm3"].tolist() == [72.0, 32.0]


@pytest.mark.parametrize(("slope", "inter"), [(0.5, 0.0), (1.0, -3.0)])
def test_scaled_labels_mean_what_the_scale_says(tmp_path: Path, slope: float, inter: float) -> None:
    root = make_nnunet(tmp_path / "data", ["a"])
    path = save(root / "labelsTr" / "a.nii.gz", draw_label(), AFFINE, slope, inter)
    assert np.array_equal(read_label(path).array, draw_label())
    assert read(root).volumes["volume_mm3"].tolist() == [72.0, 32.0]


def test_a_stored_value_is_replaced_only_when_asked(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b"], {"bone": 1})
    for exam in "ab":
        save(root / "labelsTr" / f"{exam}.nii.gz", (draw_label() == 1).astype(np.uint8) * 255)
    with pytest.raises(IngestError, match=r"\{255: 72\}"):
        read(root, structures={"bone": 1})
    reading = Reading(label_map={255: 1})
    ingested = read(root, structures={"bone": 1}, reading=reading)
    assert ingested.volumes["volume_mm3"].tolist() == [72.0, 72.0]
    before = sorted(root.rglob("*"))
    dataset = Dataset("t", source="nnunet", root=str(root), structures={"bone": 1}, reading=reading)
    mapped = write_mapped_labels(ingested.cohort, dataset, tmp_path, tmp_path / "out")
    assert mapped["label"].tolist() == ["out/a.nii.gz", "out/b.nii.gz"]
    assert (read_label(tmp_path / "out" / "a.nii.gz").array == 1).sum() == 72
    assert sorted(root.rglob("*")) == before


def test_the_voxel_grid_is_trusted_when_asked(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["bad", "good"])
    shift(root)
    ingested = read(root, reading=Reading(trust_grid=True))
    assert list(ingested.cohort["exam_id"]) == ["bad", "good"]
    assert any("40 mm" in fault.describe() for fault in ingested.faults if fault.note)


def test_counts_and_both_directions_of_missing_partners_are_listed(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b", "c", "d"])
    (root / "labelsTr" / "c.nii.gz").unlink()
    (root / "imagesTr" / "d_0000.nii.gz").unlink()
    ingested = read(root)
    details = [fault.details for fault in ingested.faults]
    assert {"image_without_label": "c"} in details
    assert {"label_without_image": "d"} in details
    assert {"declared": 4, "paired": 2} in details
    assert list(ingested.exclusions["exam_id"]) == ["c", "d"]


def test_a_name_without_a_channel_is_told_how_to_be_called(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b"])
    (root / "imagesTr" / "b_0000.nii.gz").rename(root / "imagesTr" / "b.nii.gz")
    assert "rename it to b_0000.nii.gz" in lines(read(root))


def test_debris_of_archives_is_ignored(tmp_path: Path) -> None:
    root = make_decathlon(tmp_path / "data", ["liver_1", "liver_2"])
    for folder in ("imagesTr", "labelsTr"):
        (root / folder / "._liver_1.nii.gz").write_bytes(b"\0" * 10)
        (root / folder / ".DS_Store").write_bytes(b"x")
    ingested = read(root, "decathlon")
    assert list(ingested.cohort["exam_id"]) == ["liver_1", "liver_2"]
    assert lines(ingested) == ""


def test_decathlon_lists_what_only_the_file_or_only_the_folder_names(tmp_path: Path) -> None:
    root = make_decathlon(tmp_path / "data", ["a", "b"])
    for folder in ("imagesTr", "labelsTr"):
        (root / folder / "b.nii.gz").rename(root / folder / "c.nii.gz")
    ingested = read(root, "decathlon")
    assert "b, dataset.json: expected a pair of files" in lines(ingested)
    assert any(fault.exam == "c" and fault.note for fault in ingested.faults)


def test_odd_folder_names_are_plain_names(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "Größe Ärzte" / "étude 1 (final)" / "李", ["cs 1"])
    assert list(read(root).cohort["exam_id"]) == ["cs 1"]


def test_structures_that_differ_from_the_declared_are_a_fault(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a"])
    with pytest.raises(IngestError, match=r"dataset.structures \{'bone': 1\}"):
        read(root, structures={"bone": 1})


def test_patients_are_told_by_a_pattern(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["p1_a", "p1_b", "p2_a"])
    ingested = read(root, reading=Reading(patient=r"^(?P<patient>[^_]+)_"))
    assert ingested.cohort["patient_id"].tolist() == ["p1", "p1", "p2"]


def test_one_image_under_two_names_is_noted(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b", "c"])
    save(root / "imagesTr" / "c_0000.nii.gz", draw_image(0))
    notes = [fault.describe() for fault in read(root).faults if fault.note]
    assert any("one image in a, c" in note for note in notes)


def test_positions_that_disagree_are_noted_and_the_sform_is_in_force(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["a"])
    for path in (root / "imagesTr" / "a_0000.nii.gz", root / "labelsTr" / "a.nii.gz"):
        content = bytearray(gzip.decompress(path.read_bytes()))
        content[252:254] = np.array([1], "<i2").tobytes()  # the code of the qform
        content[268:272] = np.array([77.0], "<f4").tobytes()  # its first offset
        path.write_bytes(gzip.compress(bytes(content)))
    ingested = read(root)
    assert lines(ingested) == ""
    notes = [fault.describe() for fault in ingested.faults if fault.note]
    assert sum("sform and qform lie 87 mm apart" in note for note in notes) == 2
    assert ingested.cohort["spacing"].tolist() == ["0.5x0.5x4"]


@pytest.mark.parametrize("source", ["nnunet", "decathlon", "cspineseg", "manifest", "folder"])
def test_an_empty_folder_is_one_clear_error(tmp_path: Path, source: str) -> None:
    with pytest.raises(IngestError, match="expected"):
        read(tmp_path, source)
    with pytest.raises(IngestError, match="no folder"):
        read(tmp_path / "none", source)


def test_inspection_in_worker_processes_gives_the_same(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", [f"e{i}" for i in range(9)])
    (root / "labelsTr" / "e4.nii.gz").write_bytes(b"")
    dataset = Dataset("tiny", source="nnunet", root=str(root), structures=STRUCTURES)
    one, two = (ingest(dataset, tmp_path, processes=n) for n in (1, 2))
    assert one.cohort.equals(two.cohort)
    assert one.faults == two.faults


@pytest.mark.parametrize("ending", [".nrrd", ".mha"])
@pytest.mark.parametrize("source", ["nnunet", "decathlon", "folder"])
def test_formats_of_other_tools_make_the_same_cohort(
    tmp_path: Path, source: str, ending: str
) -> None:
    sitk = pytest.importorskip("SimpleITK")
    make = make_nnunet if source == "nnunet" else make_decathlon
    root = make(tmp_path / "data", ["e1", "e2"])
    if source == "folder":
        for path in list((root / "labelsTr").iterdir()):
            path.rename(path.with_name(path.name.replace(".nii", "_seg.nii")))
    before = read(root, source)
    for path in list(root.rglob("*.nii.gz")):
        sitk.WriteImage(sitk.ReadImage(str(path)), str(path).replace(".nii.gz", ending), True)
        path.unlink()
    after = read(root, source)
    assert lines(after) == lines(before) == ""
    paths = ["image", "label"]
    pd.testing.assert_frame_equal(
        after.cohort.drop(columns=paths), before.cohort.drop(columns=paths)
    )
    assert after.cohort["label"].str.endswith(ending).all()


def test_the_label_map_that_a_message_shows_is_taken(tmp_path: Path) -> None:
    root = make_nnunet(tmp_path / "data", ["bad", "good"])
    use_255(root)
    (shown,) = re.findall(r"dataset\.reading\.label_map=(\{.*?\})", lines(read(root)))
    assert len(read(root, reading=Reading(label_map=ast.literal_eval(shown))).cohort) == 2
