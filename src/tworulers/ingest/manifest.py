"""What a table of exams lists: files below the data root, and attributes."""

from pathlib import Path

import pandas as pd

from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.ids import find_id_faults
from tworulers.ingest.layout import LAYOUTS, DataLayout
from tworulers.ingest.people import (
    clean_attributes,
    collapse_duplicates,
    read_root_path,
    rename_columns,
)
from tworulers.ingest.provenance import apply_experts, read_experts, read_provenance
from tworulers.ingest.source import Source
from tworulers.ingest.text_table import FIRST_ROW, read_text_table
from tworulers.schema.settings import Provenance
from tworulers.schema.sources import Dataset


@LAYOUTS.register("manifest")
class Manifest(DataLayout):
    """A table of exams that names their files below the data root."""

    def read(self, root: Path, dataset: Dataset) -> Source:
        """List the exams of a manifest: CSV, TSV, spreadsheet-made CSV or Parquet, one row an exam.

        Parameters
        ----------
        root : the folder that file names are relative to; files outside it are refused.
        dataset : the table, its columns and codes for no value, and who drew the labels.

        Raises
        ------
        IngestError : no readable table, or no column of exams or images.
        """
        reading = dataset.reading
        path = read_root_path(reading.table or "manifest.csv", root)
        file = path.name
        table, renamed = rename_columns(read_text_table(path), reading.columns, file)
        absent = [column for column in ("exam_id", "image") if column not in table]
        if absent:
            mend = "map them with dataset.reading.columns"
            refuse(
                Fault(FaultKind.TABLE, f"columns {', '.join(absent)}", f"{list(table)}", mend, file)
            )
        unsafe = find_id_faults(table, file, FIRST_ROW)
        faults = [*renamed, *(fault for fault, _ in unsafe)]
        exclusions = {
            str(table["exam_id"].iloc[row]): fault.describe()
            for fault, rows in unsafe
            for row in rows
        }
        table = table[~table["exam_id"].isin(list(exclusions))]
        table, found_faults = clean_attributes(table, "exam_id", reading.missing, file)
        faults += found_faults
        table, found_faults = collapse_duplicates(table, "exam_id", file)
        faults += found_faults
        if "patient_id" not in table:
            table["patient_id"] = table["exam_id"]
            found = "no column of patients: every exam counts as a patient of its own"
            faults.append(Fault(FaultKind.TABLE, "", found, "add patient_id", file, note=True))
        if "label" not in table:
            table["label"] = None
        for column in ("image", "label"):
            table[column] = _locate(table, column, root, file, exclusions, faults)
        table["provenance"] = _decide_provenance(table, root, dataset, file, faults)
        unclear = table["provenance"].isna()
        exclusions |= dict.fromkeys(table.loc[unclear, "exam_id"], "who drew the label is not told")
        return Source(root, table.reset_index(drop=True), faults=faults, exclusions=exclusions)


def _locate(
    table: pd.DataFrame,
    column: str,
    root: Path,
    file: str,
    exclusions: dict[str, str],
    faults: list[Fault],
) -> list[str | None]:
    """Return absolute paths; a path that leaves the root is a fault and leaves the exam out."""
    paths: list[str | None] = []
    for exam, cell in zip(table["exam_id"], table[column], strict=True):
        if not isinstance(cell, str) or not cell:
            paths.append(None)
            if column == "image":
                fault = Fault(FaultKind.PAIRING, "an image", "none", "name its file", file, exam)
                faults.append(fault)
                exclusions[exam] = "no image"
            continue
        path = root / cell
        if not path.resolve().is_relative_to(root.resolve()):
            mend = "set dataset.root to a folder that holds every file"
            found = f"{column} {cell!r}"
            faults.append(Fault(FaultKind.FILES, "a file below the root", found, mend, file, exam))
            exclusions[exam] = f"{column} lies outside the data root"
        paths.append(str(path))
    return paths


def _decide_provenance(
    table: pd.DataFrame, root: Path, dataset: Dataset, file: str, faults: list[Fault]
) -> pd.Series:
    """Take provenance from the expert list, else from the column, else from the gold share."""
    if dataset.reading.experts:
        path = read_root_path(dataset.reading.experts, root)
        names = {
            str(row.exam_id): {str(row.exam_id), *_names_of(row.label)}
            for row in table[["exam_id", "label"]].itertuples(index=False)
        }
        provenance, found = apply_experts(table, names, read_experts(path), path.name)
        faults += found
        return provenance
    if "provenance" in table:
        provenance, found = read_provenance(table["provenance"], table["exam_id"], file)
        faults += found
        return provenance
    if dataset.gold_share is None:
        faults.append(
            Fault(
                FaultKind.PROVENANCE,
                "",
                "no column provenance: every label counts as an expert's (gold)",
                "add the column (gold, silver), or dataset.reading.experts",
                file,
                note=True,
            )
        )
    return pd.Series(Provenance.GOLD.value, index=table.index)


def _names_of(label: object) -> set[str]:
    if not isinstance(label, str):
        return set()
    path = Path(label)
    return {path.name, path.name.split(".")[0]}
