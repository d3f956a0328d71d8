"""Our half of a comparison, one job a process: prepare the exams, export a fold, or predict.

Training itself is `python -m tworulers.recipe.train <task.json>`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from _arena import CONFIGURATION, find_exams, load_recipe, load_trainer, read_exam
from _timing import end_with_parent

from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.plan_json import facts_from_json, plans_from_json


def preprocess(work: str, data: str, limit: str) -> None:
    """Prepare the first exams of a Decathlon folder with the plan of the work folder."""
    from tworulers.recipe.preprocess import preprocess_image, preprocess_label
    from tworulers.recipe.store import store_image, store_label

    plans, facts = _read_plan(Path(work))
    for exam in find_exams(Path(data), int(limit))[0]:
        image, spacing, label = read_exam(exam)
        array, geometry = preprocess_image(image, spacing, plans, CONFIGURATION)
        store_image(Path(work, "ours", "images"), exam.exam_id, array, geometry, "float32")
        prepared = preprocess_label(label, geometry, facts.foreground)
        store_label(Path(work, "ours", "labels"), exam.exam_id, prepared, label)


def export(work: str, fold: str) -> None:
    """Write a trained fold as a model folder of the peer."""
    from tworulers.recipe.interop import TrainedModel, export_trained_model
    from tworulers.recipe.predict import load_member

    plans, facts = _read_plan(Path(work))
    trained = load_member(Path(fold, "final.pt"), plans.configuration(CONFIGURATION), facts)
    model = TrainedModel(plans, facts, CONFIGURATION, trained.mirror_axes, {"0": trained.network})
    export_trained_model(model, Path(work, "exported"))


def predict(model_folder: str, images: str, output: str) -> None:
    """Write the label map of every image of a folder."""
    from tworulers.io.images import read_header, write_label
    from tworulers.recipe.axes import reverse_axes
    from tworulers.recipe.interop import load_trained_model
    from tworulers.recipe.predict import ExamPredictor, PreparedImage
    from tworulers.recipe.preprocess import preprocess_image
    from tworulers.training.volumes import read_channels

    model = load_trained_model(Path(model_folder))
    networks = {model.configuration: model.members}
    predictor = ExamPredictor(
        model.plans, model.facts, networks, load_recipe("resenc_l"), load_trainer()
    )
    paths = sorted(Path(images).glob("*_0000.nii.gz"))
    volumes = {path.name.removesuffix("_0000.nii.gz"): path for path in paths}

    def prepare(exam_id: str) -> PreparedImage:
        image, spacing = read_channels(volumes[exam_id], 1)
        prepared = preprocess_image(image, spacing, model.plans, model.configuration)
        return PreparedImage(exam_id, {model.configuration: prepared})

    predictions = predictor.predict_exams(map(prepare, volumes))
    for (exam_id, path), fused in zip(volumes.items(), predictions, strict=True):
        affine = read_header(path).affine
        write_label(Path(output, f"{exam_id}.nii.gz"), reverse_axes(fused.label_map), affine)


def _read_plan(work: Path) -> tuple[Plans, DatasetFacts]:
    plans = plans_from_json(json.loads((work / "plans.json").read_text()))
    return plans, facts_from_json(json.loads((work / "dataset.json").read_text()))


if __name__ == "__main__":
    end_with_parent()
    {"preprocess": preprocess, "export": export, "predict": predict}[sys.argv[1]](*sys.argv[2:])
