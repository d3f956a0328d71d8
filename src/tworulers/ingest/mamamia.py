"""What a MAMA-MIA download from Synapse holds: phases after contrast, two masks an exam, and who is on them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pandas as pd

from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.folders import is_debris
from tworulers.ingest.inspect import Inspection
from tworulers.ingest.layout import LAYOUTS, DataLayout
from tworulers.ingest.mamamia_tables import describe_patients
from tworulers.ingest.source import ATTRIBUTE_COLUMNS, EXAM_COLUMNS, Source, relative_to
from tworulers.io.image_names import NIFTI, stem_of
from tworulers.schema.origin import tell_origin
from tworulers.schema.settings import Provenance
from tworulers.schema.sources import Dataset, Reading

EXPERT, AUTOMATIC = "expert", "automatic"
"""Who drew the masks: what `reading.masks` has a folder of."""

DOCUMENTED = {"DUKE": 291, "ISPY1": 171, "ISPY2": 980, "NACT": 64}
"""How many exams of each collection the published download holds."""

PUBLISHED_AGES = (349, 754, 400)
"""The young, middle and old patients of the published audits, whose ages at 40 and 55 they tell differently."""

SHOWN = 5

_PHASE = re.compile(r"^(?P<exam>.+)_(?P<phase>\d{4})$")


@dataclass(frozen=True)
class Found:
    """Files by exam, ids in lower case, and what is wrong with them."""

    files: dict[str, Path]
    faults: list[Fault]


@LAYOUTS.register("mamamia")
class MamaMia(DataLayout):
    """A download of MAMA-MIA; ids match without regard to case and are spelled as in the clinical table."""

    def read(self, root: Path, dataset: Dataset) -> Source:
        """List the exams of a MAMA-MIA download.

        The label of an exam is the expert's mask, its image the phase `reading.phase`; the automatic mask is a further
        reference. An exam without any of the three, or without a row in the table, is a fault and left out.

        Parameters
        ----------
        root : the folder that ``images``, ``segmentations`` and the tables lie in.
        dataset : where masks lie, which phase is taken, and codes for no value.

        Raises
        ------
        IngestError : no clinical table, no folder of masks, or no exam with everything.
        """
        people, faults = describe_patients(root, dataset.reading)
        spelled = {str(exam).casefold(): str(exam) for exam in people["exam_id"]}
        masks = find_masks(root, dataset.reading.masks)
        images = find_phase(root, dataset.reading.phase)
        parts = {f"phase {dataset.reading.phase:04d}": images} | {
            f"{name} mask": found for name, found in masks.items()
        }
        faults += [fault for found in parts.values() for fault in found.faults]
        held = sorted({exam for found in parts.values() for exam in found.files})
        faults += list_unpaired(held, parts, spelled, root)
        whole = [
            exam
            for exam in held
            if exam in spelled and all(exam in found.files for found in parts.values())
        ]
        if not whole:
            mend = "is this the folder with images, segmentations and the clinical table?"
            fault = Fault(FaultKind.FILES, "exams with an image, two masks and a row", "none", mend)
            refuse(fault, *(fault for fault in faults if not fault.note))
        names = {exam: spelled[exam] for exam in whole}
        rows = [
            (name, str(images.files[exam]), str(masks[EXPERT].files[exam]), Provenance.GOLD.value)
            for exam, name in names.items()
        ]
        exams = pd.DataFrame(rows, columns=["exam_id", "image", "label", "provenance"])
        exams = exams.merge(people, on="exam_id", how="left").assign(patient_id=exams["exam_id"])
        first = [*EXAM_COLUMNS, *(name for name in ATTRIBUTE_COLUMNS if name in exams)]
        exams = exams[[*first, *(name for name in exams if name not in first)]]
        references = {
            name: {names[exam]: found.files[exam] for exam in whole}
            for name, found in masks.items()
            if name != EXPERT
        }
        faults += [*note_counts(exams["exam_id"], spelled), *note_age_groups(exams["age"])]
        told = tell_origin(EXPERT, dataset.corrected_from, dataset.caveat)
        faults += [Fault(FaultKind.PROVENANCE, "", text.rstrip("."), note=True) for text in told]
        return Source(root, exams, faults=faults, references=references)

    def describe(self, root: Path, reading: Reading) -> tuple[pd.DataFrame, list[Fault]]:
        """Say who the exams are of, as of `describe_patients`."""
        return describe_patients(root, reading)

    def exclude(self, inspections: Sequence[Inspection]) -> dict[str, str]:  # noqa: ARG002
        """Leave out none: no localizer is shipped, and axial and sagittal exams have 44 to 256 slices."""
        return {}


def find_masks(root: Path, folders: Mapping[str, str]) -> dict[str, Found]:
    """Find the masks of either kind, named by exam.

    Raises
    ------
    IngestError : a folder that is not there, or is not said.
    """
    faults = [
        Fault(
            FaultKind.FILES,
            f"a folder of {name} masks (dataset.reading.masks.{name})",
            "none" if name not in folders else "no such folder",
            f"copy it, or say where it is: dataset.reading.masks.{name}=...",
            folders.get(name, ""),
        )
        for name in (EXPERT, AUTOMATIC)
        if name not in folders or not (root / folders[name]).is_dir()
    ]
    refuse(*faults)
    return {
        name: _fold([(stem_of(path), path) for path in _list_niftis(root / folder)], root)
        for name, folder in folders.items()
    }


def find_phase(root: Path, phase: int) -> Found:
    """Find the image of one phase of each exam, below ``images/<exam>/``.

    Raises
    ------
    IngestError : there is no folder of images.
    """
    folder = root / "images"
    if not folder.is_dir():
        mend = (
            "copy the images, which training and prediction read; judging masks needs none of them "
            "(tworulers judge experiment=mamamia)"
        )
        refuse(Fault(FaultKind.FILES, "a folder images", "none", mend, str(root)))
    chosen = []
    for exam in sorted(path for path in folder.iterdir() if path.is_dir() and not is_debris(path)):
        for path in _list_niftis(exam):
            match = _PHASE.match(stem_of(path))
            if match is not None and int(match["phase"]) == phase:
                chosen.append((match["exam"], path))
    return _fold(chosen, root)


def list_unpaired(
    held: list[str], parts: Mapping[str, Found], spelled: Mapping[str, str], root: Path
) -> list[Fault]:
    """List the exams that lack a file or a row of the table, and count the rows without any file."""
    faults = []
    refused = {
        fault.exam.casefold() for found in parts.values() for fault in found.faults if fault.exam
    }
    for exam in held:
        lacking = [name for name, found in parts.items() if exam not in found.files]
        there = next(found.files[exam] for found in parts.values() if exam in found.files)
        file, name = relative_to(there, root), spelled.get(exam, exam)
        if exam not in spelled:
            mend = "correct the file's name, or add the patient to the clinical table"
            fault = Fault(FaultKind.TABLE, "a row of the clinical table", "none", mend, file, name)
            faults.append(fault)
        if lacking and exam not in refused:
            mend = "copy what is missing, or take the others out"
            expected = " and ".join(f"its {what}" for what in lacking)
            faults.append(Fault(FaultKind.PAIRING, expected, "none", mend, file, name))
    spare = [name for exam, name in sorted(spelled.items()) if exam not in held]
    if spare:
        shown = ", ".join(spare[:SHOWN]) + (" ..." if len(spare) > SHOWN else "")
        found = f"{len(spare)} patients of the clinical table have no file: {shown}"
        faults.append(Fault(FaultKind.PAIRING, "", found, note=True))
    return faults


def note_counts(exams: "pd.Series[str]", spelled: Mapping[str, str]) -> list[Fault]:
    """Note how many exams there are of each collection, where that is not what is documented."""
    found = Counter(exams.str.partition("_")[0])
    if found == DOCUMENTED:
        return []
    names = sorted({*found, *DOCUMENTED})
    words = ", ".join(
        f"{name} {found[name]} (documented: {DOCUMENTED.get(name, 0)})" for name in names
    )
    text = f"{len(exams)} exams of {len(spelled)} in the table: {words}"
    return [Fault(FaultKind.COUNTS, "", text, note=True, details={"found": dict(found)})]


def note_age_groups(ages: "pd.Series[float]") -> list[Fault]:
    """Note by which edges ages fall into the published groups, where as many patients have one."""
    known = ages.dropna()
    if len(known) != sum(PUBLISHED_AGES):
        return []
    wanted = " / ".join(map(str, PUBLISHED_AGES))
    fitting = [
        f"[{low}, {high}]"
        for low, high in product((40, 41), (55, 56))
        if ((known < low).sum(), known.between(low, high, "left").sum(), (known >= high).sum())
        == PUBLISHED_AGES
    ]
    found = f"the published age groups of {wanted} are those of edges {' and '.join(fitting)}"
    if not fitting:
        found = f"no edges at 40 or 41 and 55 or 56 years give the published groups of {wanted}"
    return [Fault(FaultKind.COUNTS, "", found, note=True)]


def _list_niftis(folder: Path) -> list[Path]:
    """List the NIfTI files of a folder; what Synapse leaves beside them is none."""
    return [
        path
        for path in sorted(folder.iterdir())
        if path.name.casefold().endswith(NIFTI) and path.is_file() and not is_debris(path)
    ]


def _fold(named: list[tuple[str, Path]], root: Path) -> Found:
    """Name files by exam in lower case; of two files of one exam neither is taken."""
    by_exam: dict[str, list[Path]] = {}
    for name, path in named:
        by_exam.setdefault(name.casefold(), []).append(path)
    faults = [
        Fault(
            FaultKind.DUPLICATES,
            "one file, whatever the case of its name",
            " and ".join(relative_to(path, root) for path in paths),
            "remove one of the two",
            exam=exam.upper(),
        )
        for exam, paths in by_exam.items()
        if len(paths) > 1
    ]
    return Found({exam: paths[0] for exam, paths in by_exam.items() if len(paths) == 1}, faults)
