"""What a folder without any list of exams holds: images with labels told by their names."""

import re
from collections import defaultdict
from pathlib import Path

from tworulers.ingest.channels import refuse_several
from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.files_alone import FilesAlone, Pairs
from tworulers.ingest.folders import IMAGES, is_debris, stem_of
from tworulers.ingest.inspect import hash_voxels
from tworulers.ingest.layout import LAYOUTS
from tworulers.ingest.source import relative_to
from tworulers.io.images import ImageError, read_image
from tworulers.schema.sources import Dataset

_LABEL = re.compile(
    r"^(?P<image>.+?)[-_](?P<label>[a-z]*seg|label|mask|lesion)(?P<rest>[-_][-_a-z0-9]*)?$",
    re.IGNORECASE,
)


@LAYOUTS.register("folder")
class LooseFiles(FilesAlone):
    """``<image>`` and ``<image>_seg...`` (or ``_label``, ``_mask``) at any depth of a folder."""

    def pair(self, root: Path, dataset: Dataset) -> Pairs:
        """Pair images with labels by name.

        An image with several labels is not used, since nobody says which one judges; a label without an
        image is a fault. Files that hold the same voxels are named.

        Raises
        ------
        IngestError : no image file.
        """
        files = [
            path
            for path in sorted(root.rglob("*"))
            if path.is_file() and path.name.casefold().endswith(IMAGES) and not is_debris(path)
        ]
        if not files:
            mend = "is this the folder of the data?"
            refuse(Fault(FaultKind.FILES, "images and labels", "none", mend, str(root)))
        labels: dict[str, list[Path]] = defaultdict(list)
        images: dict[str, Path] = {}
        for path in files:
            match = _LABEL.match(stem_of(path))
            if match is None:
                images[stem_of(path)] = path
            else:
                labels[match["image"]].append(path)
        faults = [*refuse_several(dataset.channels, "folder"), *find_equal_files(files, root)]
        pairs: dict[str, tuple[Path, Path]] = {}
        for name, found in sorted(labels.items()):
            shown = ", ".join(relative_to(path, root) for path in found)
            lone = f"an image {name}.nii.gz", "none"
            if name not in images:
                mend = "add the image; labels alone can only be references (ruler=folder)"
                faults.append(Fault(FaultKind.PAIRING, *lone, mend, shown, name))
            elif len(found) > 1:
                mend = "say in a manifest which one is the label, and whose it is"
                found_text = f"{len(found)}: {shown}"
                faults.append(Fault(FaultKind.PAIRING, "one label", found_text, mend, exam=name))
            else:
                pairs[name] = (images[name], found[0])
        mend = "add the label, or list the files in a manifest"
        for name in (name for name in images if name not in labels):
            expected, file = f"a label {name}_seg.nii.gz", relative_to(images[name], root)
            faults.append(Fault(FaultKind.PAIRING, expected, "none", mend, file, name))
        return Pairs(pairs, faults)


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
