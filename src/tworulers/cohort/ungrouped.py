"""The groups of every grouping at once, which values are in none of them, and groupings that nobody is in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from tworulers.cohort.columns import tell_merged
from tworulers.cohort.grouping import assign_groups, list_left_out
from tworulers.cohort.kinds import NO_GROUP, NO_NUMBER, GroupingError, describe
from tworulers.schema.sources import Attributes, Grouping

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
    groupings : what is asked; those of no column, such as random groups and crossings, have no values of their own.

    Raises
    ------
    GroupingError : a grouping's column is not there, or the grouping is incomplete.
    """
    found, faults = [], []
    for name, grouping in groupings.items():
        if grouping.column is None:
            continue
        try:
            out = list_left_out(cohort, grouping, groupings)
        except GroupingError as error:
            faults.append(str(error))
            continue
        values = out[out["reason"].isin([NO_GROUP, NO_NUMBER])].set_index("value")["exams"]
        counts = {
            str(v): int(n) for v, n in values.sort_values(ascending=False, kind="stable").items()
        }
        left = int(out["exams"].sum())
        if left:
            blank = left - sum(counts.values())
            found.append(Ungrouped(name, grouping, counts, blank, len(cohort) - left))
    if faults:
        raise GroupingError("\n  ".join(faults))
    return found


def require_groups(cohort: pd.DataFrame, groupings: Mapping[str, Grouping]) -> list[str]:
    """Say which values are in no group, and refuse groupings that nobody is in.

    Parameters
    ----------
    cohort, groupings : as of `find_ungrouped`.

    Returns
    -------
    A sentence for each grouping that a value does not fit, or whose spellings are merged.

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
    merged = [told for grouping in groupings.values() for told in tell_merged(cohort, grouping)]
    return [*(one.describe() for one in found if one.values), *merged]


def tell_groups(cohort: pd.DataFrame, attributes: Attributes) -> list[str]:
    """Say which values of the audited exams are in no group, a sentence a grouping.

    Raises
    ------
    GroupingError : a grouping cannot be made, or nobody is in any of its groups.
    """
    try:
        return require_groups(cohort, attributes.groupings)
    except GroupingError as error:
        raise GroupingError(
            f"{error}; join a table that describes the exams (scores.cohort, predictions.cohort, "
            "dataset.reading.table), choose other attributes, go on with those that can be made "
            "(attributes.possible=true), or attributes=none to look at scores and rulers alone"
        ) from error


def keep_possible(cohort: pd.DataFrame, attributes: Attributes) -> tuple[Attributes, list[str]]:
    """Leave out the groupings that cannot be made or that nobody is in, where `possible` asks for that.

    Parameters
    ----------
    cohort : one row an exam.
    attributes : how exams are grouped.

    Returns
    -------
    The same without these groupings, and a sentence on each of them.

    Raises
    ------
    GroupingError : no grouping is left; with the reason of the first.
    """
    if not attributes.possible:
        return attributes, []
    kept: dict[str, Grouping] = {}
    reasons: dict[str, GroupingError] = {}
    for name, grouping in attributes.groupings.items():
        try:
            if lost := [part for part in grouping.of if part in reasons]:
                raise GroupingError(
                    f"grouping {describe(grouping)}: it crosses {' and '.join(lost)}"
                )
            require_groups(cohort, {name: grouping})
            assign_groups(cohort, grouping, attributes.groupings)
            kept[name] = grouping
        except GroupingError as error:
            reasons[name] = error
    if reasons and not kept:
        raise next(iter(reasons.values()))
    told = [
        f"{name} is left out, since it cannot be made: {error}" for name, error in reasons.items()
    ]
    return replace(attributes, groupings=kept), told


def form_groups(cohort: pd.DataFrame, attributes: Attributes) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Put the audited exams into the groups of every grouping, and list who is in none and why.

    Returns
    -------
    Indexed by exam_id, one ordered categorical column a grouping, missing where in no group; and the rows of
    `list_left_out` with their `grouping`.

    Raises
    ------
    GroupingError : a grouping cannot be made, or nobody is in any of its groups.
    """
    tell_groups(cohort, attributes)
    columns, left_out = {}, []
    for name, grouping in attributes.groupings.items():
        columns[name] = assign_groups(cohort, grouping, attributes.groupings)
        left_out.append(list_left_out(cohort, grouping, attributes.groupings).assign(grouping=name))
    listed = pd.concat(left_out, ignore_index=True) if left_out else pd.DataFrame()
    return pd.DataFrame(columns, index=pd.Index(cohort["exam_id"], name="exam_id")), listed
