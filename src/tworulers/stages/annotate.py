"""Where machine labels come from: the teacher labels the silver exams that have no label."""

from pathlib import Path

import pandas as pd

from tworulers.io.exam_files import locate_images, locate_labels
from tworulers.io.images import ImageError, read_header, same_grid
from tworulers.io.inferences import write_inference
from tworulers.io.label_maps import read_label
from tworulers.io.paths import Layout
from tworulers.io.records import write_table
from tworulers.io.results import read_cohort
from tworulers.io.resume import Stamp, resumable_folder
from tworulers.progress import say, track
from tworulers.recipe.inference import tell_inference
from tworulers.runner.graph.code import digest_making
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.schema.result_files import LABELS
from tworulers.schema.settings import Provenance, Settings
from tworulers.training.cross_validation import choose_cleanup
from tworulers.training.ensemble import gather_ensemble, list_inputs, predict_labels
from tworulers.training.folds import require_folds


def annotate(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Label the silver exams that have no label; labels that the data ships are only checked."""
    teacher = settings.grid.teacher
    if settings.regime.name != teacher:
        raise ValueError(
            f"the silver pool is labelled by the {teacher} model, not by {settings.regime.name}; "
            f"give regime={teacher}"
        )
    cohort = read_cohort(layout)
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
        require_folds([layout.model(teacher, name) for name in members], settings.grid.folds)
        cleanup = choose_cleanup(settings, layout, members)
        ensemble = gather_ensemble(settings, layout, teacher, members, cleanup)
        made_from = list_inputs(ensemble, images, settings, layout)
        made_from["code"] = digest_making("tworulers.training.ensemble")
    result, scratch = layout.results.annotations, layout.scratch("annotate", teacher)
    with resumable_folder(result, scratch, made_from) as folder:
        if ensemble is not None:
            made = predict_labels(
                ensemble, images, folder, settings.processes, "labelling the silver pool"
            )
            made["label"] = [
                layout.relative(result / LABELS / f"{exam}.nii.gz") for exam in made["exam_id"]
            ]
            made["made_by"] = f"{teacher} model"
            annotations = pd.concat([annotations, made], ignore_index=True)
        write_table(annotations, folder / "annotations.parquet")
        told = tell_inference(settings.inference) if images else ""
        write_inference(told, folder)
    by = f"the {teacher} model{f' ({told})' if told else ''}"
    say(f"{len(images)} silver exams labelled by {by}, {len(shipped)} shipped")
    record = RunRecord(
        "annotate",
        "annotate",
        f"Machine labels of the silver pool by {by}.",
        {"inference": told} if told else {},
        metrics={"exams/made": float(len(images)), "exams/shipped": float(len(shipped))},
    )
    return result, record


def check_labels(shipped: pd.DataFrame, settings: Settings, layout: Layout) -> None:
    """Refuse silver labels that cannot be read or do not lie on their image, all in one list."""
    faults = []
    images = locate_images(layout, shipped)
    labels = locate_labels(layout, shipped)
    for exam, image in track(images.items(), len(images), "checking labels"):
        try:
            label = read_label(labels[exam], settings.dataset.values)
            if not same_grid(label, read_header(image)):
                faults.append(f"{label.path} is not on the grid of {image}")
        except ImageError as error:
            faults.append(str(error))
    if faults:
        raise ImageError(f"{len(faults)} silver labels cannot be used:\n  " + "\n  ".join(faults))


if __name__ == "__main__":
    run_stage(annotate)
