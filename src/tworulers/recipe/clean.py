"""Which configuration predicts best, and whether small components of its predictions are removed.

Both are decided by cross-validated Dice (Isensee et al. 2021), never on test exams.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cc3d
import numpy as np
import numpy.typing as npt

LabelMap = npt.NDArray[np.integer[Any]]
Dices = npt.NDArray[np.float64]
CONNECTIVITY = {2: 8, 3: 26}


@dataclass(frozen=True)
class Choice:
    """The chosen configurations (two form an ensemble), their Dice, and why in words."""

    members: tuple[str, ...]
    dice: float
    reason: str


@dataclass(frozen=True)
class CleanUp:
    """Which groups of labels keep their largest component alone, in that order, and why."""

    steps: tuple[tuple[int, ...], ...]
    reason: str

    def apply(self, label_map: LabelMap) -> LabelMap:
        """The label map with all steps done; the map itself where there are none."""
        for labels in self.steps:
            label_map = keep_largest_component(label_map, labels)
        return label_map


def keep_largest_component(label_map: LabelMap, labels: Sequence[int]) -> LabelMap:
    """Remove all but the largest connected component of the voxels with any of these labels.

    Neighbours share a face, an edge or a corner. Components that tie for the largest all stay;
    voxels with other labels stay as they are.

    Parameters
    ----------
    label_map
        (z, y, x) or (y, x) integers.
    labels
        Values taken together as one mask.
    """
    mask = np.isin(label_map, labels)
    if not mask.any():
        return label_map
    components = cc3d.connected_components(mask, connectivity=CONNECTIVITY[mask.ndim])
    sizes = np.bincount(components.ravel())
    sizes[0] = 0
    cleaned = label_map.copy()
    cleaned[mask & (sizes != sizes.max())[components]] = 0
    return cleaned


def force_cleanup(structures: Sequence[int]) -> CleanUp:
    """Keep the largest component of the whole foreground, without asking."""
    return CleanUp((tuple(structures),), "largest foreground component kept by request")


def decide_cleanup(
    exams: Iterable[tuple[LabelMap, LabelMap]],
    structures: Sequence[int],
    ignore: int | None = None,
) -> CleanUp:
    """Decide by cross-validation whether keeping largest components helps.

    The whole foreground is tried first and adopted if the mean Dice of the foreground rises and
    no structure's falls; then, with two structures or more, each structure alone, adopted if its
    own Dice rises.

    Parameters
    ----------
    exams
        Pairs of predicted and reference label map, one grid each. Gone through once for the whole
        foreground and once for each structure, so it must be a collection or an object that can
        be iterated over again; a generator is not enough.
    structures
        Label values of the foreground.
    ignore
        Value of reference voxels that do not count.

    Raises
    ------
    ValueError
        No exams, or exams that can be gone through only once.
    """
    if iter(exams) is exams:
        raise ValueError("The exams are gone through several times: give a list, not a generator.")
    whole = tuple(structures)
    steps: list[tuple[int, ...]] = []
    reasons = []
    before, after = _try_step(exams, CleanUp((), ""), whole, whole, ignore)
    old, new = (float(mean_dice(dices[:, None])[0]) for dices in (before, after))
    if new > old and not (after < before).any():
        steps.append(whole)
    reasons.append(_explain("whole foreground", old, new, bool(steps)))
    if len(whole) > 1:
        for structure in whole:
            so_far = CleanUp(tuple(steps), "")
            (old,), (new,) = _try_step(exams, so_far, (structure,), (structure,), ignore)
            if new > old:
                steps.append((structure,))
            reasons.append(_explain(f"label {structure}", old, new, bool(new > old)))
    return CleanUp(tuple(steps), "; ".join(reasons))


def choose_configuration(scores: Mapping[tuple[str, ...], float]) -> Choice:
    """Choose the candidate with the highest cross-validated foreground Dice.

    Parameters
    ----------
    scores
        Foreground Dice (mean over structures of the mean over exams) by members: one
        configuration, or the two of an ensemble. On ties the earlier wins, single configurations
        before ensembles.

    Raises
    ------
    ValueError
        No candidate with a defined score.
    """
    ordered = sorted(scores.items(), key=lambda item: len(item[0]))
    defined = [(members, float(dice)) for members, dice in ordered if not np.isnan(dice)]
    if not defined:
        raise ValueError("No configuration has a cross-validated Dice: nothing to choose from.")
    members, dice = max(defined, key=lambda item: item[1])
    listed = ", ".join(f"{' + '.join(m)} {d:.4f}" for m, d in defined)
    tied = sum(d == dice for _, d in defined) > 1
    how = "the first of those tied for the highest" if tied else "the highest"
    return Choice(members, dice, f"{how} cross-validated foreground Dice of {listed}")


def mean_dice(dices: Dices) -> Dices:
    """Mean over exams of (exam, structure) Dice; NaN entries (absent from both) are left out."""
    defined = ~np.isnan(dices)
    n = defined.sum(axis=0)
    total = np.where(defined, dices, 0).sum(axis=0)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def dice_of(
    predicted: LabelMap, reference: LabelMap, structures: Sequence[int], ignore: int | None = None
) -> Dices:
    """Dice of each structure of one exam; NaN where neither map shows it.

    Voxels whose reference is `ignore` do not count.
    """
    rows = []
    if ignore is not None:
        predicted = np.where(reference == ignore, 0, predicted)
    for structure in structures:
        p, r = predicted == structure, reference == structure
        total = int(p.sum()) + int(r.sum())
        rows.append(2 * int((p & r).sum()) / total if total else np.nan)
    return np.array(rows, dtype=np.float64)


def _try_step(
    exams: Iterable[tuple[LabelMap, LabelMap]],
    so_far: CleanUp,
    labels: Sequence[int],
    structures: Sequence[int],
    ignore: int | None,
) -> tuple[Dices, Dices]:
    """Mean Dice of each structure without and with one more step."""
    before, after = [], []
    for predicted, reference in exams:
        if predicted.shape != reference.shape:
            raise ValueError(
                f"A prediction of {predicted.shape} voxels cannot be compared with a reference of "
                f"{reference.shape}."
            )
        cleaned = so_far.apply(predicted)
        before.append(dice_of(cleaned, reference, structures, ignore))
        kept = keep_largest_component(cleaned, labels)
        after.append(dice_of(kept, reference, structures, ignore))
    if not before:
        raise ValueError("There are no exams to decide the clean-up by.")
    return mean_dice(np.stack(before)), mean_dice(np.stack(after))


def _explain(what: str, before: float, after: float, adopted: bool) -> str:
    verdict = "adopted" if adopted else "not adopted"
    return f"{what}: Dice {before:.4f} without, {after:.4f} with, {verdict}"
