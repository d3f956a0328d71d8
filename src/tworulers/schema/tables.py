"""What the columns of tables mean, by version, and how names, rows and axes are written in their cells."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

SCHEMA_VERSION = 3
"""Of the tables of an audit; 3 since tests are answered, and verdicts and shown intervals go by patients wherever one
has several exams."""

BASE_VERSION = 1
"""Of the tables that come before an audit: exams, splits, scores and what else stages hand on. Apart from the other, so
that new columns of an audit make no model stale."""


def pack_names(names: Iterable[object]) -> str:
    """Write several names into one cell, as a JSON list: a name is any text and may hold any sign."""
    return json.dumps([str(name) for name in names], ensure_ascii=False)


def unpack_names(cell: str) -> list[str]:
    """Read the names of a cell that `pack_names` wrote."""
    return [str(name) for name in json.loads(cell)]


def list_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Give a frame's rows as dictionaries by column name, in order."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def format_axes(values: Sequence[float]) -> str:
    """Write a shape or a spacing as one cell: `10x120x72`, `4x1.25x1.25`."""
    return "x".join(f"{value:.6g}" for value in values)


def parse_axes(cell: str) -> tuple[float, ...]:
    """Read a shape or a spacing back from its cell."""
    return tuple(float(value) for value in cell.split("x"))
