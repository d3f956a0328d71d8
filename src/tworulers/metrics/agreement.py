"""How model, ruler and expert agree on one structure, and how many errors model and ruler share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LabelMap = NDArray[np.integer]


@dataclass(frozen=True)
class Agreement:
    """Dice of each pair of three label maps; NaN where both masks of a pair are empty."""

    model_ruler: float
    ruler_expert: float
    model_expert: float


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


def compare_three(model: LabelMap, ruler: LabelMap, expert: LabelMap, label: int) -> Agreement:
    """Return Dice of model and ruler, of ruler and expert, and of model and expert.

    Parameters
    ----------
    model, ruler, expert : label maps of one shape on one grid.
    label : the structure's value.
    """
    _require_one_shape(model, ruler, expert)
    masks = model == label, ruler == label, expert == label
    return Agreement(
        _dice(masks[0], masks[1]), _dice(masks[1], masks[2]), _dice(masks[0], masks[2])
    )


def _dice(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    size = int(first.sum()) + int(second.sum())
    return 2 * int(np.count_nonzero(first & second)) / size if size else float("nan")


def _require_one_shape(model: LabelMap, ruler: LabelMap, expert: LabelMap) -> None:
    if not model.shape == ruler.shape == expert.shape:
        raise ValueError(
            f"model {model.shape}, ruler {ruler.shape} and expert {expert.shape} differ in shape; "
            "bring all three to one grid"
        )
