"""Which numbers a column of text holds, written with decimal points or commas, or with thousands apart."""

import re
from collections.abc import Iterable

import pandas as pd

from tworulers.cohort.spelling import is_blank

_EXPONENT = r"(?:[eE][+-]?\d+)?"
_COMMA = re.compile(rf"[+-]?\d*,\d+{_EXPONENT}")
_POINT = re.compile(rf"[+-]?\d*\.\d*{_EXPONENT}")
_BY_COMMAS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")
_BY_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?")
_BY_BLANKS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[ \u00a0\u202f\u2009']\d{3})+(?:[.,]\d*)?")
_BOTH_COMMAS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+\.\d*|[+-]?[1-9]\d{0,2}(?:,\d{3}){2,}")
_BOTH_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+,\d*|[+-]?[1-9]\d{0,2}(?:\.\d{3}){2,}")


def read_numbers(values: pd.Series) -> pd.Series:
    """Read a column as numbers; what is no number, or could be read two ways, is NaN.

    A comma is a decimal comma where no number of the column has a decimal point and at least one comma cannot stand
    between thousands: `0,91` and `12,5` are read, `1,234` alone is not. It stands between thousands where a number of
    the column says so, as `1,234.5` or `1,234,567`, or where others have decimal points; and so for points and
    `1.234,5`. Blanks and apostrophes stand between thousands alone.

    Parameters
    ----------
    values : numbers, or text cells; missing cells are NaN.
    """
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return values.astype(float)
    cells = values.fillna("").astype(str).str.strip()
    apart = cells.str.fullmatch(_BY_BLANKS)
    cells = cells.mask(apart, cells.str.replace(r"[\s']", "", regex=True))
    return pd.to_numeric(_settle(cells), errors="coerce").astype(float)


def _settle(cells: pd.Series) -> pd.Series:
    """Write numbers with decimal points and without thousands apart, where a column says how it writes them."""
    commas, points = cells.str.fullmatch(_COMMA), cells.str.fullmatch(_POINT)
    by_commas, by_points = cells.str.fullmatch(_BY_COMMAS), cells.str.fullmatch(_BY_POINTS)
    english = cells.str.fullmatch(_BOTH_COMMAS).any()
    continental = cells.str.fullmatch(_BOTH_POINTS).any()
    if continental and not english and (by_points | ~points).all():
        bare = cells.mask(by_points, cells.str.replace(".", "", regex=False))
        return bare.mask(commas | by_points, bare.str.replace(",", ".", regex=False))
    if (english or points.any()) and not continental and (by_commas | ~commas).all():
        return cells.mask(by_commas, cells.str.replace(",", "", regex=False))
    if commas.any() and not points.any() and not cells[commas].str.fullmatch(_BY_COMMAS).all():
        return cells.mask(commas, cells.str.replace(",", ".", regex=False))
    return cells


def note_decimal_commas(values: pd.Series, column: str) -> list[str]:
    """Say that a column's numbers were read with decimal commas, or with thousands apart, where they were."""
    cells = values.fillna("").astype(str).str.strip()
    numbers = read_numbers(values)
    read = numbers.notna()
    plain = pd.to_numeric(cells.str.replace(",", ".", regex=False), errors="coerce")
    decimal = read & cells.str.contains(",", regex=False) & (plain == numbers)
    thousands = read & ~decimal & ~(pd.to_numeric(cells, errors="coerce") == numbers)
    told = []
    for what, n in (
        ("a decimal comma", int(decimal.sum())),
        ("thousands set apart", int((thousands & ~cells.str.fullmatch(r"[+-]?inf\w*")).sum())),
    ):
        if n:
            told.append(f"column {column!r}: {n} numbers are read with {what}")
    return told


def pick_numbers(table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return the named columns of a table that hold numbers and blanks alone, as numbers."""
    numbers = {name: read_numbers(table[name]) for name in names if name in table}
    whole = [
        name
        for name, column in numbers.items()
        if column.notna().any() and is_blank(table.loc[column.isna(), name]).all()
    ]
    return pd.DataFrame({name: numbers[name] for name in whole}, index=table.index)
