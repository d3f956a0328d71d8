"""Which exams validate which fold by nnU-Net's own split, which knows nothing of patients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold

SEED = 12345


@dataclass(frozen=True)
class Fold:
    """Identifiers of the exams that train and that validate, both sorted."""

    train: tuple[str, ...]
    val: tuple[str, ...]


def split_folds(exams: Sequence[str]) -> list[Fold]:
    """nnU-Net's split: exams sorted as text, shuffled with its fixed seed, cut into five parts."""
    ordered = np.array(sorted(exams))
    return [
        Fold(tuple(ordered[train].tolist()), tuple(ordered[val].tolist()))
        for train, val in KFold(5, shuffle=True, random_state=SEED).split(ordered)
    ]
