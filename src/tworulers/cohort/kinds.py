"""What a kind of grouping is, and the kinds there are: each is one function, found by the name in `kind`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from tworulers.schema.own_files import Registry
from tworulers.schema.sources import Grouping

MAX_GROUPS = 50
"""Most groups of a grouping: what needs more is hardly a protected attribute, and every pair is compared."""

MISSING = "no value"
OVER_89 = "age only known to be above 89"
NO_GROUP = "in no group"
NO_NUMBER = "not a number"


class GroupingError(ValueError):
    """A grouping cannot be made; the message says which, and what to change."""


@dataclass(frozen=True)
class Assigned:
    """Which group every exam is in.

    Attributes
    ----------
    names : the groups in their order, empty ones included.
    groups : the name of its group by exam; missing where it is in none.
    reasons : why an exam is in no group, by exam; read only where it is in none.
    """

    names: list[str]
    groups: pd.Series
    reasons: pd.Series


KINDS: Registry[Callable[[pd.DataFrame, Grouping, Mapping[str, Grouping]], Assigned]] = Registry(
    "kind of grouping"
)
"""Kinds of grouping by name. A kind gets the exams, indexed by `exam_id`, the grouping, and all groupings by name."""


def assign(exams: pd.DataFrame, grouping: Grouping, groupings: Mapping[str, Grouping]) -> Assigned:
    """Put exams into groups by the grouping's kind, and those without a value or above 89 where it says.

    Parameters
    ----------
    exams : one row an exam, indexed by `exam_id`.
    grouping : how groups are made.
    groupings : the groupings that an intersection may name.

    Raises
    ------
    GroupingError : for an unknown column, an incomplete grouping, or an order that does not name each group once.
    """
    if grouping.kind not in KINDS:
        raise GroupingError(
            f"grouping {describe(grouping)}: kind must be one of {sorted(KINDS)}, found {grouping.kind!r}"
        )
    found = KINDS[grouping.kind](exams, grouping, groupings)
    groups, reasons = found.groups.astype(object), found.reasons
    for name, reason in ((grouping.missing, MISSING), (grouping.over_89, OVER_89)):
        groups = groups.mask(reasons == reason, name) if name else groups
    named = [*found.names, *filter(None, (grouping.over_89, grouping.missing))]
    named = list(dict.fromkeys(named))
    refuse_many(len(named), grouping)
    order = list(grouping.group_order) or named
    if sorted(order) != sorted(named):
        raise GroupingError(
            f"grouping {describe(grouping)}: group_order is {order}, but its groups are {named}; "
            "name each group once"
        )
    return Assigned(order, groups, reasons.mask(groups.notna()))


def read_column(exams: pd.DataFrame, grouping: Grouping) -> pd.Series:
    """Return the grouped column, or say which columns there are."""
    if grouping.column is None or grouping.column not in exams.columns:
        raise GroupingError(
            f"grouping {describe(grouping)}: column {grouping.column!r} is not in the cohort; it "
            f"has {sorted(map(str, exams.columns))}"
        )
    return exams[grouping.column]


def refuse_many(n: int, grouping: Grouping) -> None:
    """Refuse more groups than can be compared."""
    if n > MAX_GROUPS:
        column = f": is {grouping.column!r} its column?" if grouping.column else ""
        raise GroupingError(
            f"grouping {describe(grouping)}: expected at most {MAX_GROUPS} groups, found {n}{column}"
        )


def describe(grouping: Grouping) -> str:
    """Return what a grouping is called in a message."""
    return repr(grouping.title or grouping.column or grouping.kind)
