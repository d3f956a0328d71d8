"""What a regime learns in one configuration: every fold trained, its validation exams predicted."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from tworulers.cohort.folds import list_folds
from tworulers.io.exam_files import find_label
from tworulers.io.paths import Layout
from tworulers.io.records import made_by, require, write_json
from tworulers.io.results import read_cohort, read_splits
from tworulers.io.resume import (
    STAMP,
    digest,
    digest_content,
    list_settings,
    resumable_folder,
)
from tworulers.recipe.parallel import run_folds
from tworulers.recipe.task import FoldTask
from tworulers.runner.console import show_table
from tworulers.runner.graph.code import digest_making
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.runner.tracking.live import showing_training
from tworulers.schema.settings import Settings
from tworulers.schema.tables import list_rows
from tworulers.training.arrays import digest_arrays, prepare_labels
from tworulers.training.fold_progress import FoldProgress
from tworulers.training.folds import (
    find_other_folds,
    keep_folds,
    keep_timings,
    list_tasks,
    number_of,
)
from tworulers.training.plans import digest_plans, load_plans
from tworulers.training.validation import average_validation, read_curves, read_validation


def train(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Prepare the regime's labels and train its folds, `trainer.parallel_folds` at a time."""
    began = time.time()
    regime, name = settings.regime.name, settings.configuration.name
    images = require(layout.arrays(name), made_by("preprocess"))
    _, facts = load_plans(layout, settings.recipe.name)
    cells = read_cohort(layout).set_index("exam_id")["label"]
    folds = list_folds(read_splits(layout), regime)
    if not folds or max(settings.grid.folds) >= len(folds):
        raise ValueError(
            f"regime {regime} has {len(folds)} folds in {layout.split}, but grid.folds asks for "
            f"{settings.grid.folds}; split again with more folds or ask for fewer"
        )
    exams = sorted({exam for fold in folds for part in fold.values() for exam in part})
    labels = {exam: find_label(layout, exam, cells[exam]) for exam in exams}
    made_from = {
        **list_settings(settings, "recipe", "trainer"),
        **digest_plans(layout),
        "folds": digest(folds),
        "seed": settings.seed,
        "labels": digest_content(labels, made_by("annotate"), layout),
        "arrays": digest_arrays({name: images}, exams, layout),
        "code": digest_making("tworulers.recipe.parallel", "tworulers.training.arrays"),
    }
    result, scratch = layout.results.model(regime, name), layout.scratch(regime, name)
    others = find_other_folds(result, settings.grid.folds, made_from)
    with resumable_folder(result, scratch, made_from) as folder:
        prepared = scratch / "labels"
        prepare_labels(labels, prepared, images, facts.foreground, settings.processes)
        tasks = list_tasks(folds, settings, layout, scratch, prepared, folder)
        shown = showing_training(result, name_run(regime, name), made_from, settings, layout, began)
        with FoldProgress(tasks) as progress, shown as live:

            def report(task: FoldTask, epoch: dict[str, Any]) -> None:
                progress.report(task, epoch)
                if live is not None:
                    live.report(number_of(Path(task.output)), epoch)

            run_folds(tasks, settings.trainer.parallel_folds, report)
        keep_timings(tasks, layout.timings(regime, name))
        keep_folds(folder, tasks, others)
        write_json(made_from, folder / STAMP)
    return result, summarise_folds(settings, layout)


def name_run(regime: str, configuration: str) -> str:
    """Name a training in a list of runs."""
    return f"train · {regime} {configuration}"


def summarise_folds(settings: Settings, layout: Layout) -> RunRecord:
    """Say how well the folds predict their validation exams, and how they learnt."""
    regime, name = settings.regime.name, settings.configuration.name
    model = layout.model(regime, name)
    validation = read_validation(model)
    drawn = read_cohort(layout).set_index("exam_id")["provenance"]
    means = average_validation(validation.assign(provenance=validation["exam_id"].map(drawn)))
    folds = [str(fold) for fold in sorted(validation["fold"].unique())]
    rows = list_rows(means)
    show_table(
        f"{regime} {name}: Dice of the validation exams",
        ("labels", "structure", *(f"fold {fold}" for fold in folds), "exams"),
        [
            (
                row["labels"],
                row["structure"],
                *(f"{row[fold]:.4f}" for fold in folds),
                f"{row['defined']} of {row['exams']}",
            )
            for row in rows
        ],
    )
    kinds = list(dict.fromkeys(means["labels"]))
    # The last kind is all exams: the only labels there are, or gold and silver together.
    metrics = {
        f"validation/dice/{row['structure']}{'' if row['labels'] == kinds[-1] else '/' + row['labels']}": float(
            np.mean([row[fold] for fold in folds])
        )
        for row in rows
    }
    judged = (
        f"Its validation Dice is by {' and '.join(kinds[:2])} labels{', mixed' * (len(kinds) > 1)}."
    )
    return RunRecord(
        "train",
        name_run(regime, name),
        f"The {regime} model ({settings.regime.title}) in configuration {name}. {judged}",
        {"regime": regime, "configuration": name},
        metrics=metrics,
        series=read_curves(model),
        sibling_tag="regime",
    )


if __name__ == "__main__":
    run_stage(train)
