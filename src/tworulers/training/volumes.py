"""Images and labels of exams as the networks' axes have them: (z, y, x), where a file holds (x, y, z)."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tworulers.io.exam_files import list_channels
from tworulers.io.images import ImageError, read_image
from tworulers.io.label_maps import read_label
from tworulers.recipe.axes import reverse_axes


def read_channels(
    path: Path, channels: int
) -> tuple[npt.NDArray[np.float32], tuple[float, float, float]]:
    """Read an exam's channels as (C, z, y, x), with its voxel size in mm in that order.

    Further channels lie beside the first as `_0001`, `_0002` and so on.

    Raises
    ------
    ImageError : a file cannot be read, or the channels are on different grids.
    """
    first, *others = map(read_image, list_channels(path, channels))
    for other in others:
        if other.array.shape != first.array.shape:
            raise ImageError(
                f"{other.path} has {other.array.shape} voxels, {path} {first.array.shape}: all "
                "channels of an exam must be on one grid"
            )
    x, y, z = first.spacing
    return reverse_axes(np.stack([volume.array for volume in (first, *others)])), (z, y, x)


def read_reference(path: Path, labels: Iterable[int] | None = None) -> npt.NDArray[np.uint8]:
    """Read a label map as (z, y, x), on the axes of `read_channels`; `labels` as in `read_label`."""
    return reverse_axes(read_label(path, labels).array)
