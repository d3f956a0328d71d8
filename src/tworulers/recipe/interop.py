"""How trained models come from nnU-Net and go back: its folders read and written, safely.

Weights are read without running code from the file: beside tensors and plain containers only the
numpy numbers that the training log holds are allowed, anything else is refused by name.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tworulers.recipe.network import build_network
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.plan_json import (
    facts_from_json,
    facts_to_json,
    plans_from_json,
    plans_to_json,
)
from tworulers.recipe.resenc import ConvNorm
from tworulers.recipe.task import list_checkpoints
from tworulers.schema.file_names import check_name
from tworulers.schema.result_files import DATASET, PLANS

CHECKPOINT = "checkpoint_final.pth"
TRAINER = "nnUNetTrainer"
_scalar: Any = np._core.multiarray.scalar
ALLOWED: dict[str, Any] = {
    "numpy._core.multiarray.scalar": _scalar,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.dtype": np.dtype,
    "numpy.dtypes.Float64DType": np.dtypes.Float64DType,
    "numpy.dtypes.Float32DType": np.dtypes.Float32DType,
    "numpy.dtypes.Int64DType": np.dtypes.Int64DType,
}
HEADS = ".seg_layers."
REQUIRED = ("network_weights", "init_args", "trainer_name", "inference_allowed_mirroring_axes")


@dataclass(frozen=True)
class Checkpoint:
    """Weights of one fold and the facts stored beside them.

    `weights` has every tensor once, under its own name. `mirror_axes` is empty where the model
    must not be mirrored. `log` has one list an epoch-wise quantity.
    """

    weights: Mapping[str, Tensor]
    plans: Plans
    facts: DatasetFacts
    configuration: str
    fold: int | str
    mirror_axes: tuple[int, ...]
    trainer: str
    epochs: int
    log: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Member:
    """A trained network (a fold), and the axes of its patch that it learnt to be mirrored along."""

    network: nn.Module
    mirror_axes: tuple[int, ...]


@dataclass(frozen=True)
class TrainedModel:
    """A trained configuration: its plan and the networks of its folds, ready to predict."""

    plans: Plans
    facts: DatasetFacts
    configuration: str
    mirror_axes: tuple[int, ...]
    networks: Mapping[str, nn.Module]

    @property
    def members(self) -> list[Member]:
        """The folds as `ExamPredictor` takes them."""
        return [Member(network, self.mirror_axes) for network in self.networks.values()]


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint of nnU-Net, or one that `export_trained_model` wrote.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        A file that names code beyond the allowed (which), that is no checkpoint, or that lacks
        keys.
    """
    data = read_safely(path)
    missing = [key for key in REQUIRED if not isinstance(data, dict) or key not in data]
    if missing:
        raise ValueError(f"{path} is no nnU-Net checkpoint: it lacks {', '.join(missing)}.")
    arguments = data["init_args"]
    axes = data["inference_allowed_mirroring_axes"]
    plans = plans_from_json(arguments["plans"])
    return Checkpoint(
        weights=drop_aliases(data["network_weights"]),
        plans=plans,
        facts=facts_from_json(arguments["dataset_json"], plans.dataset_name),
        configuration=str(arguments["configuration"]),
        fold=arguments["fold"],
        mirror_axes=() if axes is None else tuple(int(a) for a in axes),
        trainer=str(data["trainer_name"]),
        epochs=int(data.get("current_epoch", 0)),
        log=data.get("logging", {}),
    )


def drop_aliases(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Keep every tensor once, without the prefixes of compiled and distributed networks.

    nnU-Net registers each convolution and norm twice, and the encoder again below the decoder.
    """
    kept = {}
    for key, tensor in state.items():
        name = key.replace("_orig_mod.", "").removeprefix("module.")
        if "all_modules" not in name and not name.startswith("decoder.encoder."):
            kept[name] = tensor
    return kept


def add_aliases(network: nn.Module) -> OrderedDict[str, Tensor]:
    """The state of a network under all names and in the order that nnU-Net expects.

    Raises
    ------
    ValueError
        A folded network, which nnU-Net has no class for.
    """
    state = network.state_dict()
    if any(key.startswith("network.") for key in state):
        raise ValueError(
            "A network with space_to_depth cannot be exported: nnU-Net has no class to load it. "
            "Train with space_to_depth 1."
        )
    units = {name for name, module in network.named_modules() if isinstance(module, ConvNorm)}
    aliased = _alias_units(state, units)
    encoder = {key: value for key, value in aliased.items() if key.startswith("encoder.")}
    decoder = {key: value for key, value in aliased.items() if key.startswith("decoder.")}
    # There the decoder is made with the encoder inside, before its own parts.
    return OrderedDict(
        {**encoder, **{f"decoder.{key}": value for key, value in encoder.items()}, **decoder}
    )


def load_weights(network: nn.Module, weights: Mapping[str, Tensor], source: str) -> None:
    """Put weights into a network built from the same plan.

    Raises
    ------
    ValueError
        Names or shapes that do not fit, all in one list: the checkpoint is of another network.
    """
    own = network.state_dict()
    faults = [f"{key} is missing" for key in own if key not in weights]
    faults += [f"{key} is not part of the network" for key in weights if key not in own]
    faults += [
        f"{key} has shape {tuple(weights[key].shape)}, expected {tuple(own[key].shape)}"
        for key in own
        if key in weights and weights[key].shape != own[key].shape
    ]
    if faults:
        shown = "; ".join(faults[:5]) + (f"; and {len(faults) - 5} more" if faults[5:] else "")
        raise ValueError(f"{source} holds the weights of another network: {shown}.")
    network.load_state_dict(dict(weights))


def load_trained_model(
    folder: Path, folds: Sequence[str] | None = None, checkpoint: str = CHECKPOINT
) -> TrainedModel:
    """Load a trained model folder: plans.json, dataset.json, fold_*/checkpoint_final.pth.

    Parameters
    ----------
    folder
        `<Trainer>__<plans>__<configuration>` in nnU-Net's results.
    folds
        Names after `fold_`; None takes all numbered ones that have the checkpoint, or `all` alone.
    checkpoint
        File name of the weights.

    Raises
    ------
    FileNotFoundError
        The plans, the data set's facts or any fold are missing.
    ValueError
        Files that cannot be used, or folds that were trained with different plans.
    """
    lacking = [n for n in (PLANS, DATASET) if not (folder / n).is_file()]
    found = [file.parent.name for file in list_checkpoints(folder, checkpoint, folds or ())]
    wanted = found if folds is None else [f"fold_{fold}" for fold in folds]
    lacking += [f"{name}/{checkpoint}" for name in wanted if name not in found]
    if lacking or not wanted:
        raise FileNotFoundError(
            f"{folder} is no trained model: it lacks {', '.join(lacking or ['any fold'])}."
        )
    plans = plans_from_json(json.loads((folder / PLANS).read_text()))
    facts = facts_from_json(json.loads((folder / DATASET).read_text()), plans.dataset_name)
    networks, described = {}, set()
    for name in wanted:
        file = folder / name / checkpoint
        loaded = load_checkpoint(file)
        described.add((loaded.configuration, loaded.mirror_axes))
        architecture = plans.configuration(loaded.configuration).architecture
        network = build_network(architecture, len(facts.channel_names), facts.n_classes)
        load_weights(network, loaded.weights, str(file))
        networks[name.removeprefix("fold_")] = network.eval()
    if len(described) > 1:
        raise ValueError(
            f"The folds of {folder} differ in configuration or mirrored axes: {sorted(described)}."
        )
    configuration, axes = described.pop()
    return TrainedModel(plans, facts, configuration, axes, networks)


def export_trained_model(
    model: TrainedModel,
    results: Path,
    *,
    epochs: int = 0,
    logs: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
) -> Path:
    """Write a model the way nnU-Net reads it, with every tensor under all its names.

    Parameters
    ----------
    model
        The plan and the networks by fold.
    results
        Where nnU-Net's results lie; `<dataset>/<trainer>__<plans>__<configuration>` is made below.
    epochs
        Finished epochs.
    logs
        Per fold, lists by epoch under nnU-Net's names.

    Returns
    -------
    The model's folder.
    """
    plans, facts = plans_to_json(model.plans), facts_to_json(model.facts)
    name = f"{TRAINER}__{model.plans.plans_name}__{model.configuration}"
    dataset = check_name(model.plans.dataset_name, "dataset_name of the plan")
    folder = results / dataset / check_name(name, "model")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PLANS).write_text(json.dumps(plans, indent=2))
    (folder / DATASET).write_text(json.dumps(facts, indent=2))
    for fold, network in model.networks.items():
        target = folder / f"fold_{fold}"
        target.mkdir(exist_ok=True)
        log = {key: list(values) for key, values in ((logs or {}).get(fold) or {}).items()}
        content = {
            "network_weights": OrderedDict(
                (key, tensor.cpu()) for key, tensor in add_aliases(network).items()
            ),
            "optimizer_state": None,
            "grad_scaler_state": None,
            "logging": log,
            "_best_ema": max(log.get("ema_fg_dice", []), default=None),
            "current_epoch": epochs,
            "init_args": {
                "plans": plans,
                "configuration": model.configuration,
                "fold": int(fold) if fold.isdigit() else fold,
                "dataset_json": facts,
                "device": torch.device("cpu"),
            },
            "trainer_name": TRAINER,
            "inference_allowed_mirroring_axes": model.mirror_axes or None,
        }
        torch.save(content, target / CHECKPOINT)
    return folder


def _alias_units(state: Mapping[str, Tensor], units: set[str]) -> dict[str, Tensor]:
    """Repeat the tensors of each convolution with its norm below `all_modules`, right after it."""
    aliased: dict[str, Tensor] = {}
    pending: dict[str, Tensor] = {}
    current = ""
    for key, tensor in state.items():
        unit, part, leaf = key.rsplit(".", 2)
        if unit != current:
            aliased.update(pending)
            pending, current = {}, unit
        aliased[key] = tensor
        if unit in units:
            pending[f"{unit}.all_modules.{0 if part == 'conv' else 1}.{leaf}"] = tensor
    aliased.update(pending)
    return aliased


def load_pretrained(network: nn.Module, path: Path) -> None:
    """Put the weights of a trained network into another, all but the heads, which stay as they are.

    Parameters
    ----------
    network
        What is filled.
    path
        A fold's weights of ours, or a checkpoint of nnU-Net.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        A file that holds no weights, or those of another network.
    """
    stored = read_safely(path)
    if not isinstance(stored, dict) or "network_weights" not in stored:
        raise ValueError(f"{path} holds no weights to start from: it lacks network_weights.")
    given = drop_aliases(stored["network_weights"])
    body = {key: tensor for key, tensor in given.items() if HEADS not in key}
    heads = {key: tensor for key, tensor in network.state_dict().items() if HEADS in key}
    load_weights(network, {**body, **heads}, str(path))


def read_safely(path: Path) -> Any:
    """Read a file of weights without running code from it."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no checkpoint {path}.")
    try:
        refused = set(torch.serialization.get_unsafe_globals_in_checkpoint(path)) - set(ALLOWED)
    except Exception as error:
        raise ValueError(f"{path} cannot be read as a checkpoint: {error}") from error
    if refused:
        raise ValueError(
            f"{path} asks for code that is not allowed to run: {', '.join(sorted(refused))}. Only "
            "tensors, plain containers and numpy numbers are read."
        )
    allowed: list[Any] = [(value, name) for name, value in ALLOWED.items()]
    with torch.serialization.safe_globals(allowed):
        return torch.load(path, map_location="cpu", weights_only=True)
