"""How far apart two surfaces are in mm, between surface elements or between border voxels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tworulers.metrics.nearest import find_distances
from tworulers.metrics.patches import corner_patterns, patch_areas

ROUNDING = 1e-12
"""Shares and distances closer than this are equal: the last bit must not decide exact ties."""


@dataclass(frozen=True)
class SurfaceDistances:
    """Distances (mm) from surface points of each mask to the other's surface, and their weights."""

    from_prediction: NDArray[np.float64]
    from_reference: NDArray[np.float64]
    prediction_weights: NDArray[np.float64]
    reference_weights: NDArray[np.float64]

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Distances of both directions together, mm."""
        return np.concatenate([self.from_prediction, self.from_reference])

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The weights of `distances`: surface areas in mm2, or ones."""
        return np.concatenate([self.prediction_weights, self.reference_weights])


def measure_elements(
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    spacing: Sequence[float] | NDArray[np.float64],
) -> SurfaceDistances:
    """Measure between surface elements: grid corners with a mixed neighbourhood, weighted by area.

    Both masks must hold at least one voxel. The definition of the `surface-distance` package
    (Nikolov et al. 2021).
    """
    areas = patch_areas(tuple(map(float, spacing)))
    patterns = [corner_patterns(mask) for mask in (prediction, reference)]
    # Neither all outside (0, which wraps round) nor all inside (the last).
    surfaces = [pattern - np.uint8(1) < np.uint8(len(areas) - 2) for pattern in patterns]
    weights = [areas[pattern[surface]] for pattern, surface in zip(patterns, surfaces, strict=True)]
    return _measure(surfaces[0], surfaces[1], weights[0], weights[1], spacing)


def measure_border_voxels(
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    spacing: Sequence[float] | NDArray[np.float64],
) -> SurfaceDistances:
    """Measure between border voxels: mask voxels with a face neighbour outside the mask or image.

    Both masks must hold at least one voxel. The definition of MONAI and MetricsReloaded (Maier-Hein
    et al. 2024).
    """
    borders = [_find_border(mask) for mask in (prediction, reference)]
    weights = [np.ones(np.count_nonzero(border)) for border in borders]
    return _measure(borders[0], borders[1], weights[0], weights[1], spacing)


def _find_border(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    interior = mask.copy()
    for axis in range(mask.ndim):
        low, high = (_cut(axis, part) for part in (slice(None, -1), slice(1, None)))
        interior[high] &= mask[low]
        interior[low] &= mask[high]
        interior[_cut(axis, slice(None, 1))] = False
        interior[_cut(axis, slice(-1, None))] = False
    border: NDArray[np.bool_] = mask ^ interior
    return border


def _cut(axis: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, part)


def _measure(
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    prediction_weights: NDArray[np.float64],
    reference_weights: NDArray[np.float64],
    spacing: Sequence[float] | NDArray[np.float64],
) -> SurfaceDistances:
    sides = tuple(map(float, spacing))
    return SurfaceDistances(
        find_distances(prediction, reference, sides),
        find_distances(reference, prediction, sides),
        prediction_weights,
        reference_weights,
    )


def bound(mask: NDArray[np.bool_]) -> tuple[slice, ...]:
    """Return the smallest box that holds a mask; the whole array where the mask is empty."""
    if mask.ndim > 1 and mask.flags.f_contiguous and not mask.flags.c_contiguous:
        return bound(mask.T)[::-1]
    box = []
    held: NDArray[np.bool_] = mask
    whole = (slice(None),) * mask.ndim
    while held.ndim:
        # Axis by axis, what is left folded onto the others: both go along the memory.
        lines = np.flatnonzero(held.any(axis=tuple(range(1, held.ndim))))
        if not len(lines):
            return whole
        box.append(slice(int(lines[0]), int(lines[-1]) + 1))
        held = np.asarray(held[box[-1]].any(axis=0))
    return tuple(box)
