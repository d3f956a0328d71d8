"""Which folds a model may be made of: those of the cross-validation by number, or one that learns from every exam."""

from typing import Any

ALL = "all"
"""The fold without exams to validate on, by nnU-Net's name for it."""

Fold = int | str
"""A fold's number, or `ALL`."""


def list_fold_faults(settings: Any) -> list[str]:
    """List what is no fold in `grid.folds` and `configuration.fold`, and `all` beside numbers."""
    folds, alone = settings.grid.folds, settings.configuration.fold
    named = [(f"grid.folds.{place}", fold) for place, fold in enumerate(folds)]
    faults = [
        f"{name}: expected a number at least 0 or {ALL}, found {fold!r}"
        for name, fold in [*named, ("configuration.fold", alone)]
        if isinstance(fold, str) and fold != ALL
    ]
    if ALL in folds and len(folds) > 1:
        faults.append(
            f"grid.folds: expected numbers, or {ALL} alone, found {list(folds)}: fold {ALL} learns from the exams "
            "that validate the others"
        )
    return faults
