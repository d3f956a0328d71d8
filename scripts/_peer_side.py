"""The peer's half of a comparison, run by the python of the environment that has nnU-Net.

It uses nothing but nnU-Net's own functions: only the length of the training, its seed and, where
asked for, the optimiser are set from outside.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import threading
from pathlib import Path
from typing import Any


def preprocess(arguments: argparse.Namespace) -> None:
    from nnunetv2.experiment_planning.plan_and_preprocess_api import preprocess_dataset

    preprocess_dataset(
        900, arguments.plans, (arguments.configuration,), (1,), show_progress_bar=False
    )


def train(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings.read_text())
    trainer = build_trainer(settings)
    trainer.run_training()
    trainer.perform_actual_validation()
    start, end = (
        list(trainer.logger.get_value(f"epoch_{name}_timestamps", step=None))
        for name in ("start", "end")
    )
    seconds = [float(e - s) for s, e in zip(start, end, strict=True)]
    record = {"validation": f"{trainer.output_folder}/validation", "epoch_seconds": seconds}
    arguments.record.write_text(json.dumps(record))


def build_trainer(settings: dict[str, Any]) -> Any:
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


def predict(arguments: argparse.Namespace) -> None:
    import torch
    from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor

    predictor = nnUNetPredictor(
        perform_everything_on_device=False, device=torch.device("cpu"), allow_tqdm=False
    )
    predictor.initialize_from_trained_model_folder(str(arguments.model), (0,))
    arguments.output.mkdir(parents=True, exist_ok=True)
    predictor.predict_from_files_sequential(str(arguments.images), str(arguments.output))


def end_with_parent() -> None:
    """End this process when whoever started it is gone: its end of our standard input closes."""

    def wait() -> None:
        os.read(0, 1)  # not sys.stdin: its lock would be held in forked children
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    end_with_parent()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    jobs = parser.add_subparsers(required=True)
    job = jobs.add_parser("preprocess")
    job.add_argument("plans")
    job.add_argument("configuration")
    job.set_defaults(run=preprocess)
    job = jobs.add_parser("train")
    job.add_argument("settings", type=Path)
    job.add_argument("record", type=Path)
    job.set_defaults(run=train)
    job = jobs.add_parser("predict")
    job.add_argument("model", type=Path)
    job.add_argument("images", type=Path)
    job.add_argument("output", type=Path)
    job.set_defaults(run=predict)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
