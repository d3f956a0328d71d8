"""What a CSpineSeg download from MIDRC holds: images, masks, and who is on them."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.folders import IMAGES, is_debris, stem_of
from tworulers.ingest.layout import LAYOUTS, DataLayout
from tworulers.ingest.midrc import EXAM, describe_exams, list_masks, read_tables
from tworulers.ingest.people import read_root_path
from tworulers.ingest.provenance import apply_experts, judge_provenance, read_experts
from tworulers.ingest.source import Source, relative_to
from tworulers.schema.settings import Provenance
from tworulers.schema.sources import Dataset

DOCUMENTED = {"exams": 1255, "patients": 1232, "expert": 491, "auto": 764}
"""What the published download holds."""


@LAYOUTS.register("cspineseg")
class CSpineSeg(DataLayout):
    """A download of CSpineSeg, wherever below the root its parts were unpacked."""

    def read(self, root: Path, dataset: Dataset) -> Source:
        """List the exams of a CSpineSeg download, wherever below the root its parts were unpacked.

        Images and masks are paired by name, ``<patient>_Study-MR-<n>_Series-<n>`` and the same with
        ``_SEG``; attributes and provenance come from the tables, or provenance from a list.

        Parameters
        ----------
        root : the folder the parts were unpacked to.
        dataset : the list of experts' labels, where the tables do not say.

        Raises
        ------
        IngestError : neither images nor masks.
        """
        images, masks, faults = _find_files(root)
        paired = sorted(set(images) & set(masks))
        described = read_structured(root, dataset, paired)
        faults += described.faults
        if not paired:
            mend = "is this the folder the download was unpacked to?"
            fault = Fault(FaultKind.FILES, "images and their masks", "no pair", mend, str(root))
            refuse(fault, *faults)
        for exam in sorted(set(images) ^ set(masks)):
            expected = "a mask" if exam in images else "an image"
            file = relative_to(images.get(exam) or masks[exam], root)
            mend = "copy the missing file"
            faults.append(Fault(FaultKind.PAIRING, expected, "none", mend, file, exam))
        exams = described.exams.assign(
            image=[str(images[exam]) for exam in described.exams["exam_id"]],
            label=[str(masks[exam]) for exam in described.exams["exam_id"]],
        )
        return Source(root, exams, faults=[*faults, *compare_counts(exams)])


def read_structured(root: Path, dataset: Dataset, exam_ids: Sequence[str] | None = None) -> Source:
    """Describe exams from the tables alone: people, scanners and provenance, without any image.

    Parameters
    ----------
    root : a folder that holds the tables.
    dataset : the list of experts' labels, where the tables do not say.
    exam_ids : the exams; those of the table of masks where not given.
    """
    tables, faults = read_tables(root)
    if exam_ids is None:
        exam_ids = sorted(set(list_masks(tables)["exam_id"]))
    exams, found = describe_exams(list(exam_ids), tables)
    faults += found
    if dataset.reading.experts:
        path = read_root_path(dataset.reading.experts, root)
        names = {
            str(row.exam_id): {str(row.exam_id), f"{row.exam_id}_SEG", str(row.series)}
            for row in exams[["exam_id", "series"]].itertuples(index=False)
        }
        exams["provenance"], found = apply_experts(exams, names, read_experts(path), path.name)
        faults += found
    untold = int(exams["provenance"].isna().sum())
    if untold:
        found_text = (
            f"{untold} masks with no annotation_method of expert or auto count as machine-made"
        )
        faults.append(Fault(FaultKind.PROVENANCE, "", found_text, note=True))
    exams["provenance"] = exams["provenance"].fillna(Provenance.SILVER.value)
    faults += judge_provenance(exams)
    return Source(root, exams.drop(columns="series"), faults=faults)


def compare_counts(exams: pd.DataFrame) -> list[Fault]:
    """Note where the counts are not those documented for the download."""
    gold = int((exams["provenance"] == Provenance.GOLD).sum())
    found = {
        "exams": len(exams),
        "patients": exams["patient_id"].nunique(),
        "expert": gold,
        "auto": len(exams) - gold,
    }
    if found == DOCUMENTED:
        return []
    words = ", ".join(f"{found[name]} {name} (documented: {DOCUMENTED[name]})" for name in found)
    return [Fault(FaultKind.COUNTS, "", words, note=True, details={"found": found})]


def _find_files(root: Path) -> tuple[dict[str, Path], dict[str, Path], list[Fault]]:
    """Find images and masks by name at any depth."""
    images: dict[str, Path] = {}
    masks: dict[str, Path] = {}
    faults = []
    for path in sorted(root.rglob("*")):
        match = EXAM.match(stem_of(path)) if path.name.casefold().endswith(IMAGES) else None
        if match is None or is_debris(path) or not path.is_file():
            continue
        exam = stem_of(path).removesuffix("_SEG")
        files = masks if match["mask"] else images
        if exam in files:
            found = f"{relative_to(files[exam], root)} and {relative_to(path, root)}"
            mend = "remove one of the two"
            faults.append(Fault(FaultKind.DUPLICATES, "one file", found, mend, exam=exam))
        files.setdefault(exam, path)
    return images, masks, faults
