"""Folds of a model that were trained before: kept beside new ones of the same making, never lost to them."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from tworulers.io.console import say
from tworulers.io.owned import remove_part
from tworulers.recipe.task import CROSS_VALIDATION, FoldTask
from tworulers.stages._cross_validation import fold_folders
from tworulers.stages._resume import STAMP, Stamp, read_stamp, tell_difference


def find_other_folds(model: Path, folds: Sequence[int], made_from: Stamp) -> list[Path]:
    """Find the trained folds of a model that are not asked for again.

    Parameters
    ----------
    model : the finished folder; there may be none.
    folds : those that are trained now.
    made_from : what they are trained from.

    Raises
    ------
    ValueError : the others were trained otherwise, so that they cannot stay beside them in one model.
    """
    asked = {f"fold_{fold}" for fold in folds}
    others = [path for path in fold_folders(model) if path.name not in asked]
    changed = tell_difference(read_stamp(model / STAMP), made_from) if others else ""
    if changed:
        names = ", ".join(path.name for path in others)
        raise ValueError(
            f"{model} holds {names}, which grid.folds={list(folds)} would delete: it cannot stay beside folds that "
            f"are trained otherwise ({changed}). Ask for all of them again in grid.folds, move the folder away, or "
            "write elsewhere with paths=sweep"
        )
    return others


def keep_folds(folder: Path, tasks: Sequence[FoldTask], others: Sequence[Path]) -> None:
    """Bring other finished folds of the same making beside those trained now, and remove unfinished ones."""
    asked = {Path(task.output).name for task in tasks}
    for path in fold_folders(folder):
        if path.name not in asked and not (path / CROSS_VALIDATION).is_file():
            remove_part(path)
    for path in others:
        if not (folder / path.name).exists():
            shutil.copytree(path, folder / path.name)
    kept = [path.name for path in fold_folders(folder) if path.name not in asked]
    if kept:
        say(f"kept beside them, trained before in the same way: {', '.join(kept)}")
