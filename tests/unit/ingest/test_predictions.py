"""Predictions made elsewhere: paired by name, turned to the reference, copies of it recognised."""

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from tiny_sources import AFFINE, STRUCTURES, draw_label, make_nnunet, save

from tworulers.ingest.pairing import pair_predictions
from tworulers.ingest.predictions import check_pairs, find_identical, read_pair
from tworulers.ingest.read import ingest, write_mapped_labels
from tworulers.io.images import ImageError
from tworulers.io.label_values import ValueMap
from tworulers.schema.sources import Dataset


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    predictions, references = tmp_path / "predictions", tmp_path / "references"
    for exam in ("a", "b", "c", "d"):
        save(references / f"{exam}.nii.gz", draw_label())
    for exam in ("a", "b", "c", "x"):
        label = draw_label()
        label[0, 0, 0] = 1
        save(predictions / f"{exam}.nii.gz", label)
    for name in ("plans.json", "a.npz", "a.pkl", "._a.nii.gz"):
        (predictions / name).write_bytes(b"?")
    return predictions, references


def test_missing_and_extra_predictions_are_listed(folders: tuple[Path, Path]) -> None:
    pairing = pair_predictions(*folders)
    assert pairing.pairs["exam_id"].tolist() == ["a", "b", "c"]
    assert pairing.missing == ["d"]
    assert pairing.extra == ["x"]
    assert pairing.share == "3 of 4 cases"
    assert [fault.exam for fault in pairing.faults if not fault.note] == ["d"]


def test_only_the_wanted_exams_are_paired(folders: tuple[Path, Path]) -> None:
    pairing = pair_predictions(*folders, exam_ids=["a", "z"])
    assert pairing.pairs["exam_id"].tolist() == ["a"]
    assert [fault.exam for fault in pairing.faults if not fault.note] == ["z"]


def test_flipped_storage_is_the_same_mask(tmp_path: Path) -> None:
    reference = save(tmp_path / "r.nii.gz", draw_label())
    lps = AFFINE @ np.diag([-1.0, -1, 1, 1])
    lps[:2, 3] = AFFINE[:2, 3] + [0.5 * 7, 0.5 * 9]
    prediction = save(tmp_path / "p.nii.gz", draw_label()[::-1, ::-1], lps)
    judged, judge = read_pair(prediction, reference, [1, 2])
    assert np.array_equal(judged.array, judge.array)
    assert np.allclose(judged.affine, judge.affine)


def test_swapped_axes_are_turned_back(tmp_path: Path) -> None:
    reference = save(tmp_path / "r.nii.gz", draw_label())
    order = [2, 0, 1]
    prediction = save(tmp_path / "p.nii.gz", draw_label().transpose(order), AFFINE[:, [*order, 3]])
    judged, judge = read_pair(prediction, reference, [1, 2])
    assert np.array_equal(judged.array, judge.array)


def test_another_place_is_refused(tmp_path: Path) -> None:
    reference = save(tmp_path / "r.nii.gz", draw_label())
    moved = AFFINE.copy()
    moved[2, 3] += 4
    prediction = save(tmp_path / "p.nii.gz", draw_label(), moved)
    with pytest.raises(ImageError, match="do not lie on one grid"):
        read_pair(prediction, reference, [1, 2])


def test_label_sets_of_other_tools_are_mapped(tmp_path: Path) -> None:
    reference = save(tmp_path / "r.nii.gz", draw_label())
    foreign = np.array([0, 26, 50], np.uint8)[draw_label()]
    foreign[0, 0, 0] = 90
    prediction = save(tmp_path / "p.nii.gz", foreign)
    judged, judge = read_pair(prediction, reference, [1, 2], ValueMap({26: 1, 50: 2, 90: 0}))
    assert np.array_equal(judged.array, judge.array)
    with pytest.raises(ImageError, match=r"\{50: 32\}"):
        read_pair(prediction, reference, [1, 2], ValueMap({26: 1, 90: 0}))


def test_a_reference_that_is_the_prediction_is_named(folders: tuple[Path, Path]) -> None:
    predictions, references = folders
    assert find_identical(pair_predictions(predictions, references), "gold") == []
    (fault,) = find_identical(pair_predictions(references, references), "machine")
    assert not fault.note
    assert "machine equals the prediction in 4 of 4 exams" in fault.describe()


def test_pairs_on_other_grids_are_listed_from_headers(folders: tuple[Path, Path]) -> None:
    predictions, references = folders
    save(predictions / "b.nii.gz", draw_label()[..., :5])
    (predictions / "c.nii.gz").write_bytes(b"")
    faults = check_pairs(pair_predictions(predictions, references))
    assert [fault.exam for fault in faults] == ["b", "c"]


def test_values_of_any_size_are_mapped_or_refused(tmp_path: Path) -> None:
    reference = save(tmp_path / "r.nii.gz", draw_label())
    foreign = np.array([2035, 17, 70_000], np.int32)[draw_label()]
    foreign[0, 0, 0] = -4
    prediction = save(tmp_path / "p.nii.gz", foreign)
    named = {17: 1, 70_000: 2}
    judged, judge = read_pair(prediction, reference, [1, 2], ValueMap(named, others=0))
    assert np.array_equal(judged.array, judge.array)
    with pytest.raises(ImageError, match=r"\{-4: 1, 2035: 375\}"):
        read_pair(prediction, reference, [1, 2], ValueMap(named))
    with pytest.raises(ValueError, match=r"from 1 to 255, found \[1035\]"):
        ValueMap.of_own([1, 1035])


def strip_position(path: Path) -> Path:
    """Write a file again without sform and qform."""
    image = nib.load(path)
    bare = nib.Nifti1Image(np.asarray(image.dataobj), None)
    bare.header.set_zooms(image.header.get_zooms())
    nib.save(bare, path)
    return path


@pytest.mark.parametrize("bare", ["predictions", "references", "both"])
def test_files_without_a_position_compare_only_where_a_person_says_so(tmp_path, bare) -> None:
    lps = AFFINE @ np.diag([-1.0, -1.0, 1.0, 1.0])
    prediction = save(tmp_path / "predictions" / "a.nii.gz", draw_label(), lps)
    reference = save(tmp_path / "references" / "a.nii.gz", draw_label())
    for path in (prediction, reference):
        if bare in (path.parent.name, "both"):
            strip_position(path)
    with pytest.raises(ImageError, match=r"holds no position .*trust_grid=true"):
        read_pair(prediction, reference, [1, 2])
    pairing = pair_predictions(tmp_path / "predictions", tmp_path / "references")
    fault, note = check_pairs(pairing)
    assert (fault.note, fault.expected) == (False, "a position in both headers")
    assert "trust_grid=true" in fault.mend
    assert "resample" not in fault.describe()
    judged, judge = read_pair(prediction, reference, [1, 2], trust_grid=True)
    assert np.array_equal(judged.array, judge.array)
    (note,) = check_pairs(pairing, trust_grid=True)
    assert note.note
    assert "a.nii.gz; their voxels are taken to correspond by index" in note.describe()


def test_judge_says_of_headers_what_check_says(tmp_path: Path) -> None:
    sheared = AFFINE.copy()
    sheared[0, 1] = 0.1
    for folder in ("p", "r"):
        save(tmp_path / folder / "a.nii.gz", draw_label(), sheared)
        save(tmp_path / folder / "b.nii.gz", draw_label(), AFFINE @ np.diag([99, 99, 99, 1.0]))
        save(tmp_path / folder / "c.nii.gz", draw_label())
    off = AFFINE.copy()
    off[0, 3] += 5
    save(tmp_path / "p" / "c.nii.gz", draw_label(), off)
    pairing = pair_predictions(tmp_path / "p", tmp_path / "r")
    faults = check_pairs(pairing)
    told = "\n".join(fault.describe() for fault in faults if fault.note)
    assert "2 files have no orthogonal axes: p/a.nii.gz, r/a.nii.gz" in told
    assert "2 files have no voxels of 0.05 to 20 mm: p/b.nii.gz, r/b.nii.gz" in told
    (apart,) = [fault for fault in faults if not fault.note]
    assert "origins 5 mm apart" in apart.describe()
    assert "voxels within 0.01 mm of each other lie at one place" in apart.describe()
    told = "\n".join(fault.describe() for fault in check_pairs(pairing, trust_grid=True))
    assert "1 pairs lie at different places by their headers: c" in told


def test_without_a_position_shape_and_spacing_have_to_agree(tmp_path: Path) -> None:
    wide = AFFINE @ np.diag([2.0, 1.0, 1.0, 1.0])
    prediction = strip_position(save(tmp_path / "p" / "a.nii.gz", draw_label(), wide))
    reference = save(tmp_path / "r" / "a.nii.gz", draw_label())
    with pytest.raises(ImageError, match=r"p/a.nii.gz holds no position .*trust_grid=true"):
        read_pair(prediction, reference, [1, 2])
    pairing = pair_predictions(tmp_path / "p", tmp_path / "r")
    (fault,) = [fault for fault in check_pairs(pairing) if not fault.note]
    assert "spacing 1 x 0.5 x 4 and 0.5 x 0.5 x 4 mm" in fault.describe()
    assert "resample" not in fault.describe()
    judged, judge = read_pair(prediction, reference, [1, 2], trust_grid=True)
    assert np.array_equal(judged.array, judge.array)


def test_a_label_without_a_position_is_written_anew_on_the_grid_of_its_image(
    tmp_path: Path,
) -> None:
    root = make_nnunet(tmp_path / "data", ["a", "b"])
    stored = strip_position(root / "labelsTr" / "a.nii.gz")
    dataset = Dataset("d", source="nnunet", root=str(root), structures=STRUCTURES)
    refused = ingest(dataset, tmp_path, processes=1)
    assert list(refused.cohort["exam_id"]) == ["b"]
    assert "reading.trust_grid=true" in refused.faults[-1].describe() + str(refused.faults)
    dataset.reading.trust_grid = True
    ingested = ingest(dataset, tmp_path, processes=1)
    notes = "\n".join(fault.describe() for fault in ingested.faults if fault.exam == "a")
    assert "taken to correspond, as dataset.reading.trust_grid says" in notes
    cohort = write_mapped_labels(ingested.cohort, dataset, tmp_path, tmp_path / "labels")
    places = cohort.set_index("exam_id")["label"]
    assert places["b"] == "data/labelsTr/b.nii.gz"
    written = nib.load(tmp_path / places["a"])
    assert np.array_equal(written.affine, AFFINE)
    assert np.array_equal(written.get_fdata(), nib.load(stored).get_fdata())


def test_files_whose_two_positions_disagree_are_named_in_one_note(tmp_path: Path) -> None:
    for exam in ("a", "b"):
        save(tmp_path / "r" / f"{exam}.nii.gz", draw_label())
        path = save(tmp_path / "p" / f"{exam}.nii.gz", draw_label())
        image = nib.load(path)
        moved = AFFINE.copy()
        moved[0, 3] += 3
        image.set_qform(moved, code=1)
        nib.save(image, path)
    (note,) = check_pairs(pair_predictions(tmp_path / "p", tmp_path / "r"))
    assert note.note
    assert "3 mm apart in 2 files, the sform is in force: p/a.nii.gz, p/b.nii.gz" in note.describe()
