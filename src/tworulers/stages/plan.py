"""What every regime's networks look like: the development images' fingerprint, and its plans."""

from pathlib import Path

from tworulers.cohort.folds import list_development
from tworulers.io.exam_files import locate_images, locate_labels
from tworulers.io.paths import Layout
from tworulers.io.records import folder_written_beside
from tworulers.io.results import read_cohort, read_splits
from tworulers.recipe.override import override_plans
from tworulers.recipe.plan import IGNORE, DatasetFacts
from tworulers.recipe.planner import plan_dataset
from tworulers.runner.console import show_table
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.schema.settings import Settings
from tworulers.training.plans import ExamFiles, describe_plans, measure_exams, write_plans


def plan(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Measure the development exams of all regimes, and plan the networks that they share."""
    cohort = read_cohort(layout)
    images, labels = locate_images(layout, cohort), locate_labels(layout, cohort)
    exams = [
        ExamFiles(exam, images[exam], labels.get(exam))
        for exam in list_development(read_splits(layout), settings.grid.regimes)
    ]
    ignore = settings.dataset.ignore
    ignored = {} if ignore is None else {IGNORE: ignore}
    facts = DatasetFacts(
        name=settings.dataset.name,
        channel_names=tuple(settings.dataset.channels),
        labels={"background": 0, **settings.dataset.structures, **ignored},
        num_training=len(exams),
    )
    fingerprint = measure_exams(exams, len(facts.channel_names), settings.processes)
    recipe = settings.recipe
    planned = plan_dataset(
        fingerprint,
        facts,
        recipe.preset,  # type: ignore[arg-type]
        memory_gb=recipe.memory_gb,
        coverage_cap=recipe.batch_coverage,
    )
    plans = override_plans(planned, recipe.plan)
    with folder_written_beside(layout.results.plan) as folder:
        write_plans(plans, facts, fingerprint, recipe.name, folder)
    show_table(f"Plans of {facts.name}", ("", *plans.configurations), describe_plans(plans))
    return layout.results.plan, RunRecord("plan", "plan", "What the networks look like, and why.")


if __name__ == "__main__":
    run_stage(plan)
