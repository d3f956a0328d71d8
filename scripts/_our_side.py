"""Our half of a comparison, one job a process: prepare the exams, export a fold, or predict.

Training itself is `python -m tworulers.recipe.train <task.json>`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from _both_sides import CONFIGURATION, end_with_parent, find_exams, load_recipe, load_trainer

from tworulers.recipe.plan_json import facts_from_json, plans_from_json


def preprocess(arguments: argparse.Namespace) -> None:
    from _both_sides import read_exam

    from tworulers.recipe.preprocess import preprocess_image, preprocess_label
    from tworulers.recipe.store import store_image, store_label

    plans = plans_from_json(json.loads((arguments.work / "plans.json").read_text()))
    facts = facts_from_json(json.loads((arguments.work / "dataset.json").read_text()))
    exams, _ = find_exams(arguments.data, arguments.exams)
    for exam in exams:
        image, spacing, label = read_exam(exam)
        array, geometry = preprocess_image(image, spacing, plans, CONFIGURATION)
        store_image(arguments.work / "ours" / "images", exam.exam_id, array, geometry, "float32")
        prepared = preprocess_label(label, geometry, facts.foreground)
        store_label(arguments.work / "ours" / "labels", exam.exam_id, prepared, label)


def export(arguments: argparse.Namespace) -> None:
    from tworulers.recipe.interop import TrainedModel, export_trained_model
    from tworulers.recipe.predict import load_member

    plans = plans_from_json(json.loads((arguments.work / "plans.json").read_text()))
    facts = facts_from_json(json.loads((arguments.work / "dataset.json").read_text()))
    plan = plans.configuration(CONFIGURATION)
    fold = load_member(arguments.fold / "final.pt", plan, facts)
    model = TrainedModel(plans, facts, CONFIGURATION, fold.mirror_axes, {"0": fold.network})
    export_trained_model(model, arguments.work / "exported")


def predict(arguments: argparse.Namespace) -> None:
    from tworulers.io.images import read_header, write_label
    from tworulers.recipe.axes import reverse_axes
    from tworulers.recipe.interop import load_trained_model
    from tworulers.recipe.predict import ExamPredictor, PreparedImage
    from tworulers.recipe.preprocess import preprocess_image
    from tworulers.stages._exams import read_channels

    model = load_trained_model(arguments.model)
    networks = {model.configuration: model.members}
    predictor = ExamPredictor(
        model.plans, model.facts, networks, load_recipe("resenc_l"), load_trainer()
    )
    paths = sorted(arguments.images.glob("*_0000.nii.gz"))
    volumes = {path.name.removesuffix("_0000.nii.gz"): path for path in paths}

    def prepare(exam_id: str) -> PreparedImage:
        image, spacing = read_channels(volumes[exam_id], 1)
        prepared = preprocess_image(image, spacing, model.plans, model.configuration)
        return PreparedImage(exam_id, {model.configuration: prepared})

    predictions = predictor.predict_exams(map(prepare, volumes))
    for (exam_id, path), fused in zip(volumes.items(), predictions, strict=True):
        affine = read_header(path).affine
        write_label(arguments.output / f"{exam_id}.nii.gz", reverse_axes(fused.label_map), affine)


def main() -> None:
    end_with_parent()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    jobs = parser.add_subparsers(required=True)
    job = jobs.add_parser("preprocess")
    job.add_argument("work", type=Path)
    job.add_argument("data", type=Path)
    job.add_argument("--exams", type=int)
    job.set_defaults(run=preprocess)
    job = jobs.add_parser("export")
    job.add_argument("work", type=Path)
    job.add_argument("fold", type=Path)
    job.set_defaults(run=export)
    job = jobs.add_parser("predict")
    job.add_argument("model", type=Path)
    job.add_argument("images", type=Path)
    job.add_argument("output", type=Path)
    job.set_defaults(run=predict)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
