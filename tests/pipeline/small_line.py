"""A pipeline of a dozen small exams whose stages run in this process, as their commands do."""

import runpy
import sys
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pandas as pd
import torch

from tworulers.recipe.train import train_fold

ROOT = Path(__file__).parents[2]
HERE = ("tracking=off", "processes=1")
COHORT = (
    "dataset.phantom.patients=14",
    "dataset.phantom.exams=16",
    "dataset.phantom.gold_patients=8",
    "dataset.phantom.shape=[16,32,32]",
    "dataset.phantom.spacing=[4.0,4.6,2.8]",
)
NETWORK = (
    "grid.configurations=[3d_fullres]",
    "grid.folds=[0]",
    "recipe.augmentation=full",
    "recipe.mirror=true",
    "recipe.plan.stages=2",
    "recipe.epochs=1",
    "recipe.iterations=2",
    "recipe.validation_iterations=1",
    # A network that has learnt nothing yet: its label maps are noise, which every change of a setting shows in.
    "recipe.cautious_start=false",
    "recipe.cleanup=none",
    "recipe.select=false",
    "trainer.predict_batch=1",
)
BASE = Path("artifacts/phantom")


def train_here(tasks: Any, *_: Any) -> None:
    for task in tasks:
        train_fold(task)


def command(stage: str, *overrides: str) -> int:
    """Run a stage as its command does, in this process; return its exit status."""
    before = sys.argv
    sys.argv = [stage, *overrides, *HERE]
    try:
        runpy.run_module(f"tworulers.stages.{stage}", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.argv = before
    return 0


def read_tree(folder: Path) -> dict[str, Any]:
    """Read what a result says, without what two equal results may differ in."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name.endswith(".nii.gz"):
            image = nibabel.load(path)
            found[name] = (np.asarray(image.dataobj).tobytes(), image.affine.tobytes())
        elif path.suffix == ".parquet":
            frame = pd.read_parquet(path)
            found[name] = frame.drop(columns="seconds", errors="ignore").to_json()
        elif path.suffix == ".npz":
            found[name] = {key: value.tobytes() for key, value in np.load(path).items()}
        elif path.name == "final.pt":
            weights = torch.load(path, weights_only=True)["network_weights"]
            found[name] = {key: value.numpy().tobytes() for key, value in weights.items()}
        elif path.suffix == ".npy":
            found[name] = path.read_bytes()
    assert found
    return found
