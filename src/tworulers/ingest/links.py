"""Links to the files of exams under their pseudonyms, so that no table holds the files' own names."""

from pathlib import Path

import pandas as pd

from tworulers.io.exam_files import FIRST_CHANNEL, list_channels
from tworulers.io.image_names import stem_of
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside


def link_files(cohort: pd.DataFrame, channels: int, layout: Layout) -> pd.DataFrame:
    """Link images and labels under the ids of their exams, and name the links in the cohort.

    Parameters
    ----------
    cohort : whose ids are pseudonyms already.
    channels : how many files an exam's image has, the first called `..._0000` where there are several.
    layout : where the links go.
    """
    place = layout.results.links
    cells: dict[str, list[str | None]] = {"image": [], "label": []}
    with folder_written_beside(place) as folder:
        for part in cells:
            (folder / part).mkdir()
        for row in cohort[["exam_id", "image", "label"]].itertuples(index=False):
            for part, cell in (("image", row.image), ("label", row.label)):
                name = None
                if isinstance(cell, str):
                    several = channels if part == "image" else 1
                    name = link_file(layout.root / cell, folder / part, str(row.exam_id), several)
                cells[part].append(None if name is None else layout.relative(place / part / name))
    columns = {part: pd.Series(of, index=cohort.index, dtype="str") for part, of in cells.items()}
    return cohort.assign(**columns)


def link_file(path: Path, folder: Path, exam: str, channels: int) -> str:
    """Link a file, and those of its further channels, under an exam's id; return the first link's name."""
    ending = path.name.removeprefix(stem_of(path))
    if FIRST_CHANNEL not in path.name:
        (folder / f"{exam}{ending}").symlink_to(path.resolve())
        return f"{exam}{ending}"
    for channel, target in enumerate(list_channels(path, channels)):
        (folder / f"{exam}_{channel:04d}{ending}").symlink_to(target.resolve())
    return f"{exam}{FIRST_CHANNEL}{ending.removeprefix('.')}"
