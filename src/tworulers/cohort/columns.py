"""Groups of any column: its texts as levels, its numbers by bins that are stated."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tworulers.cohort.cuts import name_bins
from tworulers.cohort.kinds import KINDS, MISSING, Assigned, GroupingError, assign, read_column
from tworulers.cohort.numbers import read_numbers
from tworulers.cohort.spelling import is_blank, merge_spellings
from tworulers.schema.sources import Grouping

MEDIAN, LEVELS = "median", "levels"
SAYING_HOW = (
    "give edges ({0}: [40, 60]), a number of parts of equal size ({0}: 3), {0}: median, or {0}: levels where \
the numbers are codes"
)
OVER_89 = (90, 120)
"""Years between which a bin's edge leaves open in which bin an age above 89 is."""


def groupings_by(
    columns: Iterable[str], bins: Mapping[str, Any], frame: pd.DataFrame
) -> dict[str, Grouping]:
    """Make a grouping of each column, by the values that a frame holds.

    Parameters
    ----------
    columns : names of columns of `frame`: text, categories, truth values, or numbers.
    bins : how numbers are grouped, by column: a list of edges of half-open bins (lowest and highest may be given, and
        bins at the ends that nobody is in are none), the number of parts of equal size, `"median"`, or `"levels"`
        where numbers are codes. It is never guessed.
    frame : one row an exam or a person.

    Returns
    -------
    Groupings by column. Spellings that differ in case and blanks are one group; blanks are in none. Groups stand in
    the order of a categorical column, of numbers, or of the alphabet.

    Raises
    ------
    GroupingError : no such column, numbers without bins, or bins that cannot be read; the message says what to give.

    Examples
    --------
    >>> frame = pd.DataFrame({"sex": ["F", "M", "F"], "age": [31, 52, 77]})
    >>> groups = groupings_by(["sex", "age"], {"age": [0, 40, 60]}, frame)
    >>> list(groups["sex"].levels), groups["age"].group_order
    (['F', 'M'], ['0-40', '40-60', '60+'])
    """
    strange = sorted(set(bins) - set(columns))
    if strange:
        raise GroupingError(f"bins are given for {strange}, which are none of {list(columns)}")
    return {
        column: _settle(Grouping(column, "column", column, bins=bins.get(column)), frame)
        for column in columns
    }


@KINDS.register("column")
def group_column(
    exams: pd.DataFrame, grouping: Grouping, groupings: Mapping[str, Grouping]
) -> Assigned:
    """Group a column by its own values, as `groupings_by` does."""
    if is_blank(read_column(exams, grouping)).all():
        nobody = pd.Series(np.nan, index=exams.index, dtype=object)
        return Assigned([], nobody, nobody.fillna(MISSING))
    return assign(exams, _settle(grouping, exams), groupings)


def _settle(grouping: Grouping, frame: pd.DataFrame) -> Grouping:
    """Turn a grouping of a column into one of stated levels, bins or parts."""
    values, bins = read_column(frame, grouping), grouping.bins
    numbers = read_numbers(values.mask(is_blank(values)))
    numeric = bool(numbers.notna().any() and (numbers.notna() | is_blank(values)).all())
    how = f"bins of column {grouping.column!r}: {SAYING_HOW.format(grouping.column)}"
    if bins == LEVELS or (bins is None and not numeric):
        return replace(grouping, kind="levels", levels=_list_levels(values, numbers, numeric))
    if bins is None:
        span = f"numbers from {numbers.min():g} to {numbers.max():g}"
        raise GroupingError(f"column {grouping.column!r} holds {span} and no bins are given; {how}")
    if bins == MEDIAN or (isinstance(bins, int) and not isinstance(bins, bool)):
        return replace(grouping, kind="quantiles", quantiles=2 if bins == MEDIAN else bins)
    if isinstance(bins, str) or not isinstance(bins, Iterable):
        raise GroupingError(f"{how}; found {bins!r}")
    return _bin(grouping, list(bins), numbers)


def _list_levels(values: pd.Series, numbers: pd.Series, numeric: bool) -> dict[str, list[str]]:
    """Make a level of every value, near-duplicate spellings merged."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        found = [str(value) for value in values.cat.categories]
    elif numeric:
        found = [f"{number:.15g}" for number in np.unique(numbers.dropna())]
    else:
        found = sorted(merge_spellings(values)[0].dropna().unique(), key=str.casefold)
    return {level: [level] for level in found}


def _bin(grouping: Grouping, edges: list[float], numbers: pd.Series) -> Grouping:
    """Cut at edges, without the bins at the ends that nobody is in."""
    names = name_bins(edges) if edges else []
    told = grouping.column == "age" and not any(OVER_89[0] < edge < OVER_89[1] for edge in edges)
    while len(edges) > 1 and not (numbers < edges[0]).any():
        edges, names = edges[1:], names[1:]
    while len(edges) > 1 and not (numbers >= edges[-1]).any():
        edges, names = edges[:-1], names[:-1]
    oldest = names[-1] if told and names else None
    return replace(grouping, kind="bins", edges=edges, group_order=names, over_89=oldest)
