"""Which exams validate which fold: nnU-Net's own split, and splits made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.integer[Any]]
SEED = 12345


@dataclass(frozen=True)
class Fold:
    """Identifiers of the exams that train and that validate, both sorted."""

    train: tuple[str, ...]
    val: tuple[str, ...]


def split_folds(exams: Sequence[str], n_folds: int = 5) -> tuple[Fold, ...]:
    """nnU-Net's split: exams sorted as text, shuffled with its fixed seed, cut into equal parts.

    It knows nothing of patients: exams of one patient may end up on both sides.

    Raises
    ------
    ValueError
        Fewer exams than folds, or an exam named twice.
    """
    ordered = sorted(exams)
    if len(set(ordered)) != len(ordered):
        raise ValueError("An exam is named twice; folds need distinct identifiers.")
    if len(ordered) < n_folds:
        raise ValueError(f"{len(ordered)} exams cannot fill {n_folds} folds.")
    positions = np.arange(len(ordered))
    np.random.RandomState(SEED).shuffle(positions)
    return tuple(
        _fold(ordered, np.setdiff1d(positions, part), np.sort(part))
        for part in np.array_split(positions, n_folds)
    )


def draw_fold(exams: Sequence[str], fold: int) -> Fold:
    """A fold beyond the split: 80 % of the exams train, drawn with a seed of the fold's own."""
    ordered = sorted(exams)
    generator = np.random.RandomState(SEED + fold)
    train = np.sort(generator.choice(len(ordered), int(0.8 * len(ordered)), replace=False))
    return _fold(ordered, train, np.setdiff1d(np.arange(len(ordered)), train))


def folds_to_json(folds: Sequence[Fold]) -> list[dict[str, list[str]]]:
    """The structure of nnU-Net's `splits_final.json`."""
    return [{"train": list(fold.train), "val": list(fold.val)} for fold in folds]


def folds_from_json(
    data: Sequence[Mapping[str, Any]], exams: Sequence[str] | None = None
) -> tuple[Fold, ...]:
    """Read the structure of a `splits_final.json`.

    Parameters
    ----------
    data
        A list of folds with `train` and `val`.
    exams
        The exams there are, to check the split against; None skips that.

    Raises
    ------
    ValueError
        All faults in one list: keys that are missing, folds without exams, exams that train and
        validate one fold, exams that do not exist.
    """
    faults = []
    folds = []
    for i, entry in enumerate(data):
        missing = [key for key in ("train", "val") if not entry.get(key)]
        if missing:
            faults.append(f"fold {i} has no {' and no '.join(missing)} exams")
            continue
        fold = Fold(tuple(sorted(map(str, entry["train"]))), tuple(sorted(map(str, entry["val"]))))
        both = sorted(set(fold.train) & set(fold.val))
        if both:
            faults.append(f"fold {i} trains and validates on {', '.join(both)}")
        unknown = sorted({*fold.train, *fold.val} - set(exams)) if exams is not None else []
        if unknown:
            faults.append(f"fold {i} names exams that do not exist: {', '.join(unknown)}")
        folds.append(fold)
    if faults or not folds:
        raise ValueError("The split cannot be used: " + "; ".join(faults or ["no folds"]) + ".")
    return tuple(folds)


def _fold(ordered: Sequence[str], train: Positions, val: Positions) -> Fold:
    return Fold(tuple(ordered[i] for i in train), tuple(ordered[i] for i in val))
