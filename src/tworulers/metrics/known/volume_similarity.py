"""Volume similarity: how alike two volumes are in size, wherever they lie (Taha and Hanbury 2015, eq. 21)."""

from tworulers.metrics.overlap import Counts
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Audit


def compute(counts: Counts, _: Audit) -> float:
    """Return 1 - |A - B| / (A + B); 0 if one mask is empty."""
    predicted, reference = counts.predicted_voxels, counts.reference_voxels
    return 1 - abs(predicted - reference) / (predicted + reference)


VOLUME_SIMILARITY = Metric(
    "volume_similarity",
    "Volume similarity",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    perfect=1.0,
    compute=compute,
)
