"""Exams whose image has several channels, each in a file: `<exam>_0000`, `<exam>_0001` and so on, in every layout."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tworulers.ingest.faults import Fault, FaultKind
from tworulers.io.exam_files import list_channels
from tworulers.io.images import Header, ImageError, read_header, read_image, same_grid

SPLIT = "write each channel as a file of its own, <exam>_0000, <exam>_0001, ..., for dataset=nnunet or a manifest"


def compare_channels(declared: Sequence[str], given: Sequence[str], file: str) -> list[Fault]:
    """Refuse another number of channels than a `dataset.json` declares."""
    if not declared or len(declared) == len(given):
        return []
    expected = f"{len(declared)} channels, as {file} declares: {', '.join(declared)}"
    found = f"dataset.channels {', '.join(given)}"
    mend = f"set 'dataset.channels=[{','.join(declared)}]', or correct {file}"
    return [Fault(FaultKind.VALUES, expected, found, mend, file)]


def refuse_several(channels: Sequence[str], layout: str) -> list[Fault]:
    """Refuse several channels in a layout that has one file an image."""
    if len(channels) < 2:
        return []
    expected, found = (
        f"one channel in the layout {layout}",
        f"{len(channels)}: {', '.join(channels)}",
    )
    return [Fault(FaultKind.VALUES, expected, found, SPLIT)]


def inspect_channels(
    exam: str, image: Header, channels: int, root: Path, *, full: bool
) -> list[Fault]:
    """List what is wrong with the further channels of an exam: files that lack, other grids, broken intensities.

    Parameters
    ----------
    exam, image : whose, and the header of the first channel.
    channels : how many there are.
    root : the folder that paths in messages are relative to.
    full : read every voxel, not only headers.
    """
    try:
        _, *further = list_channels(image.path, channels)
    except ImageError as error:
        return [Fault(FaultKind.PAIRING, "", str(error), exam=exam)]
    return [fault for path in further for fault in _inspect(exam, image, path, root, full)]


def _inspect(exam: str, image: Header, path: Path, root: Path, full: bool) -> list[Fault]:
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
    if not path.is_file():
        mend = "add the missing channel, or correct dataset.channels"
        return [Fault(FaultKind.PAIRING, f"the channel {path.name}", "none", mend, shown, exam)]
    try:
        header = read_header(path)
        placed = header.placed and image.placed
        if header.shape != image.shape or (placed and not same_grid(header, image)):
            expected, mend = f"the grid of {image.path.name}", "export all channels on one grid"
            return [Fault(FaultKind.GEOMETRY, expected, "another", mend, shown, exam)]
        if full and not np.isfinite(read_image(path).array).all():
            mend = "replace voxels that are infinite or not a number, or export the image again"
            return [Fault(FaultKind.VALUES, "finite intensities", "others", mend, shown, exam)]
    except ImageError as error:
        return [Fault(FaultKind.FILES, "", str(error), file=shown, exam=exam)]
    return []
