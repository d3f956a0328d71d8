"""What both tools get: the same exams, plan, fold and settings, each in the layout it expects."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from _folds import Fold
from _timing import Cost, run_process

from tworulers.recipe.fingerprint import fingerprint_to_json, measure_case, pool_fingerprints
from tworulers.recipe.override import override_plans
from tworulers.recipe.plan import DatasetFacts
from tworulers.recipe.plan_json import facts_to_json, plans_to_json
from tworulers.recipe.planner import plan_dataset
from tworulers.recipe.task import FoldTask
from tworulers.schema.settings import PlanOverrides, Recipe, Trainer
from tworulers.training.volumes import read_channels, read_reference

HERE = Path(__file__).resolve().parent
CONFIGURATION = "3d_fullres"
DATASET = "Dataset900_Compared"
TOOLS = ("ours", "peer")
SHARED = [
    "epochs",
    "iterations",
    "validation_iterations",
    "optimizer",
    "learning_rate",
    "weight_decay",
]
"""The numbers of a recipe that both sides train by."""


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


def load_recipe(name: str, **changes: Any) -> Recipe:
    """A recipe of conf/recipe, with some of its fields changed."""
    content = yaml.safe_load((HERE.parent / "conf" / "recipe" / f"{name}.yaml").read_text())
    content["weight_decay"] = float(content["weight_decay"])
    return replace(Recipe(**{**content, "plan": PlanOverrides(**content["plan"])}), **changes)


def load_comparable(name: str, **changes: Any) -> Recipe:
    """A recipe without what the peer has no counterpart of: warm-up, a cautious start, selection of an epoch."""
    return load_recipe(name, warmup_iterations=0, cautious_start=False, select=False, **changes)


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
        (arena.preprocessed / "splits_final.json", [asdict(fold) for fold in folds]),
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
    return {
        "plans": str(arena.preprocessed / f"{arena.plans_name}.json"),
        "dataset": str(arena.preprocessed / "dataset.json"),
        "configuration": CONFIGURATION,
        "fold": 0,
        "seed": seed,
        **{name: getattr(arena.recipe, name) for name in SHARED},
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


def train_ours(arena: Arena, fold: Fold, seed: int, folder: Path) -> Cost:
    """Train one fold with our recipe; the folder gets what the stage would."""
    (folder / "task.json").write_text(json.dumps(asdict(fold_task(arena, fold, seed, folder))))
    command = [sys.executable, "-m", "tworulers.recipe.train", str(folder / "task.json")]
    return run_process(command, folder / "log.txt")


def train_peer(arena: Arena, seed: int, folder: Path, peer: Path) -> tuple[Cost, dict[str, Any]]:
    """Train the peer's fold 0; return also its record: where the validation is, seconds an epoch."""
    (folder / "settings.json").write_text(json.dumps(peer_settings(arena, seed)))
    command = peers(peer, "train", folder / "settings.json", folder / "record.json")
    cost = run_process(command, folder / "log.txt", peer_environment(arena, folder / "results"))
    return cost, json.loads((folder / "record.json").read_text())


def _link(link: Path, target: Path) -> None:
    if not link.is_symlink():
        link.symlink_to(target.resolve())
