"""How well each disc is found: Dice by cervical level, C2/C3 down to C7/T1."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import cKDTree

LEVELS = ("C2C3", "C3C4", "C4C5", "C5C6", "C6C7", "C7T1")
_ROUNDING_DIGITS = 6
"""Distances in mm that agree to so many digits are equal."""


@dataclass(frozen=True)
class LevelScores:
    """Dice of every disc of a reference, head first.

    `names` are the levels only where `status` is `ok`, that is where exactly six discs were found;
    with `fewer` or `more` it cannot be told which level is which, and `names` is empty.
    """

    status: Literal["ok", "fewer", "more"]
    dice: tuple[float, ...]
    names: tuple[str, ...]


def score_levels(
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    affine: NDArray[np.float64],
    *,
    min_component_mm3: float = 30.0,
) -> LevelScores:
    """Score each disc of the reference; a predicted voxel belongs to the nearest one, or the upper.

    A bridge between two discs is thereby split between them, its middle going to the upper one, and
    a missed disc has Dice 0.

    Parameters
    ----------
    prediction, reference : bool masks of the discs, three dimensions, on one grid.
    affine : 4 x 4, voxel indices to world mm with the third world axis pointing to the head (RAS+).
    min_component_mm3 : smaller 26-connected pieces of the reference are not discs.
    """
    axes = np.asarray(affine, float)[:3, :3]
    pieces, count = ndimage.label(reference, structure=np.ones((3, 3, 3)))
    sizes = np.bincount(pieces.ravel(), minlength=count + 1)
    discs = [
        piece
        for piece in range(1, count + 1)
        if sizes[piece] * abs(np.linalg.det(axes)) >= min_component_mm3
    ]
    status: Literal["ok", "fewer", "more"] = "ok"
    if len(discs) != len(LEVELS):
        status = "fewer" if len(discs) < len(LEVELS) else "more"
    if not discs:
        return LevelScores(status, (), ())

    centres = np.array(ndimage.center_of_mass(reference, pieces, discs)) @ axes.T
    discs = [discs[i] for i in np.argsort(-centres[:, 2], kind="stable")]
    rank = np.full(count + 1, -1)
    rank[discs] = np.arange(len(discs))
    ranks = rank[pieces]

    voxels = np.argwhere(prediction)
    owners = ranks[prediction]
    tp = np.bincount(owners[owners >= 0], minlength=len(discs))
    if (stray := owners < 0).any():
        places = voxels[stray] @ axes.T
        distances = [
            cKDTree(np.argwhere(ranks == disc) @ axes.T).query(places)[0]
            for disc in range(len(discs))
        ]
        owners[stray] = np.argmin(np.round(distances, _ROUNDING_DIGITS), axis=0)
    predicted = np.bincount(owners, minlength=len(discs))
    dice = 2 * tp / (sizes[discs] + predicted)
    return LevelScores(status, tuple(dice.tolist()), LEVELS if status == "ok" else ())
