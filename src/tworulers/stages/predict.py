"""What a regime's networks say about every test exam: label maps, and how sure they are."""

from pathlib import Path

from tworulers.io.console import say
from tworulers.io.paths import Layout
from tworulers.io.records import read_json, read_table
from tworulers.recipe.clean import CleanUp
from tworulers.schema import Settings
from tworulers.stages._exams import exams_to_predict, locate_images
from tworulers.stages._predicting import gather_ensemble, list_inputs, predict_labels
from tworulers.stages._resume import resumable_folder
from tworulers.stages._run import run_stage
from tworulers.tables import Cohort, Splits
from tworulers.tracking import RunRecord


def predict(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Predict all test exams with the selected configurations; a killed run goes on."""
    regime = settings.regime.name
    choice = read_json(layout.selection(regime) / "choice.json", "select")
    cleanup = CleanUp(
        tuple(tuple(labels) for labels in choice["cleanup"]), choice["cleanup_reason"]
    )
    ensemble = gather_ensemble(settings, layout, regime, choice["members"], cleanup)
    cohort = read_table(layout.cohort / "cohort.parquet", "cohort", Cohort)
    splits = read_table(layout.split / "splits.parquet", "split", Splits)
    located = locate_images(layout, cohort)
    images = {exam: located[exam] for exam in exams_to_predict(splits)}
    made_from = list_inputs(ensemble, images, settings, layout)
    result, scratch = layout.results.predictions(regime), layout.scratch("predict", regime)
    with resumable_folder(result, scratch, made_from) as folder:
        confidence = predict_labels(
            ensemble, images, folder, settings.processes, f"predicting with {regime}"
        )
    members = sum(len(paths) for paths in ensemble.weights.values())
    say(f"{len(images)} test exams predicted by {members} networks of {regime}")
    means = confidence.drop(columns=["exam_id", "undefined_because"]).mean()
    record = RunRecord(
        "predict",
        f"predict · {regime}",
        f"All test exams by {' + '.join(choice['members'])} ({members} networks) of {regime}.",
        {"regime": regime},
        metrics={
            "exams": float(len(images)),
            **{f"confidence/{name}": float(value) for name, value in means.items()},
        },
        sibling_tag="regime",
    )
    return result, record


if __name__ == "__main__":
    run_stage(
        predict,
        (
            "dataset.name",
            "regime.name",
            "recipe.mirror",
            "recipe.tile_overlap",
            "recipe.accumulate",
            "trainer.accelerator",
            "trainer.devices",
            "trainer.strategy",
            "trainer.precision",
            "trainer.threads",
            "trainer.compile",
            "trainer.predict_batch",
        ),
    )
