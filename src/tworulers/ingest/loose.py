"""What a folder without any list of exams holds: images with labels told by their names."""

import re
from collections import defaultdict
from pathlib import Path

from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.folders import NIFTI, is_debris, stem_of
from tworulers.ingest.inspect import hash_voxels
from tworulers.ingest.nnunet import frame_exams
from tworulers.ingest.source import Source, relative_to
from tworulers.io.images import ImageError, read_image
from tworulers.schema_sources import Dataset

_LABEL = re.compile(
    r"^(?P<image>.+?)[-_](?P<label>[a-z]*seg|label|mask|lesion)(?P<rest>[-_][-_a-z0-9]*)?$",
    re.IGNORECASE,
)


def read_loose(root: Path, dataset: Dataset) -> Source:
    """Pair ``<image>`` with ``<image>_seg...`` (or ``_label``, ``_mask``) at any depth of a folder.

    An image with several labels is not used, since nobody says which one judges; a label without an
    image is a fault. Files that hold the same voxels are named.

    Parameters
    ----------
    root : the folder.
    dataset : how patients are told from names.

    Raises
    ------
    IngestError : no NIfTI file.
    """
    files = [
        path
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name.casefold().endswith(NIFTI) and not is_debris(path)
    ]
    if not files:
        mend = "is this the folder of the data?"
        refuse(Fault(FaultKind.FILES, "NIfTI files", "none", mend, str(root)))
    labels: dict[str, list[Path]] = defaultdict(list)
    images: dict[str, Path] = {}
    for path in files:
        match = _LABEL.match(stem_of(path))
        if match is None:
            images[stem_of(path)] = path
        else:
            labels[match["image"]].append(path)
    faults = find_equal_files(files, root)
    pairs: dict[str, tuple[Path, Path]] = {}
    for name, found in sorted(labels.items()):
        shown = ", ".join(relative_to(path, root) for path in found)
        if name not in images:
            mend = "add the image; labels alone can only be references (ruler=folder)"
            fault = Fault(FaultKind.PAIRING, f"an image {name}.nii.gz", "none", mend, shown, name)
            faults.append(fault)
        elif len(found) > 1:
            mend = "say in a manifest which one is the label, and whose it is"
            faults.append(
                Fault(FaultKind.PAIRING, "one label", f"{len(found)}: {shown}", mend, exam=name)
            )
        else:
            pairs[name] = (images[name], found[0])
    faults += [
        Fault(
            FaultKind.PAIRING,
            f"a label {name}_seg.nii.gz",
            "none",
            "add the label, or list the files in a manifest",
            relative_to(path, root),
            name,
        )
        for name, path in images.items()
        if name not in labels
    ]
    return Source(root, frame_exams(pairs, dataset, faults), faults=faults)


def find_equal_files(files: list[Path], root: Path) -> list[Fault]:
    """Name files that hold the same voxels: a copy is no second opinion."""
    by_content: dict[str, list[str]] = defaultdict(list)
    for path in files:
        try:
            array = read_image(path).array
        except ImageError:
            continue
        by_content[hash_voxels(array)].append(relative_to(path, root))
    return [
        Fault(
            FaultKind.IDENTITY,
            "",
            f"{' and '.join(names)} hold the same voxels",
            "a copy says nothing about agreement",
            note=True,
        )
        for names in by_content.values()
        if len(names) > 1
    ]
