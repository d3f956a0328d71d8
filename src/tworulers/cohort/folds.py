"""Which exams regimes train, validate and test on, as the table of splits says."""

import pandas as pd

from tworulers.schema.settings import Split


def list_folds(splits: pd.DataFrame, regime: str) -> list[dict[str, list[str]]]:
    """List the folds of a regime as nnU-Net's `splits_final.json` does: training and validation exams of each."""
    mine = splits[(splits["regime"] == regime) & splits["split"].isin([Split.TRAIN, Split.VAL])]
    return [
        {
            "train": sorted(mine.loc[mine["fold"] != fold, "exam_id"]),
            "val": sorted(mine.loc[mine["fold"] == fold, "exam_id"]),
        }
        for fold in sorted(mine["fold"].dropna().unique())
    ]


def list_development(splits: pd.DataFrame, regimes: list[str]) -> list[str]:
    """List the exams that any of the regimes trains or validates on, sorted."""
    mine = splits[splits["regime"].isin(regimes) & splits["split"].isin([Split.TRAIN, Split.VAL])]
    return sorted(mine["exam_id"].unique())


def list_tested(splits: pd.DataFrame) -> list[str]:
    """List the exams that every regime predicts: those that test any of them, sorted."""
    return sorted(splits.loc[splits["split"] == Split.TEST, "exam_id"].unique())
