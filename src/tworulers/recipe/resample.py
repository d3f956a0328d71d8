"""How an array moves from one voxel grid to another: images, labels and logits each by its rule.

The rules are nnU-Net's (Isensee et al. 2021): cell-centred spline interpolation without
anti-aliasing, clipped to the input's range; a much coarser slice axis is resampled on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from tworulers.recipe.axes import ANISOTROPY

Array = npt.NDArray[Any]


def resampled_shape(
    shape: Sequence[int], spacing: Sequence[float], target: Sequence[float]
) -> tuple[int, ...]:
    """Voxels per axis after resampling from `spacing` to `target` (mm), rounded half to even."""
    return tuple(round(s / t * n) for s, t, n in zip(spacing, target, shape, strict=True))


def find_separate_axis(spacing: Sequence[float], target: Sequence[float]) -> int | None:
    """The slice axis that is resampled on its own, or None.

    It is the coarsest axis of the first of the two grids whose coarsest voxel edge is more than
    three times its finest; a grid with several equally coarse axes has no slice axis.
    """
    for grid in (spacing, target):
        if max(grid) / min(grid) > ANISOTROPY:
            coarsest = [axis for axis, edge in enumerate(grid) if edge == max(grid)]
            return coarsest[0] if len(coarsest) == 1 else None
    return None


def resample_image(
    image: Array,
    shape: Sequence[int],
    spacing: Sequence[float],
    target: Sequence[float],
    order: int = 3,
) -> Array:
    """Resample every channel of an image by splines.

    Parameters
    ----------
    image
        (C, a0, a1, a2), any float type; the result has the same one.
    shape
        Voxels of the new grid per axis.
    spacing, target
        Voxel edges in mm before and after; they decide whether the slice axis goes alone.
    order
        Spline order in plane (in all axes where none is separate); the separate axis takes the
        nearest slice.
    """
    if image.shape[1:] == tuple(shape):
        return image
    axis = find_separate_axis(spacing, target)

    def zoom(part: Array, new: Sequence[int]) -> Array:
        return _zoom_clipped(part, new, order).astype(image.dtype)

    return np.stack([_resample_volume(channel, shape, axis, zoom) for channel in image])


def resample_label(
    label: Array, shape: Sequence[int], spacing: Sequence[float], target: Sequence[float]
) -> Array:
    """Resample a label map by the largest of its linearly interpolated one-hot maps.

    Where maps tie exactly, the nearest-neighbour label wins if it is among the tied, else the
    smallest.

    Parameters
    ----------
    label
        (a0, a1, a2), integers, negative values allowed; the result has the same type.
    shape, spacing, target
        As for `resample_image`.
    """
    if label.shape == tuple(shape):
        return label
    return _resample_volume(label, shape, find_separate_axis(spacing, target), _zoom_label)


def resample_logits(
    logits: Array, shape: Sequence[int], spacing: Sequence[float], target: Sequence[float]
) -> Array:
    """Bring logits (C, a0, a1, a2) linearly back to an exam's own grid, keeping their type."""
    return resample_image(logits, shape, spacing, target, order=1)


def _resample_volume(
    volume: Array,
    shape: Sequence[int],
    axis: int | None,
    zoom: Callable[[Array, Sequence[int]], Array],
) -> Array:
    if axis is None:
        return zoom(volume, shape)
    in_plane = [n for a, n in enumerate(shape) if a != axis]
    slices = np.moveaxis(volume, axis, 0)
    if list(slices.shape[1:]) != in_plane:
        slices = np.stack([zoom(part, in_plane) for part in slices])
    old, new = len(slices), shape[axis]
    if old != new:
        nearest = np.clip(np.floor(old / new * (np.arange(new) + 0.5)), 0, old - 1)
        slices = slices[nearest.astype(int)]
    return np.ascontiguousarray(np.moveaxis(slices, 0, axis))


def _zoom(part: Array, shape: Sequence[int], order: int) -> Array:
    factors = [new / old for new, old in zip(shape, part.shape, strict=True)]
    zoomed: Array = ndimage.zoom(
        part.astype(np.float64), factors, order=order, mode="nearest", grid_mode=True
    )
    return zoomed


def _zoom_clipped(part: Array, shape: Sequence[int], order: int) -> Array:
    if part.shape == tuple(shape):
        return part
    clipped: Array = np.clip(_zoom(part, shape, order), float(part.min()), float(part.max()))
    return clipped


def _zoom_label(part: Array, shape: Sequence[int]) -> Array:
    values = np.unique(part)
    if len(values) == 1:
        return np.full(tuple(shape), values[0], dtype=part.dtype)
    scores = np.stack([_zoom_clipped(part == value, shape, 1) for value in values])
    best: Array = values[scores.argmax(axis=0)].astype(part.dtype)
    tied = (scores == scores.max(axis=0)).sum(axis=0) > 1
    if tied.any():
        nearest = _zoom(part, shape, 0).astype(part.dtype)
        own = np.take_along_axis(scores, np.searchsorted(values, nearest)[None], axis=0)[0]
        best = np.where(tied & (own == scores.max(axis=0)), nearest, best)
    return best
