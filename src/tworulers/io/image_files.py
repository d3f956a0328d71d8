"""What an image file says of itself, and its voxels as they are stored, whatever its format."""

import gzip
import math
import os
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import numpy.typing as npt
from nibabel.filebasedimages import ImageFileError
from nibabel.spatialimages import HeaderDataError

from tworulers.io.image_error import ImageError
from tworulers.io.image_names import name_format
from tworulers.io.itk_files import ITK, open_itk
from tworulers.io.memory import available_bytes
from tworulers.io.stored import Stored

MAX_VOXELS = 2**30
"""Most voxels of an image; the variable TWORULERS_MAX_VOXELS sets another limit."""

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


def open_image(path: Path) -> Stored:
    """Read the header of an image by the format that its name says; a trailing axis of length one is dropped.

    Raises
    ------
    ImageError : the file is missing, empty, of another format, holds several volumes, or no single numbers.
    """
    if not path.is_file():
        link = (
            f": it is a link to {path.readlink()}, which is not there" if path.is_symlink() else ""
        )
        raise ImageError(f"{path} does not exist{link}", "missing")
    if path.stat().st_size == 0:
        raise ImageError(f"{path} is empty (0 bytes); copy it again")
    stored = open_itk(path) if path.name.casefold().endswith(ITK) else _open_nibabel(path)
    if stored.dtype.names or stored.dtype.kind not in "iufb":
        what = "colours (RGB)" if stored.dtype.names else f"values of type {stored.dtype}"
        raise ImageError(
            f"{path} holds {what}; one whole number a voxel is expected. Export the label map, not its picture",
            "values",
        )
    return stored


def read_voxels(stored: Stored, bytes_made: int) -> npt.NDArray[np.generic]:
    """Read the voxels of an image that is small enough for them and for what is made of them.

    Parameters
    ----------
    stored : the opened file.
    bytes_made : bytes a voxel of the array that the caller makes.

    Raises
    ------
    ImageError : too large, or damaged.
    """
    _refuse_large(stored, bytes_made)
    try:
        return stored.load().reshape(stored.shape)
    except MemoryError as error:
        raise ImageError(
            f"{stored.path}: memory ran out while it was read ({error})", "size"
        ) from error
    except (*_DAMAGE, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
        raise ImageError(
            f"{stored.path} ends early or is damaged ({reason}); copy it again"
        ) from error


def drop_axes(shape: tuple[int, ...], path: Path) -> tuple[int, int, int]:
    """Return the three axes of an image, further ones being of length one.

    Raises
    ------
    ImageError : no voxels, or several volumes.
    """
    if not shape or min(shape) < 1:
        raise ImageError(f"{path} has no voxels by its header (shape {shape}); copy it again")
    if len(shape) > 3 and any(size != 1 for size in shape[3:]):
        volumes = int(np.prod(shape[3:]))
        raise ImageError(
            f"{path} holds {volumes} volumes (shape {shape}); one file a channel is expected",
            "volumes",
            {"volumes": volumes},
        )
    first, second, third = (*shape, 1, 1, 1)[:3]
    return first, second, third


def _open_nibabel(path: Path) -> Stored:
    if path.name.endswith(".gz") and path.open("rb").read(2) != b"\x1f\x8b":
        raise ImageError(
            f"{path} is called .gz but is not compressed; rename it to {path.name[:-3]}", "misnamed"
        )
    try:
        image: Any = nib.load(path)
        header = image.header
        nifti = hasattr(header, "get_sform")
        readers = (header.get_sform, header.get_qform) if nifti else ()
        forms = [form(coded=True)[0] for form in readers]
        placed = any(form is not None for form in forms) if nifti else bool(header["goodRASFlag"])
        both = len(forms) == 2 and all(form is not None for form in forms)
        slope = getattr(image.dataobj, "slope", 1.0), getattr(image.dataobj, "inter", 0.0)
        return Stored(
            path,
            drop_axes(tuple(int(size) for size in image.shape), path),
            np.asarray(image.affine, float),
            image.get_data_dtype(),
            placed,
            partial(_load, image, path),
            scaled=slope != (1.0, 0.0),
            second=np.asarray(forms[1], float) if both else None,
        )
    except ImageError:
        raise
    except (*_DAMAGE, KeyError, AttributeError) as error:
        if path.name.endswith("gz") and (reason := _find_damage(path)):
            raise ImageError(
                f"{path} ends early or is damaged ({reason}); copy it again"
            ) from error
        raise ImageError(f"{path} cannot be read as {name_format(path)}: {error}") from error


def _find_damage(path: Path) -> str:
    """Say why a compressed file cannot be unpacked; nothing where it can."""
    try:
        with gzip.open(path) as stream:
            while stream.read(2**20):
                pass
    except (OSError, EOFError, zlib.error) as error:
        return str(error)
    return ""


def _load(image: Any, path: Path) -> npt.NDArray[np.generic]:
    """Read the voxels; a compressed file is read to its end, where its checksum is compared."""
    if not path.name.casefold().endswith((".gz", ".mgz")):
        return np.asanyarray(image.dataobj)
    with gzip.open(path) as stream:
        told = image.dataobj
        scaling = getattr(told, "slope", 1.0), getattr(told, "inter", 0.0)
        layout = (told.shape, told.dtype, told.offset, *scaling)
        array: npt.NDArray[np.generic] = np.asanyarray(type(told)(stream, layout))
        stream.read(1)
    return array


def _refuse_large(stored: Stored, bytes_made: int) -> None:
    """Judge by the header alone whether an image is too large."""
    path, shape = stored.path, tuple(stored.shape)
    voxels = math.prod(shape)
    most = int(os.environ.get("TWORULERS_MAX_VOXELS", MAX_VOXELS))
    if voxels > most:
        raise ImageError(
            f"{path} has {voxels:,} voxels by its header (shape {shape}); at most {most:,} are read. Is "
            f"the header damaged? If it is right, set TWORULERS_MAX_VOXELS",
            "size",
            {"voxels": voxels},
        )
    needed = voxels * ((8 if stored.scaled else stored.dtype.itemsize) + bytes_made)
    available = available_bytes()
    if available is not None and needed > available:
        raise ImageError(
            f"{path} needs {needed / 2**20:,.0f} MB to be read (shape {shape}); "
            f"{max(available, 0) / 2**20:,.0f} MB are available. Free memory, or give fewer processes",
            "size",
            {"bytes": needed},
        )
