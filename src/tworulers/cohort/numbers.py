"""Which numbers a column of text holds, written with decimal points or with decimal commas."""

import re
from collections.abc import Iterable

import pandas as pd

from tworulers.cohort.spelling import is_blank

_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d*(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")


def read_numbers(values: pd.Series) -> pd.Series:
    """Read a column as numbers; what is no number, or could be read two ways, is NaN.

    A comma is a decimal comma where no number of the column has a point and at least one comma
    cannot stand between thousands: `0,91` and `12,5` are read, `1,234` alone is not.

    Parameters
    ----------
    values : numbers, or text cells; missing cells are NaN.
    """
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return values.astype(float)
    cells = values.fillna("").astype(str).str.strip()
    commas = cells.str.fullmatch(_COMMA)
    decimal = commas.any() and not cells.str.fullmatch(_POINT).any()
    if decimal and not cells[commas].str.fullmatch(_THOUSANDS).all():
        cells = cells.mask(commas, cells.str.replace(",", ".", regex=False))
    return pd.to_numeric(cells, errors="coerce").astype(float)


def note_decimal_commas(values: pd.Series, column: str) -> list[str]:
    """Say that a column's numbers were read with decimal commas, where they were."""
    commas = values.fillna("").astype(str).str.contains(",", regex=False)
    n = int((commas & read_numbers(values).notna()).sum())
    return [f"column {column!r}: {n} numbers are read with a decimal comma"] if n else []


def pick_numbers(table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return the named columns of a table that hold numbers and blanks alone, as numbers."""
    numbers = {name: read_numbers(table[name]) for name in names if name in table}
    whole = [
        name
        for name, column in numbers.items()
        if column.notna().any() and is_blank(table.loc[column.isna(), name]).all()
    ]
    return pd.DataFrame({name: numbers[name] for name in whole}, index=table.index)
