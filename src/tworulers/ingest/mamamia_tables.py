"""What the tables of a MAMA-MIA download say of each patient: clinical table, JSON files, ratings and split."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.cohort.spelling import fold_spelling
from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.ids import find_id_faults
from tworulers.ingest.people import (
    clean_attributes,
    collapse_duplicates,
    read_root_path,
    rename_columns,
)
from tworulers.ingest.source import relative_to
from tworulers.ingest.text_table import FIRST_ROW, read_text_table
from tworulers.schema.sources import Reading

CLINICAL = ("clinical_and_imaging_info.xlsx", "clinical_and_imaging_info.csv")
RATINGS = (
    "automatic_segmentations_quality_scores.csv",
    "preliminary_automatic_segmentations_quality_scores.csv",
)
SPLIT = "train_test_splits.csv"

READERS = ("expert_1_qs", "expert_2_qs")
"""The columns of the two readers who rated every automatic mask."""

WORDS = ("good", "acceptable", "poor", "missed")

RATING, DENSITY, PUBLISHED_SPLIT = "automatic_rating", "breast_density", "published_split"
"""Columns that are made here, or read from other files than the clinical table."""


def describe_patients(root: Path, reading: Reading) -> tuple[pd.DataFrame, list[Fault]]:
    """Describe every patient of the clinical table, with ratings, split and breast density where there are files.

    Menopause is one of three words, `pre`, `peri` and `post`, without the definitions that follow some; `dataset` is
    the collection. `automatic_rating` says what both readers thought of the automatic mask.

    Parameters
    ----------
    root : the folder of the tables.
    reading : another clinical table (`table`), its columns, and codes for no value.

    Raises
    ------
    IngestError : no clinical table, or one without patients.
    """
    path = _find_clinical(root, reading)
    notes: list[str] = []
    table, faults = rename_columns(read_text_table(path, notes), reading.columns, path.name)
    if "patient_id" not in table:
        mend = "map it with dataset.reading.columns.patient_id=..."
        refuse(Fault(FaultKind.TABLE, "a column patient_id", f"{list(table)}", mend, path.name))
    table["exam_id"] = table["patient_id"]
    unsafe = find_id_faults(table[["exam_id"]], path.name, FIRST_ROW)
    refuse(*(fault for fault, _ in unsafe))
    table, found = clean_attributes(table, "exam_id", reading.missing, path.name)
    faults += found
    table, found = collapse_duplicates(table.drop(columns="patient_id"), "exam_id", path.name)
    faults += found + [Fault(FaultKind.TABLE, "", note, note=True) for note in notes]
    table, found = _shorten_menopause(table, path.name)
    faults += found
    table["sex"] = "Female"
    for read in (read_density, read_ratings, read_split):
        more, found = read(root, reading)
        faults += found
        table = _join(table, more)
    return table, faults


def read_density(root: Path, reading: Reading) -> tuple[pd.DataFrame, list[Fault]]:
    """Read the breast density of each patient from ``patient_info_files``, where there are such files."""
    folder = root / "patient_info_files"
    codes = {fold_spelling(code) for code in reading.missing}
    rows, faults = [], []
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            content: Any = json.loads(path.read_text(encoding="utf-8"))
            exam, told = str(content["patient_id"]), content["clinical_data"].get(DENSITY)
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            found = f"{type(error).__name__}: {error}"
            mend = "copy the file again, or take it out"
            expected = "JSON with patient_id and clinical_data"
            faults.append(Fault(FaultKind.TABLE, expected, found, mend, relative_to(path, root)))
            continue
        known = told is not None and fold_spelling(told) not in codes
        rows.append((exam, str(told).strip().lower() if known else None))
    return pd.DataFrame(rows, columns=["exam_id", DENSITY]), faults


def read_ratings(root: Path, reading: Reading) -> tuple[pd.DataFrame, list[Fault]]:
    """Read what the two readers thought of each automatic mask, apart and together; none where there is no such file.

    A rating that is none of the four words is a fault and counts as missing.
    """
    path = next((root / name for name in RATINGS if (root / name).is_file()), None)
    if path is None:
        return pd.DataFrame({"exam_id": []}), []
    table = read_text_table(path)
    absent = [name for name in ("patient_id", *READERS) if name not in table]
    if absent:
        mend = "copy the file again"
        fault = Fault(
            FaultKind.TABLE, f"columns {', '.join(absent)}", f"{list(table)}", mend, path.name
        )
        return pd.DataFrame({"exam_id": []}), [fault]
    codes, faults = {fold_spelling(code) for code in reading.missing}, []
    for name in READERS:
        words = table[name].map(fold_spelling)
        known = words.isin(WORDS)
        wrong = ~known & ~words.isin(codes)
        faults += [
            Fault(
                FaultKind.TABLE,
                f"{name} of {', '.join(word.capitalize() for word in WORDS)}",
                repr(cell),
                "correct it; until then it counts as missing",
                path.name,
                str(exam),
            )
            for exam, cell in zip(table["patient_id"][wrong], table[name][wrong], strict=True)
        ]
        table[name] = words.str.capitalize().where(known)
    table[RATING] = [join_ratings(*pair) for pair in table[list(READERS)].itertuples(index=False)]
    kept = table.rename(columns={"patient_id": "exam_id"})[["exam_id", *READERS, RATING]]
    return kept, faults


def join_ratings(first: object, second: object) -> str | None:
    """Say what two readers thought: `both Good`, `both Poor`, `both Missed`, else `Acceptable or disagreed`."""
    if not isinstance(first, str) or not isinstance(second, str):
        return None
    alike = first == second and first != "Acceptable"
    return f"both {first}" if alike else "Acceptable or disagreed"


def read_split(root: Path, reading: Reading) -> tuple[pd.DataFrame, list[Fault]]:
    """Read which part of the published split each patient is in; one who is in both is a fault, and in none."""
    path = root / SPLIT
    if not path.is_file():
        return pd.DataFrame({"exam_id": []}), []
    table = read_text_table(path)
    absent = [name for name in ("train_split", "test_split") if name not in table]
    if absent:
        expected = f"columns {', '.join(absent)}"
        fault = Fault(FaultKind.TABLE, expected, f"{list(table)}", "copy the file again", SPLIT)
        return pd.DataFrame({"exam_id": []}), [fault]
    codes = {fold_spelling(code) for code in reading.missing}
    part = {
        name: {cell for cell in table[f"{name}_split"] if fold_spelling(cell) not in codes}
        for name in ("train", "test")
    }
    folded = {name: {cell.casefold() for cell in cells} for name, cells in part.items()}
    both = folded["train"] & folded["test"]
    mend = "correct the file; until then the patient is in neither"
    faults = [
        Fault(FaultKind.LEAKAGE, "one part", "train and test", mend, SPLIT, exam)
        for exam in sorted(part["test"])
        if exam.casefold() in both
    ]
    rows = [
        (exam, name)
        for name, cells in part.items()
        for exam in sorted(cells)
        if exam.casefold() not in both
    ]
    counts = f"{len(part['train'])} train and {len(part['test'])} test patients"
    faults.append(Fault(FaultKind.COUNTS, "", counts, file=SPLIT, note=True))
    return pd.DataFrame(rows, columns=["exam_id", PUBLISHED_SPLIT]), faults


def _find_clinical(root: Path, reading: Reading) -> Path:
    if reading.table:
        return read_root_path(reading.table, root)
    path = next((root / name for name in CLINICAL if (root / name).is_file()), None)
    if path is None:
        mend = "copy it beside images and segmentations, or give dataset.reading.table=..."
        refuse(Fault(FaultKind.TABLE, CLINICAL[0], "no such file", mend, str(root)))
    assert path is not None
    return path


def _shorten_menopause(table: pd.DataFrame, file: str) -> tuple[pd.DataFrame, list[Fault]]:
    """Take the word of menopause without the definition in brackets behind it."""
    if "menopause" not in table:
        return table, []
    words = table["menopause"].str.partition("(")[0].str.strip()
    changed = table["menopause"].notna() & (words != table["menopause"])
    if not changed.any():
        return table, []
    counts = words[changed].value_counts()
    told = ", ".join(f"{word!r} in {n} rows" for word, n in counts.items())
    text = f"menopause is taken without the definition in brackets: {told}"
    note = Fault(FaultKind.TABLE, "", text, file=file, note=True)
    return table.assign(menopause=words), [note]


def _join(table: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """Add columns by exam, ids matched without regard to case; what the table says itself stays."""
    single = more.assign(key=more["exam_id"].astype("str").str.casefold()).drop_duplicates("key")
    keyed = table["exam_id"].str.casefold()
    for name in more.columns.drop("exam_id"):
        found = keyed.map(single.set_index("key")[name])
        table[name] = table[name].where(table[name].notna(), found) if name in table else found
    return table
