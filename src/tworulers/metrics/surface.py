"""How far apart two surfaces are in mm: HD95 by three definitions, surface Dice, mean distance."""

from collections.abc import Callable, Sequence
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


def measure_elements(
    prediction: NDArray[np.bool_], reference: NDArray[np.bool_], spacing: Sequence[float]
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
    prediction: NDArray[np.bool_], reference: NDArray[np.bool_], spacing: Sequence[float]
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
    spacing: Sequence[float],
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


def _hd95_weighted(measured: SurfaceDistances) -> float:
    return max(
        _weighted_percentile(measured.from_prediction, measured.prediction_weights),
        _weighted_percentile(measured.from_reference, measured.reference_weights),
    )


def _weighted_percentile(distances: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the first distance at which 95 % of the surface is reached, without interpolation."""
    order = np.argsort(distances, kind="stable")
    reached = np.cumsum(weights[order])
    return float(distances[order[np.searchsorted(reached, (0.95 - ROUNDING) * reached[-1])]])


def _hd95_directed(measured: SurfaceDistances) -> float:
    return float(
        max(np.percentile(measured.from_prediction, 95), np.percentile(measured.from_reference, 95))
    )


def _hd95_pooled(measured: SurfaceDistances) -> float:
    return float(
        np.percentile(np.concatenate([measured.from_prediction, measured.from_reference]), 95)
    )


def _mean_distance(measured: SurfaceDistances) -> float:
    distances = np.concatenate([measured.from_prediction, measured.from_reference])
    weights = np.concatenate([measured.prediction_weights, measured.reference_weights])
    return float(np.average(distances, weights=weights))


def _surface_dice(measured: SurfaceDistances, tolerance_mm: float) -> float:
    distances = np.concatenate([measured.from_prediction, measured.from_reference])
    weights = np.concatenate([measured.prediction_weights, measured.reference_weights])
    return float(weights[distances <= tolerance_mm + ROUNDING].sum() / weights.sum())


_BY_ELEMENTS: dict[str, Callable[[SurfaceDistances, float], float]] = {
    "hd95": lambda measured, _: _hd95_weighted(measured),
    "surface_dice": _surface_dice,
    "mean_surface_distance": lambda measured, _: _mean_distance(measured),
}
_BY_BORDER_VOXELS: dict[str, Callable[[SurfaceDistances], float]] = {
    "hd95_voxel": _hd95_directed,
    "hd95_pooled": _hd95_pooled,
}
SURFACE_METRICS = (*_BY_ELEMENTS, *_BY_BORDER_VOXELS)


def score_surfaces(
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    spacing: Sequence[float],
    metrics: Sequence[str],
    *,
    tolerance_mm: float = 1.0,
) -> dict[str, float]:
    """Score the distance between the surfaces of two masks, found and measured once.

    Parameters
    ----------
    prediction, reference : bool masks of one shape, two or three dimensions, on one grid.
    spacing : voxel size in mm, in array-axis order.
    metrics : any of `hd95` (surface elements, larger of the two directed area-weighted 95th
        percentiles), `hd95_voxel` (border voxels, larger of the two directed 95th percentiles,
        linear interpolation), `hd95_pooled` (border voxels, one 95th percentile of both directions
        together), `surface_dice` (share of both surfaces within `tolerance_mm` of the other) and
        `mean_surface_distance` (area-weighted mean over both surfaces).
    tolerance_mm : for `surface_dice`.

    Returns
    -------
    Values by metric. Both masks empty: NaN. One empty: infinite distance, surface Dice 0.
    """
    _check_masks(prediction, reference, spacing, metrics)
    filled = bool(prediction.any()), bool(reference.any())
    if not any(filled):
        return dict.fromkeys(metrics, float("nan"))
    if not all(filled):
        return {metric: 0.0 if metric == "surface_dice" else float("inf") for metric in metrics}
    box = bound(prediction | reference)
    prediction, reference = prediction[box], reference[box]
    scores: dict[str, float] = {}
    if by_elements := [metric for metric in metrics if metric in _BY_ELEMENTS]:
        measured = measure_elements(prediction, reference, spacing)
        scores |= {metric: _BY_ELEMENTS[metric](measured, tolerance_mm) for metric in by_elements}
    if by_voxels := [metric for metric in metrics if metric in _BY_BORDER_VOXELS]:
        measured = measure_border_voxels(prediction, reference, spacing)
        scores |= {metric: _BY_BORDER_VOXELS[metric](measured) for metric in by_voxels}
    return {metric: scores[metric] for metric in metrics}


def _check_masks(
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    spacing: Sequence[float],
    metrics: Sequence[str],
) -> None:
    if prediction.dtype != bool or reference.dtype != bool:
        raise ValueError(f"expected bool masks, found {prediction.dtype} and {reference.dtype}")
    if prediction.shape != reference.shape or prediction.ndim not in (2, 3):
        raise ValueError(
            "expected two masks of one shape with two or three dimensions, "
            f"found shapes {prediction.shape} and {reference.shape}"
        )
    if len(spacing) != prediction.ndim or not np.all(np.asarray(spacing) > 0):
        raise ValueError(
            f"expected one voxel size in mm, above 0, for each of {prediction.ndim} axes, "
            f"found {list(spacing)}"
        )
    if unknown := sorted(set(metrics) - set(SURFACE_METRICS)):
        raise ValueError(f"unknown surface metrics {unknown}; known are {list(SURFACE_METRICS)}")


def hd95(
    prediction: NDArray[np.bool_], reference: NDArray[np.bool_], spacing: Sequence[float]
) -> float:
    """Return HD95 in mm by surface elements; NaN if both masks are empty, infinite if one is."""
    return score_surfaces(prediction, reference, spacing, ["hd95"])["hd95"]


def hd95_voxel(
    prediction: NDArray[np.bool_], reference: NDArray[np.bool_], spacing: Sequence[float]
) -> float:
    """Return HD95 in mm by border voxels; NaN if both masks are empty, infinite if one is."""
    return score_surfaces(prediction, reference, spacing, ["hd95_voxel"])["hd95_voxel"]


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
