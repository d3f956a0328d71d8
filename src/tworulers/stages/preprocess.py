"""What the networks see: every exam's image on the grid of a configuration, without its label."""

from pathlib import Path

from tworulers.io.exam_files import list_channels, locate_images
from tworulers.io.paths import Layout
from tworulers.io.results import read_cohort
from tworulers.io.resume import digest_content, list_settings, resumable_folder
from tworulers.progress import say
from tworulers.runner.graph.code import digest_making
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.schema.settings import Settings
from tworulers.training.arrays import prepare_images
from tworulers.training.plans import digest_plans, load_plans


def preprocess(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Prepare the image of every exam of the cohort; a killed run goes on where it stopped."""
    name, recipe = settings.configuration.name, settings.recipe
    plans, facts = load_plans(layout, recipe.name)
    plans.configuration(name)
    images = locate_images(layout, read_cohort(layout))
    channels = len(facts.channel_names)
    files = {
        f"{exam}/{channel}": file
        for exam, first in images.items()
        for channel, file in enumerate(list_channels(first, channels))
    }
    made_from = {
        **list_settings(settings, "recipe"),
        **digest_plans(layout),
        "images": digest_content(files, "the data source", layout),
        "code": digest_making("tworulers.training.arrays"),
    }
    result, scratch = layout.results.arrays(name), layout.scratch("preprocess", name)
    with resumable_folder(result, scratch, made_from) as folder:
        prepared = prepare_images(
            images, folder, plans, name, channels, recipe.store_dtype, settings.processes
        )
    say(f"{name}: {len(images)} exams, {prepared} of them prepared now")
    return result, RunRecord(
        "preprocess",
        f"preprocess · {name}",
        f"Every image on the grid of {name}.",
        {"configuration": name},
        metrics={"exams": float(len(images))},
        sibling_tag="configuration",
    )


if __name__ == "__main__":
    run_stage(preprocess)
