"""Dice: twice what two masks share over what they hold (Dice 1945)."""

from tworulers.metrics.overlap import Counts
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Audit


def compute(counts: Counts, _: Audit) -> float:
    """Return 2tp / (2tp + fp + fn); 0 if one mask is empty."""
    return 2 * counts.tp / (counts.reference_voxels + counts.predicted_voxels)


DICE = Metric("dice", "Dice", True, low=0.0, high=1.0, perfect=1.0, compute=compute)
