"""Groups of any column: its texts as levels, its numbers by bins that are stated."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tworulers.cohort.cuts import name_bins
from tworulers.cohort.kinds import (
    KINDS,
    MISSING,
    Assigned,
    GroupingError,
    assign,
    describe,
    read_column,
)
from tworulers.cohort.numbers import read_numbers
from tworulers.cohort.spelling import FALSE, TRUE, fold_spelling, is_blank, merge_spellings
from tworulers.schema.sources import Grouping

MEDIAN, LEVELS = "median", "levels"
SAYING_HOW = (
    "give edges ({0}: [40, 60]), a number of parts of equal size ({0}: 3), {0}: median, or {0}: levels where \
the numbers are codes"
)
SHOWN = 10
"""Spellings that a note names; of more the number is given."""

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
        parts = 2 if bins == MEDIAN else int(bins)
        return replace(grouping, kind="quantiles", quantiles=parts)
    if isinstance(bins, str) or not isinstance(bins, Iterable):
        raise GroupingError(f"{how}; found {bins!r}")
    above = grouping.column == "age" and "age_over_89" in frame and frame["age_over_89"].any()
    return _bin(grouping, list(bins), numbers, bool(above))


def _list_levels(values: pd.Series, numbers: pd.Series, numeric: bool) -> dict[str, list[str]]:
    """Make a level of every value, near-duplicate spellings merged."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        found = [str(value) for value in values.cat.categories]
    elif numeric:
        found = [f"{number:.15g}" for number in np.unique(numbers.dropna())]
    else:
        merged = merge_spellings(values)[0].dropna()
        if _is_truth(set(merged.map(fold_spelling))):
            return _merge_truths(merged)
        found = sorted(merged.unique(), key=str.casefold)
    return {level: [level] for level in found}


def _is_truth(folded: set[str]) -> bool:
    """Tell whether spellings are all of truth values, one of them a word."""
    return folded <= TRUE | FALSE and not folded.isdisjoint({"true", "false", "yes", "no"})


def _merge_truths(values: pd.Series) -> dict[str, list[str]]:
    """Make a level of what is false and one of what is true, each called by its most frequent spelling."""
    levels = {}
    for side in (FALSE, TRUE):
        spelled = values[values.map(fold_spelling).isin(side)].value_counts()
        names = sorted(map(str, spelled.index), key=lambda name: (-spelled[name], name))
        names.sort(key=lambda name: name.isdigit())
        if names:
            levels[names[0]] = names
    return levels


def tell_merged(exams: pd.DataFrame, grouping: Grouping) -> list[str]:
    """Say which spellings of a grouped column are taken as another, in a sentence where there are any.

    Parameters
    ----------
    exams : one row an exam.
    grouping : of a column by its own values; of others nothing is said.
    """
    if grouping.kind != "column" or is_blank(read_column(exams, grouping)).all():
        return []
    levels = {
        fold_spelling(member): level
        for level, members in _settle(grouping, exams).levels.items()
        for member in members
    }
    counts = exams[str(grouping.column)].dropna().astype(str).value_counts()
    told = [
        f"{value!r} as {level!r} ({n})"
        for value, n in counts.items()
        if (level := levels.get(fold_spelling(value)))
        and unicodedata.normalize("NFC", str(value)) != unicodedata.normalize("NFC", level)
    ]
    if not told:
        return []
    more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return [f"grouping {describe(grouping)}: taken are {', '.join(told[:SHOWN])}{more}"]


def _bin(grouping: Grouping, edges: list[float], numbers: pd.Series, above: bool) -> Grouping:
    """Cut at edges, without the bins at the ends that nobody is in."""
    names = name_bins(edges) if edges else []
    told = grouping.column == "age" and not any(OVER_89[0] < edge < OVER_89[1] for edge in edges)
    while len(edges) > 1 and not (numbers < edges[0]).any():
        edges, names = edges[1:], names[1:]
    while (
        len(edges) > 1
        and not (above and edges[-1] <= OVER_89[0])  # its bin holds them
        and not (numbers >= edges[-1]).any()
    ):
        edges, names = edges[:-1], names[:-1]
    oldest = names[-1] if told and names else None
    return replace(grouping, kind="bins", edges=edges, group_order=names, over_89=oldest)
