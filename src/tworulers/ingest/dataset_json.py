"""What a `dataset.json` declares, in the Decathlon's and in both of nnU-Net's dialects."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tworulers.ingest.faults import Fault, FaultKind, refuse

IGNORE = "ignore"
"""What nnU-Net calls the value of voxels that nobody annotated."""


@dataclass(frozen=True)
class Declared:
    """The declarations of a `dataset.json`; `structures` leaves out background and *ignore*, which stands apart."""

    structures: dict[str, int]
    channels: list[str]
    n_training: int | None
    training: list[tuple[str, str]]
    faults: list[Fault]
    ignore: int | None = None


def read_dataset_json(root: Path) -> Declared:
    """Read the declarations of a dataset folder.

    Structures are written ``{"1": "disc"}`` (Decathlon, nnU-Net 1) or ``{"disc": 1}`` (nnU-Net 2),
    channels as ``modality`` or ``channel_names``.

    Raises
    ------
    IngestError : there is no file, it is not JSON, or it declares no labels.
    """
    path = root / "dataset.json"
    if not path.is_file():
        refuse(
            Fault(
                FaultKind.FILES,
                "dataset.json",
                "none",
                f"is {root} the dataset's folder?",
                file="dataset.json",
            )
        )
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        refuse(Fault(FaultKind.FILES, "JSON", str(error), "correct the file", file="dataset.json"))
    if not isinstance(content, dict):
        found = f"a {type(content).__name__}"
        refuse(Fault(FaultKind.FILES, "a JSON object", found, "correct it", file="dataset.json"))
    labels: Any = content.get("labels")
    if not isinstance(labels, dict) or not labels:
        refuse(
            Fault(
                FaultKind.VALUES, "labels", repr(labels), "declare the labels", file="dataset.json"
            )
        )
    structures, ignore, faults = _read_structures(labels)
    channels = content.get("channel_names", content.get("modality", {}))
    names = (
        [str(channels[key]) for key in sorted(channels, key=lambda key: int(key))]
        if channels
        else []
    )
    training = [
        (str(entry["image"]), str(entry["label"]))
        for entry in content.get("training", [])
        if isinstance(entry, dict) and {"image", "label"} <= set(entry)
    ]
    declared = content.get("numTraining")
    return Declared(
        structures, names, None if declared is None else int(declared), training, faults, ignore
    )


def _read_structures(labels: dict[str, Any]) -> tuple[dict[str, int], int | None, list[Fault]]:
    """Return the value of each structure and of voxels without annotation, whichever way round they are written."""
    structures: dict[str, int] = {}
    ignore: int | None = None
    faults = []
    numbers = {str(key) for key in labels} | {str(value) for value in labels.values()}
    if "0" not in numbers:
        found = "no label has the value 0: voxels of 0 are taken as background"
        mend = "declare background as 0"
        faults.append(Fault(FaultKind.VALUES, "", found, mend, file="dataset.json", note=True))
    for key, value in labels.items():
        name, number = (str(value), key) if str(key).lstrip("-").isdigit() else (str(key), value)
        if isinstance(number, list):
            faults.append(
                Fault(
                    FaultKind.VALUES,
                    "one label value a structure",
                    f"{name}: {number}, a region of several",
                    "give the values their own structures",
                    file="dataset.json",
                )
            )
        elif int(number) == 0:
            continue
        elif name.casefold() == IGNORE:
            ignore = int(number)
        else:
            structures[name] = int(number)
    return structures, ignore, faults
