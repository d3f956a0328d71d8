"""Surface Dice: the share of both surfaces within a tolerance of the other (Nikolov et al. 2021)."""

from tworulers.metrics.surface import ROUNDING, SurfaceDistances
from tworulers.schema.metric import ELEMENTS, Metric
from tworulers.schema.settings import Audit


def compute(measured: SurfaceDistances, settings: Audit) -> float:
    """Return the share of surface area at most `surface_tolerance_mm` away."""
    near = measured.distances <= settings.surface_tolerance_mm + ROUNDING
    return float(measured.weights[near].sum() / measured.weights.sum())


SURFACE_DICE = Metric(
    "surface_dice",
    "Surface Dice",
    True,
    low=0.0,
    high=1.0,
    perfect=1.0,
    one_empty=0.0,
    needs=ELEMENTS,
    compute=compute,
)
