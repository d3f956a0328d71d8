"""Which exams have an id, or a patient's, that no file may be called by."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.source import Source
from tworulers.schema.file_names import escape_controls, find_meeting_names, find_name_fault

COLUMNS = {"exam_id": "an exam id", "patient_id": "a patient id"}
MEND = "use letters, digits, spaces, - and _, or another column"
MEET = "are one name where capital letters do not count"
SHOWN = 5


def find_id_faults(
    table: pd.DataFrame, file: str = "", first_row: int | None = None
) -> list[tuple[Fault, list[int]]]:
    """List the ids that cannot name a file, and those that would name one file together.

    Parameters
    ----------
    table : rows with `exam_id`, `patient_id` or both, as text.
    file : its name in messages.
    first_row : the number of its first row in the file, where it has rows; else exams name the place.

    Returns
    -------
    One fault an id, or ids that meet, each with the places of its rows, from 0.
    """
    faults: list[tuple[Fault, list[int]]] = []
    told: set[str] = set()
    for column in (name for name in COLUMNS if name in table):
        rows_of = table.groupby(column, sort=False).indices
        for ids, why in _list_unsafe(table[column]):
            if told.issuperset(ids):
                continue
            told.update(ids)
            places = [[int(row) for row in rows_of[name]] for name in ids]
            shown = [
                f"{name!r}{_locate(table, column, rows, first_row)}"
                for name, rows in zip(ids, places, strict=True)
            ]
            fault = Fault(
                FaultKind.IDS,
                f"{COLUMNS[column]} that a file can be called by",
                f"{' and '.join(shown)}, which {why}",
                MEND,
                file,
                exam=escape_controls(ids[0]) if column == "exam_id" else "",
            )
            faults.append((fault, [row for rows in places for row in rows]))
    return faults


def set_unsafe_aside(source: Source) -> Source:
    """Take the exams out of a source whose ids, or whose patients', no file may be called by."""
    faults = find_id_faults(source.exams)
    exams = source.exams["exam_id"]
    reasons = {str(exams.iloc[row]): fault.describe() for fault, rows in faults for row in rows}
    return replace(
        source,
        exams=source.exams[~exams.isin(list(reasons))].reset_index(drop=True),
        faults=[*source.faults, *(fault for fault, _ in faults)],
        exclusions={**source.exclusions, **reasons},
    )


def _list_unsafe(column: pd.Series) -> Iterator[tuple[Sequence[str], str]]:
    """List the ids of a column that are at fault, with the reason."""
    ids = [str(name) for name in column.dropna().unique()]
    for name in ids:
        if why := find_name_fault(name):
            yield [name], why
    for group in find_meeting_names(ids):
        yield group, MEET


def _locate(table: pd.DataFrame, column: str, places: list[int], first_row: int | None) -> str:
    """Say in which rows an id stands, or of which exam it is."""
    if first_row is None:
        if column == "exam_id" or "exam_id" not in table:
            return ""
        return f" of exam {table['exam_id'].iloc[places[0]]}"
    rows = ", ".join(str(place + first_row) for place in places[:SHOWN])
    return f" in row{'s' * (len(places) > 1)} {rows}{' ...' * (len(places) > SHOWN)}"
