"""How many of their errors a model and a ruler share."""

import numpy as np
from numpy.typing import NDArray

SHARED_ERROR = "shared_error"
"""What it is called in a scores table, where it stands beside the scores and is not judged."""

LabelMap = NDArray[np.integer]


def shared_error(model: LabelMap, ruler: LabelMap, expert: LabelMap, label: int) -> float:
    """Return the share of all erroneous voxels that model and ruler get wrong alike.

    Parameters
    ----------
    model, ruler, expert : label maps of one shape on one grid.
    label : the structure's value.

    Returns
    -------
    #{model = ruler != expert} / #{model != expert or ruler != expert}: 0 where the errors are
    disjoint, 1 where the two masks are identical, NaN where nobody errs.
    """
    _require_one_shape(model, ruler, expert)
    truth = expert == label
    model_errs, ruler_errs = (model == label) != truth, (ruler == label) != truth
    # Each map has one of two values in a voxel, so two that differ from the expert agree.
    either = int(np.count_nonzero(model_errs | ruler_errs))
    return int(np.count_nonzero(model_errs & ruler_errs)) / either if either else float("nan")


def _require_one_shape(model: LabelMap, ruler: LabelMap, expert: LabelMap) -> None:
    if not model.shape == ruler.shape == expert.shape:
        raise ValueError(
            f"model {model.shape}, ruler {ruler.shape} and expert {expert.shape} differ in shape; "
            "bring all three to one grid"
        )
