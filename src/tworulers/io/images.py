"""NIfTI volumes with their geometry: read strictly, written atomically."""

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import nibabel as nib
import numpy as np
import numpy.typing as npt
from nibabel.filebasedimages import ImageFileError

from tworulers.io.records import written_beside

INTEGER_TOLERANCE = 1e-3
"""How far a stored label may lie from an integer and still be that integer (rounding of float files)."""


class ImageError(ValueError):
    """An image cannot be used; the message names the file and the reason.

    `kind` is `missing`, `unreadable`, `misnamed`, `volumes` or `values`; `found` holds what was counted.
    """

    def __init__(
        self, message: str, kind: str = "unreadable", found: dict[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.found = found or {}

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.kind, self.found)


@dataclass(frozen=True)
class Header:
    """Where an image lies and how large it is, without its voxels.

    `shape` and `spacing` (mm, column lengths of the affine in force) are in array-axis order.
    """

    path: Path
    shape: tuple[int, ...]
    affine: npt.NDArray[np.float64]
    dtype: np.dtype[np.generic]

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
    """Voxels of one type with their geometry, in the file's own axis order."""

    array: npt.NDArray[Voxel]
    affine: npt.NDArray[np.float64]
    path: Path

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

    Raises
    ------
    ImageError : the file is missing, empty, not NIfTI, or holds several volumes.
    """
    image = _open(path)
    return Header(
        path, _three_axes(image, path), np.asarray(image.affine, float), image.get_data_dtype()
    )


def read_image(path: Path) -> ImageVolume:
    """Read an intensity image as float32, scaled as its header says.

    Raises
    ------
    ImageError : the file cannot be read whole, or holds several volumes.
    """
    image = _open(path)
    shape = _three_axes(image, path)
    return Volume(
        _voxels(image, path).reshape(shape).astype(np.float32),
        np.asarray(image.affine, float),
        path,
    )


def read_label(path: Path, labels: Iterable[int] | None = None) -> LabelVolume:
    """Read a label map as uint8 integers.

    Parameters
    ----------
    path : a NIfTI file; values within a thousandth of an integer are that integer.
    labels : the values that may occur (0 always may); any small integer where not given.

    Raises
    ------
    ImageError : unreadable, fractional values (with their number and an example), or unexpected values (with counts).
    """
    image = _open(path)
    shape = _three_axes(image, path)
    stored = _voxels(image, path).reshape(shape)
    if np.issubdtype(stored.dtype, np.floating):
        rounded = np.rint(stored)
        fractional = np.abs(stored - rounded) > INTEGER_TOLERANCE
        fractional |= ~np.isfinite(stored)
        if fractional.any():
            raise ImageError(
                f"{path}: {int(fractional.sum())} label voxels are not integers (for example "
                f"{stored[fractional][0]:.4g}); interpolated labels cannot be scored. Export the label again without "
                f"interpolation",
                "values",
                {"fractional": int(fractional.sum()), "example": float(stored[fractional][0])},
            )
        stored = rounded
    values, counts = np.unique(stored, return_counts=True)
    allowed = {0, *labels} if labels is not None else set(range(256))
    unexpected = {
        int(v): int(n) for v, n in zip(values, counts, strict=True) if int(v) not in allowed
    }
    if unexpected:
        raise ImageError(
            f"{path}: unexpected label values {unexpected} (value: voxels); expected {sorted(allowed)[:20]}. "
            f"Map them to the structures of the dataset, or correct the file",
            "values",
            {"unexpected": unexpected},
        )
    return Volume(stored.astype(np.uint8), np.asarray(image.affine, float), path)


def write_label(
    path: Path, array: npt.NDArray[np.generic], affine: npt.NDArray[np.float64]
) -> None:
    """Write a label map as unscaled uint8 NIfTI, beside and renamed into place."""
    _write(path, array.astype(np.uint8), affine)


def write_image(
    path: Path, array: npt.NDArray[np.generic], affine: npt.NDArray[np.float64]
) -> None:
    """Write an intensity image in its own dtype, beside and renamed into place."""
    _write(path, array, affine)


def same_grid(
    first: Header | Volume[np.generic],
    second: Header | Volume[np.generic],
    tolerance_mm: float = 1e-2,
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


def _open(path: Path) -> nib.Nifti1Image:
    if not path.is_file():
        raise ImageError(f"{path} does not exist", "missing")
    if path.stat().st_size == 0:
        raise ImageError(f"{path} is empty (0 bytes); copy it again")
    if path.name.endswith(".gz") and path.open("rb").read(2) != b"\x1f\x8b":
        raise ImageError(
            f"{path} is called .gz but is not compressed; rename it to {path.name[:-3]}", "misnamed"
        )
    try:
        return nib.load(path)
    except (ImageFileError, OSError, EOFError) as error:
        raise ImageError(f"{path} cannot be read as NIfTI: {error}") from error


def _three_axes(image: nib.Nifti1Image, path: Path) -> tuple[int, ...]:
    shape = tuple(int(size) for size in image.shape)
    if len(shape) > 3 and any(size != 1 for size in shape[3:]):
        volumes = int(np.prod(shape[3:]))
        raise ImageError(
            f"{path} holds {volumes} volumes (shape {shape}); one file a channel is expected",
            "volumes",
            {"volumes": volumes},
        )
    return (*shape, 1, 1, 1)[:3]


def _voxels(image: nib.Nifti1Image, path: Path) -> npt.NDArray[np.generic]:
    try:
        return np.asanyarray(image.dataobj)
    except (OSError, EOFError, ValueError, gzip.BadGzipFile) as error:
        raise ImageError(f"{path} ends early or is damaged ({error}); copy it again") from error


def _write(path: Path, array: npt.NDArray[np.generic], affine: npt.NDArray[np.float64]) -> None:
    image = nib.Nifti1Image(array, affine)
    image.header.set_xyzt_units("mm")
    with written_beside(path) as temporary:
        if path.name.endswith(".gz"):
            with gzip.open(temporary, "wb", compresslevel=1) as stream:
                stream.write(image.to_bytes())
        else:
            temporary.write_bytes(image.to_bytes())
