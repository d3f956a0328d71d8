"""HD95: the 95th percentile of the distances between two surfaces in mm, by three definitions."""

from collections.abc import Callable
from math import inf

import numpy as np
from numpy.typing import NDArray

from tworulers.metrics.surface import ROUNDING, SurfaceDistances
from tworulers.schema.metric import BORDER, ELEMENTS, Metric
from tworulers.schema.settings import Audit


def compute_weighted(measured: SurfaceDistances, _: Audit) -> float:
    """Return the larger of both directions' area-weighted percentiles, as the `surface-distance` package does."""
    return max(
        weighted_percentile(measured.from_prediction, measured.prediction_weights),
        weighted_percentile(measured.from_reference, measured.reference_weights),
    )


def weighted_percentile(distances: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the first distance at which 95 % of the surface is reached, without interpolation."""
    apart = np.flatnonzero(distances)
    # Most of two surfaces is shared; those points come first, in their order, as a stable sort puts them.
    order = np.concatenate(
        [np.flatnonzero(distances == 0), apart[np.argsort(distances[apart], kind="stable")]]
    )
    reached = np.cumsum(weights[order])
    return float(distances[order[np.searchsorted(reached, (0.95 - ROUNDING) * reached[-1])]])


def compute_directed(measured: SurfaceDistances, _: Audit) -> float:
    """Return the larger of both directions' percentiles, interpolated, as MONAI and MetricsReloaded do."""
    sides = measured.from_prediction, measured.from_reference
    return float(max(np.percentile(side, 95) for side in sides))


def compute_pooled(measured: SurfaceDistances, _: Audit) -> float:
    """Return one percentile of both directions together, interpolated."""
    return float(np.percentile(measured.distances, 95))


def _distance(
    name: str, title: str, needs: str, compute: Callable[[SurfaceDistances, Audit], float]
) -> Metric:
    return Metric(name, title, False, "mm", 0.0, None, 0.0, None, inf, needs, compute)


HD95 = _distance("hd95", "HD95", ELEMENTS, compute_weighted)
VOXEL = _distance("hd95_voxel", "HD95 (border voxels)", BORDER, compute_directed)
POOLED = _distance("hd95_pooled", "HD95 (both directions pooled)", BORDER, compute_pooled)
