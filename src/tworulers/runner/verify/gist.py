"""What a result has in common with the same result of another machine: its means, and its words."""

import hashlib
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tworulers.io.records import VERSION, write_text
from tworulers.runner.verify.near import REPORT, Level, find_near
from tworulers.runner.verify.processor import PROCESSOR, name_processor
from tworulers.runner.verify.unequal import (
    FEW,
    Agree,
    Mask,
    Unequal,
    compare_frames,
    find_missing,
    list_contents,
    list_leaves,
)
from tworulers.schema.result_files import SCORES
from tworulers.schema.tables import SCHEMA_VERSION

KEYS = ("family", "metric", "structure", "grouping", "group")
"""The columns that say what a row is about, as far as a table has them."""

MEANS = ("mean", "mean_base", "mean_other")
WORDS = ("answer", "significant", "verdict", "mechanism", "flip", "sentence")
QUOTED = {
    "closeness.parquet": ("forgiven", "second_expert_exams"),
    "groups.parquet": ("n",),
    "overall.parquet": ("sd",),
    "power.parquet": ("detectable_gap",),
    "flips.parquet": ("p_verdict_fdr_base", "p_verdict_fdr_other"),
    "tests.parquet": ("n_needed", "p_verdict", "p_verdict_fdr", "p_within_holm"),
    "verdicts.parquet": (
        *("p_verdict_fdr_base", "p_verdict_fdr_other", "gap_base", "gap_other", "vcr_mad"),
        *(
            "gap_over_noise",
            "gap_part",
            "noise_part",
            "swap_p",
            "swap_p_fdr",
            "p_fdr_own_exchanged",
        ),
    ),
}
"""By table: further numbers, kept in a record since documents quote them, or since words are settled by them. None is
compared: a p moves too far."""

SAID = frozenset({"question", "answer", "remarks", "sentences", "verdict"})
"""The keys of JSON documents below which texts for readers stand."""

TEXT = "text"
"""The column of the texts of a document."""

NUMBER = re.compile(r"(?:[<>=≤≥]\s*)?[-−+]?\d(?:[\d,.]*\d)?(?:e[-+]?\d+)?")
PLACES = 4

LONG = 40
"""Characters of a text; of longer ones a record keeps a digest, where a table has more than `FEW_ROWS`."""

FEW_ROWS = 20

Gist = Mapping[str, pd.DataFrame]
"""By the name of a table or document: its means and words, by row; rows are named `main/dice/macro/sex`."""


class GistError(ValueError):
    """A file is no record of a result."""


@dataclass(frozen=True)
class Tolerance:
    """How far two means may lie apart: `points` where both are within -1 and 1, else that `share` of the larger."""

    points: float = 0.01
    share: float = 0.05

    def agree(self, one: pd.Series, other: pd.Series) -> Mask:
        """Tell which means agree; two that are undefined do, and two that are endless in one direction."""
        left, right = one.to_numpy(np.float64), other.to_numpy(np.float64)
        size = np.maximum(np.abs(left), np.abs(right))
        allowed = np.where(size <= 1, self.points, self.share * size)
        with np.errstate(invalid="ignore"):
            # Written numbers are rounded, so that .01 is not beyond .01.
            near = np.abs(left - right) <= allowed + 10.0**-PLACES
        both = np.isfinite(left) & np.isfinite(right)
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        return np.asarray(np.where(both, near, same), dtype=bool)


def read_gist(folder: Path) -> dict[str, pd.DataFrame]:
    """Read the means and words of every table and document below a folder of results."""
    found = {}
    for name, path in list_contents(folder).items():
        if path.suffix == ".parquet":
            gist = gather_table(pd.read_parquet(path), path.name)
        elif path.suffix == ".json":
            gist = gather_document(json.loads(path.read_text(encoding="utf-8")))
        else:
            continue
        if len(gist.columns):
            found[name] = gist
    return found


def gather_table(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """Gather the means and words of a table; of scores, the means over their exams."""
    if file == SCORES:
        by = table.groupby(["metric", "structure"], sort=False)["value"]
        table = by.mean().rename("mean").reset_index()
    elif "exam_id" in table.columns:
        return pd.DataFrame()
    columns = [name for name in MEANS if name in table.columns]
    columns += [name for name in WORDS if name in table.columns and not _is_count(table[name])]
    quoted = [name for name in QUOTED.get(file, ()) if name in table.columns]
    gist = table[columns + quoted].set_axis(pd.Index(name_rows(table), dtype=object))
    for name in gist.columns:
        if name in MEANS or name in quoted:
            gist[name] = gist[name].astype(np.float64).round(PLACES)
        else:
            gist[name] = [part_numbers(str(value)) for value in gist[name]]
    return gist


def gather_document(content: Any) -> pd.DataFrame:
    """Gather what a JSON document says to readers."""
    said = {
        place: part_numbers(value)
        for place, value in list_leaves(content)
        if isinstance(value, str) and SAID & set(place.split("."))
    }
    return pd.DataFrame({TEXT: pd.Series(said, dtype=object)}) if said else pd.DataFrame()


def name_rows(table: pd.DataFrame) -> list[str]:
    """Name each row after what it is about; of several about one thing, the later ones get a number."""
    keys = [key for key in KEYS if key in table.columns]
    plain = ["/".join(map(str, row)) for row in table[keys].itertuples(index=False)]
    seen: Counter[str] = Counter()
    names = []
    for name in plain:
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def part_numbers(text: str) -> str:
    """Write a text without its numbers, each a `#`."""
    return NUMBER.sub("#", text)


def compare_gists(one: Gist, other: Gist, tolerance: Tolerance, level: Level) -> list[Unequal]:
    """Compare means within a tolerance, and words letter by letter, table by table.

    Words that a p near its level settled, in either result, are told apart from other differences (`near`); so are
    those of the report's summary where there are such.
    """
    known = (one, other)
    one, other = _leave_out_quoted(one), _leave_out_quoted(other)
    found = list(find_missing(one, other))
    for name in sorted(one.keys() & other.keys(), key=lambda name: (name == REPORT, name)):
        rows = one[name].index.union(other[name].index)
        near = find_near(name, rows, known, level)
        if name == REPORT and any(unequal.near for unequal in found):
            near = set(rows)
        found += _compare_table(name, one[name], other[name], tolerance, near)
    return found


def _compare_table(
    name: str, one: pd.DataFrame, other: pd.DataFrame, tolerance: Tolerance, near: set[str]
) -> Iterator[Unequal]:
    """Compare the means and words of a table; the words of some rows are `near`."""
    lone = [row for row in one.index.symmetric_difference(other.index) if row in near]
    if lone:
        told = f"only in one: {', '.join(lone[:FEW])}"
        yield Unequal(name, "(rows)", len(lone), max(len(one), len(other)), note=told, near=True)
    left, right = (table.drop(index=lone, errors="ignore") for table in (one, other))

    def choose(column: str) -> Agree:
        if column in MEANS:
            return tolerance.agree
        return lambda one, other: _read_alike(one, other) | one.index.isin(near)

    yield from compare_frames(name, left, right, choose)
    rows = [row for row in left.index.intersection(right.index) if row in near]
    words = [column for column in left.columns if column in right and column not in MEANS]
    read = compare_frames(
        name, left.loc[rows, words], right.loc[rows, words], lambda _: _read_alike
    )
    yield from (replace(unequal, near=True) for unequal in read)


def write_gist(gist: Gist, path: Path) -> None:
    """Write a gist as JSON, a line a table, to be kept and compared with."""
    known: dict[tuple[str, ...], str] = {}
    lines = []
    for name, table in gist.items():
        rows = tuple(table.index)
        first = known.setdefault(rows, name)
        content = {"rows": list(rows) if first == name else first}
        for column in table.columns:
            content[column] = [_spell(value, len(rows)) for value in table[column]]
        lines.append(f"{json.dumps(name)}: {json.dumps(content, allow_nan=False)}")
    tables = ",\n".join(lines)
    made_by = f'"{VERSION}": {SCHEMA_VERSION}, "{PROCESSOR}": {json.dumps(name_processor())}'
    write_text(f'{{{made_by}, "tables": {{\n{tables}\n}}}}\n', path)


def load_gist(path: Path) -> dict[str, pd.DataFrame]:
    """Read back what `write_gist` wrote.

    Raises
    ------
    GistError : it is damaged, none of ours, or of another version.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version, tables = content[VERSION], content["tables"]
        rows = {name: columns.pop("rows") for name, columns in tables.items()}
        names = {name: rows[of] if isinstance(of, str) else of for name, of in rows.items()}
        frames = {
            name: _type_numbers(pd.DataFrame(columns, index=pd.Index(names[name], dtype=object)))
            for name, columns in tables.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise GistError(f"{path} is no record of a result that `--record` wrote") from error
    if version != SCHEMA_VERSION:
        raise GistError(
            f"{path} records tables of schema version {version}, today's are of version {SCHEMA_VERSION}; "
            f"write it anew with --record {path}"
        )
    return frames


def _spell(value: Any, rows: int) -> Any:
    """Write a value as JSON knows it: endless means as text, undefined ones as null, many long texts as digests."""
    if isinstance(value, str):
        return _shorten(value) if rows > FEW_ROWS else value
    if math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else str(value)


def _shorten(text: str) -> str:
    return text if len(text) <= LONG else f"~{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _leave_out_quoted(gist: Gist) -> Gist:
    compared = {*MEANS, *WORDS, TEXT}
    kept = {
        name: table[[column for column in table.columns if column in compared]]
        for name, table in gist.items()
    }
    return {name: table for name, table in kept.items() if len(table.columns)}


def _is_count(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and column.dtype != bool


def _type_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    numbers = {*MEANS, *itertools.chain(*QUOTED.values())}
    return frame.astype(dict.fromkeys(numbers.intersection(frame.columns), np.float64))


def _read_alike(one: pd.Series, other: pd.Series) -> Mask:
    return np.asarray(one.map(_shorten) == other.map(_shorten), dtype=bool)
