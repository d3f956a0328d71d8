"""What a set of trained networks says about exams: label maps, probabilities and confidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tworulers.recipe.fuse import FusedExam, fuse_exam
from tworulers.recipe.interop import Member, load_weights
from tworulers.recipe.plan import ConfigurationPlan, DatasetFacts, Plans
from tworulers.recipe.preprocess import Geometry
from tworulers.recipe.resenc import build_network
from tworulers.recipe.window import predict_logits
from tworulers.schema import Recipe, Trainer

Array = npt.NDArray[Any]
AUTOCAST = {"16-mixed": torch.float16, "bf16-mixed": torch.bfloat16}
MEMORY_FORMATS = {2: torch.channels_last, 3: torch.channels_last_3d}


@dataclass(frozen=True)
class PreparedImage:
    """An exam's prepared image (C, z, y, x) and geometry, by configuration."""

    exam_id: str
    arrays: Mapping[str, tuple[Array, Geometry]]


class ExamPredictor:
    """Predicts exams with the trained folds of one or several configurations.

    Folds are fused as logits, configurations as probabilities, all in memory.

    Parameters
    ----------
    plans, facts
        The plan of every configuration; labels of the data set.
    networks
        Trained folds by configuration; they are put into evaluation mode.
    recipe, trainer
        Tiles, and whether to mirror (only ever along the axes a fold has learnt); device,
        precision, threads and exams a batch.
    """

    def __init__(
        self,
        plans: Plans,
        facts: DatasetFacts,
        networks: Mapping[str, Sequence[Member]],
        recipe: Recipe,
        trainer: Trainer,
    ) -> None:
        self.plans, self.facts, self.recipe, self.trainer = plans, facts, recipe, trainer
        device = choose_device(trainer)
        self.networks = {
            name: [
                replace(
                    fold,
                    network=_place(fold.network, plans.configuration(name), trainer, device),
                )
                for fold in folds
            ]
            for name, folds in networks.items()
        }
        torch.set_num_threads(trainer.threads)
        torch.set_flush_denormal(True)

    def predict_exams(self, exams: Iterable[PreparedImage]) -> Iterator[FusedExam]:
        """Predict exams in their order, `trainer.predict_batch` of them in memory at a time."""
        source = iter(exams)
        while chunk := list(islice(source, max(1, self.trainer.predict_batch))):
            logits = {name: self._predict_members(name, chunk) for name in self.networks}
            for index, exam in enumerate(chunk):
                yield fuse_exam(
                    {name: [fold[index] for fold in folds] for name, folds in logits.items()},
                    {name: exam.arrays[name][1] for name in self.networks},
                    self.facts.foreground,
                )

    def predict_exam(self, exam: PreparedImage) -> FusedExam:
        """Predict one exam."""
        return next(self.predict_exams([exam]))

    def _predict_members(self, name: str, exams: Sequence[PreparedImage]) -> list[list[Array]]:
        """Logits (K, z, y, x) of every fold of a configuration and every exam."""
        plan = self.plans.configuration(name)
        images = [_to_tensor(exam.arrays[name][0]) for exam in exams]
        slices = images[0].shape[1] if plan.dimension == 2 else 1
        accumulate: Literal["float", "half"] = (
            "half" if self.recipe.accumulate == "half" else "float"
        )
        return [
            [
                volume.cpu().numpy()
                for volume in predict_logits(
                    fold.network,
                    images,
                    plan.patch_size,
                    mirror_axes=fold.mirror_axes if self.recipe.mirror else (),
                    overlap=self.recipe.tile_overlap,
                    accumulate=accumulate,
                    batch=self.trainer.predict_batch * slices,
                    autocast=AUTOCAST.get(self.trainer.precision),
                )
            ]
            for fold in self.networks[name]
        ]


def load_member(path: Path, plan: ConfigurationPlan, facts: DatasetFacts) -> Member:
    """Build a configuration's network and fill in the weights of a finished fold.

    Raises
    ------
    FileNotFoundError
        No such weights.
    ValueError
        Weights of another architecture, with the names that do not fit, or of a version that did
        not keep the mirrored axes.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: the fold is not trained to its end.")
    stored = torch.load(path, map_location="cpu", weights_only=True)
    if "mirror_axes" not in stored:
        raise ValueError(
            f"{path} is of an earlier version, which did not keep the axes that were mirrored: "
            "train again."
        )
    network = build_network(plan.architecture, len(facts.channel_names), facts.n_classes)
    load_weights(network, stored["network_weights"], str(path))
    return Member(network, tuple(stored["mirror_axes"]))


def choose_device(trainer: Trainer) -> torch.device:
    """The device a trainer configuration predicts on.

    Raises
    ------
    ValueError
        A GPU is asked for and none is visible.
    """
    if trainer.accelerator not in ("gpu", "cuda"):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ValueError(
            f"trainer.accelerator is {trainer.accelerator!r}, but no GPU is visible: use "
            "trainer=cpu, or check the driver and CUDA_VISIBLE_DEVICES."
        )
    return torch.device("cuda")


def _place(
    network: nn.Module, plan: ConfigurationPlan, trainer: Trainer, device: torch.device
) -> nn.Module:
    network = network.to(device).eval()
    if trainer.channels_last:
        # nn.Module.to lays out weights only; inputs follow inside the convolutions.
        network = network.to(memory_format=MEMORY_FORMATS[plan.dimension])  # type: ignore[call-overload]
    return network


def _to_tensor(array: Array) -> Tensor:
    return torch.from_numpy(np.array(array, dtype=np.float32))
