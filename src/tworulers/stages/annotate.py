"""Where machine labels come from: the gold model labels the silver exams that have no label."""

from pathlib import Path

import pandas as pd

from tworulers.io.console import say, track
from tworulers.io.images import ImageError, read_header, read_label, same_grid
from tworulers.io.paths import Layout
from tworulers.io.records import read_table, write_table
from tworulers.schema import Provenance, Settings
from tworulers.stages._cross_validation import choose_cleanup
from tworulers.stages._exams import locate, locate_images
from tworulers.stages._predicting import gather_ensemble, list_inputs, predict_labels
from tworulers.stages._resume import Stamp, resumable_folder
from tworulers.stages._run import run_stage
from tworulers.tables import Cohort
from tworulers.tracking import RunRecord

LABELLER = "gold"


def annotate(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Label the silver exams that have no label; labels that the data ships are only checked."""
    if settings.regime.name != LABELLER:
        raise ValueError(
            f"the silver pool is labelled by the {LABELLER} model, not by {settings.regime.name}; "
            f"give regime={LABELLER}"
        )
    cohort = read_table(layout.cohort / "cohort.parquet", "cohort", Cohort)
    silver = cohort[cohort["provenance"] == Provenance.SILVER]
    shipped = silver[silver["label"].notna()]
    check_labels(shipped, settings, layout)
    images = locate_images(layout, silver[silver["label"].isna()])
    annotations = pd.DataFrame(
        {"exam_id": shipped["exam_id"], "label": shipped["label"], "made_by": "dataset"}
    )
    made_from: Stamp = {}
    ensemble = None
    if images:
        members = tuple(settings.grid.configurations)
        cleanup = choose_cleanup(settings, layout, members)
        ensemble = gather_ensemble(settings, layout, LABELLER, members, cleanup)
        made_from = list_inputs(ensemble, images, settings, layout)
    result, scratch = layout.results.annotations, layout.scratch("annotate", LABELLER)
    with resumable_folder(result, scratch, made_from) as folder:
        if ensemble is not None:
            made = predict_labels(
                ensemble, images, folder, settings.processes, "labelling the silver pool"
            )
            made["label"] = [
                layout.relative(result / "labels" / f"{exam}.nii.gz") for exam in made["exam_id"]
            ]
            made["made_by"] = f"{LABELLER} model"
            annotations = pd.concat([annotations, made], ignore_index=True)
        write_table(annotations, folder / "annotations.parquet")
    say(f"{len(images)} silver exams labelled by the {LABELLER} model, {len(shipped)} shipped")
    record = RunRecord(
        "annotate",
        "annotate",
        f"Machine labels of the silver pool by the {LABELLER} model.",
        metrics={"exams/made": float(len(images)), "exams/shipped": float(len(shipped))},
    )
    return result, record


def check_labels(shipped: pd.DataFrame, settings: Settings, layout: Layout) -> None:
    """Refuse silver labels that cannot be read or do not lie on their image, all in one list."""
    faults = []
    images = locate_images(layout, shipped)
    labels = dict(zip(shipped["exam_id"], shipped["label"], strict=True))
    for exam, image in track(images.items(), len(images), "checking labels"):
        try:
            label = read_label(locate(layout, labels[exam]), settings.dataset.structures.values())
            if not same_grid(label, read_header(image)):
                faults.append(f"{label.path} is not on the grid of {image}")
        except ImageError as error:
            faults.append(str(error))
    if faults:
        raise ImageError(f"{len(faults)} silver labels cannot be used:\n  " + "\n  ".join(faults))


if __name__ == "__main__":
    run_stage(
        annotate,
        (
            "dataset.name",
            "dataset.structures",
            "regime.name",
            "recipe.mirror",
            "recipe.tile_overlap",
            "recipe.accumulate",
            "recipe.cleanup",
            "trainer.accelerator",
            "trainer.devices",
            "trainer.strategy",
            "trainer.precision",
            "trainer.threads",
            "trainer.compile",
            "trainer.predict_batch",
            "grid.configurations",
        ),
    )
