"""What a table written by people or by a spreadsheet holds: every cell as the text it is."""

import csv
from pathlib import Path

import pandas as pd

from tworulers.ingest.faults import Fault, FaultKind, refuse

FIRST_ROW = 2
"""The number of the first row below the header, as spreadsheets count."""

_DELIMITERS = (",", ";", "\t", "|")
_SPREADSHEETS = (".xlsx", ".xls", ".ods")


def read_text_table(path: Path) -> pd.DataFrame:
    """Read a CSV, TSV, spreadsheet-made CSV or Parquet table, identifiers keeping their zeros.

    The delimiter is the most frequent of comma, semicolon, tab and bar in the header; encodings are
    UTF-8 (with or without mark), UTF-16 with mark, and Windows' Latin. Outer blanks are taken off,
    empty rows and columns without a name are dropped.

    Parameters
    ----------
    path : the table.

    Returns
    -------
    All cells as text; empty cells are empty text.

    Raises
    ------
    IngestError : no such file, a spreadsheet, no rows, a column twice, or a row of another length.
    """
    if not path.is_file():
        refuse(_fault(path, "a table", "no such file", "correct the path"))
    if path.suffix.casefold() in _SPREADSHEETS:
        refuse(_fault(path, "CSV, TSV or Parquet", path.suffix, "save the sheet as CSV"))
    if path.suffix.casefold() in (".parquet", ".pq"):
        frame = pd.read_parquet(path)
        cells = frame.map(lambda value: "" if pd.isna(value) else _write(value))
        return cells.rename(columns=str).reset_index(drop=True)
    rows = _split_rows(_decode(path))
    if len(rows) < 2:
        refuse(_fault(path, "a header and rows", f"{len(rows)} rows", "is this the right file?"))
    header = [name.strip() for name in rows[0]]
    uneven = [str(place) for place, row in enumerate(rows[1:], FIRST_ROW) if len(row) > len(header)]
    if uneven:
        found = f"more in row {', '.join(uneven[:5])}"
        refuse(_fault(path, f"{len(header)} cells a row", found, "quote cells with the delimiter"))
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        refuse(_fault(path, "each column once", f"{', '.join(twice)} twice", "rename one"))
    body = [[cell.strip() for cell in row] + [""] * (len(header) - len(row)) for row in rows[1:]]
    frame = pd.DataFrame(body, columns=header, dtype="str")
    return frame.loc[:, [name for name in header if name]]


def _decode(path: Path) -> str:
    """Return the text of a file in the encodings that spreadsheets write."""
    content = path.read_bytes()
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _split_rows(text: str) -> list[list[str]]:
    """Split text into rows of cells; a first line ``sep=;`` names the delimiter."""
    lines = text.splitlines()
    if lines and lines[0].casefold().startswith("sep="):
        delimiter, text = lines[0][4:5], "\n".join(lines[1:])
    else:
        header = next((line for line in lines if line.strip()), "")
        delimiter = max(_DELIMITERS, key=header.count)
    rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    return [row for row in rows if any(cell.strip() for cell in row)]


def _write(value: object) -> str:
    """Write a Parquet cell as text; a whole number has no decimal point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _fault(path: Path, expected: str, found: str, mend: str) -> Fault:
    return Fault(FaultKind.TABLE, expected, found, mend, file=str(path))
