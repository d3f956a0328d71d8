"""Trained folds of ours as a folder of nnU-Net's results, which its own commands predict with."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from tworulers.io.paths import Layout
from tworulers.io.records import made_by, require
from tworulers.recipe.task import CURVE, FINAL
from tworulers.schema.settings import Settings
from tworulers.training.folds import fold_folders
from tworulers.training.plans import read_plans

LOGGED = {
    "train_loss": "train_losses",
    "val_loss": "val_losses",
    "pseudo_dice": "mean_fg_dice",
    "smoothed_pseudo_dice": "ema_fg_dice",
    "learning_rate": "lrs",
}
"""What nnU-Net calls the columns of a training curve."""


def export_regime(settings: Settings, layout: Layout, results: Path) -> list[Path]:
    """Write every trained configuration of a regime the way nnU-Net reads it, each whole or not at all.

    Parameters
    ----------
    settings, layout : the regime, and where its folds lie.
    results : nnU-Net's folder of results; `<dataset>/<trainer>__<plans>__<configuration>` is made below.

    Returns
    -------
    The folders that were written.

    Raises
    ------
    FileNotFoundError : a configuration of the grid is not trained.
    FileExistsError : a folder stands there already.
    ValueError : a network that nnU-Net has no class for.
    """
    from tworulers.recipe.interop import TrainedModel, export_trained_model
    from tworulers.recipe.predict import load_member

    plans, facts = read_plans(layout.plans, layout.planned_dataset)
    regime = settings.regime.name
    trained = {
        name: fold_folders(require(layout.model(regime, name), made_by("train")))
        for name in settings.grid.configurations
    }
    results.mkdir(parents=True, exist_ok=True)
    written = []
    for name, folds in trained.items():
        members = {
            fold.name.removeprefix("fold_"): load_member(
                require(fold / FINAL, made_by("train")), plans.configuration(name), facts
            )
            for fold in folds
        }
        (axes,) = {member.mirror_axes for member in members.values()}
        networks = {fold: member.network for fold, member in members.items()}
        logs = {fold.name.removeprefix("fold_"): _read_log(fold) for fold in folds}
        epochs = max(len(log["lrs"]) for log in logs.values())
        model = TrainedModel(plans, facts, name, axes, networks)
        with TemporaryDirectory(dir=results, prefix=".") as beside:
            made = export_trained_model(model, Path(beside), epochs=epochs, logs=logs)
            target = results / made.relative_to(beside)
            if target.exists():
                raise FileExistsError(
                    f"{target} is there already and was left as it is; take it away, or name another export.folder"
                )
            target.parent.mkdir(exist_ok=True)
            made.rename(target)
        written.append(target)
    return written


def _read_log(fold: Path) -> dict[str, list[float]]:
    curve = pd.read_parquet(require(fold / CURVE, made_by("train")))
    return {theirs: [float(value) for value in curve[ours]] for ours, theirs in LOGGED.items()}
