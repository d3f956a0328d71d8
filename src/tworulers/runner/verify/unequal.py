"""Where two results differ: by file, by column, in how many rows, and how far apart at most."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import numpy.typing as npt
import pandas as pd

from tworulers.io.digests import digest_file, list_files

Mask = npt.NDArray[np.bool_]
Agree = Callable[[pd.Series, pd.Series], Mask]

WITHOUT_RESULTS = frozenset({"scratch", "timings"})
"""Folders of a dataset that hold unfinished work, and what the clock said."""

FEW = 3


@dataclass(frozen=True)
class Unequal:
    """A way in which a table or file differs: in `rows` of `of`; `largest` is NaN where nothing can be subtracted.

    `near` says that it is listed and no difference: of words that a p near its level settled, and of what another kind
    of processor may change.
    """

    table: str
    column: str
    rows: int
    of: int
    largest: float = float("nan")
    note: str = ""
    near: bool = False


def list_contents(folder: Path) -> dict[str, Path]:
    """List the files of a result by their names below its folder, without unfinished work and timings."""
    found = {path.relative_to(folder): path for path in list_files(folder)}
    return {
        name.as_posix(): path
        for name, path in found.items()
        if not WITHOUT_RESULTS & set(name.parts[:-1])
    }


def find_missing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Unequal]:
    """Yield what only one of two results has, by name."""
    for name in sorted(one.keys() ^ other.keys()):
        yield Unequal(name, "", 1, 1, note=f"only in the {'first' if name in one else 'second'}")


def compare_files(one: Path, other: Path) -> list[Unequal]:
    """Compare two folders of results byte by byte, and say of tables, documents and images what differs within."""
    left, right = list_contents(one), list_contents(other)
    found = list(find_missing(left, right))
    for name in sorted(left.keys() & right.keys()):
        if digest_file(left[name]) == digest_file(right[name]):
            continue
        within = compare_within(name, left[name], right[name])
        found += within or [Unequal(name, "", 1, 1, note="other bytes, the same content")]
    return found


def compare_within(name: str, one: Path, other: Path) -> list[Unequal]:
    """Compare what two files of other bytes hold, value by value; a kind that is not read differs as a whole."""
    parts, others = read_parts(one), read_parts(other)
    if parts is None or others is None:
        return [Unequal(name, "", 1, 1, note="other bytes")]
    found = [Unequal(name, one.column, 1, 1, note=one.note) for one in find_missing(parts, others)]
    for part in parts.keys() & others.keys():
        found += compare_frames(f"{name}{part}", parts[part], others[part], lambda _: are_equal)
    return found


def compare_frames(
    name: str, one: pd.DataFrame, other: pd.DataFrame, agree: Callable[[str], Agree]
) -> Iterator[Unequal]:
    """Compare two tables row by row, as their indices name the rows, and column by column.

    Parameters
    ----------
    name : what the table is called.
    one, other : tables with unique row names.
    agree : by column, what tells of two columns in which rows they agree.
    """
    for column in [*one.columns.symmetric_difference(other.columns, sort=False)]:
        where = "first" if column in one.columns else "second"
        yield Unequal(name, str(column), len(one), len(one), note=f"only in the {where}")
    for where, lone in (
        ("first", one.index.difference(other.index, sort=False)),
        ("second", other.index.difference(one.index, sort=False)),
    ):
        if len(lone):
            more = f" and {len(lone) - FEW} more" if len(lone) > FEW else ""
            note = f"only in the {where}: {', '.join(map(str, lone[:FEW]))}{more}"
            yield Unequal(name, "(rows)", len(lone), max(len(one), len(other)), note=note)
    rows = one.index.intersection(other.index, sort=False)
    for column in [column for column in one.columns if column in other.columns]:
        left, right = one.loc[rows, column], other.loc[rows, column]
        apart = ~agree(str(column))(left, right)
        if apart.any():
            yield tell_apart(name, str(column), left[apart], right[apart], len(rows))


def tell_apart(name: str, column: str, one: pd.Series, other: pd.Series, of: int) -> Unequal:
    """Say how far two columns are apart where they disagree, with the row where they are furthest."""
    numbers = pd.api.types.is_numeric_dtype(one) and pd.api.types.is_numeric_dtype(other)
    if not numbers or one.dtype == bool or other.dtype == bool:
        return Unequal(
            name, column, len(one), of, note=f"{one.index[0]}: {one.iloc[0]} | {other.iloc[0]}"
        )
    left, right = one.to_numpy(np.float64), other.to_numpy(np.float64)
    with np.errstate(invalid="ignore"):
        distances = np.abs(left - right)
    furthest = int(np.argmax(np.where(np.isnan(distances), -1.0, distances)))
    note = f"{one.index[furthest]}: {left[furthest]:.6g} | {right[furthest]:.6g}"
    return Unequal(name, column, len(one), of, float(distances[furthest]), note)


def are_equal(one: pd.Series, other: pd.Series) -> Mask:
    """Tell in which rows two columns hold the same value of the same type; missing ones are equal."""
    if one.dtype != other.dtype:
        return np.zeros(len(one), dtype=bool)
    if not pd.api.types.is_numeric_dtype(one):
        one, other = one.map(repr), other.map(repr)
    return np.asarray((one == other) | (one.isna() & other.isna()), dtype=bool)


def read_parts(path: Path) -> dict[str, pd.DataFrame] | None:
    """Read what a file holds as frames, by what is added to its name; None of a kind that is not read."""
    if path.suffix == ".parquet":
        return {"": pd.read_parquet(path)}
    if path.suffix == ".json":
        leaves = dict(list_leaves(json.loads(path.read_text(encoding="utf-8"))))
        return {"": pd.DataFrame({"value": pd.Series(leaves, dtype=object)})}
    if path.name.endswith((".nii", ".nii.gz")):
        image = nib.load(path)
        grid = pd.DataFrame({"affine": np.asarray(image.affine).ravel()})
        voxels = np.asarray(image.dataobj).ravel(order="K")
        return {"": pd.DataFrame({"voxels": voxels}), " (grid)": grid}
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {f" ({key})": pd.DataFrame({key: arrays[key].ravel()}) for key in arrays}
    return None


def list_leaves(content: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a JSON document with the dotted names of where they stand."""
    if isinstance(content, dict):
        pairs: list[tuple[Any, Any]] = list(content.items())
    elif isinstance(content, list):
        pairs = list(enumerate(content))
    else:
        yield place, content
        return
    for key, value in pairs:
        yield from list_leaves(value, f"{place}.{key}" if place else str(key))
