"""Which column of a table of scores or people names its exams, and whether each row is of one."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from tworulers.cohort.spelling import fold_spelling
from tworulers.ingest.faults import refuse
from tworulers.ingest.id_rules import Naming, rename_ids
from tworulers.ingest.ids import find_id_faults
from tworulers.ingest.people import rename_columns
from tworulers.ingest.score_cells import make_fault
from tworulers.ingest.sheet_table import SHEET
from tworulers.ingest.text_table import FIRST_ROW

SUMMARIES = frozenset(
    [
        "mean",
        "average",
        "avg",
        "median",
        "std",
        "sd",
        "sum",
        "total",
        "min",
        "max",
        "mean±sd",
        "mean±std",
        "count",
    ]
)
"""What stands (folded) where exams are named in a row that sums the exams up."""


def name_columns(
    table: pd.DataFrame,
    columns: Mapping[str, str],
    file: str,
    setting: str,
    notes: list[str],
    naming: Naming,
) -> pd.DataFrame:
    """Give the columns that describe exams the cohort's names; a key `a+b` joins two with an underscore.

    Parameters
    ----------
    table : as it was read.
    columns : the cohort's column names to the table's.
    file : the table's name in messages.
    setting : that holds `columns`, for messages.
    notes : is added to, a sentence each.
    naming : what does not count in the names of exams.

    Raises
    ------
    IngestError : no column holds exams; a row sums others up; ids are paths or doubtful.
    """
    mapped = dict(columns)
    key = mapped.get("exam_id", "")
    if "+" in key and key not in table:
        parts = [part.strip() for part in key.split("+")]
        absent = [part for part in parts if part not in table]
        if absent:
            refuse(
                make_fault(
                    file, f"columns {absent}", f"{list(table)}", f"correct {setting}.exam_id"
                )
            )
        joined = table[parts[0]].str.cat(table[parts[1:]], sep="_")
        table = table.assign(**{key: joined})
    written = list(map(str, table))
    table, told = rename_columns(table, mapped, file)
    notes += [fault.describe() for fault in told]
    if "exam_id" not in table:
        sheets = [note for note in notes if note.startswith(f"{Path(file).name}: {SHEET} ")]
        found = f"the columns {', '.join(written)}" + "".join(f" ({note})" for note in sheets)
        mend = (
            f"name the one that holds the exams' ids, such as \"{setting}.exam_id='{written[0]}'\""
        )
        refuse(make_fault(file, "a column exam_id", found, mend))
    table = rename_ids(table, naming, notes, file)
    paths = table["exam_id"].str.contains(r"[/\\]")
    if paths.all():
        found = f"paths, such as {table['exam_id'].iloc[0]!r}"
        mend = f"set {naming.setting}.id_ignore=[folder,extension]"
        refuse(make_fault(file, "ids of exams", found, mend))
    faults = [fault for fault, _ in find_id_faults(table[["exam_id"]], file, FIRST_ROW)]
    summed = table["exam_id"][table["exam_id"].map(fold_spelling).isin(SUMMARIES)].unique()
    mend = "take the row out: it sums the others up"
    refuse(*faults, *(make_fault(file, "an exam", f"{name!r}", mend, name) for name in summed))
    return table
