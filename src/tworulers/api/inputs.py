"""Series, frames, arrays and names of columns, brought to one row an exam."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from tworulers.cohort.columns import groupings_by
from tworulers.schema.sources import Grouping

SHOWN = 5


def index_by_exam(frame: pd.DataFrame, *, unique: bool = True) -> pd.DataFrame:
    """Index a frame by exam, as text: by its column exam_id, or else by its index.

    Raises
    ------
    ValueError : two rows are called alike, where that is not wanted.
    """
    if "exam_id" in frame:
        frame = frame.set_index("exam_id")
    return frame.set_axis(name_exams(frame.index) if unique else frame.index.map(str))


def name_exams(index: pd.Index) -> pd.Index:
    """Name exams by an index, as text.

    Raises
    ------
    ValueError : two rows are called alike.
    """
    names = index.map(str).rename("exam_id")
    twice = names[names.duplicated()].unique()
    if len(twice):
        raise ValueError(
            f"one row an exam is expected, found several of {list_some(twice)}; name exams by the index or a column "
            "exam_id, and say which are of one patient by subject_id="
        )
    return names


def list_some(names: Sequence[object] | pd.Index) -> str:
    """List a few names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(repr(str(name)) for name in names[:SHOWN]) + more


def read_columns(
    given: Any, index: pd.Index, data: pd.DataFrame | None, parameter: str
) -> pd.DataFrame:
    """Bring columns to the rows of an index.

    Parameters
    ----------
    given : a Series, a frame, a mapping of columns, an array of one value a row, or names of columns of `data`.
    index : names of the rows that are wanted, as text.
    data : the frame that names are looked up in.
    parameter : what it is called in messages.

    Raises
    ------
    ValueError : a column is not there, or rows have none of its values.
    """
    names = [given] if isinstance(given, str) else given if isinstance(given, (list, tuple)) else []
    unknown = [name for name in names if data is None or name not in data]
    if names and not unknown and data is not None:
        frame = data[list(names)]
    elif names and len(names) != len(index) and all(isinstance(name, str) for name in names):
        there = "no data= was given" if data is None else f"data has {list(data.columns)}"
        raise ValueError(f"{parameter}: no column {list_some(unknown)}; {there}")
    elif isinstance(given, pd.DataFrame):
        frame = given
    elif isinstance(given, pd.Series):
        frame = given.to_frame(given.name if given.name is not None else "group")
    else:
        columns = dict(given) if isinstance(given, Mapping) else {"group": list(given)}
        frame = pd.DataFrame(columns)
        # What has no index of its own follows the order of the rows.
        indexed = any(isinstance(column, pd.Series) for column in columns.values())
        if not indexed and len(frame) == len(index):
            frame = frame.set_axis(index)
    frame = frame.rename(columns=str).set_axis(frame.index.map(str))
    absent = index.difference(frame.index, sort=False)
    if len(absent) or frame.index.has_duplicates:
        found = f"none of {list_some(absent)}" if len(absent) else "several rows of one name"
        raise ValueError(
            f"{parameter}: expected one row for each of {len(index)}, found {found} among {len(frame)}; give both the "
            "same index, or an array of the same length"
        )
    return frame.loc[index]


def read_owners(given: Any, index: pd.Index, data: pd.DataFrame | None) -> pd.Series:
    """Say whose each row is: its own where nobody says."""
    if given is None:
        return pd.Series(index, index)
    return read_columns(given, index, data, "subject_id").iloc[:, 0].astype(str)


def read_given(
    given: Any, index: pd.Index, data: pd.DataFrame | None, features: pd.DataFrame
) -> pd.DataFrame | None:
    """Bring what tests are given to the rows of an index; names may be of features, too. None where nobody asks.

    Raises
    ------
    ValueError : a column is not there, is called like a feature and holds something else, or names exams or patients.
    """
    if given is None:
        return None
    if not isinstance(given, str) and not len(given):
        return features.iloc[:, :0]
    known = features.rename(columns=str)
    if data is not None:
        known = known.join(data.loc[:, ~data.columns.isin(known.columns)])
    found = read_columns(given, index, known, "given")
    for name in found:
        if name in ("exam_id", "patient_id"):
            raise ValueError(
                f"given: {name!r} names exams or patients; whose an exam is, subject_id= says"
            )
        if name in features and not found[name].equals(features[name]):
            raise ValueError(
                f"given: {name!r} is a sensitive feature that holds other values; call one of them something else"
            )
    return found


def read_groupings(
    features: pd.DataFrame, bins: Any, intersectional: bool | Sequence[Sequence[str]]
) -> dict[str, Grouping]:
    """Make groupings of sensitive features: texts as levels, numbers by stated bins, and crossings.

    Parameters
    ----------
    features : one row an exam, one column a feature.
    bins : how numbers are grouped, by column; without a mapping it is of the only feature that holds numbers.
    intersectional : cross every pair of features, or the named ones.

    Raises
    ------
    GroupingError : numbers without bins, or a feature that is not there.
    """
    if bins is not None and not isinstance(bins, Mapping):
        numbers = list(features.select_dtypes("number").columns)
        if len(numbers) != 1:
            raise ValueError(
                f"bins={bins!r}: say of which feature, as bins={{name: ...}}; those that hold numbers: {numbers}"
            )
        bins = {numbers[0]: bins}
    groupings = groupings_by(list(map(str, features)), bins or {}, features)
    crossed = intersectional
    if isinstance(crossed, bool):
        crossed = list(combinations(groupings, 2)) if crossed else []
    for names in crossed:
        title = " by ".join(names)
        groupings["_x_".join(names)] = Grouping(title, "intersection", of=list(names))
    return groupings
