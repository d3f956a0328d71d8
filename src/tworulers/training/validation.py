"""How well folds predict their validation exams, apart for exams that experts and that machines labelled."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tworulers.io.records import made_by, read_table, require
from tworulers.recipe.task import CROSS_VALIDATION, CURVE
from tworulers.schema.settings import MACRO, Provenance
from tworulers.schema.tables import list_rows
from tworulers.training.folds import fold_folders, fold_of


@dataclass(frozen=True)
class Judged:
    """On which exams the folds of a model are judged, as metrics, sentences and titles call it."""

    part: str
    dice: str
    exams: str


HELD_OUT = Judged("validation", "validation Dice", "the validation exams")
LEARNT = Judged(
    "training",
    "Dice, of the exams that it learnt from,",
    "the exams that it learnt from, which is no cross-validation",
)

CURVES = ("train_loss", "val_loss", "pseudo_dice", "learning_rate")


def read_validation(model: Path) -> pd.DataFrame:
    """Read the Dice of the validation exams of all folds: `exam_id`, `structure`, `dice`, `fold`.

    Raises
    ------
    MissingInputError : the model, or a fold of it, is not trained to its end.
    """
    folders = fold_folders(require(model, made_by("train")))
    return pd.concat(
        [
            read_table(folder / CROSS_VALIDATION, "train").assign(fold=fold_of(folder))
            for folder in folders
        ]
    )


def read_curves(model: Path) -> dict[str, list[float]]:
    """Read how each fold learnt, as lists over epochs by fold and quantity."""
    curves = {folder.name: read_table(folder / CURVE, "train") for folder in fold_folders(model)}
    return {
        f"{fold}/{name}": [float(value) for value in curve[name]]
        for fold, curve in curves.items()
        for name in CURVES
    }


def average_validation(validation: pd.DataFrame) -> pd.DataFrame:
    """Average Dice over the validation exams of each fold, by who drew the labels and over all of them.

    Parameters
    ----------
    validation : `exam_id`, `structure`, `dice` (NaN where undefined), `fold`, `provenance`.

    Returns
    -------
    One row a `labels` (gold, silver, and mixed for both together, where there are both) and `structure`, with the macro
    last, a column a fold, `defined` exams of all folds, and `exams`.
    """
    kinds = sorted(validation["provenance"].unique())
    parts = {str(kind): validation[validation["provenance"] == kind] for kind in kinds}
    if len(parts) > 1:
        parts[Provenance.MIXED.value] = validation
    return pd.concat(
        [_average(part).assign(labels=name) for name, part in parts.items()], ignore_index=True
    )


def name_means(means: pd.DataFrame, folds: Sequence[str], judged: Judged) -> dict[str, float]:
    """Name the mean over folds of each row of `average_validation` as a metric of its run.

    Those of all exams, which come last, are told without whose labels they are by.
    """
    kinds = list(dict.fromkeys(means["labels"]))
    return {
        f"{judged.part}/dice/{row['structure']}{'' if row['labels'] == kinds[-1] else '/' + row['labels']}": float(
            np.mean([row[fold] for fold in folds])
        )
        for row in list_rows(means)
    }


def tell_judges(provenances: pd.Series) -> str:
    """Say whose labels validation exams have, and how many each: `by 4 expert and 6 machine labels`."""
    n = int((provenances == Provenance.SILVER).sum())
    counts = {"expert": len(provenances) - n, "machine": n}
    return f"by {' and '.join(f'{n} {whose}' for whose, n in counts.items() if n)} labels"


def _average(part: pd.DataFrame) -> pd.DataFrame:
    by_fold = part.pivot_table(
        index="structure", columns="fold", values="dice", sort=False, dropna=False
    )
    counts = part.groupby("structure", sort=False)["dice"].agg(["count", "size"])
    macro = part.groupby(["exam_id", "structure"])["dice"].mean().groupby("exam_id").count()
    by_fold.loc[MACRO] = by_fold.mean()
    table = by_fold.reset_index()
    defined = counts["count"].to_dict() | {MACRO: int((macro > 0).sum())}
    exams = counts["size"].to_dict() | {MACRO: part["exam_id"].nunique()}
    return table.assign(
        defined=table["structure"].map(defined), exams=table["structure"].map(exams)
    )
