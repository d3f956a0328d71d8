"""Which group of a grouping each exam belongs to, and which exams belong to none and why."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tworulers.cohort.naming import (
    JOIN,
    GroupingError,
    describe,
    name_crossed,
    name_groups,
    name_parts,
)
from tworulers.cohort.numbers import read_numbers
from tworulers.cohort.spelling import fold_spelling, is_blank
from tworulers.schema_sources import Grouping

__all__ = ["GroupingError", "assign_groups", "list_left_out", "name_groups"]

OTHERS = "*"
"""The level value that stands for every value no other group names."""

_MISSING = "no value"
_OVER_89 = "age only known to be above 89"
NO_GROUP = "in no group"
NO_NUMBER = "not a number"


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
    return _assign(cohort, grouping, groupings or {})[0]


def list_left_out(
    cohort: pd.DataFrame, grouping: Grouping, groupings: Mapping[str, Grouping] | None = None
) -> pd.DataFrame:
    """Count the exams that a grouping leaves out, by the value they have and the reason.

    Returns
    -------
    One row a ``value`` and ``reason``, with the number of ``exams`` and their ``exam_ids``.
    """
    groups, reasons, values = _assign(cohort, grouping, groupings or {})
    out = groups.isna()
    found = ["" if pd.isna(value) else str(value) for value in values[out]]
    listed = pd.DataFrame(
        {"value": found, "reason": reasons[out].to_numpy(), "exam_id": groups.index[out]}
    )
    by_value = listed.groupby(["value", "reason"], sort=True)["exam_id"]
    return by_value.agg(exams="size", exam_ids=lambda ids: ", ".join(sorted(ids))).reset_index()


def _assign(
    cohort: pd.DataFrame, grouping: Grouping, groupings: Mapping[str, Grouping]
) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Return by exam the group, the reason where there is none, and the value that was grouped."""
    dtype = pd.CategoricalDtype(name_groups(grouping, groupings), ordered=True)
    by_exam = cohort.set_axis(pd.Index(cohort["exam_id"], name="exam_id"))
    match grouping.kind:
        case "random":
            values = by_exam["patient_id"].astype(str)
            groups, reasons = _draw_groups(values, grouping), pd.Series("", index=values.index)
        case "intersection":
            values = pd.Series("", index=by_exam.index)
            groups, reasons = _cross_groups(cohort, values, grouping, groupings)
        case "levels":
            values = _read_column(by_exam, grouping)
            groups, reasons = _look_up_levels(values, grouping)
        case _:
            values = _read_column(by_exam, grouping)
            groups, reasons = _cut_numbers(by_exam, values, grouping)
    if grouping.missing:
        groups = groups.mask(reasons == _MISSING, grouping.missing)
    if grouping.over_89:
        groups = groups.mask(reasons == _OVER_89, grouping.over_89)
    return groups.astype(object).astype(dtype).rename(None), reasons.mask(groups.notna()), values


def _read_column(by_exam: pd.DataFrame, grouping: Grouping) -> pd.Series:
    """Return the grouped column, or say which columns there are."""
    if grouping.column is None or grouping.column not in by_exam.columns:
        raise GroupingError(
            f"grouping {describe(grouping)}: column {grouping.column!r} is not in the cohort; it "
            f"has {sorted(map(str, by_exam.columns))}"
        )
    return by_exam[grouping.column]


def _look_up_levels(values: pd.Series, grouping: Grouping) -> tuple[pd.Series, pd.Series]:
    """Look each value up in the levels, whatever its case and blanks."""
    lookup: dict[str, str] = {}
    for group, members in grouping.levels.items():
        for member in members:
            taken = lookup.setdefault(fold_spelling(member), group)
            if taken != group:
                raise GroupingError(
                    f"grouping {describe(grouping)}: value {member!r} is in {taken!r} and {group!r}"
                )
    others = lookup.pop(OTHERS, None)
    blank = is_blank(values)
    groups = values.map(lambda value: lookup.get(fold_spelling(value), others)).astype(object)
    return groups.mask(blank), pd.Series(NO_GROUP, index=values.index).mask(blank, _MISSING)


def _cut_numbers(
    by_exam: pd.DataFrame, values: pd.Series, grouping: Grouping
) -> tuple[pd.Series, pd.Series]:
    """Cut numbers at edges or at quantiles of the given exams, a value on a cut going up."""
    blank = is_blank(values)
    numbers = read_numbers(values.mask(blank))
    reasons = pd.Series(NO_NUMBER, index=values.index).mask(blank, _MISSING)
    if grouping.column == "age" and "age_over_89" in by_exam.columns:
        reasons = reasons.mask(numbers.isna() & by_exam["age_over_89"].astype(bool), _OVER_89)
    known = numbers.dropna().to_numpy()
    if grouping.kind == "bins":
        cuts = np.asarray(grouping.edges, dtype=float)
    else:
        shares = np.arange(1, grouping.quantiles) / grouping.quantiles
        cuts = np.quantile(known, shares) if known.size else np.zeros(len(shares))
    names = np.asarray(name_parts(grouping), dtype=object)
    places = np.searchsorted(cuts, numbers.fillna(cuts[0]).to_numpy(), side="right")
    return pd.Series(names[places], index=values.index).mask(numbers.isna()), reasons


def _draw_groups(patients: pd.Series, grouping: Grouping) -> pd.Series:
    """Draw each patient's group from the seed and the patient's name, so that no other matters."""
    names = list(grouping.group_order)
    drawn = {}
    for patient in patients.unique():
        stream = np.random.default_rng([grouping.seed, *patient.encode()])
        drawn[patient] = names[int(stream.integers(len(names)))]
    return patients.map(drawn).astype(object)


def _cross_groups(
    cohort: pd.DataFrame,
    blank: pd.Series,
    grouping: Grouping,
    groupings: Mapping[str, Grouping],
) -> tuple[pd.Series, pd.Series]:
    """Join the groups of the crossed groupings; an exam that one of them leaves out is left out."""
    joined, reasons = blank.astype(object), blank
    for name in name_crossed(grouping, groupings):
        part = _assign(cohort, groupings[name], groupings)[0].astype(object)
        reasons = reasons.mask(part.isna() & (reasons == ""), f"left out of {name}")
        joined = (joined + JOIN + part).mask(joined.isna() | part.isna())
    return joined.str.removeprefix(JOIN), reasons
