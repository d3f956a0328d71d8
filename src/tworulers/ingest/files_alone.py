"""Layouts of files alone: whose the exams are, and who drew the labels, may stand in tables beside them."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.layout import DataLayout
from tworulers.ingest.people import (
    clean_attributes,
    collapse_duplicates,
    join_people,
    read_root_path,
    rename_columns,
)
from tworulers.ingest.provenance import (
    apply_experts,
    judge_provenance,
    read_experts,
    read_provenance,
)
from tworulers.ingest.source import EXAM_COLUMNS, Source
from tworulers.ingest.text_table import read_text_table
from tworulers.schema.settings import Provenance
from tworulers.schema.sources import Dataset


@dataclass(frozen=True)
class Pairs:
    """The image and the label of each exam, the structures that the source declares, and what is wrong."""

    files: dict[str, tuple[Path, Path]]
    faults: list[Fault]
    structures: dict[str, int] = field(default_factory=dict)
    ignore: int | None = None


class FilesAlone(DataLayout):
    """Images and labels, and nothing of people; every label counts as an expert's unless a table says otherwise."""

    def pair(self, root: Path, dataset: Dataset) -> Pairs:
        """Find the image and the label of each exam.

        Raises
        ------
        IngestError : nothing below the folder can be read.
        """
        raise NotImplementedError

    def read(self, root: Path, dataset: Dataset) -> Source:
        """List the exams below a folder, with the people and the experts of the tables that are given."""
        found = self.pair(root, dataset)
        pattern = dataset.reading.patient
        patients = {exam: find_patient(exam, pattern) for exam in found.files}
        unmatched = sorted(exam for exam, patient in patients.items() if patient is None)
        faults = list(found.faults)
        if unmatched:
            shown = ", ".join(unmatched[:5])
            shown += f" and {len(unmatched) - 5} more" if len(unmatched) > 5 else ""
            expected = f"exam ids that match dataset.reading.patient {pattern!r}"
            mend = "correct the pattern; until then each of these is a patient of its own"
            faults.append(Fault(FaultKind.TABLE, expected, shown, mend))
        rows = [
            (exam, patients[exam] or exam, str(image), str(label), Provenance.GOLD.value)
            for exam, (image, label) in found.files.items()
        ]
        exams = pd.DataFrame(rows, columns=list(EXAM_COLUMNS)).astype("str")
        source = Source(root, exams, found.structures, faults, ignore=found.ignore)
        return join_tables(source, dataset)


def find_patient(exam: str, pattern: str | None) -> str | None:
    """Return the patient's part of an exam id; the id itself where no pattern is given."""
    if pattern is None:
        return exam
    match = re.search(pattern, exam)
    return match["patient"] if match else None


def join_tables(source: Source, dataset: Dataset) -> Source:
    """Join a table of people and a list of experts to exams of which neither is known."""
    exams, faults, exclusions = source.exams, list(source.faults), dict(source.exclusions)
    drawn: pd.Series | None = None
    if dataset.reading.table:
        path = read_root_path(dataset.reading.table, source.root)
        table, found = rename_columns(read_text_table(path), dataset.reading.columns, path.name)
        faults += found
        key = "exam_id" if "exam_id" in table else "patient_id"
        table, found = clean_attributes(table, key, dataset.reading.missing, path.name)
        faults += found
        if "provenance" in table and key in table and not dataset.reading.experts:
            told = table["provenance"].notna() | table[key].isin(set(exams[key]))
            words, found = read_provenance(table["provenance"][told], table[key][told], path.name)
            table, faults = table.assign(provenance=words), [*faults, *found]
            single = collapse_duplicates(table[[key, "provenance"]], key, path.name)[0]
            drawn = exams[key].map(single.set_index(key)["provenance"])
        exams, found = join_people(exams, table, path.name)
        faults += found
    if dataset.reading.experts:
        path = read_root_path(dataset.reading.experts, source.root)
        labels = zip(exams["exam_id"], exams["label"], strict=True)
        names = {exam: {exam, Path(label).name} for exam, label in labels}
        provenance, found = apply_experts(exams, names, read_experts(path), path.name)
        exams, faults = exams.assign(provenance=provenance), [*faults, *found]
    elif drawn is not None:
        unclear = exams["exam_id"][drawn.isna().to_numpy()]
        exclusions |= dict.fromkeys(unclear, "who drew the label is not told")
        faults += judge_provenance(exams[~exams["exam_id"].isin(unclear)])
    elif dataset.gold_share is None:
        found_text = "the layout does not say who drew the labels: all count as experts' (gold)"
        mend = "list the experts' in dataset.reading.experts, or give provenance in dataset.reading.table"
        faults.append(Fault(FaultKind.PROVENANCE, "", found_text, mend, note=True))
    return replace(source, exams=exams, faults=faults, exclusions=exclusions)
