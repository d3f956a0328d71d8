"""How any data source becomes the cohort table: read by its layout, inspected, assembled."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from tworulers.cohort.ungrouped import find_ungrouped
from tworulers.file_names import check_name
from tworulers.ingest.assemble import Ingested, assemble, compare_structures, complete_columns
from tworulers.ingest.cspineseg import find_localizers, read_cspineseg
from tworulers.ingest.decathlon import read_decathlon
from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.ids import set_unsafe_aside
from tworulers.ingest.inspect import Inspection, inspect_source
from tworulers.ingest.labels import read_mapped_label
from tworulers.ingest.loose import read_loose
from tworulers.ingest.manifest import read_manifest
from tworulers.ingest.nnunet import read_nnunet
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
from tworulers.ingest.source import Source
from tworulers.ingest.text_table import read_text_table
from tworulers.io.images import read_header, same_grid, write_label
from tworulers.schema_sources import Dataset, Grouping

READERS: dict[str, Callable[[Path, Dataset], Source]] = {
    "nnunet": read_nnunet,
    "decathlon": read_decathlon,
    "manifest": read_manifest,
    "cspineseg": read_cspineseg,
    "folder": read_loose,
}
"""The layouts that can be read, by the name in `dataset.source`."""

LAYOUTS_OF_FILES = ("nnunet", "decathlon", "folder")
"""Layouts that say nothing of people and of who drew the labels."""

Progress = Callable[[Iterator[Inspection], int], Iterable[Inspection]]


@dataclass(frozen=True)
class Examined:
    """A source and the inspections of its exams."""

    source: Source
    inspections: list[Inspection]


def read_source(dataset: Dataset) -> Source:
    """Read what a data source holds, by its layout, with people and experts joined where given.

    Raises
    ------
    IngestError : no root, an unknown layout, or a source that cannot be read at all.
    """
    if dataset.source not in READERS:
        mend = "set dataset.source"
        refuse(Fault(FaultKind.FILES, f"a source of {sorted(READERS)}", dataset.source, mend))
    if dataset.root is None or not Path(dataset.root).is_dir():
        found = "none given" if dataset.root is None else f"{dataset.root}, which is no folder"
        mend = f"set dataset.root to the folder of the {dataset.source} data"
        refuse(Fault(FaultKind.FILES, "the folder of the data", found, mend))
    root = Path(str(dataset.root)).absolute()
    source = READERS[dataset.source](root, dataset)
    if dataset.source in LAYOUTS_OF_FILES:
        source = _add_tables(source, dataset)
    return set_unsafe_aside(source)


def examine(
    dataset: Dataset,
    *,
    full: bool,
    processes: int,
    progress: Progress | None = None,
    source: Source | None = None,
) -> Examined:
    """Read a source and inspect every exam of it.

    Parameters
    ----------
    dataset : the source.
    full : read every voxel, not only headers.
    processes : worker processes.
    progress : shows how far the inspection is.
    source : what `read_source` found, where it has been read.
    """
    source = source or read_source(dataset)
    stream = inspect_source(source, dataset, full=full, processes=processes)
    inspections = list(progress(stream, len(source.exams)) if progress else stream)
    if dataset.source == "cspineseg":
        localizers = find_localizers(inspections)
        notes = [
            Fault(FaultKind.GEOMETRY, "", f"{reason}; left out", exam=exam, note=True)
            for exam, reason in localizers.items()
        ]
        source = replace(
            source,
            exclusions={**source.exclusions, **localizers},
            faults=[*source.faults, *notes],
        )
    return Examined(source, inspections)


def ingest(
    dataset: Dataset,
    root: Path,
    *,
    processes: int,
    progress: Progress | None = None,
    groupings: Mapping[str, Grouping] | None = None,
) -> Ingested:
    """Make the cohort table of a data source; exams with faults are left out and listed.

    Parameters
    ----------
    dataset : the source.
    root : the project root; paths below it are written relative to it.
    processes : worker processes.
    progress : shows how far the inspection is.
    groupings : what will be asked of the exams; values that none of them knows are told.

    Raises
    ------
    IngestError : before an image is read: the source cannot be read, an id cannot name a file, structures are named
        otherwise than the source names them, nobody is in a grouping; and after: no exam can be used.
    """
    source = read_source(dataset)
    exams = complete_columns(source.exams)
    told = [*list_ungrouped(exams, groupings or {}), *note_blank(exams, groupings or {})]
    whole = [fault for fault in source.faults if is_of_all(fault)]
    refuse(*whole, *compare_structures(source, dataset), *told)
    source = replace(source, faults=[*source.faults, *told])
    examined = examine(dataset, full=True, processes=processes, progress=progress, source=source)
    return assemble(examined.source, examined.inspections, dataset, root)


def is_of_all(fault: Fault) -> bool:
    """Tell whether a fault is of the source as a whole, so that nothing of it can be used."""
    declared = fault.kind == FaultKind.VALUES and not fault.exam
    return fault.kind == FaultKind.IDS or declared


def list_ungrouped(exams: pd.DataFrame, groupings: Mapping[str, Grouping]) -> list[Fault]:
    """List the values that are in no group of the groupings of a source's own columns.

    A grouping that nobody is in because of them is a fault.
    """
    own = {name: grouping for name, grouping in groupings.items() if grouping.column in exams}
    return [
        Fault(
            FaultKind.GROUPS,
            "",
            one.describe() if one.grouped else one.refuse(),
            note=one.grouped > 0,
        )
        for one in find_ungrouped(exams, own)
        if one.values
    ]


def note_blank(exams: pd.DataFrame, groupings: Mapping[str, Grouping]) -> list[Fault]:
    """Note the groupings of columns that nobody filled, which an audit refuses."""
    own = {name: grouping for name, grouping in groupings.items() if grouping.column in exams}
    blank = [one.name for one in find_ungrouped(exams, own) if not one.values and not one.grouped]
    if not blank:
        return []
    found = f"no exam has a group in {', '.join(blank)}: an audit of them will be refused"
    mend = "join a table of people with dataset.reading.table, or choose other attributes"
    return [Fault(FaultKind.GROUPS, "", found, mend, note=True)]


def write_mapped_labels(
    cohort: pd.DataFrame, dataset: Dataset, root: Path, folder: Path
) -> pd.DataFrame:
    """Write the labels that stand otherwise in their files, and point the cohort to them.

    These are all labels where stored values are replaced, and those that lie elsewhere than their image by their
    header, although voxels are taken to correspond. Nothing is written below the source.

    Parameters
    ----------
    cohort : the cohort table.
    dataset : its label map and structures.
    root : the project root that relative paths belong to.
    folder : where the new labels go.
    """
    reading, values = dataset.reading, dataset.structures.values()
    labels: list[str | None] = []
    for row in cohort[["exam_id", "image", "label"]].itertuples(index=False):
        if not isinstance(row.label, str):
            labels.append(None)
            continue
        stored, image = root / row.label, read_header(root / str(row.image))
        if not reading.label_map and same_grid(read_header(stored), image):
            labels.append(row.label)
            continue
        volume = read_mapped_label(stored, values, reading.label_map)
        name = check_name(str(row.exam_id), "exam")
        target = folder / f"{name}.nii.gz"
        write_label(target, volume.array, image.affine, image.placed)
        shown = target.relative_to(root) if target.is_relative_to(root) else target
        labels.append(shown.as_posix())
    return cohort.assign(label=pd.Series(labels, index=cohort.index, dtype="str"))


def _add_tables(source: Source, dataset: Dataset) -> Source:
    """Join a table of people and a list of experts to a layout that has neither."""
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
        names = {exam: {exam, f"{exam}.nii.gz"} for exam in exams["exam_id"]}
        provenance, found = apply_experts(exams, names, read_experts(path), path.name)
        exams, faults = exams.assign(provenance=provenance), [*faults, *found]
    elif drawn is not None:
        unclear = exams["exam_id"][drawn.isna().to_numpy()]
        exclusions |= dict.fromkeys(unclear, "who drew the label is not told")
        faults += judge_provenance(exams[~exams["exam_id"].isin(unclear)])
    elif dataset.gold_share is None and dataset.source in LAYOUTS_OF_FILES:
        found_text = "the layout does not say who drew the labels: all count as experts' (gold)"
        mend = "list the experts' in dataset.reading.experts, or give provenance in dataset.reading.table"
        faults.append(Fault(FaultKind.PROVENANCE, "", found_text, mend, note=True))
    return replace(source, exams=exams, faults=faults, exclusions=exclusions)
