"""The peer's half of a comparison, run by the python of the environment that has nnU-Net.

It uses nothing but nnU-Net's own functions: only the length of the training, its seed and, where
asked for, the optimiser are set from outside.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from _timing import end_with_parent


def preprocess(plans: str, configuration: str) -> None:
    """Prepare the raw data set with the plan laid out for it."""
    from nnunetv2.experiment_planning.plan_and_preprocess_api import preprocess_dataset

    preprocess_dataset(900, plans, (configuration,), (1,), show_progress_bar=False)


def train(settings_file: str, record_file: str) -> None:
    """Train and validate one fold, and record where the validation is and the seconds of each epoch."""
    settings = json.loads(Path(settings_file).read_text())
    trainer = build_trainer(settings)
    trainer.run_training()
    trainer.perform_actual_validation()
    start, end = (
        list(trainer.logger.get_value(f"epoch_{name}_timestamps", step=None))
        for name in ("start", "end")
    )
    seconds = [float(e - s) for s, e in zip(start, end, strict=True)]
    record = {"validation": f"{trainer.output_folder}/validation", "epoch_seconds": seconds}
    Path(record_file).write_text(json.dumps(record))


def build_trainer(settings: dict[str, Any]) -> Any:
    """Make the peer's trainer with the settings of the race and nothing else changed."""
    import numpy as np
    import torch
    from nnunetv2.training.lr_scheduler.polylr import PolyLRScheduler
    from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer

    class AdamWTrainer(nnUNetTrainer):
        def configure_optimizers(self) -> tuple[torch.optim.Optimizer, Any]:
            optimizer = torch.optim.AdamW(
                self.network.parameters(), self.initial_lr, weight_decay=self.weight_decay
            )
            return optimizer, PolyLRScheduler(optimizer, self.initial_lr, self.num_epochs)

    random.seed(settings["seed"])
    np.random.seed(settings["seed"])  # noqa: NPY002 - the generator that nnU-Net draws from
    torch.manual_seed(settings["seed"])
    kind = {"sgd": nnUNetTrainer, "adamw": AdamWTrainer}[settings["optimizer"]]
    plans = json.loads(Path(settings["plans"]).read_text())
    trainer = kind(
        plans={**plans, "continue_training": False},
        configuration=settings["configuration"],
        fold=settings["fold"],
        dataset_json=json.loads(Path(settings["dataset"]).read_text()),
        device=torch.device("cpu"),
    )
    trainer.num_epochs = settings["epochs"]
    trainer.num_iterations_per_epoch = settings["iterations"]
    trainer.num_val_iterations_per_epoch = settings["validation_iterations"]
    trainer.initial_lr = settings["learning_rate"]
    trainer.weight_decay = settings["weight_decay"]
    # A figure after every epoch is small beside 250 iterations, not beside the few of a comparison.
    trainer.logger.plot_progress_png = lambda _: None
    return trainer


def predict(model: str, images: str, output: str) -> None:
    """Write the label map of every image of a folder."""
    import torch
    from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor

    predictor = nnUNetPredictor(
        perform_everything_on_device=False, device=torch.device("cpu"), allow_tqdm=False
    )
    predictor.initialize_from_trained_model_folder(model, (0,))
    Path(output).mkdir(parents=True, exist_ok=True)
    predictor.predict_from_files_sequential(images, output)


if __name__ == "__main__":
    end_with_parent()
    {"preprocess": preprocess, "train": train, "predict": predict}[sys.argv[1]](*sys.argv[2:])
