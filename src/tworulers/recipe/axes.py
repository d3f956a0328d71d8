"""Which way axes run: a NIfTI file holds (x, y, z), the arrays of a plan are (z, y, x).

nnU-Net's readers turn every file round, and its plans, models and predictions are in that order.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

READERS = ("SimpleITKIO", "NibabelIO")
"""The plans' readers that turn a file's axes round and do nothing else to it."""

ORDER = "zyx"
"""How stored results name the order, so that none made in another is taken for it."""

ANISOTROPY = 3
"""How many times coarser than the finest an axis is that is taken for the slices."""

Voxel = TypeVar("Voxel", bound=np.generic)


def reverse_axes(array: npt.NDArray[Voxel]) -> npt.NDArray[Voxel]:
    """Turn the last three axes round, (..., x, y, z) to (..., z, y, x) or back, in one block."""
    return np.ascontiguousarray(np.moveaxis(array, (-3, -2, -1), (-1, -2, -3)))
