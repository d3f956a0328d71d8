"""What a sheet of an Excel workbook holds: every cell as the text it stands for."""

import datetime
import zipfile
from pathlib import Path
from typing import Any

from tworulers.ingest.faults import IngestError, refuse, table_fault

Rows = list[tuple[int, list[str]]]

SHEET = "sheet"
"""The word that a note on a workbook with several sheets has behind the file's name."""


def measure_unpacked(path: Path) -> int:
    """Return how many bytes a workbook has once it is unpacked.

    Raises
    ------
    IngestError : it is no workbook.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        raise _damage(path, error) from error


def read_sheet(path: Path, notes: list[str]) -> tuple[list[str], Rows]:
    """Read the first sheet of a workbook that holds anything.

    Whole numbers have no decimal point, numbers shown with leading zeros keep them, days are written as 2024-05-31.

    Parameters
    ----------
    path : the workbook.
    notes : is added to, a sentence on the sheets that are not read.

    Returns
    -------
    The header, and the rows below it that are not empty, each with its number in the sheet.

    Raises
    ------
    IngestError : no workbook, openpyxl is not installed, or formulas whose results the file does not hold.
    """
    try:
        import openpyxl
    except ModuleNotFoundError as error:
        mend = "pip install 'tworulers[excel]', or save the sheet as CSV"
        found = "a workbook, which openpyxl reads, and it is not installed here"
        fault = table_fault(path, "CSV, TSV or Parquet", found, mend)
        raise IngestError([fault]) from error
    try:
        values = openpyxl.load_workbook(path, read_only=True, data_only=True)
        formulas = openpyxl.load_workbook(path, read_only=True)
    except Exception as error:  # what a damaged workbook raises is as manifold as its parts
        raise _damage(path, error) from error
    held: list[str] = []
    chosen: Rows = []
    for name in [sheet.title for sheet in values.worksheets]:
        rows, unknown = _read_cells(values[name], formulas[name])
        if not rows:
            continue
        held.append(name)
        if len(held) > 1:
            continue
        chosen = rows
        if unknown:
            found = f"{len(unknown)} formulas without one, such as {unknown[0]}"
            mend = "open and save it in a spreadsheet program, or paste values in place of formulas"
            refuse(table_fault(path, "the result of every formula", found, mend))
    if len(held) > 1:
        others = ", ".join(map(repr, held[1:]))
        notes.append(f"{path.name}: {SHEET} {held[0]!r} is read; {others} not, being behind it")
    if not chosen:
        return [], []
    (_, header), *rows = chosen
    return header, rows


def _read_cells(values: Any, formulas: Any) -> tuple[Rows, list[str]]:
    """Return the rows of a sheet that hold anything, of one width, and formulas without a result."""
    rows: Rows = []
    unknown: list[str] = []
    sources = formulas.iter_rows()
    for place, (cells, asked) in enumerate(zip(values.iter_rows(), sources, strict=False), 1):
        row = [write_cell(cell.value, getattr(cell, "number_format", "")) for cell in cells]
        unknown += [
            f"{formula.coordinate} {formula.value}"
            for text, formula in zip(row, asked, strict=False)
            if not text and getattr(formula, "data_type", "") == "f"
        ]
        if any(row):
            rows.append((place, row))
    width = max((_measure(row) for _, row in rows), default=0)
    return [(place, (row + [""] * width)[:width]) for place, row in rows], unknown


def _damage(path: Path, error: Exception) -> IngestError:
    found, mend = f"no readable workbook ({error})", "save it again, or as CSV"
    return IngestError([table_fault(path, "an Excel workbook (.xlsx)", found, mend)])


def _measure(row: list[str]) -> int:
    return max((place for place, cell in enumerate(row, 1) if cell), default=0)


def write_cell(value: object, shown_as: str = "") -> str:
    """Write a typed cell as text; nothing, and what is no number, is empty.

    Parameters
    ----------
    value : a text, number, truth value, day or time.
    shown_as : how a spreadsheet shows it: of `000` a number has its zeros.
    """
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    zeros = shown_as if shown_as and set(shown_as) == {"0"} else ""
    return text.zfill(len(zeros)) if isinstance(value, int) and value >= 0 else text
