"""An image file whose header has been read, and whose voxels can be."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Stored:
    """An opened image.

    Attributes
    ----------
    path : the file.
    shape : three axes, in array order.
    affine : voxel to mm, right, anterior and superior being positive.
    dtype : of the stored numbers.
    placed : whether the header holds a position; without one the affine says nothing but the spacing.
    load : reads the voxels, scaled as the header says.
    scaled : whether it scales them.
    second : the affine that the header holds beside the one in force, if any.
    """

    path: Path
    shape: tuple[int, int, int]
    affine: npt.NDArray[np.float64]
    dtype: np.dtype[np.generic]
    placed: bool
    load: Callable[[], npt.NDArray[np.generic]]
    scaled: bool = False
    second: npt.NDArray[np.float64] | None = None
