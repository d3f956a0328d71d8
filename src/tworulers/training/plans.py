"""What every regime's networks look like: measured from images, planned, written and read."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tworulers.io.images import ImageError
from tworulers.io.paths import Layout
from tworulers.io.pool import map_in_pool
from tworulers.io.records import made_by, read_json, write_json
from tworulers.io.resume import digest_content
from tworulers.recipe.axes import ORDER
from tworulers.recipe.fingerprint import (
    CaseFingerprint,
    Fingerprint,
    fingerprint_to_json,
    measure_case,
    pool_fingerprints,
)
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.plan_json import (
    facts_from_json,
    facts_to_json,
    plans_from_json,
    plans_to_json,
)
from tworulers.schema.damage import reading
from tworulers.schema.result_files import DATASET, PLANS
from tworulers.training.volumes import read_channels, read_reference

RECIPE = "recipe.json"
"""Which recipe the plans are of, and the axis order of their arrays."""


@dataclass(frozen=True)
class ExamFiles:
    """An exam to measure: its image, and its label where it has one yet."""

    exam_id: str
    image: Path
    label: Path | None


def measure_exams(exams: Sequence[ExamFiles], channels: int, processes: int) -> Fingerprint:
    """Measure what the planner reads of exams; those without a label add geometry but no intensities.

    Raises
    ------
    ImageError : an exam cannot be measured.
    """
    measure = partial(_measure_exam, channels=channels, exams=len(exams))
    return pool_fingerprints(map_in_pool(measure, exams, processes, "measuring exams"))


def write_plans(
    plans: Plans, facts: DatasetFacts, fingerprint: Fingerprint, recipe: str, folder: Path
) -> None:
    """Write plans, with the recipe they are of and what they were made from."""
    write_json(fingerprint_to_json(fingerprint), folder / "fingerprint.json")
    write_json(plans_to_json(plans), folder / PLANS)
    write_json({"recipe": recipe, "axes": ORDER}, folder / RECIPE)
    write_json(facts_to_json(facts), folder / DATASET)


def load_plans(layout: Layout, recipe: str) -> tuple[Plans, DatasetFacts]:
    """Read what the plan stage decided for a recipe.

    Raises
    ------
    ValueError : the plans are another recipe's, or for arrays in another axis order.
    """
    made_for = read_json(layout.plan / RECIPE, "plan")
    with reading(layout.plan / RECIPE, "plan"):
        planned = made_for["recipe"]
    if made_for.get("axes") != ORDER:
        raise ValueError(
            f"{layout.show(layout.plan)} was planned by an earlier version, which read images along the file's "
            f"axes and not as {', '.join(ORDER)}; plan, preprocess and train again: "
            f"python -m tworulers.stages.plan recipe={recipe}"
        )
    if planned != recipe:
        raise ValueError(
            f"{layout.show(layout.plan)} was planned with recipe={planned}, asked for recipe={recipe}; "
            f"give the same to both, or plan again: python -m tworulers.stages.plan recipe={recipe}"
        )
    return read_plans(layout.plans, layout.planned_dataset)


def read_plans(plans: Path, dataset: Path) -> tuple[Plans, DatasetFacts]:
    """Read plans, and which channels and labels they are for."""
    with reading(dataset, "plan"):
        facts = facts_from_json(read_json(dataset, "plan"))
    with reading(plans, "plan"):
        return plans_from_json(read_json(plans, "plan")), facts


def digest_plans(layout: Layout) -> dict[str, str]:
    """Digest what the plan stage decided, and for which labels and channels."""
    files = {path.name: path for path in (layout.plans, layout.planned_dataset)}
    return {"plans": digest_content(files, made_by("plan"), layout)}


def describe_plans(plans: Plans) -> list[tuple[str, ...]]:
    """What one reads off a plan first, a column a configuration."""
    columns = plans.configurations.values()
    return [
        ("spacing (mm)", *(" x ".join(f"{s:.4g}" for s in c.spacing) for c in columns)),
        ("patch", *(" x ".join(map(str, c.patch_size)) for c in columns)),
        ("batch", *(str(c.batch_size) for c in columns)),
        ("features", *(", ".join(map(str, c.architecture.features_per_stage)) for c in columns)),
        ("folded by", *(" x ".join(map(str, c.architecture.space_to_depth)) for c in columns)),
    ]


def _measure_exam(exam: ExamFiles, channels: int, exams: int) -> CaseFingerprint:
    image, spacing = read_channels(exam.image, channels)
    label = np.zeros(image.shape[1:], np.uint8)
    if exam.label is not None:
        label = read_reference(exam.label)
    try:
        return measure_case(image, label, spacing, exams)
    except ValueError as error:
        raise ImageError(f"exam {exam.exam_id} ({exam.image}): {error}") from error
