"""Maps beside label maps: scaled back by their headers, on the image's grid, and made again where one is damaged."""

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from tworulers.io.images import Header, read_image
from tworulers.training.maps import Maps

SHAPE = (3, 4, 5)
AFFINE = np.array([[0, -1.25, 0, 9], [0, 0, 1.5, -4], [-3.0, 0, 0, 2], [0, 0, 0, 1.0]])
MAPS = Maps(("probability", "uncertainty"), {"C2/C3": 2, "disc": 1})


def draw(seed: int = 0) -> np.ndarray:
    """Probabilities (class, z, y, x); certain, and least certain, at one voxel each."""
    drawn = np.random.default_rng(seed).dirichlet([0.3, 0.2, 0.1], SHAPE[::-1])
    drawn[0, 0, 0], drawn[1, 0, 0] = (0, 1, 0), 1 / 3
    return np.moveaxis(drawn, -1, 0).astype(np.float32)


@pytest.mark.parametrize("placed", [True, False])
def test_maps_come_back_within_half_a_step(tmp_path: Path, placed: bool) -> None:
    probabilities = draw()
    affine = AFFINE if placed else np.diag([3.0, 1.25, 1.5, 1])
    header = Header(tmp_path / "image.nii.gz", SHAPE, affine, np.dtype("int16"), placed)
    MAPS.write(tmp_path, "a", probabilities, header)
    second, first, uncertain = MAPS.list_files(tmp_path, "a")
    assert first == tmp_path / "probability" / "disc" / "a.nii.gz"
    assert second.parent.name.startswith("C2_C3~")
    assert uncertain == tmp_path / "uncertainty" / "a.nii.gz"
    for path, expected in ((first, probabilities[1]), (second, probabilities[2])):
        volume = read_image(path)
        np.testing.assert_allclose(volume.array, expected.T, atol=0.5 / 255 + 1e-6)
        assert volume.placed == placed
        np.testing.assert_allclose(volume.spacing, (3, 1.25, 1.5))
        assert nib.load(path).get_data_dtype() == np.uint8
    entropy = read_image(uncertain).array
    p = probabilities.astype(float)
    exact = -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=0).T
    np.testing.assert_allclose(entropy, exact, atol=0.5 * np.log(3) / 255 + 1e-6)
    assert entropy[0, 0, 0] == 0
    np.testing.assert_allclose(entropy[0, 0, 1], np.log(3), rtol=1e-6)


def test_equal_maps_are_equal_files(tmp_path: Path) -> None:
    header = Header(tmp_path / "image.nii.gz", SHAPE, AFFINE, np.dtype("int16"))
    for place in ("one", "two"):
        MAPS.write(tmp_path / place, "a", draw(), header)
    files = [MAPS.list_files(tmp_path / place, "a") for place in ("one", "two")]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]


def test_a_map_that_lacks_or_is_damaged_is_seen(tmp_path: Path) -> None:
    header = Header(tmp_path / "image.nii.gz", SHAPE, AFFINE, np.dtype("int16"))
    assert Maps().are_whole(tmp_path, "a"), "none are asked"
    assert not MAPS.are_whole(tmp_path, "a")
    MAPS.write(tmp_path, "a", draw(), header)
    assert MAPS.are_whole(tmp_path, "a")
    last = MAPS.list_files(tmp_path, "a")[-1]
    last.write_bytes(last.read_bytes()[:-20])
    assert not MAPS.are_whole(tmp_path, "a")
    assert not list(tmp_path.rglob(".*"))
