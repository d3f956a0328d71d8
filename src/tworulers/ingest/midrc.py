"""What the tables of a MIDRC download say of each exam, joined by the keys that belong together."""

import re
from pathlib import Path

import pandas as pd

from tworulers.cohort.spelling import fold_spelling
from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.folders import is_debris, stem_of
from tworulers.ingest.people import clean_attributes, collapse_duplicates
from tworulers.ingest.source import ATTRIBUTE_COLUMNS, relative_to
from tworulers.ingest.text_table import read_text_table
from tworulers.schema.settings import Provenance
from tworulers.schema.sources import CODES_FOR_NOTHING

Tables = dict[str, pd.DataFrame]

EXAM = re.compile(r"^(?P<patient>.+?)_Study-MR-\d+_Series-\d+(?P<mask>_SEG)?$")
"""Name of an image, or of a mask with ``_SEG``; the patient's part may hold hyphens."""

SERIES = "mr_series_files.submitter_id"
STUDY = "imaging_studies.submitter_id"

_NAMES = ("annotation_file", "case", "imaging_study", "mr_series")
_EXPERT, _AUTO = "retrospective expert", "retrospective auto"


def read_tables(root: Path) -> tuple[Tables, list[Fault]]:
    """Read ``<table>_<release>.tsv`` wherever they lie; of several releases the last by name.

    Parameters
    ----------
    root : a folder that holds them at any depth.
    """
    tables: Tables = {}
    faults = []
    for name in _NAMES:
        pattern = re.compile(rf"^{name}(_[^/]*)?\.tsv$", re.IGNORECASE)
        files = [p for p in root.rglob("*.tsv") if pattern.match(p.name) and not is_debris(p)]
        files.sort(key=lambda path: (path.name, path.as_posix()))
        if not files:
            mend = "download the structured data"
            found = f"no {name}_*.tsv"
            faults.append(Fault(FaultKind.TABLE, "", found, mend, note=name != "case"))
            continue
        tables[name] = read_text_table(files[-1])
        if len(files) > 1:
            found = f"{len(files)} tables {name}; the last release is used"
            file = relative_to(files[-1], root)
            faults.append(Fault(FaultKind.TABLE, "", found, "", file, note=True))
    return tables, faults


def list_masks(tables: Tables) -> pd.DataFrame:
    """List the masks of ``annotation_file``: ``exam_id``, ``series`` and ``provenance``.

    Provenance is missing where ``annotation_method`` is neither an expert's nor automatic.
    """
    table = tables.get("annotation_file", pd.DataFrame())
    named = next((column for column in ("file_name", "submitter_id") if column in table), None)
    if named is None:
        return pd.DataFrame({"exam_id": [], "series": [], "provenance": []}, dtype="str")
    names = table[named].map(lambda cell: stem_of(Path(str(cell).replace("\\", "/"))))
    masks = table[names.str.endswith("_SEG")]
    method = (
        masks["annotation_method"] if "annotation_method" in masks else pd.Series("", masks.index)
    )
    drawn = {_EXPERT: Provenance.GOLD.value, _AUTO: Provenance.SILVER.value}
    return pd.DataFrame(
        {
            "exam_id": names[masks.index].str.removesuffix("_SEG"),
            "series": masks.get(SERIES),
            "provenance": method.map(fold_spelling).map(drawn),
        }
    ).reset_index(drop=True)


def describe_exams(exam_ids: list[str], tables: Tables) -> tuple[pd.DataFrame, list[Fault]]:
    """Join what the tables say of exams: series to study to patient, never by ``submitter_id``
    alone.

    Age is the study's where it has one, otherwise the patient's. An exam without a series takes the
    patient's only series.

    Parameters
    ----------
    exam_ids : names of the exams.
    tables : as read by `read_tables`.

    Returns
    -------
    One row an exam: ``exam_id, patient_id, series, provenance`` and attributes; and faults.
    """
    exams = pd.DataFrame({"exam_id": exam_ids}, dtype="str")
    exams["patient_id"] = exams["exam_id"].map(_find_patient)
    masks, faults = collapse_duplicates(list_masks(tables), "exam_id", "annotation_file")
    exams = exams.merge(masks, on="exam_id", how="left")
    series, found = _prepare_series(tables)
    faults += found
    only = series[~series["patient"].duplicated(keep=False)].set_index("patient")["series"]
    exams["series"] = exams["series"].fillna(exams["patient_id"].map(only))
    people, found = _prepare_people(tables)
    faults += found
    exams = exams.merge(series.drop(columns="patient"), on="series", how="left")
    exams = exams.merge(people, on="patient_id", how="left", suffixes=("", "_of_patient"))
    for column in ("age", "age_over_89"):
        if f"{column}_of_patient" in exams:
            study_says_nothing = exams["age"].isna() & exams["age_over_89"].ne(True)
            mine, patients = exams[column], exams.pop(f"{column}_of_patient")
            exams[column] = patients.where(study_says_nothing, mine)
    unknown = sorted(set(exams["patient_id"]) - set(people["patient_id"]))
    for patient in unknown if not people.empty else []:
        expected = f"a row of patient {patient}"
        mend = "add the row"
        faults.append(Fault(FaultKind.TABLE, expected, "none", mend, "case", patient))
    columns = ["exam_id", "patient_id", "series", "provenance", *ATTRIBUTE_COLUMNS]
    return exams.reindex(columns=columns), faults


def _find_patient(exam: str) -> str:
    """Return the patient's part of an exam's name."""
    match = EXAM.match(exam)
    return match["patient"] if match else exam


def _prepare_series(tables: Tables) -> tuple[pd.DataFrame, list[Fault]]:
    """Return scanner and age of each series: ``mr_series`` with its ``imaging_study``."""
    columns = ["series", "patient", "manufacturer", "field_strength_t", "age", "age_over_89"]
    if "mr_series" not in tables:
        return pd.DataFrame(columns=columns, dtype="object"), []
    series = tables["mr_series"].rename(
        columns={
            "submitter_id": "series",
            STUDY: "study",
            "case_ids": "patient",
            "magnetic_field_strength": "field_strength_t",
        }
    )
    series = series.reindex(
        columns=["series", "study", "patient", "manufacturer", "field_strength_t"]
    )
    study = tables.get("imaging_study", pd.DataFrame()).rename(
        columns={
            "submitter_id": "study",
            "age_at_imaging": "age",
            "age_at_imaging_gt89": "age_over_89",
        }
    )
    study = study.reindex(columns=["study", "age", "age_over_89"]).drop_duplicates("study")
    joined = series.merge(study, on="study", how="left")
    cleaned, faults = clean_attributes(
        joined, "series", CODES_FOR_NOTHING, "mr_series and imaging_study"
    )
    single, repeated = collapse_duplicates(cleaned[columns], "series", "mr_series")
    return single, [*faults, *repeated]


def _prepare_people(tables: Tables) -> tuple[pd.DataFrame, list[Fault]]:
    """Return the attributes of each patient: the table ``case``."""
    columns = ["patient_id", "sex", "race", "ethnicity", "age", "age_over_89"]
    if "case" not in tables:
        return pd.DataFrame(columns=columns, dtype="object"), []
    case = tables["case"].rename(
        columns={
            "submitter_id": "patient_id",
            "age_at_index": "age",
            "age_at_index_gt89": "age_over_89",
        }
    )
    cleaned, faults = clean_attributes(
        case.reindex(columns=columns), "patient_id", CODES_FOR_NOTHING, "case"
    )
    single, repeated = collapse_duplicates(cleaned, "patient_id", "case")
    return single, [*faults, *repeated]
