"""Which values of a column are in no group of a grouping, and groupings that nobody is in."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from tworulers.cohort.grouping import NO_GROUP, NO_NUMBER, list_left_out
from tworulers.cohort.naming import GroupingError, describe
from tworulers.schema_sources import Grouping

SHOWN = 20


@dataclass(frozen=True)
class Ungrouped:
    """Who is in no group of a grouping.

    Attributes
    ----------
    name, grouping : the grouping.
    values : exams by value that is in no group, the most frequent first.
    blank : exams without a value.
    grouped : exams that are in a group.
    """

    name: str
    grouping: Grouping
    values: dict[str, int]
    blank: int
    grouped: int

    def describe(self) -> str:
        """Say which values are in no group, and what the grouping knows."""
        listed = ", ".join(f"{value!r}: {n}" for value, n in list(self.values.items())[:SHOWN])
        more = len(self.values) - SHOWN
        return (
            f"grouping {describe(self.grouping)}: {sum(self.values.values())} exams are in no group, by value of "
            f"column {self.grouping.column!r} {listed}{f' and {more} more' * (more > 0)}; it knows {self._tell_known()}"
        )

    def refuse(self) -> str:
        """Say why nothing can be asked of the grouping, and what to do."""
        if not self.values:
            return f"grouping {describe(self.grouping)}: no exam has a value in column {self.grouping.column!r}"
        levels = self.grouping.levels
        group = next((group for group in levels if group.isidentifier()), "<group>")
        mend = (
            f"say what the values stand for, such as attributes.groupings.{self.name}.levels.{group}=['<value>'], or "
            "in a file below conf/attributes"
        )
        return f"{self.describe()}; nobody is in any of its groups{f': {mend}' if levels else ''}"

    def _tell_known(self) -> str:
        levels = self.grouping.levels
        if not levels:
            return "numbers"
        return "; ".join(f"{group}: {', '.join(members)}" for group, members in levels.items())


def find_ungrouped(cohort: pd.DataFrame, groupings: Mapping[str, Grouping]) -> list[Ungrouped]:
    """List the groupings of columns that leave exams out, with the values of those.

    Parameters
    ----------
    cohort : one row an exam.
    groupings : what is asked; random groups and crossings have no values of their own.

    Raises
    ------
    GroupingError : a grouping's column is not there, or the grouping is incomplete.
    """
    found = []
    for name, grouping in groupings.items():
        if grouping.kind in ("random", "intersection"):
            continue
        out = list_left_out(cohort, grouping, groupings)
        values = out[out["reason"].isin([NO_GROUP, NO_NUMBER])].set_index("value")["exams"]
        counts = {
            str(v): int(n) for v, n in values.sort_values(ascending=False, kind="stable").items()
        }
        left = int(out["exams"].sum())
        if left:
            blank = left - sum(counts.values())
            found.append(Ungrouped(name, grouping, counts, blank, len(cohort) - left))
    return found


def require_groups(cohort: pd.DataFrame, groupings: Mapping[str, Grouping]) -> list[str]:
    """Say which values are in no group, and refuse groupings that nobody is in.

    Parameters
    ----------
    cohort, groupings : as of `find_ungrouped`.

    Returns
    -------
    A sentence for each grouping that a value does not fit.

    Raises
    ------
    GroupingError : nobody is in a grouping; all such groupings with the values found and the spellings known.
    """
    if cohort.empty:
        return []
    found = find_ungrouped(cohort, groupings)
    empty = [one.refuse() for one in found if not one.grouped]
    if empty:
        raise GroupingError("\n  ".join(empty))
    return [one.describe() for one in found if one.values]
