"""Trained model folders: nnU-Net's fixture read, ours written in its form, strangers refused."""

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tworulers.recipe.interop import (
    add_aliases,
    export_trained_model,
    load_checkpoint,
    load_pretrained,
    load_trained_model,
    load_weights,
)
from tworulers.recipe.network import build_network
from tworulers.recipe.predict import ExamPredictor, PreparedImage
from tworulers.recipe.preprocess import preprocess_image, restore_probabilities
from tworulers.recipe.window import MirroredWindowInferer
from tworulers.schema.settings import Recipe, Trainer

MODEL = Path(__file__).parents[2] / "golden" / "tiny_model"
WEIGHTS = MODEL / "fold_0" / "checkpoint_final.pth"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MODEL, tmp_path / "model"))


class Stranger:
    """An object of a class that a checkpoint has no business to hold."""


@pytest.mark.parity
def test_checkpoint_of_nnunet_is_read_without_running_its_code() -> None:
    checkpoint = load_checkpoint(WEIGHTS)
    assert checkpoint.configuration == "3d_fullres"
    assert checkpoint.mirror_axes == (0, 1, 2)
    assert (checkpoint.fold, checkpoint.epochs, checkpoint.trainer) == (0, 1, "nnUNetTrainer")
    assert len(checkpoint.weights) == 63
    assert "ema_fg_dice" in checkpoint.log


@pytest.mark.parity
def test_aliases_are_nnunets_in_its_order() -> None:
    recorded = torch.load(WEIGHTS, weights_only=False)["network_weights"]  # our own fixture
    network = load_trained_model(MODEL).networks["0"]
    ours = add_aliases(network)
    assert list(ours) == list(recorded)
    assert all(torch.equal(ours[key], recorded[key]) for key in recorded)


@pytest.mark.parity
def test_exported_model_comes_back_the_same(tmp_path: Path) -> None:
    model = load_trained_model(MODEL)
    folder = export_trained_model(model, tmp_path, epochs=3, logs={"0": {"ema_fg_dice": [0.5]}})
    assert folder.name == "nnUNetTrainer__nnUNetResEncUNetLPlans__3d_fullres"
    assert folder.parent.name == "Dataset901_Tiny"
    assert json.loads((folder / "plans.json").read_text()) == json.loads(
        (MODEL / "plans.json").read_text()
    )
    again = load_trained_model(folder)
    assert (again.configuration, again.mirror_axes) == (model.configuration, model.mirror_axes)
    x = torch.randn(1, 1, 8, 16, 16)
    with torch.no_grad():
        assert torch.equal(again.networks["0"](x), model.networks["0"](x))
    written = torch.load(folder / "fold_0" / "checkpoint_final.pth", weights_only=True)
    theirs = torch.load(WEIGHTS, weights_only=False)
    assert set(written) == set(theirs)
    assert set(written["init_args"]) == set(theirs["init_args"])
    assert list(written["network_weights"]) == list(theirs["network_weights"])


def test_a_network_of_all_exams_is_written_and_read_as_fold_all(tmp_path: Path) -> None:
    model = load_trained_model(MODEL)
    everything = replace(model, networks={"all": model.networks["0"]})
    folder = export_trained_model(everything, tmp_path)
    assert [path.name for path in folder.glob("fold_*")] == ["fold_all"]
    assert load_checkpoint(folder / "fold_all" / "checkpoint_final.pth").fold == "all"
    assert list(load_trained_model(folder, ["all"]).networks) == ["all"]


@pytest.mark.parametrize("stored", [None, (0,), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("asked", [True, False])
def test_a_model_is_mirrored_along_the_axes_of_its_checkpoint_alone(
    copy: Path, stored: tuple[int, ...] | None, asked: bool
) -> None:
    file = copy / "fold_0" / "checkpoint_final.pth"
    content = torch.load(file, weights_only=False)
    torch.save({**content, "inference_allowed_mirroring_axes": stored}, file)
    model = load_trained_model(copy)
    image = np.random.default_rng(0).normal(100, 20, (1, 10, 20, 18)).astype(np.float32)
    array, geometry = preprocess_image(image, (1, 1, 1), model.plans, "3d_fullres")
    patch = model.plans.configuration("3d_fullres").patch_size
    axes = (stored or ()) if asked else ()
    mirrored = MirroredWindowInferer(patch, mirror_axes=axes)
    (expected,) = mirrored.predict_images([array], model.networks["0"])
    (plain,) = MirroredWindowInferer(patch).predict_images([array], model.networks["0"])
    predictor = ExamPredictor(
        model.plans, model.facts, {"3d_fullres": model.members}, Recipe(mirror=asked), Trainer()
    )
    fused = next(predictor.predict_exams([PreparedImage("a", {"3d_fullres": (array, geometry)})]))
    np.testing.assert_allclose(
        fused.probabilities, restore_probabilities(expected.numpy(), geometry), atol=1e-5
    )
    moved = abs(fused.probabilities - restore_probabilities(plain.numpy(), geometry)).max()
    assert bool(moved > 1e-3) is bool(axes)


def test_the_peers_weights_fill_a_network_of_other_labels_but_for_its_heads() -> None:
    checkpoint = load_checkpoint(WEIGHTS)
    architecture = checkpoint.plans.configuration("3d_fullres").architecture
    channels, classes = len(checkpoint.facts.channel_names), checkpoint.facts.n_classes
    network = build_network(architecture, channels, classes + 3)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    load_pretrained(network, WEIGHTS)
    for name, tensor in network.state_dict().items():
        expected = before[name] if ".seg_layers." in name else checkpoint.weights[name]
        assert torch.equal(tensor, expected), name
    with pytest.raises(ValueError, match="weights of another network"):
        load_pretrained(build_network(architecture, channels + 1, classes), WEIGHTS)


def test_prefixes_of_compiled_and_distributed_networks_are_dropped(copy: Path) -> None:
    file = copy / "fold_0" / "checkpoint_final.pth"
    content = torch.load(file, weights_only=False)
    weights = content["network_weights"]
    content["network_weights"] = {f"module._orig_mod.{k}": v for k, v in weights.items()}
    torch.save(content, file)
    assert set(load_checkpoint(file).weights) == set(load_checkpoint(WEIGHTS).weights)


def test_foreign_code_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint_final.pth"
    torch.save({"network_weights": {}, "extra": Stranger()}, file)
    with pytest.raises(ValueError, match=r"not allowed to run: .*Stranger"):
        load_checkpoint(file)


def test_bare_pickle_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint_final.pth"
    file.write_bytes(pickle.dumps({"network_weights": Stranger()}))
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        load_checkpoint(file)


@pytest.mark.parametrize("content", [{"network_weights": {}}, [1, 2]])
def test_other_files_are_no_checkpoint(tmp_path: Path, content: Any) -> None:
    file = tmp_path / "checkpoint_final.pth"
    torch.save(content, file)
    with pytest.raises(ValueError, match=r"lacks .*init_args"):
        load_checkpoint(file)


def test_weights_of_another_architecture_are_refused(copy: Path) -> None:
    plans = json.loads((copy / "plans.json").read_text())
    kwargs = plans["configurations"]["3d_fullres"]["architecture"]["arch_kwargs"]
    kwargs["features_per_stage"] = [4, 6, 8]
    (copy / "plans.json").write_text(json.dumps(plans))
    with pytest.raises(ValueError, match=r"another network: .*shape \(6, 6, 3, 3, 3\), expected"):
        load_trained_model(copy)


def test_missing_parts_of_a_folder_are_named(copy: Path) -> None:
    (copy / "dataset.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"dataset\.json, fold_3/checkpoint_final\.pth"):
        load_trained_model(copy, folds=["0", "3"])
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        load_checkpoint(copy / "nothing.pth")


def test_folded_network_cannot_be_exported() -> None:
    plan = load_trained_model(MODEL).plans.configurations["3d_fullres"]
    architecture = replace(plan.architecture, space_to_depth=(1, 2, 2))
    with pytest.raises(ValueError, match="space_to_depth"):
        add_aliases(build_network(architecture, 1, 3))


def test_all_weights_that_do_not_fit_are_listed() -> None:
    network = nn.Linear(2, 3)
    weights = {"weight": torch.zeros(3, 4), "extra": torch.zeros(1)}
    with pytest.raises(ValueError, match=r"bias is missing; extra is not part .*; weight has"):
        load_weights(network, weights, "file")


def test_the_network_of_all_exams_predicts_where_it_is_named_or_alone(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(MODEL, model)
    shutil.copytree(model / "fold_0", model / "fold_all")
    assert list(load_trained_model(model).networks) == ["0"]
    assert list(load_trained_model(model, ["all"]).networks) == ["all"]
    shutil.rmtree(model / "fold_0")
    assert list(load_trained_model(model).networks) == ["all"]
