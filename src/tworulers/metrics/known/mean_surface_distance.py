"""How far apart two surfaces are on average, in mm."""

from math import inf

import numpy as np

from tworulers.metrics.surface import SurfaceDistances
from tworulers.schema.metric import ELEMENTS, Metric
from tworulers.schema.settings import Audit


def compute(measured: SurfaceDistances, _: Audit) -> float:
    """Return the area-weighted mean distance over both surfaces."""
    return float(np.average(measured.distances, weights=measured.weights))


MEAN_SURFACE_DISTANCE = Metric(
    "mean_surface_distance",
    "Mean surface distance",
    False,
    "mm",
    low=0.0,
    perfect=0.0,
    one_empty=inf,
    needs=ELEMENTS,
    compute=compute,
)
