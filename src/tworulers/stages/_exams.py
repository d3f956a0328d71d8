"""Where an exam's files lie, and which exams a stage works on."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tworulers.io.images import ImageError, read_image, read_label
from tworulers.io.paths import Layout
from tworulers.io.records import made_by, read_json
from tworulers.recipe.axes import ORDER, reverse_axes
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.plan_json import facts_from_json, plans_from_json
from tworulers.stages._resume import digest_content

FIRST_CHANNEL = "_0000."


def locate(layout: Layout, cell: str) -> Path:
    """Where a path of the cohort table leads: as it is, or below the project root."""
    return Path(cell) if Path(cell).is_absolute() else layout.root / cell


def locate_images(layout: Layout, cohort: pd.DataFrame) -> dict[str, Path]:
    """Where the image of each exam of a cohort lies, by exam id."""
    pairs = zip(cohort["exam_id"], cohort["image"], strict=True)
    return {str(exam): locate(layout, str(image)) for exam, image in pairs}


def find_label(layout: Layout, exam_id: str, cell: object) -> Path:
    """Where an exam's label lies: the data set's own, or the one `annotate` made."""
    if isinstance(cell, str):
        return locate(layout, cell)
    return layout.annotations / "labels" / f"{exam_id}.nii.gz"


def read_channels(
    path: Path, channels: int
) -> tuple[npt.NDArray[np.float32], tuple[float, float, float]]:
    """Read an exam's channels as (C, z, y, x), with its voxel size in mm in that order.

    The file's axes are turned round, as the plan's reader does. Further channels lie beside the
    first as `_0001`, `_0002` and so on.
    """
    first = read_image(path)
    volumes = [np.asarray(first.array, dtype=np.float32)]
    for place in list_channels(path, channels)[1:]:
        other = read_image(place)
        if other.array.shape != first.array.shape:
            raise ImageError(
                f"{other.path} has {other.array.shape} voxels, {path} {first.array.shape}: all "
                "channels of an exam must be on one grid"
            )
        volumes.append(np.asarray(other.array, dtype=np.float32))
    x, y, z = first.spacing
    return reverse_axes(np.stack(volumes)), (z, y, x)


def read_reference(path: Path, labels: Iterable[int] | None = None) -> npt.NDArray[np.uint8]:
    """Read a label map as (z, y, x), on the axes of `read_channels`; `labels` as in `read_label`."""
    return reverse_axes(read_label(path, labels).array)


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


RECIPE = "recipe.json"
"""Which recipe the plans are of, and the axis order of their arrays."""


def load_plans(layout: Layout, recipe: str) -> tuple[Plans, DatasetFacts]:
    """Read what the plan stage decided for a recipe.

    Raises
    ------
    ValueError : the plans are another recipe's, or for arrays in another axis order.
    """
    made_for = read_json(layout.plan / RECIPE, "plan")
    planned = made_for["recipe"]
    if made_for.get("axes") != ORDER:
        raise ValueError(
            f"{layout.relative(layout.plan)} was planned by an earlier version, which read images along the file's "
            f"axes and not as {', '.join(ORDER)}; plan, preprocess and train again: "
            f"python -m tworulers.stages.plan recipe={recipe}"
        )
    if planned != recipe:
        raise ValueError(
            f"{layout.relative(layout.plan)} was planned with recipe={planned}, asked for recipe={recipe}; "
            f"give the same to both, or plan again: python -m tworulers.stages.plan recipe={recipe}"
        )
    plans = plans_from_json(read_json(layout.plan / "plans.json", "plan"))
    return plans, facts_from_json(read_json(layout.plan / "dataset.json", "plan"))


def digest_plans(layout: Layout) -> dict[str, str]:
    """Digest what the plan stage decided, and for which labels and channels."""
    files = {name: layout.plan / name for name in ("plans.json", "dataset.json")}
    return {"plans": digest_content(files, made_by("plan"), layout)}


def development_exams(splits: pd.DataFrame, regimes: list[str]) -> list[str]:
    """Exams that any regime trains or validates on, sorted."""
    mine = splits[splits["regime"].isin(regimes) & splits["split"].isin(["train", "val"])]
    return sorted(mine["exam_id"].unique())


def exams_to_predict(splits: pd.DataFrame) -> list[str]:
    """Exams that every regime predicts: those that test any of them, sorted."""
    return sorted(splits.loc[splits["split"] == "test", "exam_id"].unique())
