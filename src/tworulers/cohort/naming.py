"""What the groups of a grouping are called, and in which order they stand."""

from collections.abc import Mapping
from itertools import pairwise, product
from math import prod

from tworulers.schema_sources import Grouping

JOIN = " x "
"""Stands between the names of crossed groups."""


MAX_GROUPS = 50
"""Most groups of a grouping: what needs more is hardly a protected attribute, and every pair is compared."""


class GroupingError(ValueError):
    """A grouping cannot be made; the message says which, and what to change."""


def name_groups(grouping: Grouping, groupings: Mapping[str, Grouping] | None = None) -> list[str]:
    """Return the groups of a grouping in the order of display and of effects.

    Parameters
    ----------
    grouping : how groups are made.
    groupings : the groupings that an intersection may name.

    Raises
    ------
    GroupingError : for an incomplete grouping, or an order that does not name each group once.
    """
    _refuse_many(grouping, groupings or {})
    named = _name_own_groups(grouping, groupings or {})
    named = list(dict.fromkeys([*named, *filter(None, (grouping.over_89, grouping.missing))]))
    order = list(grouping.group_order) or named
    if sorted(order) != sorted(named):
        raise GroupingError(
            f"grouping {describe(grouping)}: group_order is {order}, but its groups are {named}; "
            "name each group once"
        )
    return order


def name_parts(grouping: Grouping) -> list[str]:
    """Return the names of bins or quantile parts, lowest first.

    They are the names in `group_order`, or made from the edges. A group of blanks is not a part.
    """
    default = _name_bins(grouping) if grouping.kind == "bins" else _name_quantiles(grouping)
    named = list(grouping.group_order) or default
    for extra in (grouping.missing, grouping.over_89):
        if len(named) > len(default) and extra in named:
            named.remove(extra)
    if len(named) != len(default):
        raise GroupingError(
            f"grouping {describe(grouping)}: {len(default)} parts need as many names in "
            f"group_order, lowest first, found {named}"
        )
    return named


def name_crossed(grouping: Grouping, groupings: Mapping[str, Grouping]) -> list[str]:
    """Return the names of the groupings that an intersection crosses, or say which are unknown."""
    if len(grouping.of) < 2 or any(name not in groupings for name in grouping.of):
        raise GroupingError(
            f"grouping {describe(grouping)}: an intersection crosses two or more of "
            f"{sorted(groupings)}, found {list(grouping.of)}"
        )
    return list(grouping.of)


def describe(grouping: Grouping) -> str:
    """Return what a grouping is called in a message."""
    return repr(grouping.title or grouping.column or grouping.kind)


def count_groups(grouping: Grouping, groupings: Mapping[str, Grouping]) -> int:
    """Count the groups of a grouping before any of them is named."""
    match grouping.kind:
        case "levels":
            return len(grouping.levels)
        case "bins":
            return len(grouping.edges) + 1
        case "quantiles":
            return grouping.quantiles
        case "intersection":
            crossed = [groupings[name] for name in name_crossed(grouping, groupings)]
            return prod(count_groups(part, groupings) for part in crossed)
        case _:
            return len(grouping.group_order)


def _refuse_many(grouping: Grouping, groupings: Mapping[str, Grouping]) -> None:
    n = count_groups(grouping, groupings)
    if n > MAX_GROUPS:
        column = f": is {grouping.column!r} its column?" if grouping.column else ""
        raise GroupingError(
            f"grouping {describe(grouping)}: expected at most {MAX_GROUPS} groups, found {n}{column}"
        )


def _name_own_groups(grouping: Grouping, groupings: Mapping[str, Grouping]) -> list[str]:
    """Return the groups that values can be in, without the groups of blanks."""
    match grouping.kind:
        case "levels" if grouping.levels:
            return list(grouping.levels)
        case "levels":
            raise GroupingError(f"grouping {describe(grouping)}: kind is levels, but none is given")
        case "bins" | "quantiles":
            return name_parts(grouping)
        case "random" if len(grouping.group_order) >= 2:
            return list(grouping.group_order)
        case "random":
            raise GroupingError(
                f"grouping {describe(grouping)}: a random grouping needs two or more names in "
                "group_order"
            )
        case "intersection":
            crossed = [groupings[name] for name in name_crossed(grouping, groupings)]
            parts = [name_groups(part, groupings) for part in crossed]
            return [JOIN.join(combination) for combination in product(*parts)]
        case _:
            raise GroupingError(
                f"grouping {describe(grouping)}: kind must be levels, bins, quantiles, random or "
                f"intersection, found {grouping.kind!r}"
            )


def _name_bins(grouping: Grouping) -> list[str]:
    """Name half-open bins by their edges."""
    edges = list(grouping.edges)
    if not edges or edges != sorted(set(edges)):
        raise GroupingError(
            f"grouping {describe(grouping)}: edges must be given and increase, found {edges}"
        )
    inner = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    return [f"<{edges[0]:g}", *inner, f"{edges[-1]:g}+"]


def _name_quantiles(grouping: Grouping) -> list[str]:
    """Name equal parts by their rank."""
    parts = grouping.quantiles
    if parts < 2:
        raise GroupingError(
            f"grouping {describe(grouping)}: quantiles must be 2 or more, found {parts}"
        )
    if parts == 2:
        return ["< median", ">= median"]
    return [f"part {part + 1} of {parts}" for part in range(parts)]
