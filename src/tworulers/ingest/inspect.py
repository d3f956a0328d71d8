"""Whether the files of an exam can be used: readable, on one grid, with the declared labels."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from tworulers.ingest.channels import inspect_channels
from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.geometry import check_affine, compare_grids, note_positions, orientation
from tworulers.ingest.labels import read_mapped_label
from tworulers.ingest.source import Source, relative_to
from tworulers.io.images import Header, ImageError, ImageVolume, read_header, read_image
from tworulers.io.makers import find_gzip_damage
from tworulers.io.pool import iterate_in_pool
from tworulers.schema.sources import Dataset


@dataclass(frozen=True)
class ExamFiles:
    """The files of one exam, what its label may hold, and how thoroughly to look."""

    exam_id: str
    image: Path
    label: Path | None
    root: Path
    labels: tuple[int, ...]
    label_map: dict[int, int]
    full: bool
    trust_grid: bool = False
    references: tuple[Path, ...] = ()
    channels: int = 1
    ignore: int | None = None
    """The value of voxels that nobody annotated, if there is one."""

    @property
    def values(self) -> tuple[int, ...]:
        """The values beside 0 that its label map may hold."""
        return (*self.labels, *([] if self.ignore is None else [self.ignore]))


@dataclass(frozen=True)
class Inspection:
    """What the files of one exam hold.

    `axes` says where the array's axes point, such as `RAS`, where the header holds a position. `voxels` counts the
    voxels of each label value, `voxel_mm3` is the volume of one; both are empty where only headers were read. The
    hashes are of voxel values, whatever the file's compression.
    """

    exam_id: str
    shape: tuple[int, ...] = ()
    spacing: tuple[float, ...] = ()
    axes: str = ""
    voxels: dict[int, int] = field(default_factory=dict)
    voxel_mm3: float = float("nan")
    image_hash: str = ""
    label_hash: str = ""
    faults: list[Fault] = field(default_factory=list)

    @property
    def usable(self) -> bool:
        """Whether nothing but notes was found."""
        return all(fault.note for fault in self.faults)


def inspect_source(
    source: Source, dataset: Dataset, *, full: bool, processes: int
) -> Iterator[Inspection]:
    """Inspect every exam of a source, in the order of its table, several at a time.

    Parameters
    ----------
    source : the exams.
    dataset : the structures and label map; label values of no structure are faults.
    full : read every voxel, not only headers.
    processes : worker processes; 1 works in this one.
    """
    tasks = [
        ExamFiles(
            exam_id=str(row.exam_id),
            image=Path(str(row.image)),
            label=Path(row.label) if isinstance(row.label, str) and row.label else None,
            root=source.root,
            labels=tuple(dataset.structures.values()),
            label_map=dict(dataset.reading.label_map),
            full=full,
            trust_grid=dataset.reading.trust_grid,
            ignore=dataset.ignore,
            channels=len(dataset.channels),
            references=tuple(
                files[str(row.exam_id)]
                for files in source.references.values()
                if str(row.exam_id) in files
            ),
        )
        for row in source.exams[["exam_id", "image", "label"]].itertuples(index=False)
    ]
    yield from iterate_in_pool(inspect_exam, tasks, processes)


def inspect_exam(files: ExamFiles) -> Inspection:
    """Read the files of one exam and list everything wrong with them."""
    faults: list[Fault] = []
    image = _try(read_header, files.image, files, faults)
    label = _try(read_header, files.label, files, faults)
    headers = [header for header in (image, label) if header is not None]
    for header in headers:
        shown = relative_to(header.path, files.root)
        faults += check_affine(header, files.exam_id, shown)
        faults += note_positions(header, files.exam_id, shown)
    if image is not None and label is not None:
        shown = relative_to(label.path, files.root)
        faults += compare_grids(image, label, files.exam_id, shown, trusted=files.trust_grid)
    if image is not None and files.channels > 1:
        n, root = files.channels, files.root
        faults += inspect_channels(files.exam_id, image, n, root, full=files.full)
    for path in files.references:
        _inspect_reference(path, image, files, faults)
    facts: dict[str, Any] = {}
    if image is not None:
        axes = orientation(image) if image.placed else ""
        facts |= {"shape": image.shape, "spacing": image.spacing, "axes": axes}
    if files.full:
        facts |= _read_voxels(files, {header.path for header in headers}, faults)
    return Inspection(files.exam_id, faults=faults, **facts)


def _inspect_reference(
    path: Path, image: Header | None, files: ExamFiles, faults: list[Fault]
) -> None:
    """List what is wrong with a further label map of an exam: its grid, and its values where voxels are read."""
    header = _try(read_header, path, files, faults)
    if header is None:
        return
    shown = relative_to(path, files.root)
    faults += check_affine(header, files.exam_id, shown)
    if image is not None:
        faults += compare_grids(image, header, files.exam_id, shown, trusted=files.trust_grid)
    if files.full:
        _try(
            lambda path: read_mapped_label(path, files.values, files.label_map), path, files, faults
        )


def find_duplicates(inspections: Sequence[Inspection], patients: pd.Series) -> list[Fault]:
    """List exams that hold the same image, or the same label, voxel by voxel.

    They are notes: what is one image under two patients to one study is an error to another.

    Parameters
    ----------
    inspections : full inspections.
    patients : patient by exam id.
    """
    faults = []
    for name, hashes in (
        ("image", {i.exam_id: i.image_hash for i in inspections if i.image_hash}),
        ("label", {i.exam_id: i.label_hash for i in inspections if i.label_hash}),
    ):
        by_hash = pd.Series(hashes, dtype=object)
        for exams in by_hash.groupby(by_hash).groups.values():
            if len(exams) < 2:
                continue
            shown = ", ".join(map(str, exams[:10])) + (" ..." if len(exams) > 10 else "")
            owners = len(set(patients.loc[list(exams)]))
            faults.append(
                Fault(
                    FaultKind.DUPLICATES,
                    f"another {name} in each exam",
                    f"one {name} in {shown}, of {owners} patients",
                    "keep one of them, or give them one patient" if owners > 1 else "",
                    note=True,
                )
            )
    return faults


def _read_voxels(files: ExamFiles, readable: set[Path], faults: list[Fault]) -> dict[str, Any]:
    """Read the voxels of an exam whose headers could be read: values, counts and hashes."""
    facts: dict[str, Any] = {}
    if files.image in readable:
        image = _try(read_image, files.image, files, faults)
        if image is not None:
            facts["image_hash"] = hash_voxels(image.array)
            faults += _check_intensities(image, files)
    if files.label in readable:
        label = _try(
            lambda path: read_mapped_label(path, files.values, files.label_map),
            files.label,
            files,
            faults,
        )
        if label is not None:
            counts = np.bincount(label.array.ravel(order="K"))
            facts["voxels"] = {int(v): int(counts[v]) for v in np.flatnonzero(counts)}
            facts["voxel_mm3"] = label.voxel_mm3
            if set(files.labels) & set(facts["voxels"]):
                facts["label_hash"] = hash_voxels(label.array)
            held = set(facts["voxels"])
        else:
            stored = next((f.details["values"] for f in faults if "values" in f.details), None)
            held = set() if stored is None else {files.label_map.get(v, v) for v in stored}
        absent = sorted(set(files.labels) - held)
        if absent and held:
            faults.append(_note_absent(absent, held, files))
    return facts


def _check_intensities(image: ImageVolume, files: ExamFiles) -> list[Fault]:
    """Refuse intensities that are not numbers, or that are all the same."""
    shown = relative_to(files.image, files.root)
    broken = int((~np.isfinite(image.array)).sum())
    if broken:
        found = f"{broken} voxels that are infinite or not a number"
        mend = "replace them, or export the image again"
        return [Fault(FaultKind.VALUES, "finite intensities", found, mend, shown, files.exam_id)]
    if image.array.min() == image.array.max():
        found = f"{image.array.flat[0]:g} in every voxel"
        mend = "export the image again"
        return [Fault(FaultKind.VALUES, "an image", found, mend, shown, files.exam_id)]
    return []


def _note_absent(absent: list[int], held: set[int], files: ExamFiles) -> Fault:
    """Note that structures are absent from a label."""
    found = f"label values {absent} do not occur"
    if held == {0}:
        found = "the label is empty"
    shown = relative_to(files.label, files.root) if files.label else ""
    return Fault(FaultKind.VALUES, "", found, "", shown, files.exam_id, note=True)


def hash_voxels(array: npt.NDArray[Any]) -> str:
    """Hash voxel values and shape, whatever the file's compression."""
    # Voxels lie in Fortran order in memory, as NIfTI stores them: no copy is made.
    digest = hashlib.blake2b(array.ravel(order="F").data, digest_size=16)
    digest.update(str(array.shape).encode())
    return digest.hexdigest()


Read = TypeVar("Read")


def _try(
    read: Callable[[Path], Read], path: Path | None, files: ExamFiles, faults: list[Fault]
) -> Read | None:
    """Read something of a file; what goes wrong joins the faults."""
    if path is None:
        return None
    try:
        return read(path)
    except ImageError as error:
        kind = FaultKind.VALUES if error.kind == "values" else FaultKind.FILES
        found = _explain(path, error)
        shown = relative_to(path, files.root)
        faults.append(Fault(kind, "", found, "", shown, files.exam_id, details=error.found))
        return None


def _explain(path: Path, error: ImageError) -> str:
    """Return what is wrong with a file; a gzip stream that ends early is called that."""
    packed = error.kind == "unreadable" and path.name.endswith(".gz")
    damage = find_gzip_damage(path) if packed else ""
    return damage or str(error).removeprefix(str(path)).lstrip(": ")
