"""Where an exam's images and label lie, and what they hold, as digests that stages depend on."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from tworulers.io.digests import digest_files
from tworulers.io.images import ImageError
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json
from tworulers.progress import track

FIRST_CHANNEL = "_0000."


def locate(layout: Layout, cell: str) -> Path:
    """Where a path of the cohort table leads: as it is, or below the project root."""
    return layout.root / cell


def locate_images(layout: Layout, cohort: pd.DataFrame) -> dict[str, Path]:
    """Where the image of each exam of a cohort lies, by exam id."""
    pairs = zip(cohort["exam_id"], cohort["image"], strict=True)
    return {str(exam): locate(layout, str(image)) for exam, image in pairs}


def locate_labels(layout: Layout, cohort: pd.DataFrame) -> dict[str, Path]:
    """Where the data set's own label of each exam lies that has one, by exam id."""
    labelled = cohort[cohort["label"].notna()]
    pairs = zip(labelled["exam_id"], labelled["label"], strict=True)
    return {str(exam): locate(layout, str(label)) for exam, label in pairs}


def find_label(layout: Layout, exam_id: str, cell: object) -> Path:
    """Where an exam's label lies: the data set's own, or the one `annotate` made."""
    if isinstance(cell, str):
        return locate(layout, cell)
    return layout.annotated / f"{exam_id}.nii.gz"


def list_channels(path: Path, channels: int) -> list[Path]:
    """List the files of an exam's channels, of which `path` is the first.

    Raises
    ------
    ImageError : there are several, and the name of the first does not say how the others are called.
    """
    if channels > 1 and FIRST_CHANNEL not in path.name:
        raise ImageError(
            f"{path}: {channels} channels are configured, so the file of the first should end "
            f"in {FIRST_CHANNEL}nii.gz; rename the files or set dataset.channels to one"
        )
    names = [path.name.replace(FIRST_CHANNEL, f"_{channel:04d}.") for channel in range(1, channels)]
    return [path, *(path.with_name(name) for name in names)]


def write_file_digests(cohort: pd.DataFrame, channels: Sequence[str], layout: Layout) -> None:
    """Write `images.json` (a digest a channel) and `labels.json` (of the labels there are), by exam id.

    Parameters
    ----------
    cohort : the cohort table.
    channels : names of the image channels.
    layout : where they go.
    """
    images = {
        exam: list_channels(path, len(channels))
        for exam, path in locate_images(layout, cohort).items()
    }
    labels = locate_labels(layout, cohort)
    files = [*(path for places in images.values() for path in places), *labels.values()]
    show = partial(track, description="reading images and labels")
    digests = digest_files(files, layout.digests, show)
    with folder_written_beside(layout.results.files) as folder:
        read = {exam: [digests[path] for path in images[exam]] for exam in sorted(images)}
        write_json(read, folder / "images.json")
        write_json({exam: digests[labels[exam]] for exam in sorted(labels)}, folder / "labels.json")
