"""One fold from prepared exams to final weights, its curve, and its validation exams predicted.

`python -m tworulers.recipe.train <task.json>` trains one fold and writes a line of JSON an epoch.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path

import pandas as pd
import pytorch_lightning as pl
import torch

from tworulers.recipe.checkpoints import (
    BestWeights,
    TwoCheckpoints,
    find_checkpoint,
    save_weights,
)
from tworulers.recipe.clean import dice_of
from tworulers.recipe.data import FoldData
from tworulers.recipe.derived import require_memory
from tworulers.recipe.epoch_log import EpochLogger
from tworulers.recipe.interop import Member, load_pretrained
from tworulers.recipe.module import EpochRecord, SegmentationModule
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.plan_json import facts_from_json, plans_from_json
from tworulers.recipe.precision import remark_on_precision
from tworulers.recipe.predict import ExamPredictor, PreparedImage, choose_device
from tworulers.recipe.processes import leave_processes
from tworulers.recipe.store import StoredExam, load_geometry, store_probabilities
from tworulers.recipe.task import (
    BEST,
    CROSS_VALIDATION,
    CURVE,
    FINAL,
    PROBABILITIES,
    SECONDS,
    FoldTask,
    fold_is_done,
    task_from_json,
)
from tworulers.schema.atomic import written_beside
from tworulers.schema.damage import reading
from tworulers.schema.sealed import seal
from tworulers.schema.settings import Trainer

Report = Callable[[EpochRecord], None]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class FoldResult:
    """What a fold left in `output`: its curve, and the Dice of its validation exams.

    `cross_validation` has the columns exam_id, structure (a label's name) and dice, NaN where
    neither label nor prediction has the structure.
    """

    output: Path
    curve: pd.DataFrame
    cross_validation: pd.DataFrame


def load_fold(task: FoldTask) -> FoldResult:
    """Read what a finished fold left."""
    output = Path(task.output)
    return FoldResult(
        output, pd.read_parquet(output / CURVE), pd.read_parquet(output / CROSS_VALIDATION)
    )


def train_fold(task: FoldTask, report: Report | None = None, tell: Tell = print) -> FoldResult:
    """Train a fold, or go on with it from its last checkpoint, and predict its validation exams.

    Parameters
    ----------
    task
        What to train.
    report
        Told every finished epoch.
    tell
        Told in words what a person should know.

    Raises
    ------
    ValueError
        A fold without training or validation exams, or settings that make no network.
    """
    if fold_is_done(task):
        return load_fold(task)
    _check_task(task)
    with reading(Path(task.plans), "plan"):
        plans = plans_from_json(json.loads(Path(task.plans).read_text()))
    with reading(Path(task.dataset), "plan"):
        facts = facts_from_json(json.loads(Path(task.dataset).read_text()))
    if remark := remark_on_precision(task.trainer.precision, task.trainer.accelerator):
        tell(remark)
    torch.set_num_threads(task.trainer.threads)
    torch.set_flush_denormal(True)
    output, scratch = Path(task.output), Path(task.scratch)
    module = _fit(task, plans, facts, report, tell)
    if not module.trainer.is_global_zero:
        return FoldResult(output, pd.DataFrame(), pd.DataFrame())
    save_weights(module.member, output / FINAL, module.curve[-1])
    if (scratch / BEST).is_file():
        (scratch / BEST).replace(output / BEST)
    epochs = pd.DataFrame([asdict(record) for record in module.curve])
    _write_frame(epochs[["epoch", "seconds"]], scratch / SECONDS)
    curve = epochs.drop(columns="seconds")
    _write_frame(curve, output / CURVE)
    rows = predict_validation(task, plans, facts, module.member)
    _write_frame(rows, output / CROSS_VALIDATION)
    for checkpoint in scratch.glob("*.ckpt"):
        checkpoint.unlink()
    return FoldResult(output, curve, rows)


def predict_validation(
    task: FoldTask, plans: Plans, facts: DatasetFacts, member: Member
) -> pd.DataFrame:
    """Predict a fold's validation exams on their own grid: one row an exam and structure.

    Where the recipe selects among configurations, their probabilities are kept beside the rows.
    """
    networks = {task.configuration: [member]}
    predictor = ExamPredictor(plans, facts, networks, task.recipe, task.trainer)
    images, labels = Path(task.images), Path(task.labels)
    names = {value: name for name, value in facts.labels.items()}
    exams = [StoredExam(exam_id, images, labels) for exam_id in task.val]
    rows = []
    prepared = (
        PreparedImage(e.exam_id, {task.configuration: (e.image, load_geometry(images, e.exam_id))})
        for e in exams
    )
    for exam, prediction in zip(exams, predictor.predict_exams(prepared), strict=True):
        dices = dice_of(prediction.label_map, exam.original, facts.foreground, facts.ignore_label)
        rows += [
            (exam.exam_id, names[value], float(dice))
            for value, dice in zip(facts.foreground, dices, strict=True)
        ]
        if task.recipe.select and not task.resubstitutes:
            folder = Path(task.output) / PROBABILITIES
            store_probabilities(folder, exam.exam_id, prediction.probabilities)
    return pd.DataFrame(rows, columns=["exam_id", "structure", "dice"])


def _fit(
    task: FoldTask, plans: Plans, facts: DatasetFacts, report: Report | None, tell: Tell
) -> SegmentationModule:
    plan = plans.configuration(task.configuration)
    samples = share_batch(task.name, plan.batch_size, task.trainer)
    size = 2 if "16" in task.trainer.precision else 4
    require_memory(plan, facts.n_classes, find_memory(task.trainer), size, samples)
    scratch = Path(task.scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(task.seed)
    module = SegmentationModule(
        plan,
        task.recipe,
        task.trainer,
        n_channels=len(facts.channel_names),
        n_classes=facts.n_classes,
        ignore_label=facts.ignore_label,
    )
    if task.recipe.pretrained is not None:
        load_pretrained(module.network, Path(task.recipe.pretrained))
    data = FoldData(
        Path(task.images), Path(task.labels), task.train, task.val, plan, task.recipe,
        task.trainer, task.seed,
    )  # fmt: skip
    trainer = pl.Trainer(
        accelerator=task.trainer.accelerator,
        devices=task.trainer.devices,
        num_nodes=task.trainer.nodes,
        strategy=task.trainer.strategy,
        precision=task.trainer.precision,
        max_epochs=task.recipe.epochs,
        accumulate_grad_batches=task.trainer.gradient_accumulation,
        gradient_clip_val=task.recipe.gradient_clip or None,
        callbacks=[
            BestWeights(scratch / BEST),
            TwoCheckpoints(scratch, task.trainer.checkpoint_every),
        ],
        logger=[EpochLogger(report)] if report else False,
        log_every_n_steps=1,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        benchmark=task.trainer.accelerator != "cpu" and not task.trainer.deterministic,
        deterministic=task.trainer.deterministic,
    )
    kept = find_checkpoint(scratch, tell)
    trainer.fit(module, data, ckpt_path=kept, weights_only=True)
    leave_processes()
    return module


def share_batch(name: str, batch_size: int, trainer: Trainer) -> int:
    """Count the samples of a batch that are in one memory at the same time: a GPU's, or the machine's.

    Raises
    ------
    ValueError
        A batch that has not a sample for every process and part.
    """
    devices = trainer.devices if trainer.devices > 0 else max(1, torch.cuda.device_count())
    shares = devices * trainer.nodes * trainer.gradient_accumulation
    if batch_size < shares:
        raise ValueError(
            f"{name}: a batch of {batch_size} cannot be shared by {devices * trainer.nodes} processes in "
            f"{trainer.gradient_accumulation} parts each. Use fewer trainer.devices, trainer.nodes or "
            "trainer.gradient_accumulation, or a larger recipe.plan.batch_size."
        )
    return ceil(batch_size / shares) * (devices if trainer.accelerator == "cpu" else 1)


def find_memory(trainer: Trainer) -> int:
    """Bytes that a training step may take: of the GPU, or of the whole machine."""
    if choose_device(trainer).type == "cuda":
        return int(torch.cuda.get_device_properties(0).total_memory)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _check_task(task: FoldTask) -> None:
    for part, exams in (("training", task.train), ("validation", task.val)):
        if not exams:
            raise ValueError(
                f"{task.name} has no {part} exams: the regime has too few exams of its provenance "
                "for this many folds. Use fewer folds or another regime."
            )
    shared = sorted(set(task.train) & set(task.val))
    if shared and not task.resubstitutes:
        raise ValueError(
            f"{task.name}: {len(shared)} exams are in training and validation, e.g. {shared[0]}."
        )


def _write_frame(frame: pd.DataFrame, path: Path) -> None:
    with written_beside(path) as temporary:
        frame.to_parquet(temporary, index=False)
        seal(temporary)


def _end_with_parent() -> None:
    """End this process when whoever started it is gone: its end of our standard input closes.

    The descriptor is read, not `sys.stdin`, whose lock a forked loader process would inherit held.
    """

    def wait() -> None:
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Train the fold of a task file and write each epoch as one line of JSON."""
    _end_with_parent()
    for name in ("pytorch_lightning", "lightning.pytorch"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    task = task_from_json(json.loads(Path(sys.argv[1]).read_text()))
    try:
        train_fold(
            task,
            lambda record: print(json.dumps(asdict(record)), flush=True),
            lambda note: print(json.dumps({"note": note}), flush=True),
        )
    except ValueError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
