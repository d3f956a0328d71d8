"""Predictions made elsewhere: paired by name, turned to the reference, copies of it recognised."""

from pathlib import Path

import numpy as np
import pytest
from tiny_sources import AFFINE, draw_label, save

from tworulers.ingest.predictions import check_pairs, find_identical, pair_predictions, read_pair
from tworulers.io.images import ImageError


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
    judged, judge = read_pair(prediction, reference, [1, 2], {26: 1, 50: 2, 90: 0})
    assert np.array_equal(judged.array, judge.array)
    with pytest.raises(ImageError, match=r"\{50: 32\}"):
        read_pair(prediction, reference, [1, 2], {26: 1, 90: 0})


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
