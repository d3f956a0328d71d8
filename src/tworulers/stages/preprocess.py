"""What the networks see: every exam's image on the grid of a configuration, without its label."""

from functools import partial
from pathlib import Path

from tworulers.io.console import say, track
from tworulers.io.images import ImageError
from tworulers.io.paths import Layout
from tworulers.io.records import read_table
from tworulers.recipe.plan import Plans
from tworulers.recipe.preprocess import preprocess_image
from tworulers.recipe.store import image_is_stored, store_image
from tworulers.schema import Settings
from tworulers.stages._exams import (
    digest_plans,
    list_channels,
    load_plans,
    locate_images,
    read_channels,
)
from tworulers.stages._pool import open_pool
from tworulers.stages._resume import digest_content, list_settings, resumable_folder
from tworulers.stages._run import run_stage
from tworulers.tables import Cohort
from tworulers.tracking import RunRecord


def preprocess(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Prepare the image of every exam of the cohort; a killed run goes on where it stopped."""
    name = settings.configuration.name
    plans, facts = load_plans(layout, settings.recipe.name)
    plans.configuration(name)
    cohort = read_table(layout.cohort / "cohort.parquet", "cohort", Cohort)
    images = locate_images(layout, cohort)
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
    }
    result, scratch = layout.results.arrays(name), layout.scratch("preprocess", name)
    with resumable_folder(result, scratch, made_from) as folder:
        pending = [item for item in images.items() if not image_is_stored(folder, item[0])]
        prepare = partial(
            prepare_exam,
            folder=folder,
            plans=plans,
            configuration=name,
            channels=channels,
            dtype=settings.recipe.store_dtype,
        )
        with open_pool(settings.processes) as pool:
            done = pool.map(prepare, pending, chunksize=4)
            prepared = sum(track(done, len(pending), f"preparing {name}"))
    say(f"{name}: {len(images)} exams, {prepared} of them prepared now")
    record = RunRecord(
        "preprocess",
        f"preprocess · {name}",
        f"Every image on the grid of {name}.",
        {"configuration": name},
        metrics={"exams": float(len(images))},
        sibling_tag="configuration",
    )
    return result, record


def prepare_exam(
    item: tuple[str, Path],
    folder: Path,
    plans: Plans,
    configuration: str,
    channels: int,
    dtype: str,
) -> int:
    """Prepare one exam's image and write it."""
    exam_id, path = item
    image, spacing = read_channels(path, channels)
    try:
        array, geometry = preprocess_image(image, spacing, plans, configuration)
    except ValueError as error:
        raise ImageError(f"exam {exam_id} ({path}): {error}") from error
    store_image(folder, exam_id, array, geometry, dtype)
    return 1


if __name__ == "__main__":
    run_stage(
        preprocess, ("dataset.name", "configuration.name", "recipe.name", "recipe.store_dtype")
    )
