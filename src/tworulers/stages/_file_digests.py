"""What every exam's image and label hold, as digests that stages depend on, wherever the files lie."""

from collections.abc import Sequence

import pandas as pd

from tworulers.io.console import track
from tworulers.io.digests import digest_files
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, write_json
from tworulers.stages._exams import list_channels, locate, locate_images


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
    labelled = cohort[cohort["label"].notna()]
    pairs = zip(labelled["exam_id"], labelled["label"], strict=True)
    labels = {str(exam): locate(layout, str(label)) for exam, label in pairs}
    files = [*(path for places in images.values() for path in places), *labels.values()]
    digests = digest_files(
        files, layout.digests, lambda paths, total: track(paths, total, "reading images and labels")
    )
    with folder_written_beside(layout.results.files) as folder:
        read = {exam: [digests[path] for path in images[exam]] for exam in sorted(images)}
        write_json(read, folder / "images.json")
        write_json({exam: digests[labels[exam]] for exam in sorted(labels)}, folder / "labels.json")
