"""What every regime's networks look like: the development images' fingerprint, and its plans."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tworulers.io.console import show_table, track
from tworulers.io.images import ImageError
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside, read_table, write_json
from tworulers.recipe.axes import ORDER
from tworulers.recipe.fingerprint import (
    CaseFingerprint,
    fingerprint_to_json,
    measure_case,
    pool_fingerprints,
)
from tworulers.recipe.override import override_plans
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.plan_json import facts_to_json, plans_to_json
from tworulers.recipe.planner import plan_dataset
from tworulers.schema import Settings
from tworulers.stages._exams import (
    RECIPE,
    development_exams,
    locate,
    locate_images,
    read_channels,
    read_reference,
)
from tworulers.stages._pool import open_pool
from tworulers.stages._run import run_stage
from tworulers.tables import Cohort, Splits
from tworulers.tracking import RunRecord


@dataclass(frozen=True)
class ExamFiles:
    """An exam to measure: its image, and its label where it has one yet."""

    exam_id: str
    image: Path
    label: Path | None


def plan(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Measure the development exams of all regimes, and plan the networks that they share."""
    cohort = read_table(layout.cohort / "cohort.parquet", "cohort", Cohort)
    images = locate_images(layout, cohort)
    labels = dict(zip(cohort["exam_id"], cohort["label"], strict=True))
    splits = read_table(layout.split / "splits.parquet", "split", Splits)
    exams = [
        ExamFiles(
            exam_id,
            images[exam_id],
            locate(layout, labels[exam_id]) if isinstance(labels[exam_id], str) else None,
        )
        for exam_id in development_exams(splits, settings.grid.regimes)
    ]
    facts = DatasetFacts(
        name=settings.dataset.name,
        channel_names=tuple(settings.dataset.channels),
        labels={"background": 0, **settings.dataset.structures},
        num_training=len(exams),
    )
    measure = partial(measure_exam, channels=len(facts.channel_names), exams=len(exams))
    with open_pool(settings.processes) as pool:
        cases = list(track(pool.map(measure, exams, chunksize=4), len(exams), "measuring exams"))
    fingerprint = pool_fingerprints(cases)
    recipe = settings.recipe
    planned = plan_dataset(fingerprint, facts, recipe.preset, coverage_cap=recipe.batch_coverage)  # type: ignore[arg-type]
    plans = override_plans(planned, recipe.plan)
    with folder_written_beside(layout.results.plan) as folder:
        write_json(fingerprint_to_json(fingerprint), folder / "fingerprint.json")
        write_json(plans_to_json(plans), folder / "plans.json")
        write_json({"recipe": settings.recipe.name, "axes": ORDER}, folder / RECIPE)
        write_json(facts_to_json(facts), folder / "dataset.json")
    show_table(f"Plans of {facts.name}", ("", *plans.configurations), describe_plans(plans))
    return layout.results.plan, RunRecord("plan", "plan", "What the networks look like, and why.")


def measure_exam(exam: ExamFiles, channels: int, exams: int) -> CaseFingerprint:
    """Measure one exam; one without a label yet adds its geometry but no intensities."""
    image, spacing = read_channels(exam.image, channels)
    label = np.zeros(image.shape[1:], np.uint8)
    if exam.label is not None:
        label = read_reference(exam.label)
    try:
        return measure_case(image, label, spacing, exams)
    except ValueError as error:
        raise ImageError(f"exam {exam.exam_id} ({exam.image}): {error}") from error


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


if __name__ == "__main__":
    run_stage(
        plan,
        (
            "dataset.name",
            "dataset.channels",
            "dataset.structures",
            "recipe.name",
            "recipe.preset",
            "recipe.batch_coverage",
            "recipe.plan",
            "grid.regimes",
        ),
    )
