"""What a table written by people or by a spreadsheet holds: every cell as the text it is."""

import csv
import io
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tworulers.ingest.faults import Fault, FaultKind, refuse

FIRST_ROW = 2
"""The number of the first row below the header, as spreadsheets count."""

MAX_COLUMNS = 2_000
"""Most columns of a table; one with more is hardly a table of exams or people."""

MAX_BYTES = 256 * 1024**2
"""Largest table, unpacked, in bytes."""

_DELIMITERS = (",", ";", "\t", "|")
_SPREADSHEETS = (".xlsx", ".xls", ".ods")
_SHOWN = 5


def read_text_table(path: Path, notes: list[str] | None = None) -> pd.DataFrame:
    """Read a CSV, TSV, spreadsheet-made CSV or Parquet table, identifiers keeping their zeros.

    The delimiter is the most frequent of comma, semicolon, tab and bar in the header; encodings are
    UTF-8 (with or without mark), UTF-16 with mark, and Windows-1252. Outer blanks are taken off,
    empty rows and columns without a name are dropped.

    Parameters
    ----------
    path : the table.
    notes : is added to, a sentence on each thing that was taken for granted.

    Returns
    -------
    All cells as text; empty cells are empty text.

    Raises
    ------
    IngestError : no such file, a spreadsheet, an unknown encoding, no rows, too large a table; with
        every one of: a column twice, rows that are shorter or longer than the header, an open quote.
    """
    if not path.is_file():
        refuse(_fault(path, "a table", "no such file", "correct the path"))
    if path.suffix.casefold() in _SPREADSHEETS:
        refuse(_fault(path, "CSV, TSV or Parquet", path.suffix, "save the sheet as CSV"))
    if path.suffix.casefold() in (".parquet", ".pq"):
        return _read_parquet(path)
    _check_size(path, path.stat().st_size)
    text = _decode(path, notes if notes is not None else [])
    if notes is not None and not text.endswith(("\n", "\r")):
        notes.append(f"{path.name} does not end with a line break: its last row is taken as whole")
    header, rows, faults = _split_rows(path, text)
    faults += _find_uneven(path, len(header), rows, text)
    refuse(*faults)
    if not rows:
        refuse(_fault(path, "a header and rows", "0 rows", "is this the right file?"))
    body = [[cell.strip() for cell in row] for _, row in rows]
    frame = pd.DataFrame(body, columns=header, dtype="str")
    return frame.loc[:, [name for name in header if name]]


def _decode(path: Path, notes: list[str]) -> str:
    """Return the text of a file in the encodings that spreadsheets write."""
    content = path.read_bytes()
    mend = "save the table as UTF-8"
    text = ""
    try:
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = content.decode("utf-16")
        else:
            text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.encoding.startswith("utf-16"):
            refuse(_fault(path, "text in UTF-16, as its mark says", str(error.reason), mend))
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError as odd:
            found = f"byte 0x{content[odd.start]:02x} at {odd.start}, which neither of them has"
            refuse(_fault(path, "text in UTF-8, UTF-16 or Windows-1252", found, mend))
        notes.append(f"{path.name} is no UTF-8 and is read as Windows-1252")
    if "\0" in text:
        found = "zero bytes (UTF-16 or UTF-32 without its mark, or no text at all)"
        refuse(_fault(path, "text in UTF-8, UTF-16 or Windows-1252", found, mend))
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
    delimiter = first[4:5] if named else max(_DELIMITERS, key=first.count)
    if delimiter in ("", '"'):
        refuse(_fault(path, "a delimiter after sep=", repr(delimiter), "name it: sep=;"))
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
            header = [name.strip() for name in row]
            _check_width(path, len(header))
            faults = _find_twice(path, header)
    except csv.Error as error:
        what = "a quote that is never closed" if "end of data" in str(error) else str(error)
        found = f"{what}, in the row that starts after line {rows[-1][0] if rows else 0}"
        mend = "write a quote within a quoted cell twice; was the file cut off?"
        faults.append(_fault(path, "cells quoted whole or not at all", found, mend))
    return header, rows, faults


def _find_twice(path: Path, header: list[str]) -> list[Fault]:
    """List the names that several columns have, with the places of all of them."""
    twice = [name for name, n in Counter(header).items() if name and n > 1]
    faults = []
    for name in twice:
        places = [str(place) for place, other in enumerate(header, 1) if other == name]
        found = f"{name!r} twice, as columns {' and '.join(places)}"
        faults.append(_fault(path, "each column once", found, "rename or remove one"))
    return faults


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
            faults.append(_fault(path, expected, found, mend))
    if rows and len(rows[-1][1]) < width and not text.endswith(("\n", "\r")):
        found = f"the end of the file within line {rows[-1][0]}"
        faults.append(
            _fault(path, "a whole last row", found, "was the file cut off? Copy it again")
        )
    return faults


def _read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet table, its size judged before its columns are."""
    try:
        about = pq.ParquetFile(path)
        groups = range(about.metadata.num_row_groups)
        unpacked = sum(about.metadata.row_group(group).total_byte_size for group in groups)
        names = list(map(str, about.schema_arrow.names))
        _check_width(path, len(names))
        _check_size(path, unpacked)
        refuse(*_find_twice(path, names))
        frame = pd.read_parquet(path)
    except (OSError, pa.ArrowException) as error:
        refuse(_fault(path, "a Parquet table", str(error), "write it again"))
    cells = frame.map(lambda value: "" if pd.isna(value) else _write(value))
    return cells.rename(columns=str).reset_index(drop=True)


def _check_width(path: Path, width: int) -> None:
    if width > MAX_COLUMNS:
        mend = "keep the columns that are asked for; is this table turned on its side?"
        refuse(_fault(path, f"at most {MAX_COLUMNS} columns", f"{width}", mend))


def _check_size(path: Path, size: int) -> None:
    if size > MAX_BYTES:
        expected = f"a table of at most {MAX_BYTES // 1024**2} MB"
        mend = "keep the columns and rows that are asked for"
        refuse(_fault(path, expected, f"{size / 1024**2:.0f} MB", mend))


def _write(value: object) -> str:
    """Write a Parquet cell as text; a whole number has no decimal point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _fault(path: Path, expected: str, found: str, mend: str) -> Fault:
    return Fault(FaultKind.TABLE, expected, found, mend, file=str(path))
