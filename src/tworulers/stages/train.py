"""What a regime learns in one configuration: every fold trained, its validation exams predicted."""

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from tworulers.cohort.folds import list_folds
from tworulers.io.console import show_table, track
from tworulers.io.images import ImageError
from tworulers.io.paths import Layout
from tworulers.io.records import made_by, read_table, require, write_json
from tworulers.recipe.parallel import run_folds
from tworulers.recipe.preprocess import preprocess_label
from tworulers.recipe.store import (
    label_is_stored,
    list_image_files,
    load_geometry,
    store_label,
)
from tworulers.recipe.task import CROSS_VALIDATION, CURVE, SECONDS, FoldTask
from tworulers.schema import Settings
from tworulers.stages._cross_validation import fold_folders
from tworulers.stages._exams import digest_plans, find_label, load_plans, read_reference
from tworulers.stages._fold_progress import FoldProgress
from tworulers.stages._kept_folds import find_other_folds, keep_folds
from tworulers.stages._pool import open_pool
from tworulers.stages._resume import (
    STAMP,
    digest,
    digest_content,
    list_settings,
    resumable_folder,
)
from tworulers.stages._run import run_stage
from tworulers.stages._validation_means import average_validation
from tworulers.tables import Cohort, Splits, list_rows
from tworulers.tracking import RunRecord


def train(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Prepare the regime's labels and train its folds, `trainer.parallel_folds` at a time."""
    regime, name = settings.regime.name, settings.configuration.name
    images = require(layout.arrays(name), made_by("preprocess"))
    _, facts = load_plans(layout, settings.recipe.name)
    cohort = read_table(layout.cohort / "cohort.parquet", "cohort", Cohort).set_index("exam_id")
    splits = read_table(layout.split / "splits.parquet", "split", Splits)
    folds = list_folds(splits, regime)
    if not folds or max(settings.grid.folds) >= len(folds):
        raise ValueError(
            f"regime {regime} has {len(folds)} folds in {layout.split}, but grid.folds asks for "
            f"{settings.grid.folds}; split again with more folds or ask for fewer"
        )
    exams = sorted({exam for fold in folds for part in fold.values() for exam in part})
    labels = {exam: find_label(layout, exam, cohort.at[exam, "label"]) for exam in exams}
    for path in labels.values():
        require(path, made_by("annotate"))
    arrays = {file.name: file for exam in exams for file in list_image_files(images, exam)}
    made_from = {
        **list_settings(settings, "recipe", "trainer"),
        **digest_plans(layout),
        "folds": digest(folds),
        "seed": settings.seed,
        "labels": digest_content(labels, made_by("annotate"), layout),
        "arrays": digest_content(arrays, made_by("preprocess"), layout),
    }
    result, scratch = layout.results.model(regime, name), layout.scratch(regime, name)
    others = find_other_folds(result, settings.grid.folds, made_from)
    with resumable_folder(result, scratch, made_from) as folder:
        prepared = scratch / "labels"
        prepare_labels(labels, prepared, images, list(facts.foreground), settings.processes)
        tasks = [
            FoldTask(
                name=f"{regime} {name} fold {fold}",
                plans=str(layout.plan / "plans.json"),
                dataset=str(layout.plan / "dataset.json"),
                configuration=name,
                recipe=settings.recipe,
                trainer=settings.trainer,
                train=tuple(folds[fold]["train"]),
                val=tuple(folds[fold]["val"]),
                images=str(images),
                labels=str(prepared),
                scratch=str(scratch / f"fold_{fold}"),
                output=str(folder / f"fold_{fold}"),
                seed=settings.seed * 1000 + fold,
            )
            for fold in settings.grid.folds
        ]
        with FoldProgress(tasks) as progress:
            run_folds(tasks, settings.trainer.parallel_folds, progress.report)
        keep_timings(tasks, layout.timings(regime, name))
        keep_folds(folder, tasks, others)
        write_json(made_from, folder / STAMP)
    return result, summarise_folds(settings, layout)


def keep_timings(tasks: list[FoldTask], folder: Path) -> None:
    """Keep how long the epochs of each fold took that was trained now."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        if (Path(task.scratch) / SECONDS).is_file():
            shutil.copy(Path(task.scratch) / SECONDS, folder / f"{Path(task.output).name}.parquet")


def prepare_labels(
    labels: dict[str, Path], folder: Path, images: Path, structures: list[int], processes: int
) -> None:
    """Bring the labels to the grid of their prepared images, those that are not there yet."""
    pending = [item for item in labels.items() if not label_is_stored(folder, item[0])]
    prepare = partial(prepare_label, folder=folder, images=images, structures=structures)
    with open_pool(processes) as pool:
        done = pool.map(prepare, pending, chunksize=4)
        assert sum(track(done, len(pending), "preparing labels")) == len(pending)


def prepare_label(item: tuple[str, Path], folder: Path, images: Path, structures: list[int]) -> int:
    """Prepare one exam's label and write it."""
    exam_id, path = item
    label = read_reference(path, structures)
    try:
        prepared = preprocess_label(label, load_geometry(images, exam_id), structures)
    except ValueError as error:
        raise ImageError(f"exam {exam_id} ({path}): {error}") from error
    store_label(folder, exam_id, prepared, label)
    return 1


def summarise_folds(settings: Settings, layout: Layout) -> RunRecord:
    """Say how well the folds predict their validation exams, and how they learnt."""
    regime, name = settings.regime.name, settings.configuration.name
    folder = layout.model(regime, name)
    rows, series = [], {}
    for path in fold_folders(folder):
        fold = int(path.name.removeprefix("fold_"))
        rows.append(pd.read_parquet(path / CROSS_VALIDATION).assign(fold=fold))
        curve = pd.read_parquet(path / CURVE)
        for column in ("train_loss", "val_loss", "pseudo_dice", "learning_rate"):
            series[f"{path.name}/{column}"] = [float(value) for value in curve[column]]
    validation = pd.concat(rows)
    drawn = read_table(layout.cohort / "cohort.parquet", "cohort", Cohort).set_index("exam_id")
    validation["provenance"] = validation["exam_id"].map(drawn["provenance"])
    means = average_validation(validation)
    columns = sorted(validation["fold"].unique())
    show_table(
        f"{regime} {name}: Dice of the validation exams",
        ("labels", "structure", *(f"fold {fold}" for fold in columns), "exams"),
        [
            (
                row["labels"],
                row["structure"],
                *(f"{row[str(fold)]:.4f}" for fold in columns),
                f"{row['defined']} of {row['exams']}",
            )
            for row in list_rows(means)
        ],
    )
    kinds = list(dict.fromkeys(means["labels"]))
    # The last kind is all exams: the only labels there are, or gold and silver together.
    metrics = {
        f"validation/dice/{row['structure']}{'' if row['labels'] == kinds[-1] else '/' + row['labels']}": float(
            np.mean([row[str(fold)] for fold in columns])
        )
        for row in list_rows(means)
    }
    judged = (
        f"Its validation Dice is by {' and '.join(kinds[:2])} labels{', mixed' * (len(kinds) > 1)}."
    )
    return RunRecord(
        "train",
        f"train · {regime} {name}",
        f"The {regime} model ({settings.regime.title}) in configuration {name}. {judged}",
        {"regime": regime, "configuration": name},
        metrics=metrics,
        series=series,
        sibling_tag="regime",
    )


if __name__ == "__main__":
    run_stage(
        train,
        (
            "dataset.name",
            "regime.name",
            "configuration.name",
            "recipe",
            "trainer.accelerator",
            "trainer.devices",
            "trainer.strategy",
            "trainer.precision",
            "trainer.threads",
            "trainer.compile",
            "trainer.predict_batch",
            "grid.folds",
            "seed",
        ),
    )
