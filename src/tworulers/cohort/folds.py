"""The folds of a regime, in the form of nnU-Net's `splits_final.json`."""

import pandas as pd

from tworulers.schema import Split


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
