"""Which exams of a source become the cohort, which do not and why."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from tworulers.cohort.spelling import fold_spelling
from tworulers.ingest.faults import Fault, FaultKind, IngestError
from tworulers.ingest.ignored import find_ignore_faults, note_ignored
from tworulers.ingest.inspect import Inspection, find_duplicates
from tworulers.ingest.source import ATTRIBUTE_COLUMNS, EXAM_COLUMNS, Source
from tworulers.schema.settings import Provenance
from tworulers.schema.sources import Dataset
from tworulers.schema.tables import format_axes

EXPERT_VOLUME = "expert_volume_mm3"
"""Cohort column: volume of all structures in an expert's label, in mm3."""


@dataclass(frozen=True)
class Ingested:
    """The cohort table, exams left out with reasons, structure volumes, faults and notes, and further label maps: the
    path by name and exam.
    """

    cohort: pd.DataFrame
    exclusions: pd.DataFrame
    volumes: pd.DataFrame
    faults: list[Fault]
    references: dict[str, dict[str, Path]] = field(default_factory=dict)


def assemble(
    source: Source, inspections: Sequence[Inspection], dataset: Dataset, root: Path
) -> Ingested:
    """Make the cohort table of the exams that can be used.

    An exam with a fault is left out, with the fault as its reason; a note leaves nothing out.

    Parameters
    ----------
    source : the exams and their attributes.
    inspections : one an exam.
    dataset : the structures, and the exams a person leaves out.
    root : paths below it are written relative to it.

    Raises
    ------
    IngestError : no exam can be used, or no label holds any structure.
    """
    by_exam = {inspection.exam_id: inspection for inspection in inspections}
    patients = source.exams.set_index("exam_id")["patient_id"]
    faults = [*source.faults, *compare_structures(source, dataset)]
    faults += [*find_ignore_faults(source, dataset), *note_ignored(inspections, dataset)]
    faults += [fault for inspection in inspections for fault in inspection.faults]
    faults += find_duplicates(inspections, patients)
    reasons = dict.fromkeys(dataset.reading.exclude, "left out by dataset.reading.exclude")
    reasons |= source.exclusions
    for inspection in inspections:
        wrong = [fault.describe() for fault in inspection.faults if not fault.note]
        if wrong:
            reasons.setdefault(inspection.exam_id, "; ".join(wrong))
    for fault in source.faults:
        if fault.exam and not fault.note and fault.exam not in by_exam:
            reasons.setdefault(fault.exam, fault.describe())
    exams = source.exams[~source.exams["exam_id"].isin(list(reasons))]
    if exams.empty:
        found = "none that can be used"
        raise IngestError([*faults, Fault(FaultKind.COUNTS, "exams", found, "", str(source.root))])
    kept = [by_exam[exam] for exam in exams["exam_id"]]
    volumes = measure_volumes(kept, dataset.structures)
    absent = find_absent(volumes, dataset.structures)
    if any(not fault.note for fault in absent):
        raise IngestError([*faults, *absent])
    faults += absent
    cohort = complete_columns(exams).assign(
        image=exams["image"].map(lambda path: _write_path(path, root)),
        label=exams["label"].map(lambda path: _write_path(path, root)),
        spacing=[format_axes(list(np.round(i.spacing, 6))) for i in kept],
        shape=[format_axes(list(i.shape)) for i in kept],
    )
    totals = volumes.groupby("exam_id")["volume_mm3"].sum()
    gold = cohort["provenance"] == Provenance.GOLD
    cohort[EXPERT_VOLUME] = cohort["exam_id"].map(totals).where(gold)
    exclusions = pd.DataFrame(sorted(reasons.items()), columns=["exam_id", "reason"]).astype("str")
    references = {
        name: {exam: files[exam] for exam in exams["exam_id"] if exam in files}
        for name, files in source.references.items()
    }
    return Ingested(cohort.reset_index(drop=True), exclusions, volumes, faults, references)


def compare_structures(source: Source, dataset: Dataset) -> list[Fault]:
    """Refuse structures that the configuration and the source number differently, and note other names.

    One name with two values is a fault even where both have the same values: the structures would be swapped.
    """
    if not source.structures:
        return []
    theirs = {fold_spelling(name): value for name, value in source.structures.items()}
    ours = {fold_spelling(name): value for name, value in dataset.structures.items()}
    expected, found = (
        f"the source's labels {source.structures}",
        f"dataset.structures {dataset.structures}",
    )
    mend = "set dataset.structures, or map stored values with dataset.reading.label_map"
    mapped = bool(dataset.reading.label_map)
    swapped = any(theirs.get(name, value) != value for name, value in ours.items())
    if swapped or set(ours.values()) != set(theirs.values()):
        return [Fault(FaultKind.VALUES, expected, found, mend, note=mapped)]
    if set(ours) != set(theirs):
        names = {value: name for name, value in dataset.structures.items()}
        called = [
            f"{value} {name!r}, here {names[value]!r}" for name, value in source.structures.items()
        ]
        told = f"the source calls {'; '.join(called)}"
        return [Fault(FaultKind.VALUES, "", told, "are these the same structures?", note=True)]
    return []


def find_absent(volumes: pd.DataFrame, structures: dict[str, int]) -> list[Fault]:
    """Note the structures that no label holds; where no label holds any, that is a fault.

    Parameters
    ----------
    volumes : `exam_id`, `structure`, `volume_mm3`; empty where only headers were read.
    structures : value of each structure.
    """
    if volumes.empty:
        return []
    held = volumes.groupby("structure")["volume_mm3"].max()
    absent = {name: value for name, value in structures.items() if held.get(name, 0) == 0}
    if not absent:
        return []
    found = (
        f"no label holds {', '.join(f'{name} (value {value})' for name, value in absent.items())}"
    )
    mend = "correct dataset.structures, or map stored values with dataset.reading.label_map"
    every = len(absent) == len(structures)
    return [Fault(FaultKind.VALUES, "", found, mend, note=not every)]


def measure_volumes(inspections: Sequence[Inspection], structures: dict[str, int]) -> pd.DataFrame:
    """Measure the volume of each structure in each label: ``exam_id, structure, volume_mm3``."""
    rows = [
        (inspection.exam_id, name, inspection.voxels.get(value, 0) * inspection.voxel_mm3)
        for inspection in inspections
        if inspection.voxels
        for name, value in structures.items()
    ]
    return pd.DataFrame(rows, columns=["exam_id", "structure", "volume_mm3"])


def complete_columns(exams: pd.DataFrame) -> pd.DataFrame:
    """Give every exam the attribute columns of a cohort table, empty where the source has none."""
    frame = exams.copy()
    for column in ATTRIBUTE_COLUMNS:
        if column not in frame:
            frame[column] = None
    frame["age_over_89"] = frame["age_over_89"].eq(True)
    for column in ("age", "field_strength_t"):
        frame[column] = pd.to_numeric(frame[column]).astype(float)
    for column in ("sex", "race", "ethnicity", "manufacturer"):
        frame[column] = frame[column].astype("str")
    first = [*EXAM_COLUMNS, *ATTRIBUTE_COLUMNS]
    return frame[[*first, *(column for column in frame if column not in first)]]


def _write_path(path: object, root: Path) -> str | None:
    """Write a path relative to the project root where it lies below, absolute otherwise."""
    if not isinstance(path, str) or not path:
        return None
    absolute = Path(path)
    return (absolute.relative_to(root) if absolute.is_relative_to(root) else absolute).as_posix()
