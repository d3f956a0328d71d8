"""NIfTI volumes with their geometry: read strictly, written atomically."""

import gzip
import math
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import EllipsisType
from typing import Generic, TypeVar

import nibabel as nib
import numpy as np
import numpy.typing as npt
from nibabel.filebasedimages import ImageFileError
from nibabel.spatialimages import HeaderDataError

from tworulers.io.label_values import ValueMap
from tworulers.io.memory import available_bytes
from tworulers.io.records import written_beside

INTEGER_TOLERANCE = 1e-3
"""How far a stored label may lie from an integer and still be that integer (rounding of float files)."""

MAX_VOXELS = 2**30
"""Most voxels of an image; the variable TWORULERS_MAX_VOXELS sets another limit."""

LARGEST_LABEL = 2**31
"""Larger numbers are no labels, but what a damaged header makes of them."""

MAX_VALUES = 2**16
"""Most different values of a label map; an image of intensities has more."""

SHOWN = 10

_DAMAGE = (
    ImageFileError,
    HeaderDataError,
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    zlib.error,
)
"""What reading a damaged file raises."""

_SLAB = 2**20
"""Voxels that are looked at at once where a copy of all of them would be large."""


class ImageError(ValueError):
    """An image cannot be used; the message names the file and the reason.

    `kind` is `missing`, `unreadable`, `misnamed`, `volumes`, `size` or `values`; `found` holds what was counted.
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

    `shape` and `spacing` (mm, column lengths of the affine in force) are in array-axis order. Where the header holds no
    position (sform and qform codes are 0) `placed` is false, and the affine says nothing but the spacing.
    """

    path: Path
    shape: tuple[int, ...]
    affine: npt.NDArray[np.float64]
    dtype: np.dtype[np.generic]
    placed: bool = True

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

    Raises
    ------
    ImageError : the file is missing, empty, not NIfTI, or holds several volumes.
    """
    image = _open(path)
    return Header(
        path,
        _three_axes(image, path),
        np.asarray(image.affine, float),
        image.get_data_dtype(),
        _is_placed(image),
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
        _voxels(image, path, 4).reshape(shape).astype(np.float32),
        np.asarray(image.affine, float),
        path,
        _is_placed(image),
    )


def read_label(
    path: Path, labels: Iterable[int] | None = None, stands_for: ValueMap | None = None
) -> LabelVolume:
    """Read a label map as uint8 integers.

    Parameters
    ----------
    path : a NIfTI file; values within a thousandth of an integer are that integer.
    labels : the values that may occur (0 always may); any small integer where not given.
    stands_for : what stored values are replaced by, in place of `labels`; they may be of any size.

    Raises
    ------
    ImageError : unreadable, fractional values (with their number and an example), or unexpected values (with counts).
    """
    image = _open(path)
    shape = _three_axes(image, path)
    stored = _voxels(image, path, 1).reshape(shape)
    meaning = stands_for or ValueMap.of_own(range(256) if labels is None else labels)
    array = np.empty(shape, np.uint8, order="F")
    found: Counter[int] = Counter()
    for slab, part in _whole_parts(stored, path):
        found.update(_count_values(part))
        if len(found) > MAX_VALUES:
            raise ImageError(
                f"{path}: more than {MAX_VALUES:,} different values; expected a label map. Is this the image?",
                "values",
            )
        array[slab] = meaning.apply(part)
    unexpected = {value: found[value] for value in sorted(found) if not meaning.knows(value)}
    if unexpected:
        first = dict(list(unexpected.items())[:SHOWN])
        more = f" and {len(unexpected) - SHOWN} more values" if len(unexpected) > SHOWN else ""
        raise ImageError(
            f"{path}: unexpected label values {first}{more} (value: voxels); expected {sorted(meaning.named)[:20]}. "
            f"Map them to the structures of the dataset, or correct the file",
            "values",
            {"unexpected": unexpected, "values": dict(sorted(found.items()))},
        )
    return Volume(array, np.asarray(image.affine, float), path, _is_placed(image))


def count_label_values(path: Path) -> dict[int, int]:
    """Count the voxels of each value of a label map, whatever its values.

    Raises
    ------
    ImageError : unreadable, or fractional values.
    """
    image = _open(path)
    stored = _voxels(image, path, 0).reshape(_three_axes(image, path))
    found: Counter[int] = Counter()
    for _, part in _whole_parts(stored, path):
        found.update(_count_values(part))
    return dict(sorted(found.items()))


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
    except _DAMAGE as error:
        raise ImageError(f"{path} cannot be read as NIfTI: {error}") from error


def _three_axes(image: nib.Nifti1Image, path: Path) -> tuple[int, ...]:
    shape = tuple(int(size) for size in image.shape)
    if not shape or min(shape) < 1:
        raise ImageError(f"{path} has no voxels by its header (shape {shape}); copy it again")
    if len(shape) > 3 and any(size != 1 for size in shape[3:]):
        volumes = int(np.prod(shape[3:]))
        raise ImageError(
            f"{path} holds {volumes} volumes (shape {shape}); one file a channel is expected",
            "volumes",
            {"volumes": volumes},
        )
    return (*shape, 1, 1, 1)[:3]


def _voxels(image: nib.Nifti1Image, path: Path, bytes_made: int) -> npt.NDArray[np.generic]:
    """Read the voxels of an image that is small enough for them and for what is made of them.

    Parameters
    ----------
    bytes_made : bytes a voxel of the array that the caller makes.
    """
    _refuse_large(image, path, bytes_made)
    try:
        return np.asanyarray(image.dataobj)
    except MemoryError as error:
        raise ImageError(f"{path}: memory ran out while it was read ({error})", "size") from error
    except _DAMAGE as error:
        raise ImageError(f"{path} ends early or is damaged ({error}); copy it again") from error


def _refuse_large(image: nib.Nifti1Image, path: Path, bytes_made: int) -> None:
    """Judge by the header alone whether an image is too large."""
    voxels = math.prod(int(size) for size in image.shape)
    most = int(os.environ.get("TWORULERS_MAX_VOXELS", MAX_VOXELS))
    if voxels > most:
        raise ImageError(
            f"{path} has {voxels:,} voxels by its header (shape {tuple(image.shape)}); at most {most:,} are read. Is "
            f"the header damaged? If it is right, set TWORULERS_MAX_VOXELS",
            "size",
            {"voxels": voxels},
        )
    slope, intercept = image.dataobj.slope, image.dataobj.inter
    scaled = (slope, intercept) != (1.0, 0.0)
    needed = voxels * ((8 if scaled else image.get_data_dtype().itemsize) + bytes_made)
    available = available_bytes()
    if available is not None and needed > available:
        raise ImageError(
            f"{path} needs {needed / 2**20:,.0f} MB to be read (shape {tuple(image.shape)}); "
            f"{max(available, 0) / 2**20:,.0f} MB are available. Free memory, or give fewer processes",
            "size",
            {"bytes": needed},
        )


def _whole_parts(
    stored: npt.NDArray[np.generic], path: Path
) -> Iterator[tuple[tuple[EllipsisType, slice], npt.NDArray[np.generic]]]:
    """Give the parts of a label map, their values rounded to the whole numbers they are; refuse others at the end."""
    fractional, example = 0, 0.0
    for slab in _slabs(stored.shape):
        part = stored[slab]
        if np.issubdtype(part.dtype, np.floating):
            rounded = np.rint(part)
            wrong = ~(np.abs(part - rounded) <= INTEGER_TOLERANCE)
            wrong |= ~(np.abs(part) < LARGEST_LABEL)
            if wrong.any():
                example = example if fractional else float(part[wrong][0])
                fractional += int(wrong.sum())
                continue
            part = rounded
        yield slab, part
    if fractional:
        raise ImageError(
            f"{path}: {fractional} label voxels are not integers (for example {example:.4g}); interpolated labels "
            f"cannot be scored. Export the label again without interpolation",
            "values",
            {"fractional": fractional, "example": example},
        )


def _count_values(part: npt.NDArray[np.generic]) -> dict[int, int]:
    """Return the whole-number values of some voxels, each with its number."""
    if part.dtype == np.uint8:
        counts = np.bincount(part.ravel(order="K"), minlength=256)
        return {int(value): int(counts[value]) for value in np.flatnonzero(counts)}
    values, counts = np.unique(part, return_counts=True)
    return {int(value): int(n) for value, n in zip(values, counts, strict=True)}


def _slabs(shape: tuple[int, ...]) -> Iterator[tuple[EllipsisType, slice]]:
    """Cut an image across its last axis into parts that lie together in memory."""
    step = max(1, _SLAB // max(1, math.prod(shape[:-1])))
    for start in range(0, shape[-1], step):
        yield ..., slice(start, start + step)


def _is_placed(image: nib.Nifti1Image) -> bool:
    """Tell whether a header holds a position: what a reader gives in its place is made up."""
    return any(int(image.header[code]) > 0 for code in ("sform_code", "qform_code"))


def _write(
    path: Path,
    array: npt.NDArray[np.generic],
    affine: npt.NDArray[np.float64],
    placed: bool = True,
) -> None:
    image = nib.Nifti1Image(array, affine if placed else None)
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
