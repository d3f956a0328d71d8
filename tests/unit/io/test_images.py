"""Images are read strictly and written whole: the faults that other tools swallow."""

import gzip
from contextlib import suppress
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tworulers.io.images import (
    ImageError,
    read_header,
    read_image,
    same_grid,
    write_image,
    write_label,
)
from tworulers.io.label_maps import read_label
from tworulers.io.memory import available_bytes

AFFINE = np.diag([0.5, 0.5, 4.0, 1.0])


def save(path: Path, array: np.ndarray, affine: np.ndarray = AFFINE) -> Path:
    nib.save(nib.Nifti1Image(array, affine), path)
    return path


def test_a_label_map_comes_back_with_its_geometry_as_unscaled_uint8(tmp_path: Path) -> None:
    labels = np.arange(24, dtype=np.int64).reshape(2, 3, 4) % 3
    write_label(tmp_path / "a.nii.gz", labels, AFFINE)
    back = read_label(tmp_path / "a.nii.gz", [1, 2])
    stored = nib.load(tmp_path / "a.nii.gz")
    assert np.array_equal(back.array, labels)
    assert back.spacing == (0.5, 0.5, 4.0)
    assert back.voxel_mm3 == pytest.approx(1.0)
    assert stored.get_data_dtype() == np.uint8
    assert [p.name for p in tmp_path.iterdir()] == ["a.nii.gz"]


def test_float_rounding_is_forgiven_and_interpolation_is_not(tmp_path: Path) -> None:
    rounded = np.zeros((2, 2, 2), np.float32)
    rounded[0] = 1.9999999
    assert set(np.unique(read_label(save(tmp_path / "a.nii", rounded)).array)) == {0, 2}
    rounded[0, 0, 0] = 1.37
    with pytest.raises(ImageError, match=r"b\.nii: 1 label voxels are not integers.*1\.37"):
        read_label(save(tmp_path / "b.nii", rounded))


def test_unexpected_values_are_named_with_their_voxels(tmp_path: Path) -> None:
    mask = np.zeros((2, 2, 2), np.uint8)
    mask[0] = 255
    with pytest.raises(ImageError, match=r"\{255: 4\}.*expected \[0, 1, 2\]"):
        read_label(save(tmp_path / "a.nii.gz", mask), [1, 2])


def test_scaled_labels_are_read_scaled(tmp_path: Path) -> None:
    image = nib.Nifti1Image(np.array([[[0, 2, 4]]], np.int16), AFFINE)
    image.header.set_slope_inter(0.5, 0)
    nib.save(image, tmp_path / "a.nii.gz")
    assert read_label(tmp_path / "a.nii.gz").array.ravel().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.nii.gz", b"", "0 bytes"),
        ("a.nii.gz", b"not compressed at all", "not compressed"),
        ("a.nii.gz", gzip.compress(b"x" * 500, mtime=0), "cannot be read as NIfTI"),
    ],
    ids=["empty", "misnamed", "another format"],
)
def test_an_unreadable_file_is_one_error_that_names_it(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ImageError, match=reason) as caught:
        read_image(tmp_path / name)
    assert name in str(caught.value)


def test_a_truncated_download_is_damaged_not_partial(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 9999, (8, 10, 6)).astype(np.int16)
    whole = gzip.compress(nib.Nifti1Image(noise, AFFINE).to_bytes())
    (tmp_path / "a.nii.gz").write_bytes(whole[: int(len(whole) * 0.6)])
    with pytest.raises(ImageError, match=r"a\.nii\.gz"):
        read_image(tmp_path / "a.nii.gz")


def test_one_volume_in_four_dimensions_is_three_and_two_are_refused(tmp_path: Path) -> None:
    one = save(tmp_path / "one.nii.gz", np.zeros((8, 10, 6, 1), np.uint8))
    assert read_header(one).shape == (8, 10, 6)
    assert read_header(one).spacing == (0.5, 0.5, 4.0)
    with pytest.raises(ImageError, match="holds 2 volumes"):
        read_image(save(tmp_path / "two.nii.gz", np.zeros((8, 10, 6, 2), np.uint8)))


def test_a_shifted_origin_is_another_grid_and_shear_is_seen(tmp_path: Path) -> None:
    shifted = AFFINE.copy()
    shifted[0, 3] = 40
    sheared = AFFINE.copy()
    sheared[0, 1] = 0.05
    array = np.zeros((3, 3, 3), np.int16)
    write_image(tmp_path / "a.nii.gz", array, AFFINE)
    first = read_header(tmp_path / "a.nii.gz")
    assert same_grid(first, read_image(tmp_path / "a.nii.gz"))
    assert not same_grid(first, read_header(save(tmp_path / "b.nii.gz", array, shifted)))
    assert first.shear == pytest.approx(0)
    assert read_header(save(tmp_path / "c.nii.gz", array, sheared)).shear == pytest.approx(
        0.099504, abs=1e-6
    )


@pytest.mark.parametrize(
    ("limit", "words"),
    [("63", r"a\.nii\.gz has 64 voxels by its header .*TWORULERS_MAX_VOXELS"), ("64", None)],
)
def test_voxels_are_counted_before_they_are_read(tmp_path, monkeypatch, limit, words) -> None:
    monkeypatch.setenv("TWORULERS_MAX_VOXELS", limit)
    path = save(tmp_path / "a.nii.gz", np.zeros((4, 4, 4), np.uint8))
    for read in (read_image, read_label):
        if words is None:
            assert read(path).array.size == 64
            continue
        with pytest.raises(ImageError, match=words) as caught:
            read(path)
        assert caught.value.kind == "size"


def test_what_does_not_fit_into_memory_is_refused_by_the_header(tmp_path, monkeypatch) -> None:
    path = save(tmp_path / "a.nii.gz", np.zeros((64, 64, 64), np.int16))
    monkeypatch.setattr("tworulers.io.image_files.available_bytes", lambda: 64**3 * 3 - 1)
    with pytest.raises(ImageError, match=r"a\.nii\.gz needs 1 MB to be read .* 1 MB are available"):
        read_label(path)
    monkeypatch.setattr("tworulers.io.image_files.available_bytes", lambda: 64**3 * 3)
    assert read_label(path).array.size == 64**3
    assert available_bytes() is None or available_bytes() > 0


def test_an_image_of_intensities_is_no_label_map(tmp_path: Path) -> None:
    few = save(tmp_path / "few.nii", np.arange(1000, dtype=np.int16).reshape(10, 10, 10))
    with pytest.raises(ImageError, match=r"11: 1\} and 988 more values"):
        read_label(few, [1])
    many = save(tmp_path / "many.nii", np.arange(50**3, dtype=np.int32).reshape(50, 50, 50))
    with pytest.raises(ImageError, match=r"more than 65,536 different values.* Is this the image"):
        read_label(many, [1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(
    st.sampled_from([nib.Nifti1Image, nib.Nifti2Image]),
    st.lists(st.tuples(st.integers(0, 560), st.integers(0, 255)), min_size=1, max_size=8),
    st.integers(0, 700),
)
def test_a_damaged_header_is_an_error_of_the_file(tmp_path_factory, kind, changes, length) -> None:
    path = tmp_path_factory.mktemp("damaged") / "a.nii"
    nib.save(kind(np.ones((3, 4, 5), np.int16), AFFINE), path)
    content = bytearray(path.read_bytes())
    for place, value in changes:
        content[min(place, len(content) - 1)] = value
    path.write_bytes(bytes(content[:length] if length else content))
    for read in (read_header, read_label, read_image):
        with suppress(ImageError):
            read(path)
