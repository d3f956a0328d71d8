"""Our side of preprocessing, training steps and prediction, in a process that stays."""

from __future__ import annotations

import json
import logging
import shutil
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from _arena import Exam, load_comparable, load_recipe, load_trainer, read_exam
from _sides import serve

from tworulers.io.images import read_header, write_label
from tworulers.recipe.axes import reverse_axes
from tworulers.recipe.data import FoldData
from tworulers.recipe.interop import TrainedModel, export_trained_model, load_trained_model
from tworulers.recipe.module import SegmentationModule
from tworulers.recipe.plan_json import facts_from_json, plans_from_json
from tworulers.recipe.predict import ExamPredictor, PreparedImage
from tworulers.recipe.preprocess import preprocess_image, preprocess_label
from tworulers.recipe.store import StoredExam, store_image, store_label
from tworulers.training.volumes import read_channels


def preprocess(raw: str, work: str, plans: str, configuration: str, dataset: str) -> dict[str, Any]:
    """Read, prepare and store every exam; return means, deviations and label voxels of the arrays."""
    plan, facts = _read(plans, dataset)
    images, labels = Path(work, configuration, "images"), Path(work, configuration, "labels")
    shutil.rmtree(Path(work, configuration), ignore_errors=True)
    exams = [
        Exam(name, Path(raw, "imagesTr", f"{name}_0000.nii.gz"), path)
        for path in sorted(Path(raw, "labelsTr").iterdir())
        for name in [path.name.removesuffix(".nii.gz")]
    ]
    start = time.process_time()
    for exam in exams:
        image, spacing, label = read_exam(exam)
        array, geometry = preprocess_image(image, spacing, plan, configuration)
        store_image(images, exam.exam_id, array, geometry, "float32")
        prepared = preprocess_label(label, geometry, facts.foreground)
        store_label(labels, exam.exam_id, prepared, label)
    seconds = time.process_time() - start
    told = []
    for exam in exams:
        stored = StoredExam(exam.exam_id, images, labels)
        image = np.asarray(stored.image, np.float32)
        told.append([float(image.mean()), float(image.std()), int((stored.label > 0).sum())])
    return {"seconds": seconds, "exams": told}


class _Clock(pl.Callback):
    """Processor seconds from the end of the first step to that of the last."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.losses: list[float] = []

    def on_train_batch_end(self, *given: Any) -> None:
        self.at.append(time.process_time())
        self.losses.append(float(given[2]["loss"]))


def step(
    work: str, plans: str, configuration: str, dataset: str, trainer: str, steps: int
) -> dict[str, Any]:
    """Load batches and train on them, the first not counted; seconds of a step, and the losses."""
    plan, facts = _read(plans, dataset)
    chosen, settings = plan.configuration(configuration), load_trainer(trainer)
    recipe = load_comparable("resenc_l", epochs=1, iterations=steps + 1, validation_iterations=1)
    torch.manual_seed(0)
    module = SegmentationModule(
        chosen, recipe, settings, n_channels=len(facts.channel_names), n_classes=facts.n_classes
    )
    folder = Path(work, configuration)
    names = sorted(path.stem for path in (folder / "images").glob("*.npy"))
    data = FoldData(
        folder / "images", folder / "labels", names[1:], names[:1], chosen, recipe, settings, 0
    )
    clock = _Clock()
    fit = pl.Trainer(
        accelerator="cpu",
        precision=settings.precision,
        max_epochs=1,
        limit_val_batches=0,
        gradient_clip_val=recipe.gradient_clip or None,
        callbacks=[clock],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    fit.fit(module, data)
    return {"seconds": (clock.at[-1] - clock.at[0]) / steps, "losses": clock.losses}


def export(plans: str, configuration: str, dataset: str, results: str) -> dict[str, Any]:
    """Write a network with the weights that it starts from as a model folder of the peer."""
    plan, facts = _read(plans, dataset)
    torch.manual_seed(0)
    module = SegmentationModule(
        plan.configuration(configuration),
        load_comparable("resenc_l"),
        load_trainer(),
        n_channels=len(facts.channel_names),
        n_classes=facts.n_classes,
    )
    axes = module.member.mirror_axes
    model = TrainedModel(plan, facts, configuration, axes, {"0": module.network})
    return {"model": str(export_trained_model(model, Path(results)))}


_PREDICTORS: dict[tuple[str, str], Any] = {}


def predict(model: str, images: str, output: str, mirror: bool, trainer: str) -> None:
    """Write the label map of every image of a folder."""
    if (model, trainer) not in _PREDICTORS:
        _PREDICTORS.clear()
        loaded = load_trained_model(Path(model))
        recipe = replace(load_recipe("resenc_l"), mirror=mirror)
        networks = {loaded.configuration: loaded.members}
        predictor = ExamPredictor(
            loaded.plans, loaded.facts, networks, recipe, load_trainer(trainer)
        )
        _PREDICTORS[model, trainer] = loaded, predictor
    loaded, predictor = _PREDICTORS[model, trainer]

    def prepare(path: Path) -> PreparedImage:
        image, spacing = read_channels(path, 1)
        prepared = preprocess_image(image, spacing, loaded.plans, loaded.configuration)
        return PreparedImage(path.name, {loaded.configuration: prepared})

    paths = sorted(Path(images).glob("*_0000.nii.gz"))
    predicted = predictor.predict_exams(map(prepare, paths))
    for path, fused in zip(paths, predicted, strict=True):
        name = path.name.removesuffix("_0000.nii.gz")
        label_map = reverse_axes(fused.label_map)
        write_label(Path(output, f"{name}.nii.gz"), label_map, read_header(path).affine)


def _read(plans: str, dataset: str) -> tuple[Any, Any]:
    facts = facts_from_json(json.loads(Path(dataset).read_text()))
    return plans_from_json(json.loads(Path(plans).read_text())), facts


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    serve(
        {"preprocess": preprocess, "step": step, "export": export, "predict": predict},
    )
