"""nnU-Net itself, where it is installed: it predicts with our export and we with its network, the same label maps."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from test_recipe_line import command, copied, project, read_as_peer, results_of

__all__ = ["copied", "project"]
NO_PEER = "TWORULERS_PEER names no python that has nnunetv2"

PEER = """
import json, os, sys
from pathlib import Path
model, images, out, fresh = sys.argv[1:]
for name in ("raw", "preprocessed", "results"):
    os.environ["nnUNet_" + name] = str(Path(out).parent / name)
import torch
from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor
from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer
here = torch.device("cpu")
if fresh:
    torch.manual_seed(0)
    # The trainer looks at what prepared files are called.
    prepared = Path(os.environ["nnUNet_preprocessed"]) / "phantom" / "nnUNetPlans_3d_fullres" / "x.b2nd"
    prepared.parent.mkdir(parents=True)
    prepared.touch()
    plans, dataset = (json.loads((Path(model) / f"{n}.json").read_text()) for n in ("plans", "dataset"))
    trainer = nnUNetTrainer({**plans, "continue_training": False}, "3d_fullres", 0, dataset, device=here)
    trainer.initialize()
    model = trainer.output_folder_base
    for name, content in (("plans", plans), ("dataset", dataset)):
        (Path(model) / f"{name}.json").write_text(json.dumps(content))
    trainer.save_checkpoint(trainer.output_folder + "/checkpoint_final.pth")
predictor = nnUNetPredictor(perform_everything_on_device=False, device=here, allow_tqdm=False)
predictor.initialize_from_trained_model_folder(model, (0,))
Path(out).mkdir(parents=True)
predictor.predict_from_files_sequential(images, out)
print(model)
"""
"""Predicts with a model as nnU-Net does: one of ours, or a new network of its own by our plan."""


@pytest.mark.slow
@pytest.mark.skipif("TWORULERS_PEER" not in os.environ, reason=NO_PEER)
@pytest.mark.parametrize("whose", ["ours", "the peer's"])
def test_the_peer_and_we_draw_the_same_label_map_by_either_model(
    copied: Path,
    tmp_path: Path,
    whose: str,
) -> None:
    images, out = tmp_path / "images", tmp_path / "out"
    images.mkdir()
    shutil.copy("four.nii.gz", images / "four_0000.nii.gz")
    command("export", "regime=gold", "export.folder=for_the_peer")
    (model,) = Path("for_the_peer").glob("*/nnUNetTrainer__*__3d_fullres")
    asked = (str(model), str(images), str(out), "" if whose == "ours" else "fresh")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [os.environ["TWORULERS_PEER"], "-c", PEER, *asked],
        env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    model = Path(done.stdout.splitlines()[-1])
    # The peer sums tiles in half precision, which a network that has learnt nothing shows everywhere.
    came = ("regime.name=theirs", f"regime.models=[{model}]", "recipe.accumulate=half")
    command("predict", "regime=gold", *came)
    theirs, ours = read_as_peer(out / "four.nii.gz"), results_of(copied.parents[3], "theirs")
    assert np.unique(theirs).size > 1
    assert (ours != theirs).mean() < 0.001
