"""What a raw nnU-Net dataset folder holds, and the folds that came with it."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.ingest.dataset_json import read_dataset_json
from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.folders import group_channels, list_images, pair_by_name
from tworulers.ingest.source import EXAM_COLUMNS, Source
from tworulers.schema import Provenance
from tworulers.schema_sources import Dataset


def read_nnunet(root: Path, dataset: Dataset) -> Source:
    """List the exams of a raw nnU-Net folder: ``imagesTr/<exam>_<channel>``, ``labelsTr/<exam>``.

    Parameters
    ----------
    root : the folder that holds ``dataset.json``.
    dataset : its channels and how patients are told from exam ids.

    Raises
    ------
    IngestError : no readable ``dataset.json``.
    """
    declared = read_dataset_json(root)
    images = list_images(root / "imagesTr", root)
    labels = list_images(root / "labelsTr", root)
    channels, faults = group_channels(images)
    faults = [*declared.faults, *images.faults, *labels.faults, *faults]
    wanted = len(declared.channels or dataset.channels)
    if wanted > 1:
        faults.append(
            Fault(
                FaultKind.PAIRING,
                "one channel",
                f"{wanted} channels: {', '.join(declared.channels)}",
                "several channels are not supported; keep one",
                file="dataset.json",
            )
        )
    for exam, files in sorted(channels.items()):
        if sorted(files) != list(range(wanted)):
            faults.append(
                Fault(
                    FaultKind.PAIRING,
                    f"channels {list(range(wanted))}",
                    f"{sorted(files)}",
                    "add the missing channel, or correct channel_names in dataset.json",
                    exam=exam,
                )
            )
    first = {exam: files[min(files)] for exam, files in channels.items()}
    paired, unpaired = pair_by_name(first, labels, images.folder)
    faults += unpaired
    faults += check_count(declared.n_training, len(paired))
    return Source(
        root,
        frame_exams({exam: (first[exam], labels.files[exam]) for exam in paired}, dataset, faults),
        declared.structures,
        faults,
    )


def check_count(declared: int | None, paired: int) -> list[Fault]:
    """Note that `numTraining` is not the number of pairs."""
    if declared is None or declared == paired:
        return []
    return [
        Fault(
            FaultKind.COUNTS,
            f"{declared} training exams (numTraining)",
            f"{paired} pairs of image and label",
            "add the missing files, or correct numTraining",
            file="dataset.json",
            details={"declared": declared, "paired": paired},
        )
    ]


def frame_exams(
    files: dict[str, tuple[Path, Path]], dataset: Dataset, faults: list[Fault]
) -> pd.DataFrame:
    """Make the table of exams of a layout that has nothing but files; every label counts as gold.

    Exams whose id does not match ``reading.patient`` are their own patients, and noted.
    """
    patients = {exam: find_patient(exam, dataset.reading.patient) for exam in files}
    unmatched = sorted(exam for exam, patient in patients.items() if patient is None)
    if unmatched:
        faults.append(
            Fault(
                FaultKind.TABLE,
                f"exam ids that match reading.patient {dataset.reading.patient!r}",
                ", ".join(unmatched[:5])
                + (f" and {len(unmatched) - 5} more" if len(unmatched) > 5 else ""),
                "correct the pattern; until then each of these is a patient of its own",
            )
        )
    rows = [
        (exam, patients[exam] or exam, str(image), str(label), Provenance.GOLD.value)
        for exam, (image, label) in files.items()
    ]
    return pd.DataFrame(rows, columns=list(EXAM_COLUMNS)).astype("str")


def find_patient(exam: str, pattern: str | None) -> str | None:
    """Return the patient's part of an exam id; the id itself where no pattern is given."""
    if pattern is None:
        return exam
    match = re.search(pattern, exam)
    return match["patient"] if match else None


def read_fold_file(path: Path) -> list[dict[str, list[str]]]:
    """Read the folds of a ``splits_final.json``: a list of ``{"train": [...], "val": [...]}``.

    Raises
    ------
    IngestError : no such file, or not of that form.
    """
    shape = 'a list of {"train": [exam ids], "val": [exam ids]}'
    if not path.is_file():
        refuse(Fault(FaultKind.LEAKAGE, shape, "no such file", "give split.file", file=str(path)))
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        content = f"no JSON ({error})"
    sound = isinstance(content, list) and all(
        isinstance(fold, dict)
        and isinstance(fold.get("train"), list)
        and isinstance(fold.get("val"), list)
        for fold in content
    )
    if not sound or not content:
        refuse(
            Fault(FaultKind.LEAKAGE, shape, str(content)[:80], "correct the file", file=str(path))
        )
    return [
        {side: [str(exam) for exam in fold[side]] for side in ("train", "val")} for fold in content
    ]
