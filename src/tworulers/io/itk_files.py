"""NRRD and MetaImage files, read with SimpleITK, which comes with an extra of the installation."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tworulers.io.image_error import ImageError
from tworulers.io.stored import Stored

ITK = (".nrrd", ".mha")
"""How files end that hold header and voxels in one, in any case of letters."""

_HEADER_BYTES = 2**16
_ITK_TO_OURS = np.diag([-1.0, -1.0, 1.0, 1.0])
"""ITK counts left and posterior as positive, we count right and anterior."""


def open_itk(path: Path) -> Stored:
    """Read the header of a NRRD or MetaImage file.

    Raises
    ------
    ImageError : SimpleITK is not installed, the file is damaged, or holds several values a voxel or volumes.
    """
    sitk = _import_itk(path)
    reader = sitk.ImageFileReader()
    reader.SetFileName(str(path))
    fields = _read_fields(path)
    if "data file" in fields or fields.get("elementdatafile", "LOCAL").upper() != "LOCAL":
        raise ImageError(f"{path} keeps its voxels in another file; save both as one file")
    try:
        reader.ReadImageInformation()
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise ImageError(f"{path} cannot be read as {path.suffix}: {reason}") from error
    if reader.GetNumberOfComponents() != 1:
        raise ImageError(
            f"{path} holds {reader.GetNumberOfComponents()} values a voxel (colours, a vector, or segments that "
            "overlap); one whole number a voxel is expected. Export a label map",
            "values",
        )
    shape = tuple(int(size) for size in reader.GetSize())
    if any(size != 1 for size in shape[3:]):
        raise ImageError(
            f"{path} holds {int(np.prod(shape[3:]))} volumes (shape {shape}); one file a channel is expected",
            "volumes",
            {"volumes": int(np.prod(shape[3:]))},
        )
    first, second, third = (*shape, 1, 1)[:3]
    return Stored(
        path,
        (first, second, third),
        _make_affine(reader),
        np.dtype(_type_of(sitk, reader.GetPixelID(), path)),
        _is_placed(fields, path),
        lambda: _load(sitk, path),
    )


def _import_itk(path: Path) -> Any:
    try:
        import SimpleITK as sitk  # noqa: N813 (as its documents call it)
    except ModuleNotFoundError as error:
        raise ImageError(
            f"{path} is read with SimpleITK, which is not installed here: pip install 'tworulers[images]', or convert "
            "it to NIfTI"
        ) from error
    sitk.ProcessObject.SetGlobalWarningDisplay(False)
    return sitk


def _load(sitk: Any, path: Path) -> npt.NDArray[np.generic]:
    array: npt.NDArray[np.generic] = sitk.GetArrayFromImage(sitk.ReadImage(str(path)))
    return array.T


def _make_affine(reader: Any) -> npt.NDArray[np.float64]:
    """Return voxel to mm in our axes; an image of two axes lies in one slice of 1 mm."""
    axes = reader.GetDimension()
    spacing = np.ones(3)
    spacing[: min(axes, 3)] = reader.GetSpacing()[:3]
    direction = np.eye(3)
    turned = np.array(reader.GetDirection()).reshape(axes, axes)[:3, :3]
    direction[: len(turned), : len(turned)] = turned
    affine = np.eye(4)
    affine[:3, :3] = direction * spacing
    affine[: min(axes, 3), 3] = reader.GetOrigin()[:3]
    return _ITK_TO_OURS @ affine


def _type_of(sitk: Any, pixel: int, path: Path) -> str:
    names = {
        getattr(sitk, f"sitk{name}{bits}"): f"{name.lower()}{bits}"
        for name, widths in (
            ("UInt", (8, 16, 32, 64)),
            ("Int", (8, 16, 32, 64)),
            ("Float", (32, 64)),
        )
        for bits in widths
    }
    if pixel not in names:
        raise ImageError(
            f"{path} holds {sitk.GetPixelIDValueAsString(pixel)}, no numbers", "values"
        )
    return names[pixel]


def _read_fields(path: Path) -> dict[str, str]:
    """Return the fields of a text header by their names in small letters."""
    head = path.open("rb").read(_HEADER_BYTES).decode("latin-1")
    if path.name.casefold().endswith(".nrrd"):
        head = re.split(r"\r?\n\r?\n", head, maxsplit=1)[0]
        parts = (line.partition(":") for line in head.splitlines() if not line.startswith("#"))
    else:
        lines = re.split(r"(?m)(?<=^ElementDataFile = LOCAL)\r?\n", head, maxsplit=1)[0]
        parts = (line.partition("=") for line in lines.splitlines())
    return {name.strip().casefold(): value.strip() for name, found, value in parts if found}


def _is_placed(fields: dict[str, str], path: Path) -> bool:
    """Tell whether a header holds a position: what ITK gives in its place is made up."""
    if path.name.casefold().endswith(".nrrd"):
        return {"space", "space directions", "space origin"} <= set(fields)
    turns, origins = (
        {"transformmatrix", "rotation", "orientation"},
        {"offset", "position", "origin"},
    )
    return bool(turns & set(fields)) and bool(origins & set(fields))
