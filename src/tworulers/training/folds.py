"""The folds of a model: what each is trained from, and those trained before, which new ones never cost."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tworulers.io.holding import hold
from tworulers.io.owned import mark_folder, remove_part, require_ours
from tworulers.io.paths import Layout
from tworulers.io.records import MissingInputError, made_by, require, write_json
from tworulers.io.resume import STAMP, Stamp, read_stamp, tell_difference
from tworulers.progress import say
from tworulers.recipe.task import CROSS_VALIDATION, SECONDS, FoldTask
from tworulers.schema.folds import ALL, Fold
from tworulers.schema.settings import Settings
from tworulers.schema.view import change_settings

SEED_OF_ALL = 999
"""What fold `all` adds to a thousandfold seed, where others add their number."""


def fold_folders(model: Path) -> list[Path]:
    """The trained folds of a model, in order."""
    return sorted(
        model.glob("fold_*"), key=lambda folder: (fold_of(folder) == ALL, fold_of(folder))
    )


def require_folds(models: Iterable[Path], folds: Sequence[Fold]) -> None:
    """Refuse models that lack a fold of the grid: one that a job trains elsewhere, or that failed.

    Raises
    ------
    MissingInputError : with every fold that every model lacks.
    """
    faults = []
    for model in models:
        there = {fold_of(fold) for fold in fold_folders(require(model, made_by("train")))}
        if lacking := ", ".join(str(fold) for fold in folds if fold not in there):
            faults.append(f"{model} lacks fold {lacking} of grid.folds={list(folds)}")
    if faults:
        raise MissingInputError(
            "; ".join(faults)
            + f"; {made_by('train')} configuration.fold=<fold> trains one, and a shorter grid.folds does without"
        )


def fold_of(folder: Path) -> Fold:
    """Which fold a folder is of."""
    name = folder.name.removeprefix("fold_")
    return name if name == ALL else int(name)


def learns_from_all(settings: Settings) -> bool:
    """Tell whether models learn from every exam, so that none is left that could judge or choose them."""
    return ALL in settings.grid.folds


def list_tasks(
    folds: Mapping[Fold, Mapping[str, Sequence[str]]],
    settings: Settings,
    layout: Layout,
    scratch: Path,
    labels: Path,
    output: Path,
) -> list[FoldTask]:
    """List what each fold that the grid asks for is trained from.

    Parameters
    ----------
    folds : all of the regime: training and validation exams of each.
    settings, layout : the regime, the configuration and how it is trained; plans and arrays.
    scratch : where unfinished folds keep their checkpoints.
    labels : the prepared labels.
    output : where finished folds go.
    """
    regime, name, recipe = settings.regime.name, settings.configuration.name, settings.recipe
    if recipe.pretrained is not None:
        recipe = change_settings(recipe, pretrained=str(layout.root / recipe.pretrained))
    return [
        FoldTask(
            name=f"{regime} {name} fold {fold}",
            plans=str(layout.plans),
            dataset=str(layout.planned_dataset),
            configuration=name,
            recipe=recipe,
            trainer=settings.trainer,
            train=tuple(folds[fold]["train"]),
            val=tuple(folds[fold]["val"]),
            images=str(layout.arrays(name)),
            labels=str(labels),
            scratch=str(scratch / f"fold_{fold}"),
            output=str(output / f"fold_{fold}"),
            seed=settings.seed * 1000 + (SEED_OF_ALL if isinstance(fold, str) else fold),
        )
        for fold in list_asked_folds(settings)
    ]


def hold_folds(model: Path, folds: Iterable[Fold]) -> None:
    """Hold folds of a model for the rest of this run; see `hold`."""
    for fold in folds:
        hold(model / f"fold_{fold}")


def list_asked_folds(settings: Settings) -> list[Fold]:
    """List the folds that a run trains: all of the grid, or the one that it is told.

    Raises
    ------
    ValueError : the grid does not have that one.
    """
    alone, folds = settings.configuration.fold, list(settings.grid.folds)
    if alone is None:
        return folds
    if alone not in folds:
        raise ValueError(
            f"configuration.fold={alone} is none of grid.folds={folds}, which are those that a model is made of"
        )
    return [alone]


def place_fold(fold: Path, model: Path, folds: Sequence[Fold], made_from: Stamp) -> list[Fold]:
    """Put a fold that a job trained alone into its model, and list those of the grid that are still lacking.

    Parameters
    ----------
    fold : the finished folder, `fold_<k>` or `fold_all`.
    model : where those of other jobs lie; there may be none yet.
    folds : all of the grid.
    made_from : what all of them are trained from.

    Raises
    ------
    ValueError : others lie there that were trained otherwise; the fold stays where it is.
    """
    find_other_folds(model, [fold_of(fold)], made_from)
    require_ours(model)
    model.mkdir(parents=True, exist_ok=True)
    mark_folder(model)
    write_json(made_from, model / STAMP)
    remove_part(model / fold.name)
    fold.rename(model / fold.name)
    there = {fold_of(path) for path in fold_folders(model)}
    return [one for one in folds if one not in there]


def keep_timings(tasks: Sequence[FoldTask], folder: Path) -> None:
    """Keep how long the epochs of each fold took that was trained now."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        if (Path(task.scratch) / SECONDS).is_file():
            shutil.copy(Path(task.scratch) / SECONDS, folder / f"{Path(task.output).name}.parquet")


def find_other_folds(model: Path, folds: Sequence[Fold], made_from: Stamp) -> list[Path]:
    """Find the trained folds of a model that are not asked for again.

    Parameters
    ----------
    model : the finished folder; there may be none.
    folds : those that are trained now.
    made_from : what they are trained from.

    Raises
    ------
    ValueError : the others were trained otherwise, or from exams that these validate on, so that they cannot stay
        beside them in one model.
    """
    asked = {f"fold_{fold}" for fold in folds}
    others = [path for path in fold_folders(model) if path.name not in asked]
    if others and ALL in {*folds, *map(fold_of, others)}:
        names = ", ".join(path.name for path in others)
        raise ValueError(
            f"{model} holds {names}, which cannot stay beside fold {', '.join(map(str, folds))}: fold {ALL} learns "
            "from the exams that the others validate on. Move the folder away, or write elsewhere with paths=sweep"
        )
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
