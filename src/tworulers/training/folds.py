"""The folds of a model: what each is trained from, and those trained before, which new ones never cost."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tworulers.io.owned import remove_part
from tworulers.io.paths import Layout
from tworulers.io.resume import STAMP, Stamp, read_stamp, tell_difference
from tworulers.progress import say
from tworulers.recipe.task import CROSS_VALIDATION, SECONDS, FoldTask
from tworulers.schema.settings import Settings


def fold_folders(model: Path) -> list[Path]:
    """The trained folds of a model, in order."""
    return sorted(model.glob("fold_*"), key=number_of)


def number_of(folder: Path) -> int:
    """Which fold a folder is of."""
    return int(folder.name.removeprefix("fold_"))


def list_tasks(
    folds: Sequence[Mapping[str, Sequence[str]]],
    settings: Settings,
    layout: Layout,
    scratch: Path,
    labels: Path,
    output: Path,
) -> list[FoldTask]:
    """List what each fold that the grid asks for is trained from.

    Parameters
    ----------
    folds : all of the regime, as `list_folds` gives them.
    settings, layout : the regime, the configuration and how it is trained; plans and arrays.
    scratch : where unfinished folds keep their checkpoints.
    labels : the prepared labels.
    output : where finished folds go.
    """
    regime, name = settings.regime.name, settings.configuration.name
    return [
        FoldTask(
            name=f"{regime} {name} fold {fold}",
            plans=str(layout.plans),
            dataset=str(layout.planned_dataset),
            configuration=name,
            recipe=settings.recipe,
            trainer=settings.trainer,
            train=tuple(folds[fold]["train"]),
            val=tuple(folds[fold]["val"]),
            images=str(layout.arrays(name)),
            labels=str(labels),
            scratch=str(scratch / f"fold_{fold}"),
            output=str(output / f"fold_{fold}"),
            seed=settings.seed * 1000 + fold,
        )
        for fold in settings.grid.folds
    ]


def keep_timings(tasks: Sequence[FoldTask], folder: Path) -> None:
    """Keep how long the epochs of each fold took that was trained now."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        if (Path(task.scratch) / SECONDS).is_file():
            shutil.copy(Path(task.scratch) / SECONDS, folder / f"{Path(task.output).name}.parquet")


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
