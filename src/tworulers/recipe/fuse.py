"""How many networks become one label map of an exam, and how sure they were.

Folds of a configuration average their logits, before resampling; configurations average their
probabilities on the exam's own grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from tworulers.recipe.preprocess import Geometry, restore_probabilities

Floats = npt.NDArray[np.floating[Any]]
LabelMap = npt.NDArray[np.uint8]
Probabilities = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Confidence:
    """How sure the networks were of one exam; NaN where `undefined_because` says why.

    `mean_top_probability` and `mean_entropy` (nats) are means over the voxels predicted as
    foreground; `disagreement` is 1 - mean Dice between any two members.
    """

    mean_top_probability: float
    mean_entropy: float
    disagreement: float
    undefined_because: str = ""


@dataclass(frozen=True)
class FusedExam:
    """Label map of an exam, axes as read, its (class, *axes) probabilities, its confidence."""

    label_map: LabelMap
    probabilities: Probabilities
    confidence: Confidence


def average(arrays: Iterable[Floats]) -> Floats:
    """Mean of arrays of one shape, taken one at a time: two are in memory, however many come.

    Raises
    ------
    ValueError
        No array.
    """
    total, n = None, 0
    for array in arrays:
        total = array.copy() if total is None else np.add(total, array, out=total)
        n += 1
    if total is None:
        raise ValueError("There is nothing to average: no network predicted this exam.")
    total /= n
    return total


def take_largest(scores: Floats) -> LabelMap:
    """Index of the largest of (class, *axes) at each voxel; the first on ties.

    Comparisons class by class read memory in order, which argmax over a leading axis does not.
    """
    label = np.zeros(scores.shape[1:], dtype=np.uint8)
    best = scores[0].copy()
    for value in range(1, len(scores)):
        better = scores[value] > best
        label[better] = value
        np.maximum(best, scores[value], out=best)
    return label


def fuse_exam(
    logits: Mapping[str, Sequence[Floats]],
    geometries: Mapping[str, Geometry],
    structures: Sequence[int],
) -> FusedExam:
    """Fuse what all folds of all configurations say about one exam.

    Parameters
    ----------
    logits
        Per configuration, one (class, z, y, x) a fold on that configuration's grid.
    geometries
        Per configuration, the geometry that preprocessing left behind.
    structures
        Label values of the foreground.

    Raises
    ------
    ValueError
        No configuration, a configuration without folds, or without geometry.
    """
    faults = [
        *(f"configuration {name} has no fold" for name, folds in logits.items() if not len(folds)),
        *(f"configuration {name} has no geometry" for name in logits if name not in geometries),
    ]
    if faults or not logits:
        raise ValueError("Nothing to fuse: " + "; ".join(faults or ["no configuration"]) + ".")
    agreements: list[float] = []
    restored: list[Probabilities] = []
    for name, folds in logits.items():
        if len(folds) > 1:
            agreements += agree([take_largest(fold) for fold in folds], structures)
        restored.append(restore_probabilities(average(folds), geometries[name]))
    if len(restored) > 1:
        agreements += agree([take_largest(p) for p in restored], structures)
    probabilities = average(restored)
    label_map = take_largest(probabilities)
    confidence = measure_confidence(probabilities, label_map, agreements)
    return FusedExam(label_map, probabilities, confidence)


def measure_entropy(probabilities: Floats) -> npt.NDArray[np.float64]:
    """Entropy over the classes of (class, ...) in nats: from 0 where one is certain to the log of their number."""
    total = np.zeros(probabilities.shape[1:])
    for one in probabilities:
        p = one.astype(np.float64)
        total += p * np.log(np.maximum(p, 1e-300))
    return -total


def measure_confidence(
    probabilities: Floats, label_map: LabelMap, agreements: Sequence[float] = ()
) -> Confidence:
    """How sure a fused prediction is of its foreground.

    Parameters
    ----------
    probabilities
        (class, *axes), sum 1 over classes.
    label_map
        (*axes), the fused prediction.
    agreements
        Dice between any two members; NaN where it is undefined.
    """
    foreground = label_map > 0
    reasons = []
    top = entropy = float("nan")
    if foreground.any():
        p = probabilities[:, foreground]
        top = float(p.max(axis=0).astype(np.float64).mean())
        entropy = float(measure_entropy(p).mean())
    else:
        reasons.append("no foreground predicted")
    defined = [a for a in agreements if not np.isnan(a)]
    if not defined:
        reasons.append("fewer than two members" if len(agreements) == 0 else "all members empty")
    disagreement = 1 - float(np.mean(defined)) if defined else float("nan")
    return Confidence(top, entropy, disagreement, "; ".join(reasons))


def agree(label_maps: Sequence[LabelMap], structures: Sequence[int]) -> list[float]:
    """Mean Dice over structures between any two label maps of one grid.

    A structure absent from both is left out; without any other the agreement is NaN.
    """
    sizes = [np.bincount(m.ravel(), minlength=256)[list(structures)] for m in label_maps]
    pairs = []
    for i, j in combinations(range(len(label_maps)), 2):
        same = label_maps[i][label_maps[i] == label_maps[j]]
        shared = np.bincount(same.ravel(), minlength=256)[list(structures)]
        total = sizes[i] + sizes[j]
        dice = 2 * shared[total > 0] / total[total > 0]
        pairs.append(float(dice.mean()) if dice.size else float("nan"))
    return pairs
