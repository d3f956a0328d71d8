"""How a figure or page walks through a table."""

from collections.abc import Iterable
from typing import Any

import pandas as pd


def iterate_rows(table: pd.DataFrame) -> Iterable[Any]:
    """Give each row as an object with the columns as attributes."""
    return table.itertuples(index=False)


def keep_rows(table: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Keep the rows with these values in these columns."""
    keep = pd.Series(True, index=table.index)
    for column, value in wanted.items():
        keep &= table[column] == value
    return table[keep]


def find_row(table: pd.DataFrame, **wanted: object) -> Any:
    """Return the first row with these values in these columns, or None where there is none."""
    return next(iter(iterate_rows(keep_rows(table, **wanted))), None)
