"""Label maps of every kind that tools write: what is read, and what is refused by name."""

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from tworulers.ingest.faults import IngestError
from tworulers.ingest.judged_folders import prepare
from tworulers.ingest.predictions import read_pair
from tworulers.io.images import ImageError, read_header
from tworulers.io.label_maps import count_label_values, read_label
from tworulers.io.label_values import ValueMap
from tworulers.schema.sources import Attributes, Predictions, Reference
from tworulers.sides import Side

AFFINE = np.array([[-0.5, 0, 0, 10], [0, -0.5, 0, 20], [0, 0, 4, 30], [0, 0, 0, 1.0]])
LABELS = {"a": 1, "b": 2}


def draw() -> np.ndarray:
    label = np.zeros((8, 10, 6), np.int16)
    label[2:6, 2:7, 1:4] = 1
    label[2:6, 2:7, 4] = 2
    return label


def save(path: Path, array: np.ndarray, affine: np.ndarray = AFFINE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".nrrd", ".mha"):
        sitk = pytest.importorskip("SimpleITK")
        image = sitk.GetImageFromArray(array.T)
        turned = np.diag([-1, -1, 1]) @ affine[:3, :3]
        spacing = np.linalg.norm(turned, axis=0)
        image.SetSpacing(spacing.tolist())
        image.SetDirection((turned / spacing).ravel().tolist())
        image.SetOrigin((np.diag([-1, -1, 1]) @ affine[:3, 3]).tolist())
        sitk.WriteImage(image, str(path), True)
    elif path.suffix == ".mgz":
        nib.save(nib.MGHImage(array, affine), path)
    else:
        nib.save(nib.Nifti1Image(array, affine, dtype=array.dtype), path)
    return path


def ready(folder: Path, **given) -> Predictions:
    """Describe predictions in `p`, judged by experts in `r`."""
    drawn = given.pop("reference", {})
    references = {"expert": Reference(str(folder / "r"), "gold", **drawn)}
    return Predictions(name="m", folder=str(folder / "p"), references=references, **given)


def look(given: Predictions):
    return prepare(given, Attributes("none", resampling_unit="exam"), 1)


@pytest.mark.parametrize("ending", [".nii", ".nii.gz", ".nrrd", ".mha", ".mgz"])
def test_a_format_holds_the_same_voxels_at_the_same_places(tmp_path: Path, ending: str) -> None:
    path = save(tmp_path / f"a{ending}", draw())
    reference = save(tmp_path / "r.nii.gz", draw())
    header = read_header(path)
    assert header.placed
    assert np.allclose(header.affine, AFFINE, atol=1e-5)
    judged, judge = read_pair(path, reference, LABELS.values())
    assert np.array_equal(judged.array, judge.array)
    assert count_label_values(path) == {0: 400, 1: 60, 2: 20}


@pytest.mark.parametrize("ending", [".nrrd", ".mha"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_file_that_is_cut_is_called_damaged(tmp_path: Path, ending: str, share: float) -> None:
    path = save(tmp_path / f"a{ending}", draw())
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ImageError, match=rf"a\{ending}"):
        read_label(path)


def test_a_nrrd_without_a_space_holds_no_position(tmp_path: Path) -> None:
    path = save(tmp_path / "a.nrrd", draw())
    head, _, voxels = path.read_bytes().partition(b"\n\n")
    lines = [line for line in head.split(b"\n") if not line.startswith(b"space")]
    path.write_bytes(b"\n".join([*lines, b"spacings: 0.5 0.5 4"]) + b"\n\n" + voxels)
    header = read_header(path)
    assert not header.placed
    assert header.spacing == pytest.approx((0.5, 0.5, 4))
    with pytest.raises(ImageError, match="holds no position"):
        read_pair(path, save(tmp_path / "r.nii.gz", draw()), LABELS.values())


def test_colours_and_complex_numbers_are_refused_by_name(tmp_path: Path) -> None:
    colours = np.zeros((8, 10, 6), np.dtype([("R", "u1"), ("G", "u1"), ("B", "u1")]))
    with pytest.raises(ImageError, match=r"rgb\.nii\.gz holds colours \(RGB\)"):
        read_header(save(tmp_path / "rgb.nii.gz", colours))
    with pytest.raises(ImageError, match=r"c\.nii\.gz holds values of type complex64"):
        read_header(save(tmp_path / "c.nii.gz", draw().astype(np.complex64)))
    sitk = pytest.importorskip("SimpleITK")
    vector = sitk.GetImageFromArray(np.zeros((6, 10, 8, 3), np.uint8), isVector=True)
    sitk.WriteImage(vector, str(tmp_path / "v.nrrd"))
    with pytest.raises(ImageError, match=r"v\.nrrd holds 3 values a voxel"):
        read_header(tmp_path / "v.nrrd")


def test_values_of_any_size_and_sign_are_mapped(tmp_path: Path) -> None:
    stored = draw().astype(np.int32)
    stored[stored == 2] = 2035
    stored[0, 0, 0] = -1
    path = save(tmp_path / "a.nii.gz", stored)
    assert count_label_values(path) == {-1: 1, 0: 399, 1: 60, 2035: 20}
    read = read_label(path, stands_for=ValueMap({1: 1, 2035: 2, -1: 0}))
    assert np.array_equal(read.array, draw())
    with pytest.raises(ImageError, match=r"unexpected label values \{-1: 1\}"):
        read_label(path, stands_for=ValueMap({1: 1, 2035: 2}))
    wide = stored.astype(np.uint64)
    wide[0, 0, 0] = 2**63 + 5
    path = save(tmp_path / "wide.nii.gz", wide)
    with pytest.raises(ImageError, match=rf"unexpected label values {{2035: 20, {2**63 + 5}: 1}}"):
        read_label(path)
    read = read_label(path, stands_for=ValueMap({1: 1, 2035: 2, 2**63 + 5: 0}))
    assert np.array_equal(read.array, draw())
    alone = np.where(draw() == 1, np.uint64(2**63 + 5), np.uint64(2**63 + 6))
    path = save(tmp_path / "alone.nii.gz", alone)
    assert count_label_values(path) == {2**63 + 5: 60, 2**63 + 6: 420}


def test_a_negative_value_is_named_in_a_label_map(tmp_path: Path) -> None:
    for folder in ("p", "r"):
        stored = draw()
        stored[0, 0, 0] = -1
        save(tmp_path / folder / "e.nii.gz", stored)
    with pytest.raises(IngestError, match=r"\{-1: 1\}"):
        look(ready(tmp_path, structures=LABELS))
    rule = {"a": ["1"], "b": ["2"], "background": ["-1"]}
    found = look(ready(tmp_path, structures=LABELS, label_map=rule, reference={"label_map": rule}))
    assert found.structures == LABELS


def save_parts(folder: Path, exam: str, label: np.ndarray, names: dict[str, int]) -> None:
    for name, value in names.items():
        save(folder / exam / f"{name}.nii.gz", (label == value).astype(np.uint8))


PARTS = {"pattern": "{exam}/{structure}"}
BOTH: Side = ("m", "expert")


def test_masks_of_one_structure_each_are_one_label_map(tmp_path: Path) -> None:
    for exam in ("s1", "s2"):
        save_parts(tmp_path / "p", exam, draw(), {**LABELS, "c": 3})
        save_parts(tmp_path / "r", exam, draw(), LABELS)
    found = look(ready(tmp_path, **PARTS, reference=PARTS))
    assert found.structures == LABELS
    assert found.naming == (
        "2 structures, named after their files: a, b; in one folder alone, and not scored: c"
    )
    one = found.judges[BOTH]
    pair = read_pair(one.predictions["s1"], one.references["s1"], (1, 2), one.predicted, one.drawn)
    for volume in pair:
        assert np.array_equal(volume.array, draw())


def test_masks_are_held_against_a_label_map_once_their_values_are_named(tmp_path: Path) -> None:
    save_parts(tmp_path / "p", "s1", draw(), {"left": 1, "right": 2})
    stored = np.where(draw() == 1, 17, np.where(draw() == 2, 530, 0)).astype(np.int16)
    save(tmp_path / "r" / "s1.nii.gz", stored)
    with pytest.raises(ValueError, match="other folders hold label maps"):
        look(ready(tmp_path, **PARTS))
    found = look(ready(tmp_path, **PARTS, structures={"left": 17, "right": 530}))
    one = found.judges[BOTH]
    judged, judge = read_pair(
        one.predictions["s1"], one.references["s1"], (1, 2), one.predicted, one.drawn
    )
    assert np.array_equal(judged.array, draw())
    assert np.array_equal(judge.array, draw())


def test_an_absent_mask_and_masks_that_overlap_are_named(tmp_path: Path) -> None:
    for folder in ("p", "r"):
        for exam in ("s1", "s2"):
            save_parts(tmp_path / folder, exam, draw(), LABELS)
    (tmp_path / "p" / "s2" / "b.nii.gz").unlink()
    save(tmp_path / "p" / "s1" / "b.nii.gz", (draw() > 0).astype(np.uint8))
    with pytest.raises(IngestError) as caught:
        look(ready(tmp_path, **PARTS, reference=PARTS))
    for words in ("s2 has no mask b", "b and a share 60 voxels"):
        assert words in str(caught.value)


def test_a_probability_map_needs_a_stated_threshold(tmp_path: Path) -> None:
    drawn = (draw() == 1).astype(np.uint8)
    likely = np.where(drawn, 0.5, 0.25).astype(np.float32)
    save(tmp_path / "p" / "e.nii.gz", likely)
    save(tmp_path / "r" / "e.nii.gz", drawn)
    with pytest.raises(IngestError, match=r"if these are probabilities .* threshold: 0\.5"):
        look(ready(tmp_path, structures={"a": 1}))
    found = look(ready(tmp_path, structures={"a": 1}, threshold=0.5))
    one = found.judges[BOTH]
    judged, judge = read_pair(
        one.predictions["e"], one.references["e"], (1,), one.predicted, one.drawn
    )
    assert np.array_equal(judged.array, judge.array)
    with pytest.raises(ValueError, match="a threshold is stated for"):
        look(ready(tmp_path, structures=LABELS, threshold=0.5))
    save(tmp_path / "p" / "e.nii.gz", likely * 100)
    with pytest.raises(IngestError, match="found values from 25 to 50"):
        look(ready(tmp_path, structures={"a": 1}, threshold=0.5))


def test_label_maps_lie_in_a_folder_an_exam(tmp_path: Path) -> None:
    for exam in ("s1", "s2"):
        save(tmp_path / "p" / exam / f"{exam}_seg.nii.gz", draw())
        save(tmp_path / "p" / exam / f"{exam}_t1.nii.gz", draw())
        save(tmp_path / "r" / f"{exam}.nii.gz", draw())
    found = look(ready(tmp_path, pattern="{exam}/{exam}_seg", structures=LABELS))
    assert list(found.judges[BOTH].predictions) == ["s1", "s2"]
    for pattern in ("{structure}/{exam}", "x/{structure}", "{exam}/{structure}{structure}"):
        with pytest.raises(ValueError, match="pattern"):
            look(ready(tmp_path, pattern=pattern, structures=LABELS))


def test_what_a_message_of_values_shows_maps_them(tmp_path: Path) -> None:
    for folder in ("p", "r"):
        save(
            tmp_path / folder / "e.nii.gz", np.where(np.arange(6) == 0, -1, draw()).astype(np.int16)
        )
    references = {"expert": Reference(str(tmp_path / "r"), "gold")}
    given = Predictions("m", folder=str(tmp_path / "p"), references=references, structures=LABELS)
    with pytest.raises(IngestError) as caught:
        prepare(given, Attributes("none", resampling_unit="exam"), 1)
    assert "label_map={a: [1], b: [2], background: [-1]} (predictions.label_map" in str(
        caught.value
    )
    given.label_map = {"a": ["1"], "b": ["2"], "background": ["-1"]}
    references["expert"].label_map = given.label_map
    assert prepare(given, Attributes("none", resampling_unit="exam"), 1).structures == LABELS


def test_what_is_no_number_or_cut_off_is_called_so(tmp_path: Path) -> None:
    broken = draw().astype(np.float32)
    broken[0, 0, 0] = np.nan
    with pytest.raises(ImageError, match="no numbers among them"):
        read_label(save(tmp_path / "nan.nii.gz", broken))
    path = save(tmp_path / "cut.nii.gz", draw())
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(ImageError, match="ends early or is damaged"):
        read_label(path)
