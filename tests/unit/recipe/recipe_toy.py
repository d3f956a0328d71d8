"""A toy data set that trains in seconds: bright balls in noise, prepared on disk for one fold."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from tworulers.recipe.fingerprint import Fingerprint
from tworulers.recipe.override import override_plans
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.plan_json import facts_to_json, plans_to_json
from tworulers.recipe.planner import plan_dataset
from tworulers.recipe.preprocess import preprocess_image, preprocess_label
from tworulers.recipe.store import store_image, store_label
from tworulers.recipe.task import FoldTask
from tworulers.schema.settings import PlanOverrides, Recipe, Trainer

SHAPE = (8, 16, 16)
SPACING = (2.0, 1.0, 1.0)
FACTS = DatasetFacts("toy", ("MRI",), {"background": 0, "ball": 1, "core": 2}, 8)
EXAMS = tuple(f"toy_{i:02d}" for i in range(8))
RECIPE = Recipe(
    name="toy",
    plan=PlanOverrides(
        batch_size={"2d": 6, "3d_fullres": 2}, base_features=4, blocks_per_stage=1, stages=3
    ),
    epochs=4,
    iterations=5,
    validation_iterations=2,
    optimizer="adamw",
    learning_rate=0.01,
    warmup_iterations=3,
    augmentation="full",
    cautious_start=True,
)
TRAINER = Trainer(name="cpu", checkpoint_every=1)


def draw_exam(index: int, shape: tuple[int, ...] = SHAPE) -> tuple[np.ndarray, np.ndarray]:
    """An image (1, z, y, x) and its label: a ball of radius 5 with a core of radius 2.5."""
    rng = np.random.default_rng(index)
    centre = np.array(shape) / 2 + rng.uniform(-1, 1, 3)
    grid = np.indices(shape).T.T - centre.reshape(3, 1, 1, 1)
    radius = np.sqrt(((grid * np.reshape(SPACING, (3, 1, 1, 1))) ** 2).sum(0))
    label = (radius < 5).astype(np.uint8) + (radius < 2.5)
    return (100 + 80.0 * label + rng.normal(0, 10, shape))[None], label


def make_plans(recipe: Recipe = RECIPE) -> Plans:
    """The toy's plans as the planner and the recipe's overrides make them."""
    fingerprint = Fingerprint((SPACING,) * 8, (SHAPE,) * 8, {"0": {}}, 1.0)
    return override_plans(plan_dataset(fingerprint, FACTS), recipe.plan)


def make_task(
    folder: Path, configuration: str = "3d_fullres", recipe: Recipe = RECIPE, run: str = "run"
) -> FoldTask:
    """Prepare the toy below `folder` (once) and describe a fold of it that keeps to `run`."""
    plans = make_plans(recipe)
    (folder / "plans.json").write_text(json.dumps(plans_to_json(plans)))
    (folder / "dataset.json").write_text(json.dumps(facts_to_json(FACTS)))
    images, labels = folder / configuration / "images", folder / configuration / "labels"
    if not images.is_dir():
        for index, exam_id in enumerate(EXAMS):
            image, label = draw_exam(index)
            array, geometry = preprocess_image(image, SPACING, plans, configuration)
            store_image(images, exam_id, array, geometry, "float32")
            prepared = preprocess_label(label, geometry, FACTS.foreground)
            store_label(labels, exam_id, prepared, label)
    return FoldTask(
        name=f"toy {configuration} fold 0",
        plans=str(folder / "plans.json"),
        dataset=str(folder / "dataset.json"),
        configuration=configuration,
        recipe=recipe,
        trainer=replace(TRAINER),
        train=EXAMS[:5],
        val=EXAMS[5:],
        images=str(images),
        labels=str(labels),
        scratch=str(folder / run / "scratch"),
        output=str(folder / run / "fold_0"),
        seed=3,
    )
