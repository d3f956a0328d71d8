"""Which group of a grouping each exam belongs to, and which exams belong to none and why."""

from collections.abc import Mapping

import pandas as pd

from tworulers.cohort import chance, columns, crossing, cuts, levels
from tworulers.cohort.kinds import Assigned, GroupingError, assign
from tworulers.schema.sources import Grouping

__all__ = ["SHIPPED", "GroupingError", "assign_groups", "list_left_out"]

SHIPPED = (chance, columns, crossing, cuts, levels)
"""The modules that hold a kind of grouping each, or two."""


def assign_groups(
    cohort: pd.DataFrame, grouping: Grouping, groupings: Mapping[str, Grouping] | None = None
) -> pd.Series:
    """Put each exam into a group of a grouping.

    Parameters
    ----------
    cohort : one row an exam, with ``exam_id`` and the grouping's column; random groups need
        ``patient_id``, and ages above 89 are told by ``age_over_89``.
    grouping : how groups are made.
    groupings : the groupings that an intersection may name.

    Returns
    -------
    An ordered categorical indexed by ``exam_id``; its categories are the groups in their order,
    empty ones included. Missing means left out; `list_left_out` says why.

    Raises
    ------
    GroupingError : for an unknown column, a value in two groups, or an incomplete grouping.
    """
    found = _assign(cohort, grouping, groupings)
    return found.groups.astype(pd.CategoricalDtype(found.names, ordered=True)).rename(None)


def list_left_out(
    cohort: pd.DataFrame, grouping: Grouping, groupings: Mapping[str, Grouping] | None = None
) -> pd.DataFrame:
    """Count the exams that a grouping leaves out, by the value they have and the reason.

    Returns
    -------
    One row a ``value`` and ``reason``, with the number of ``exams`` and their ``exam_ids``.
    """
    found = _assign(cohort, grouping, groupings)
    out = found.groups.isna().to_numpy()
    values = cohort[grouping.column] if grouping.column in cohort else pd.Series("", cohort.index)
    listed = pd.DataFrame(
        {
            "value": ["" if pd.isna(value) else str(value) for value in values[out]],
            "reason": found.reasons[out].to_numpy(),
            "exam_id": found.groups.index[out],
        }
    )
    by_value = listed.groupby(["value", "reason"], sort=True)["exam_id"]
    return by_value.agg(exams="size", exam_ids=lambda ids: ", ".join(sorted(ids))).reset_index()


def _assign(
    cohort: pd.DataFrame, grouping: Grouping, groupings: Mapping[str, Grouping] | None
) -> Assigned:
    by_exam = cohort.set_axis(pd.Index(cohort["exam_id"], name="exam_id"))
    return assign(by_exam, grouping, groupings or {})
