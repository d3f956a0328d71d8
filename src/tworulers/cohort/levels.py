"""Groups by the values of a column, whatever their case and blanks."""

from collections.abc import Mapping

import pandas as pd

from tworulers.cohort.kinds import (
    KINDS,
    MISSING,
    NO_GROUP,
    Assigned,
    GroupingError,
    describe,
    read_column,
    refuse_many,
)
from tworulers.cohort.spelling import fold_spelling, is_blank
from tworulers.schema.sources import Grouping

OTHERS = "*"
"""The level value that stands for every value no other group names."""


@KINDS.register("levels")
def look_up_levels(exams: pd.DataFrame, grouping: Grouping, _: Mapping[str, Grouping]) -> Assigned:
    """Look each value up in the levels."""
    refuse_many(len(grouping.levels), grouping)
    if not grouping.levels:
        raise GroupingError(f"grouping {describe(grouping)}: kind is levels, but none is given")
    values = read_column(exams, grouping)
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
    reasons = pd.Series(NO_GROUP, index=values.index).mask(blank, MISSING)
    return Assigned(list(grouping.levels), groups.mask(blank), reasons)
