"""What a regime learns in one configuration: every fold trained, its validation exams predicted."""

import time
from pathlib import Path
from typing import Any

from tworulers.io.owned import remove_folder
from tworulers.io.paths import Layout
from tworulers.io.records import write_json
from tworulers.io.results import read_cohort
from tworulers.io.resume import STAMP, resumable_folder, resumable_work
from tworulers.progress import say
from tworulers.recipe.parallel import run_folds
from tworulers.recipe.task import FoldTask
from tworulers.runner.console import show_table
from tworulers.runner.graph.code import digest_making
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.runner.tracking.live import showing_training
from tworulers.schema.settings import Settings
from tworulers.schema.tables import list_rows
from tworulers.training.arrays import prepare_labels
from tworulers.training.fold_progress import FoldProgress
from tworulers.training.folds import (
    find_other_folds,
    fold_of,
    hold_folds,
    keep_folds,
    keep_timings,
    learns_from_all,
    list_asked_folds,
    list_tasks,
    place_fold,
)
from tworulers.training.inputs import TrainingInputs, list_training_inputs
from tworulers.training.plans import load_plans
from tworulers.training.validation import (
    HELD_OUT,
    LEARNT,
    average_validation,
    name_means,
    read_curves,
    read_validation,
)


def train(settings: Settings, layout: Layout) -> tuple[Path, RunRecord] | None:
    """Train the folds of a regime, `trainer.parallel_folds` at a time, or the one that this job is for."""
    regime, name = settings.regime.name, settings.configuration.name
    alone = settings.configuration.fold
    code = digest_making("tworulers.recipe.parallel", "tworulers.training.arrays")
    inputs = list_training_inputs(settings, layout, code)
    made_from = inputs.made_from
    asked = list_asked_folds(settings)
    result = layout.results.model(regime, name)
    others = find_other_folds(result, asked, made_from)
    # Whoever trains several folds replaces the model, so no fold of it may be trained elsewhere meanwhile.
    hold_folds(result, inputs.folds if alone is None else asked)
    if alone is None:
        scratch = layout.scratch(regime, name)
        with resumable_folder(result, scratch, made_from) as folder:
            tasks = _train_folds(inputs, settings, layout, scratch, folder)
            keep_folds(folder, tasks, others)
            write_json(made_from, folder / STAMP)
        return result, summarise_folds(settings, layout)
    scratch = layout.scratch_of_fold(regime, name, alone)
    with resumable_work(scratch, made_from) as folder:
        _train_folds(inputs, settings, layout, scratch, folder)
    lacking = place_fold(folder / f"fold_{alone}", result, settings.grid.folds, made_from)
    remove_folder(scratch)
    if lacking:
        told = ", ".join(map(str, lacking))
        say(f"fold {alone} of {regime} {name} is trained; its model still lacks fold {told}")
        return None
    return result, summarise_folds(settings, layout)


def _train_folds(
    inputs: TrainingInputs, settings: Settings, layout: Layout, scratch: Path, folder: Path
) -> list[FoldTask]:
    """Train the folds that are asked for into a folder, and show them meanwhile."""
    began = time.time()
    regime, name = settings.regime.name, settings.configuration.name
    _, facts = load_plans(layout, settings.recipe.name)
    prepared, images = scratch / "labels", layout.arrays(name)
    prepare_labels(inputs.labels, prepared, images, facts, settings.processes)
    tasks = list_tasks(inputs.folds, settings, layout, scratch, prepared, folder)
    result = layout.results.model(regime, name)
    shown = showing_training(
        result, name_run(regime, name), inputs.made_from, settings, layout, began
    )
    with FoldProgress(tasks) as progress, shown as live:

        def report(task: FoldTask, epoch: dict[str, Any]) -> None:
            progress.report(task, epoch)
            if live is not None:
                live.report(fold_of(Path(task.output)), epoch)

        run_folds(tasks, settings.trainer.parallel_folds, report)
    keep_timings(tasks, layout.timings(regime, name))
    return tasks


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
    judged = LEARNT if learns_from_all(settings) else HELD_OUT
    show_table(
        f"{regime} {name}: Dice of {judged.exams}",
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
    mixed = ", mixed" * (len(kinds) > 1)
    return RunRecord(
        "train",
        name_run(regime, name),
        f"The {regime} model ({settings.regime.title}) in configuration {name}. "
        f"Its {judged.dice} is by {' and '.join(kinds[:2])} labels{mixed}.",
        {"regime": regime, "configuration": name},
        metrics=name_means(means, folds, judged),
        series=read_curves(model),
        sibling_tag="regime",
    )


if __name__ == "__main__":
    run_stage(train)
