"""How far apart two surfaces are in mm, between surface elements or between border voxels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

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

    @property
    def distances(self) -> NDArray[np.float64]:
        """Distances of both directions together, mm."""
        return np.concatenate([self.from_prediction, self.from_reference])

    @property
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
    surfaces = [(pattern > 0) & (pattern < len(areas) - 1) for pattern in patterns]
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
    padded = np.pad(mask, 1)
    centre = (slice(1, -1),) * mask.ndim
    interior = mask.copy()
    for axis in range(mask.ndim):
        for part in (slice(None, -2), slice(2, None)):
            interior &= padded[(*centre[:axis], part, *centre[axis + 1 :])]
    border: NDArray[np.bool_] = mask & ~interior
    return border


def _measure(
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    prediction_weights: NDArray[np.float64],
    reference_weights: NDArray[np.float64],
    spacing: Sequence[float] | NDArray[np.float64],
) -> SurfaceDistances:
    sides = np.asarray(spacing, float)
    points = np.argwhere(prediction), np.argwhere(reference)
    return SurfaceDistances(
        _find_nearest(points[0], points[1], reference[prediction], sides),
        _find_nearest(points[1], points[0], prediction[reference], sides),
        prediction_weights,
        reference_weights,
    )


def _find_nearest(
    points: NDArray[np.intp],
    targets: NDArray[np.intp],
    shared: NDArray[np.bool_],
    sides: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return each point's distance to the nearest target; shared points are targets themselves.

    A search tree costs by surface, not by the box around it, so one far false positive does not
    make an exam slow.
    """
    distances = np.zeros(len(points))
    apart = points[~shared]
    if len(apart):
        tree = cKDTree(targets * sides, balanced_tree=False, compact_nodes=False)
        nearest = tree.query(apart * sides)[1]
        # From whole steps, so that equal distances are equal to the last bit wherever they lie.
        distances[~shared] = np.sqrt((((apart - targets[nearest]) * sides) ** 2).sum(axis=1))
    return distances


def bound(mask: NDArray[np.bool_]) -> tuple[slice, ...]:
    """Return the smallest box that holds a mask; the whole array where the mask is empty."""
    box = []
    for axis in range(mask.ndim):
        others = tuple(other for other in range(mask.ndim) if other != axis)
        held = np.flatnonzero(mask.any(axis=others))
        if not len(held):
            return (slice(None),) * mask.ndim
        box.append(slice(int(held[0]), int(held[-1]) + 1))
    return tuple(box)
