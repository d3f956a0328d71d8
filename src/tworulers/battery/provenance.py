"""Whose labels judged each exam, where a test set is judged partly by a machine's."""

import pandas as pd

from tworulers.schema.settings import Provenance
from tworulers.stats.types import BoolArray

PROVENANCE = "provenance"

COLUMNS = ["grouping", "group", "n", "n_machine", "share_machine"]


def find_provenance(scores: pd.DataFrame) -> pd.Series:
    """Give the provenance of the labels that judged each exam, a machine's where one of its structures has it.

    Parameters
    ----------
    scores : a scores table of one regime and ruler.

    Returns
    -------
    Indexed by exam_id, in its order.
    """
    by_machine = scores["provenance"] == Provenance.SILVER
    ranked = scores.assign(first=~by_machine).sort_values(["exam_id", "first"], kind="stable")
    return ranked.drop_duplicates("exam_id").set_index("exam_id")["provenance"].astype(str)


def is_by_machine(provenance: pd.Series) -> BoolArray:
    """Tell which exams a machine's labels judged, (n,): they show no equality of groups."""
    return (provenance == Provenance.SILVER).to_numpy(dtype=bool)


def share_labels(provenance: pd.Series, groups: pd.DataFrame) -> pd.DataFrame:
    """Count the exams of each group that a machine's labels judged, where some are and some are not.

    Parameters
    ----------
    provenance : of each exam.
    groups : same index, one ordered categorical column a grouping.
    """
    machine = is_by_machine(provenance)
    if machine.all() or not machine.any():
        return pd.DataFrame(columns=COLUMNS)
    rows = []
    for grouping, column in groups.items():
        for group in column.cat.categories:
            inside = (column == group).to_numpy(dtype=bool)
            n, by = int(inside.sum()), int((inside & machine).sum())
            share = by / n if n else float("nan")
            rows.append((str(grouping), str(group), n, by, share))
    return pd.DataFrame(rows, columns=COLUMNS)
