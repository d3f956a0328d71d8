"""What both tools get: the same exams, plan, fold and settings, each in the layout it expects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from tworulers.recipe.fingerprint import fingerprint_to_json, measure_case, pool_fingerprints
from tworulers.recipe.folds import Fold, folds_to_json
from tworulers.recipe.override import override_plans
from tworulers.recipe.plan import DatasetFacts
from tworulers.recipe.plan_json import facts_to_json, plans_to_json
from tworulers.recipe.planner import plan_dataset
from tworulers.recipe.task import FoldTask
from tworulers.schema import PlanOverrides, Recipe, Trainer
from tworulers.stages._exams import read_channels, read_reference

HERE = Path(__file__).resolve().parent
CONFIGURATION = "3d_fullres"
DATASET = "Dataset900_Compared"
LAST_LINES = 20


@dataclass(frozen=True)
class Exam:
    """An exam of a Decathlon folder."""

    exam_id: str
    image: Path
    label: Path


@dataclass(frozen=True)
class Arena:
    """One work folder with everything that both tools read.

    `plans` and `dataset` are the shared files; `results` of the peer lie below `peer`.
    """

    work: Path
    exams: tuple[Exam, ...]
    facts: DatasetFacts
    plans_name: str
    recipe: Recipe

    @property
    def plans(self) -> Path:
        return self.work / "plans.json"

    @property
    def dataset(self) -> Path:
        return self.work / "dataset.json"

    @property
    def images(self) -> Path:
        return self.work / "ours" / "images"

    @property
    def labels(self) -> Path:
        return self.work / "ours" / "labels"

    @property
    def raw(self) -> Path:
        return self.work / "peer" / "raw" / DATASET

    @property
    def preprocessed(self) -> Path:
        return self.work / "peer" / "preprocessed" / DATASET


@dataclass(frozen=True)
class Cost:
    """A whole process with its children: wall clock and processor seconds, peak of one process."""

    seconds: float
    cpu_seconds: float
    peak_gib: float


def find_exams(data: Path, first: int | None) -> tuple[tuple[Exam, ...], DatasetFacts]:
    """Exams (the first so many) and names of a Decathlon folder."""
    described = json.loads((data / "dataset.json").read_text())
    exams = []
    for entry in described["training"][:first]:
        image = data / entry["image"]
        exams.append(Exam(image.name.removesuffix(".nii.gz"), image, data / entry["label"]))
    facts = DatasetFacts(
        name=DATASET,
        channel_names=tuple(described["modality"].values()),
        labels={name: int(value) for value, name in described["labels"].items()},
        num_training=len(exams),
    )
    return tuple(exams), facts


def read_exam(exam: Exam) -> tuple[np.ndarray, tuple[float, ...], np.ndarray]:
    """Image (1, z, y, x), spacing and label of an exam, in the axis order of the peer's reader."""
    image, spacing = read_channels(exam.image, 1)
    return image, spacing, read_reference(exam.label)


def load_recipe(name: str) -> Recipe:
    """A recipe of conf/recipe."""
    content = yaml.safe_load((HERE.parent / "conf" / "recipe" / f"{name}.yaml").read_text())
    content["weight_decay"] = float(content["weight_decay"])
    return Recipe(**{**content, "plan": PlanOverrides(**content["plan"])})


def load_trainer(name: str = "cpu") -> Trainer:
    """A trainer of conf/trainer."""
    return Trainer(
        **yaml.safe_load((HERE.parent / "conf" / "trainer" / f"{name}.yaml").read_text())
    )


def prepare_arena(
    work: Path, exams: tuple[Exam, ...], facts: DatasetFacts, recipe: Recipe, folds: Sequence[Fold]
) -> Arena:
    """Measure and plan the exams, and lay out the peer's folders with that plan and these folds."""
    cases = []
    for exam in exams:
        image, spacing, label = read_exam(exam)
        cases.append(measure_case(image, label, spacing, len(exams)))
    fingerprint = pool_fingerprints(cases)
    planned = plan_dataset(fingerprint, facts, recipe.preset, coverage_cap=recipe.batch_coverage)
    plans = override_plans(planned, recipe.plan)
    arena = Arena(work, exams, facts, plans.plans_name, recipe)
    for folder in (arena.raw / "imagesTr", arena.raw / "labelsTr", arena.preprocessed):
        folder.mkdir(parents=True, exist_ok=True)
    for exam in exams:
        _link(arena.raw / "imagesTr" / f"{exam.exam_id}_0000.nii.gz", exam.image)
        _link(arena.raw / "labelsTr" / f"{exam.exam_id}.nii.gz", exam.label)
    for path, content in (
        (arena.plans, plans_to_json(plans)),
        (arena.dataset, facts_to_json(facts)),
        (arena.raw / "dataset.json", facts_to_json(facts)),
        (arena.preprocessed / "dataset.json", facts_to_json(facts)),
        (arena.preprocessed / f"{plans.plans_name}.json", plans_to_json(plans)),
        (arena.preprocessed / "dataset_fingerprint.json", fingerprint_to_json(fingerprint)),
        (arena.preprocessed / "splits_final.json", folds_to_json(folds)),
    ):
        path.write_text(json.dumps(content, indent=2))
    return arena


def fold_task(arena: Arena, fold: Fold, seed: int, output: Path) -> FoldTask:
    """What our side trains."""
    return FoldTask(
        name=f"seed {seed}",
        plans=str(arena.plans),
        dataset=str(arena.dataset),
        configuration=CONFIGURATION,
        recipe=arena.recipe,
        trainer=load_trainer(),
        train=fold.train,
        val=fold.val,
        images=str(arena.images),
        labels=str(arena.labels),
        scratch=str(output / "scratch"),
        output=str(output),
        seed=seed,
    )


def peer_settings(arena: Arena, seed: int) -> dict[str, object]:
    """What the peer's side trains: the numbers of the same recipe."""
    recipe = arena.recipe
    return {
        "plans": str(arena.preprocessed / f"{arena.plans_name}.json"),
        "dataset": str(arena.preprocessed / "dataset.json"),
        "configuration": CONFIGURATION,
        "fold": 0,
        "seed": seed,
        "epochs": recipe.epochs,
        "iterations": recipe.iterations,
        "validation_iterations": recipe.validation_iterations,
        "optimizer": recipe.optimizer,
        "learning_rate": recipe.learning_rate,
        "weight_decay": recipe.weight_decay,
    }


def peer_environment(arena: Arena, results: Path) -> dict[str, str]:
    """The peer's folders, with augmentation in the training process and one export worker."""
    return {
        "nnUNet_raw": str(arena.raw.parent),
        "nnUNet_preprocessed": str(arena.preprocessed.parent),
        "nnUNet_results": str(results),
        "nnUNet_n_proc_DA": "0",
        "nnUNet_def_n_proc": "1",
        "nnUNet_compile": "false",
        "MPLBACKEND": "Agg",
    }


def ours(*arguments: object) -> list[str]:
    """A command of our side."""
    return [sys.executable, str(HERE / "_our_side.py"), *map(str, arguments)]


def peers(peer: Path, *arguments: object) -> list[str]:
    """A command of the peer's side, run by the peer's python."""
    return [str(peer), str(HERE / "_peer_side.py"), *map(str, arguments)]


def run_side(command: Sequence[str], log: Path, environment: dict[str, str] | None = None) -> Cost:
    """Run a command with one thread and measure it; the log keeps what it says.

    Raises
    ------
    RuntimeError
        It failed; the message has the end of its log.
    """
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    settings = {**os.environ, **dict.fromkeys(threads, "1"), **(environment or {})}
    log.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    with log.open("w") as stream:
        # Both sides end themselves when their standard input closes, so none outlives this process.
        process = subprocess.Popen(
            command, env=settings, stdin=subprocess.PIPE, stdout=stream, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stdin is not None
    process.stdin.close()
    if process.returncode != 0:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-LAST_LINES:])
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{end}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)


def end_with_parent() -> None:
    """End this process when whoever started it is gone: its end of our standard input closes."""

    def wait() -> None:
        os.read(0, 1)  # not sys.stdin: its lock would be held in forked children
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _link(link: Path, target: Path) -> None:
    if not link.is_symlink():
        link.symlink_to(target.resolve())
