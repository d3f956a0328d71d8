"""Groups by cutting a column of numbers: at stated edges, or into parts of equal size."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.cohort.kinds import (
    KINDS,
    MISSING,
    NO_NUMBER,
    OVER_89,
    Assigned,
    GroupingError,
    describe,
    read_column,
    refuse_many,
)
from tworulers.cohort.numbers import read_numbers
from tworulers.cohort.spelling import is_blank
from tworulers.schema.sources import Grouping


@KINDS.register("bins")
def cut_at_edges(exams: pd.DataFrame, grouping: Grouping, _: Mapping[str, Grouping]) -> Assigned:
    """Cut numbers at the inner edges of half-open bins."""
    edges = list(grouping.edges)
    if not edges or edges != sorted(set(edges)):
        raise GroupingError(
            f"grouping {describe(grouping)}: edges must be given and increase, found {edges}"
        )
    return _cut(exams, grouping, np.asarray(edges, dtype=float), name_bins(edges))


@KINDS.register("quantiles")
def cut_at_quantiles(
    exams: pd.DataFrame, grouping: Grouping, _: Mapping[str, Grouping]
) -> Assigned:
    """Cut the numbers of the given exams into parts of equal size, named by the cuts where these tell them apart."""
    parts = grouping.quantiles
    refuse_many(parts, grouping)
    if parts < 2:
        raise GroupingError(
            f"grouping {describe(grouping)}: quantiles must be 2 or more, found {parts}"
        )
    values = read_column(exams, grouping)
    known = read_numbers(values.mask(is_blank(values))).dropna().to_numpy()
    shares = np.arange(1, parts) / parts
    cuts = np.quantile(known, shares) if known.size else np.zeros(len(shares))
    # The smallest value of a part cuts as its quantile does, which may lie between two values.
    least = [min(known[known >= cut], default=float(cut)) for cut in cuts]
    names = name_bins(least)
    if not known.size or len({*least}) < len(least) or len({*names}) < parts:
        names = [f"part {part + 1} of {parts}" for part in range(parts)]
    found = _cut(exams, grouping, cuts, names)
    if grouping.bins is None:
        return found
    above = found.reasons == OVER_89
    return Assigned(found.names, found.groups.mask(above, found.names[-1]), found.reasons)


def name_bins(edges: list[float]) -> list[str]:
    """Name half-open bins by their inner edges, lowest first."""
    inner = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    return [f"<{edges[0]:g}", *inner, f"{edges[-1]:g}+"]


def _cut(
    exams: pd.DataFrame, grouping: Grouping, cuts: NDArray[np.floating], default: list[str]
) -> Assigned:
    """Cut numbers, a value on a cut going up."""
    values = read_column(exams, grouping)
    blank = is_blank(values)
    numbers = read_numbers(values.mask(blank))
    reasons = pd.Series(NO_NUMBER, index=values.index).mask(blank, MISSING)
    if grouping.column == "age" and "age_over_89" in exams.columns:
        reasons = reasons.mask(numbers.isna() & exams["age_over_89"].astype(bool), OVER_89)
    names = _name_parts(grouping, default)
    places = np.searchsorted(cuts, numbers.fillna(cuts[0]).to_numpy(), side="right")
    groups = pd.Series(np.asarray(names, dtype=object)[places], index=values.index)
    return Assigned(names, groups.mask(numbers.isna()), reasons)


def _name_parts(grouping: Grouping, default: list[str]) -> list[str]:
    """Name the parts, lowest first, as `group_order` does; a group of blanks in it is not a part."""
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
