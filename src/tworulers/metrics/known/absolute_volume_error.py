"""Absolute volume error: by how many mm3 a predicted structure is too large or too small."""

from tworulers.metrics.overlap import Counts
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Audit


def compute(counts: Counts, _: Audit) -> float:
    """Return |A - B| in mm3: the whole structure where one mask is empty."""
    return abs(counts.predicted_voxels - counts.reference_voxels) * counts.voxel_mm3


ABSOLUTE_VOLUME_ERROR = Metric(
    "absolute_volume_error",
    "Absolute volume error",
    higher_is_better=False,
    unit="mm3",
    low=0.0,
    perfect=0.0,
    both_empty=0.0,
    compute=compute,
)
