"""What a table written by people or by a spreadsheet holds: every cell as the text it is."""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from tworulers.cohort.spelling import drop_unseen, find_levels
from tworulers.ingest.faults import Fault, FaultKind, refuse, table_fault
from tworulers.ingest.parquet_table import measure_parquet, read_parquet
from tworulers.ingest.sheet_table import measure_unpacked, read_sheet

FIRST_ROW = 2
"""The number of the first row below the header, as spreadsheets count."""

MAX_COLUMNS = 2_000
"""Most columns of a table; one with more is hardly a table of exams or people."""

MAX_BYTES = 256 * 1024**2
"""Largest table, unpacked, in bytes."""

_DELIMITERS = (",", ";", "\t", "|")
_WORKBOOKS = (".xlsx", ".xlsm")
_SPREADSHEETS = (".xls", ".xlsb", ".ods", ".numbers")
_PACKED = {
    b"PK\x03\x04": "a workbook or another archive (.xlsx)",
    b"\x1f\x8b": "a gzip file (.gz)",
    b"PAR1": "a Parquet table (.parquet)",
    b"\xd0\xcf": "an old workbook (.xls)",
}
"""What a file that is no text begins with."""

_ERRORS = {"#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!"}
_SHOWN, _LEVELS = 5, 10


def read_text_table(path: Path, notes: list[str] | None = None) -> pd.DataFrame:
    """Read a CSV, TSV, spreadsheet-made CSV, Excel or Parquet table, identifiers keeping their zeros.

    The delimiter is the most frequent of comma, semicolon, tab and bar in the header; encodings are
    UTF-8 (with or without mark), UTF-16 with mark, and Windows-1252. Outer blanks are taken off,
    empty rows are dropped, and so are columns without a name, which is noted.

    Parameters
    ----------
    path : the table.
    notes : is added to, a sentence on each thing that was taken for granted.

    Returns
    -------
    All cells as text; empty cells are empty text.

    Raises
    ------
    IngestError : no such file, an unknown kind or encoding, no rows, too large a table; with
        every one of: a column twice, rows that are shorter or longer than the header, an open quote.
    """
    notes = notes if notes is not None else []
    if not path.is_file():
        found = "a folder" if path.is_dir() else "no such file"
        refuse(table_fault(path, "a table", found, "correct the path"))
    kind = path.suffix.casefold()
    if kind in _SPREADSHEETS:
        mend = "save the sheet as .xlsx or CSV"
        refuse(table_fault(path, "CSV, TSV, .xlsx or Parquet", path.suffix, mend))
    if kind in (".parquet", ".pq"):
        return _read_parquet(path, notes)
    if kind in _WORKBOOKS:
        _check_size(path, measure_unpacked(path))
        header, rows = read_sheet(path, notes)
        _check_width(path, len(header))
        faults = _find_title(path, header, rows) or _find_twice(path, header)
    else:
        _check_size(path, path.stat().st_size)
        text = _decode(path, notes)
        if not text.endswith(("\n", "\r")):
            notes.append(
                f"{path.name} does not end with a line break: its last row is taken as whole"
            )
        header, rows, faults = _split_rows(path, text)
        title = _find_title(path, header, rows)
        faults = title or [*faults, *_find_uneven(path, len(header), rows, text)]
    refuse(*faults)
    if not rows:
        refuse(table_fault(path, "a header and rows", "0 rows", "is this the right file?"))
    notes += _tell_quotes(path, rows) + _tell_errors(path, rows)
    body = [[cell.strip() for cell in row] for _, row in rows]
    frame = pd.DataFrame(body, columns=header, dtype="str")
    notes += _tell_nameless(path, header, body)
    return frame.loc[:, [name for name in header if name]]


def _tell_quotes(path: Path, rows: list[tuple[int, list[str]]]) -> list[str]:
    """Say which cells hold a quote that opens or closes nothing, as where one of a pair was lost."""
    odd = [
        (line, cell) for line, row in rows for cell in row if '"' in cell and cell.count('"') % 2
    ]
    if not odd:
        return []
    line, cell = odd[0]
    return [
        f"{path.name}: {len(odd)} cells hold a single quote mark, such as {cell!r} in line {line}"
    ]


def _tell_errors(path: Path, rows: list[tuple[int, list[str]]]) -> list[str]:
    """Say which cells hold what a spreadsheet writes where it could not compute a value."""
    found = [(line, cell) for line, row in rows for cell in row if cell.strip() in _ERRORS]
    if not found:
        return []
    line, cell = found[0]
    return [
        f"{path.name}: {len(found)} cells hold a spreadsheet's error, such as {cell!r} in line {line}"
    ]


def _tell_nameless(path: Path, header: list[str], body: list[list[str]]) -> list[str]:
    """Say of the columns without a name that they are not read, but for one that only counts the rows."""
    told = []
    for place, name in enumerate(header):
        cells = [row[place] for row in body]
        counts = any(
            cells == [str(number) for number in range(first, first + len(cells))]
            for first in (0, 1)
        )
        if not name and any(cells) and not counts:
            shown = ", ".join(map(repr, cells[:2]))
            told.append(
                f"{path.name}: column {place + 1} has no name and is not read ({shown}, ...)"
            )
    return told


def keep_rows(
    table: pd.DataFrame,
    filters: Mapping[str, Sequence[str]],
    file: str,
    setting: str,
    notes: list[str],
) -> pd.DataFrame:
    """Keep the rows whose column holds one of the values, in whatever spelling, for every filter.

    Parameters
    ----------
    table : text cells.
    filters : by column, the values to keep.
    file, setting : the table and the setting of its filters, for messages.
    notes : is added to, a sentence a filter.

    Raises
    ------
    IngestError : no row is left.
    """
    for column, values in filters.items():
        kept = table[column].isin(find_levels(table[column], values))
        if not kept.any():
            there = sorted(table[column].unique())
            levels = ", ".join(map(repr, there[:_LEVELS])) + ", ..." * (len(there) > _LEVELS)
            expected = f"rows with {column} {' or '.join(values)}"
            refuse(Fault(FaultKind.TABLE, expected, levels, f"correct {setting}", file))
        notes.append(
            f"{Path(file).name}: {int(kept.sum())} of {len(table)} rows kept, {column} = {list(values)}"
        )
        table = table[kept]
    return table.reset_index(drop=True)


def _decode(path: Path, notes: list[str]) -> str:
    """Return the text of a file in the encodings that spreadsheets write."""
    content = path.read_bytes()
    mend = "save the table as UTF-8"
    text = ""
    for start, what in _PACKED.items():
        if content.startswith(start):
            found = f"{what} under the name {path.name}"
            refuse(table_fault(path, "text", found, "rename or unpack it, or save it as CSV"))
    try:
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = content.decode("utf-16")
        else:
            text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.encoding.startswith("utf-16"):
            refuse(table_fault(path, "text in UTF-16, as its mark says", str(error.reason), mend))
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError as odd:
            found = f"byte 0x{content[odd.start]:02x} at {odd.start}, which neither of them has"
            refuse(table_fault(path, "text in UTF-8, UTF-16 or Windows-1252", found, mend))
        notes.append(f"{path.name} is no UTF-8 and is read as Windows-1252")
    if "\0" in text:
        found = "zero bytes (UTF-16 or UTF-32 without its mark, or no text at all)"
        refuse(table_fault(path, "text in UTF-8, UTF-16 or Windows-1252", found, mend))
    return text


def _split_rows(
    path: Path, text: str
) -> tuple[list[str], list[tuple[int, list[str]]], list[Fault]]:
    """Split text into a header and rows of cells, each with the line of the file where it ends.

    A first line ``sep=;`` names the delimiter.
    """
    lines = io.StringIO(text, newline=None)
    first = next((line for line in lines if line.strip()), "").rstrip("\n")
    named = first.casefold().startswith("sep=")
    bare = re.sub(r'"[^"]*"', "", first)
    delimiter = first[4:5] if named else max(_DELIMITERS, key=bare.count)
    if delimiter in ("", '"'):
        refuse(table_fault(path, "a delimiter after sep=", repr(delimiter), "name it: sep=;"))
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True
    )
    header: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    faults: list[Fault] = []
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if named:
                named = False
                continue
            if header:
                rows.append((reader.line_num, row))
                continue
            header = [drop_unseen(name) for name in row]
            _check_width(path, len(header))
            faults = _find_twice(path, header)
    except csv.Error as error:
        what = "a quote that is never closed" if "end of data" in str(error) else str(error)
        found = f"{what}, in the row that starts after line {rows[-1][0] if rows else 0}"
        mend = "write a quote within a quoted cell twice; was the file cut off?"
        faults.append(table_fault(path, "cells quoted whole or not at all", found, mend))
    return header, rows, faults


def _find_twice(path: Path, header: list[str]) -> list[Fault]:
    """List the names that several columns have, with the places of all of them."""
    twice = [name for name, n in Counter(header).items() if name and n > 1]
    faults = []
    for name in twice:
        places = [str(place) for place, other in enumerate(header, 1) if other == name]
        found = f"{name!r} twice, as columns {' and '.join(places)}"
        faults.append(table_fault(path, "each column once", found, "rename or remove one"))
    return faults


def _find_title(path: Path, header: list[str], rows: list[tuple[int, list[str]]]) -> list[Fault]:
    """List a first row that is a title or a remark and no header: one cell above rows of more, or one after a `#`."""
    widths = [sum(map(bool, row)) for _, row in rows]
    named = [name for name in header if name]
    usual = max(set(widths), key=widths.count, default=0)
    remark = bool(named) and named[0].startswith("#") and len(named) < usual
    if not remark and not (named == header[:1] and usual > 1):
        return []
    found = f"{named[0]!r} above rows of {usual} cells"
    mend = "take out the lines above the header"
    return [table_fault(path, "names of columns in the first row", found, mend)]


def _find_uneven(
    path: Path, width: int, rows: list[tuple[int, list[str]]], text: str
) -> list[Fault]:
    """List rows that are shorter or longer than the header: none is padded, none is cut."""
    faults = []
    expected = f"{width} cells a row, as in the header"
    for word, mend, lines in (
        (
            "fewer",
            "write empty cells with their delimiters",
            [line for line, row in rows if len(row) < width],
        ),
        (
            "more",
            "quote cells that hold the delimiter",
            [line for line, row in rows if len(row) > width],
        ),
    ):
        if lines:
            shown = ", ".join(map(str, lines[:_SHOWN])) + (", ..." if len(lines) > _SHOWN else "")
            found = f"{word} in {len(lines)} row{'s' * (len(lines) > 1)}, line {shown}"
            faults.append(table_fault(path, expected, found, mend))
    if rows and len(rows[-1][1]) < width and not text.endswith(("\n", "\r")):
        found = f"the end of the file within line {rows[-1][0]}"
        faults.append(
            table_fault(path, "a whole last row", found, "was the file cut off? Copy it again")
        )
    return faults


def _read_parquet(path: Path, notes: list[str]) -> pd.DataFrame:
    """Read a Parquet table, its size judged before its columns are."""
    names, unpacked = measure_parquet(path)
    _check_width(path, len(names))
    _check_size(path, unpacked)
    refuse(*_find_twice(path, names))
    frame = read_parquet(path, notes)
    if frame.empty:
        refuse(table_fault(path, "a header and rows", "0 rows", "is this the right file?"))
    return frame


def _check_width(path: Path, width: int) -> None:
    if width > MAX_COLUMNS:
        mend = "keep the columns that are asked for; is this table turned on its side?"
        refuse(table_fault(path, f"at most {MAX_COLUMNS} columns", f"{width}", mend))


def _check_size(path: Path, size: int) -> None:
    if size > MAX_BYTES:
        expected = f"a table of at most {MAX_BYTES // 1024**2} MB"
        mend = "keep the columns and rows that are asked for"
        refuse(table_fault(path, expected, f"{size / 1024**2:.0f} MB", mend))
