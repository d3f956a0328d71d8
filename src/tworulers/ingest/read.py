"""How any data source becomes the cohort table: read by its layout, inspected, assembled."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile

import pandas as pd

from tworulers.cohort.ungrouped import find_ungrouped
from tworulers.ingest import cspineseg, loose, mamamia, manifest, training_folders
from tworulers.ingest.assemble import Ingested, assemble, compare_structures, complete_columns
from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.ids import set_unsafe_aside
from tworulers.ingest.ignored import find_ignore_faults
from tworulers.ingest.inspect import Inspection, inspect_source
from tworulers.ingest.labels import read_mapped_label
from tworulers.ingest.layout import LAYOUTS, DataLayout
from tworulers.ingest.source import Source
from tworulers.io.images import read_header, same_grid, write_label
from tworulers.progress import track
from tworulers.schema.file_names import check_name
from tworulers.schema.sources import Dataset, Grouping

SHIPPED = (cspineseg, loose, mamamia, manifest, training_folders)
"""The modules that hold layouts."""


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
    layout = find_layout(dataset.source, "dataset.source")
    if dataset.root is None or not Path(dataset.root).is_dir():
        found = "none given" if dataset.root is None else f"{dataset.root}, which is no folder"
        variable = f"TWORULERS_{dataset.name.upper()}"
        mend = f"export {variable}=/path/to/the/data, for dvc repro too, or give a stage dataset.root=..."
        refuse(Fault(FaultKind.FILES, "the folder of the data", found, mend))
    root = Path(str(dataset.root)).absolute()
    return set_unsafe_aside(layout.read(root, dataset))


def find_layout(name: str, setting: str) -> DataLayout:
    """Return the layout of a name.

    Raises
    ------
    IngestError : there is none; the message lists those there are, and names the setting.
    """
    if name not in LAYOUTS:
        refuse(Fault(FaultKind.FILES, f"a source of {sorted(LAYOUTS)}", name, f"set {setting}"))
    return LAYOUTS[name]()


def examine(
    dataset: Dataset, *, full: bool, processes: int, source: Source | None = None
) -> Examined:
    """Read a source and inspect every exam of it.

    Parameters
    ----------
    dataset : the source.
    full : read every voxel, not only headers.
    processes : worker processes.
    source : what `read_source` found, where it has been read.
    """
    source = source or read_source(dataset)
    stream = inspect_source(source, dataset, full=full, processes=processes)
    inspections = list(track(stream, len(source.exams), "reading exams"))
    excluded = LAYOUTS[dataset.source]().exclude(inspections)
    excluded = {exam: why for exam, why in excluded.items() if exam not in dataset.reading.keep}
    notes = [
        Fault(
            FaultKind.GEOMETRY,
            "",
            f"{reason}; left out",
            f"dataset.reading.keep=['{exam}'] keeps it",
            exam=exam,
            note=True,
        )
        for exam, reason in excluded.items()
    ]
    source = replace(
        source,
        exclusions={**source.exclusions, **excluded},
        faults=[*source.faults, *notes],
    )
    return Examined(source, inspections)


def ingest(
    dataset: Dataset,
    root: Path,
    *,
    processes: int,
    groupings: Mapping[str, Grouping] | None = None,
) -> Ingested:
    """Make the cohort table of a data source; exams with faults are left out and listed.

    Parameters
    ----------
    dataset : the source.
    root : the project root; paths below it are written relative to it.
    processes : worker processes.
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
    refuse(
        *whole, *compare_structures(source, dataset), *find_ignore_faults(source, dataset), *told
    )
    source = replace(source, faults=[*source.faults, *told])
    examined = examine(dataset, full=True, processes=processes, source=source)
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


def copy_labels(files: Mapping[str, Path], dataset: Dataset, folder: Path) -> None:
    """Copy label maps under the names of their exams, with stored values replaced where that is asked for."""
    folder.mkdir(parents=True)
    for exam, path in files.items():
        target = folder / f"{check_name(exam, 'exam')}.nii.gz"
        if dataset.reading.label_map or not path.name.casefold().endswith(".nii.gz"):
            volume = read_mapped_label(path, dataset.values, dataset.reading.label_map)
            write_label(target, volume.array, volume.affine, volume.placed)
        else:
            copyfile(path, target)


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
    reading, values = dataset.reading, dataset.values
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
