"""What a fold is trained from, as plain data that travels between processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tworulers.schema.settings import PlanOverrides, Recipe, Trainer

FINAL, BEST, CURVE, CROSS_VALIDATION = "final.pt", "best.pt", "curve.parquet", "validation.parquet"
PROBABILITIES = "probabilities"
SECONDS = "seconds.parquet"
"""How long each epoch took, beside the checkpoints: no result holds what the clock said."""


@dataclass(frozen=True)
class FoldTask:
    """Everything one fold is trained from: settings, exam ids and folders (as text).

    `plans` and `dataset` are JSON files; `scratch` holds checkpoints until the fold is done and
    `output` what is kept. `name` is what messages call the fold.
    """

    name: str
    plans: str
    dataset: str
    configuration: str
    recipe: Recipe
    trainer: Trainer
    train: tuple[str, ...]
    val: tuple[str, ...]
    images: str
    labels: str
    scratch: str
    output: str
    seed: int = 0

    @property
    def resubstitutes(self) -> bool:
        """Whether it validates on the exams that it learns from, as nnU-Net's fold `all` does."""
        return set(self.train) == set(self.val)


def fold_is_done(task: FoldTask) -> bool:
    """Tell whether a fold is finished; its cross-validation table is written last."""
    return (Path(task.output) / CROSS_VALIDATION).is_file()


def task_from_json(content: Mapping[str, Any]) -> FoldTask:
    """Read a task back that was written with `dataclasses.asdict`."""
    recipe = dict(content["recipe"])
    overrides = PlanOverrides(**recipe.pop("plan"))
    fields = {
        **content,
        "recipe": Recipe(**recipe, plan=overrides),
        "trainer": Trainer(**content["trainer"]),
        "train": tuple(content["train"]),
        "val": tuple(content["val"]),
    }
    return FoldTask(**fields)


def list_checkpoints(model: Path, checkpoint: str, folds: Sequence[str] = ()) -> list[Path]:
    """List the checkpoints of a trained model's folds that predict.

    Parameters
    ----------
    model
        A folder with `fold_<k>/<checkpoint>`.
    checkpoint
        File name of the weights.
    folds
        Names after `fold_` of those that predict. Where none is named, all numbered ones, as nnU-Net
        does, and `fold_all` where there is no other.
    """
    found = {
        file.parent.name.removeprefix("fold_"): file for file in model.glob(f"fold_*/{checkpoint}")
    }
    wanted = folds or [name for name in found if name != "all"] or list(found)
    return [found[name] for name in sorted(wanted) if name in found]
