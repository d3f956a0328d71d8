"""Volumes with their geometry: read strictly, written atomically as NIfTI."""

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import nibabel as nib
import numpy as np
import numpy.typing as npt

from tworulers.io.image_error import ImageError as ImageError
from tworulers.io.image_files import open_image, read_voxels
from tworulers.io.image_names import list_parts
from tworulers.schema.atomic import written_beside


@dataclass(frozen=True)
class Header:
    """Where an image lies and how large it is, without its voxels.

    `shape` and `spacing` (mm, column lengths of the affine in force) are in array-axis order. Where the header holds no
    position (sform and qform codes are 0) `placed` is false, and the affine says nothing but the spacing. `second` is
    the affine that the header holds beside the one in force, if any.
    """

    path: Path
    shape: tuple[int, ...]
    affine: npt.NDArray[np.float64]
    dtype: np.dtype[np.generic]
    placed: bool = True
    second: npt.NDArray[np.float64] | None = None

    @property
    def spacing(self) -> tuple[float, ...]:
        """Voxel size in mm, in array-axis order."""
        return tuple(float(size) for size in np.linalg.norm(self.affine[:3, :3], axis=0))

    @property
    def shear(self) -> float:
        """Largest absolute cosine between two array axes: 0 for orthogonal axes."""
        axes = self.affine[:3, :3] / np.linalg.norm(self.affine[:3, :3], axis=0)
        return float(np.abs(axes.T @ axes - np.eye(3)).max())


Voxel = TypeVar("Voxel", bound=np.generic, covariant=True)


@dataclass(frozen=True)
class Volume(Generic[Voxel]):
    """Voxels of one type with their geometry, in the file's own axis order; `placed` as of `Header`."""

    array: npt.NDArray[Voxel]
    affine: npt.NDArray[np.float64]
    path: Path
    placed: bool = True

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Voxel size in mm, in array-axis order."""
        first, second, third = np.linalg.norm(self.affine[:3, :3], axis=0)
        return float(first), float(second), float(third)

    @property
    def voxel_mm3(self) -> float:
        """Volume of one voxel; the determinant holds for sheared axes too."""
        return float(abs(np.linalg.det(self.affine[:3, :3])))


ImageVolume = Volume[np.float32]
LabelVolume = Volume[np.uint8]


def read_header(path: Path) -> Header:
    """Read where an image lies, without its voxels; a trailing axis of length one is dropped.

    Of a folder that holds one file a structure the first file is read.

    Raises
    ------
    ImageError : the file is missing, empty, of another format, or holds several volumes or colours.
    """
    stored = open_image(next(iter(list_parts(path).values()), path) if path.is_dir() else path)
    return Header(path, stored.shape, stored.affine, stored.dtype, stored.placed, stored.second)


def read_image(path: Path) -> ImageVolume:
    """Read an intensity image as float32, scaled as its header says.

    Raises
    ------
    ImageError : the file cannot be read whole, or holds several volumes.
    """
    stored = open_image(path)
    voxels = read_voxels(stored, 4).astype(np.float32)
    return Volume(voxels, stored.affine, path, stored.placed)


def write_label(
    path: Path,
    array: npt.NDArray[np.generic],
    affine: npt.NDArray[np.float64],
    placed: bool = True,
) -> None:
    """Write a label map as unscaled uint8 NIfTI, beside and renamed into place.

    Where `placed` is false the header holds the spacing alone, as that of the image it belongs to.
    """
    _write(path, array.astype(np.uint8), affine, placed)


def write_image(
    path: Path, array: npt.NDArray[np.generic], affine: npt.NDArray[np.float64]
) -> None:
    """Write an intensity image in its own dtype, beside and renamed into place."""
    _write(path, array, affine)


MAP_STEPS = 255
"""Into how many steps a map is divided, from 0 to the most that it can hold."""


def write_map(
    path: Path,
    array: npt.NDArray[np.floating],
    most: float,
    affine: npt.NDArray[np.float64],
    placed: bool = True,
) -> None:
    """Write numbers between 0 and `most` in 255 steps, as uint8 NIfTI whose header scales them back.

    `placed` is as of `write_label`; what is read back is at most half a step away.
    """
    steps = np.rint(np.clip(array, 0, most) * (MAP_STEPS / most)).astype(np.uint8)
    _write(path, steps, affine, placed, most / MAP_STEPS)


SAME_PLACE_MM = 1e-2
"""Voxels that lie closer than this along every axis lie at one place."""


def same_grid(
    first: Header | Volume[np.generic],
    second: Header | Volume[np.generic],
    tolerance_mm: float = SAME_PLACE_MM,
) -> bool:
    """Tell whether two images have one shape and put every voxel at one place, within the tolerance."""
    shapes = [
        image.shape if isinstance(image, Header) else image.array.shape for image in (first, second)
    ]
    if shapes[0] != shapes[1]:
        return False
    corners = np.array(np.meshgrid(*[(0, size - 1) for size in shapes[0]], indexing="ij")).reshape(
        3, -1
    )
    homogeneous = np.vstack([corners, np.ones(corners.shape[1])])
    return bool(np.abs((first.affine - second.affine) @ homogeneous).max() <= tolerance_mm)


def _write(
    path: Path,
    array: npt.NDArray[np.generic],
    affine: npt.NDArray[np.float64],
    placed: bool = True,
    slope: float | None = None,
) -> None:
    image = nib.Nifti1Image(array, affine if placed else None)
    if slope is not None:
        image.header.set_slope_inter(slope, 0)
    if not placed:
        image.header.set_zooms(np.linalg.norm(affine[:3, :3], axis=0))
    image.header.set_xyzt_units("mm")
    with written_beside(path) as temporary:
        if path.name.endswith(".gz"):
            # Without name and time in its header, so that equal images are equal files.
            with (
                temporary.open("wb") as file,
                gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) as stream,
            ):
                stream.write(image.to_bytes())
        else:
            temporary.write_bytes(image.to_bytes())
