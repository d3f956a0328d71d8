"""The peer's side of preprocessing, training steps and prediction, by nnU-Net's own functions and python."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

from _peer_side import build_trainer
from _sides import serve


def preprocess(raw: str, preprocessed: str, plans: str, configuration: str) -> dict[str, Any]:
    """Read, prepare and store every exam; return means, deviations and label voxels of the arrays."""
    import numpy as np
    from nnunetv2.preprocessing.preprocessors.default_preprocessor import DefaultPreprocessor
    from nnunetv2.training.dataloading.nnunet_dataset import nnUNetDatasetBlosc2
    from nnunetv2.utilities.plans_handling.plans_handler import PlansManager

    manager = PlansManager(plans)
    chosen = manager.get_configuration(configuration)
    folder = Path(preprocessed, chosen.data_identifier)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    dataset = json.loads(Path(raw, "dataset.json").read_text())
    names = sorted(path.name.removesuffix(".nii.gz") for path in Path(raw, "labelsTr").iterdir())
    start = time.process_time()
    for name in names:
        DefaultPreprocessor(verbose=False).run_case_save(
            str(folder / name),
            [str(Path(raw, "imagesTr", f"{name}_0000.nii.gz"))],
            str(Path(raw, "labelsTr", f"{name}.nii.gz")),
            manager,
            chosen,
            dataset,
        )
    seconds = time.process_time() - start
    stored = nnUNetDatasetBlosc2(str(folder), names)
    told = []
    for name in names:
        image, label = (np.asarray(part[:]) for part in stored.load_case(name)[:2])
        told.append([float(image.mean()), float(image.std()), int((label > 0).sum())])
    return {"seconds": seconds, "exams": told}


_TRAINERS: dict[str, Any] = {}


def step(settings: dict[str, Any], steps: int, anew: bool) -> dict[str, Any]:
    """Load batches and train on them, the first not counted; seconds of a step, and the losses."""
    key = json.dumps(settings)
    if anew or key not in _TRAINERS:
        _TRAINERS.clear()
        trainer = build_trainer(settings)
        trainer.on_train_start()
        _TRAINERS[key] = trainer
    trainer = _TRAINERS[key]
    trainer.network.train()
    losses = []
    for number in range(steps + 1):
        if number == 1:
            start = time.process_time()
        losses.append(float(trainer.train_step(next(trainer.dataloader_train))["loss"]))
    return {"seconds": (time.process_time() - start) / steps, "losses": losses}


_PREDICTORS: dict[str, Any] = {}


def predict(model: str, images: str, output: str, mirror: bool) -> None:
    """Write the label map of every image of a folder."""
    import torch
    from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor

    torch.set_num_threads(1)
    if model not in _PREDICTORS:
        predictor = nnUNetPredictor(
            perform_everything_on_device=False,
            device=torch.device("cpu"),
            allow_tqdm=False,
            use_mirroring=mirror,
        )
        predictor.initialize_from_trained_model_folder(model, (0,), "checkpoint_final.pth")
        _PREDICTORS[model] = predictor
    Path(output).mkdir(parents=True, exist_ok=True)
    _PREDICTORS[model].predict_from_files_sequential(images, output, overwrite=True)


if __name__ == "__main__":
    serve({"preprocess": preprocess, "step": step, "predict": predict})
