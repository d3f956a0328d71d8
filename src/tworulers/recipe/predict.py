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

from tworulers.recipe.archive import load_archive
from tworulers.recipe.derived import exams_per_batch
from tworulers.recipe.fuse import FusedExam, fuse_exam
from tworulers.recipe.interop import Member, load_weights
from tworulers.recipe.network import build_network
from tworulers.recipe.plan import ConfigurationPlan, DatasetFacts, Plans
from tworulers.recipe.precision import AUTOCAST, WHOLE
from tworulers.recipe.preprocess import Geometry
from tworulers.recipe.window import MirroredWindowInferer
from tworulers.schema.settings import Recipe, Trainer

Array = npt.NDArray[Any]
Logits = dict[str, list[list[Array]]]
"""By configuration, fold and exam: (class, z, y, x) on the configuration's grid."""

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
        self.device = device = choose_device(trainer)
        whole = WHOLE.get(trainer.precision)
        self.networks = {
            name: [
                replace(
                    fold,
                    network=_place(fold.network, plans.configuration(name), device, whole),
                )
                for fold in folds
            ]
            for name, folds in networks.items()
        }
        torch.set_num_threads(trainer.threads)
        torch.set_flush_denormal(True)

    def predict_exams(self, exams: Iterable[PreparedImage]) -> Iterator[FusedExam]:
        """Predict exams in their order, as many of them in memory at a time as share a batch."""
        source = iter(exams)
        while chunk := list(islice(source, max(map(self._batch, self.networks)))):
            yield from self.fuse_exams(chunk, self.predict_logits(chunk))

    def predict_logits(self, exams: Sequence[PreparedImage]) -> Logits:
        """What every fold says of each of some exams, in the host's memory: the device's part of the work."""
        return {name: self._predict_members(name, exams) for name in self.networks}

    def fuse_exams(self, exams: Sequence[PreparedImage], logits: Logits) -> Iterator[FusedExam]:
        """Make of what `predict_logits` returned one prediction an exam; the device has no part in it."""
        for index, exam in enumerate(exams):
            yield fuse_exam(
                {name: [fold[index] for fold in folds] for name, folds in logits.items()},
                {name: exam.arrays[name][1] for name in self.networks},
                self.facts.foreground,
            )

    def _batch(self, name: str) -> int:
        """Exams that a configuration predicts together."""
        architecture = self.plans.configuration(name).architecture
        return max(1, min(self.trainer.predict_batch, exams_per_batch(architecture)))

    def _predict_members(self, name: str, exams: Sequence[PreparedImage]) -> list[list[Array]]:
        """Logits (K, z, y, x) of every fold of a configuration and every exam."""
        images = [_to_tensor(exam.arrays[name][0]) for exam in exams]
        size = self._batch(name)
        groups = [images[start : start + size] for start in range(0, len(images), size)]
        return [
            [volume for group in groups for volume in self._predict_group(name, fold, group)]
            for fold in self.networks[name]
        ]

    def _predict_group(self, name: str, fold: Member, images: Sequence[Tensor]) -> list[Array]:
        """Logits of exams that share batches; slices come no more at once than in training."""
        plan = self.plans.configuration(name)
        accumulate: Literal["float", "half"] = (
            "half" if self.recipe.accumulate == "half" else "float"
        )
        inferer = MirroredWindowInferer(
            plan.patch_size,
            mirror_axes=fold.mirror_axes if self.recipe.mirror else (),
            overlap=self.recipe.tile_overlap,
            accumulate=accumulate,
            batch=plan.batch_size if plan.dimension == 2 else self._batch(name),
            autocast=AUTOCAST.get(self.trainer.precision),
            gather_on=choose_home(images, self.facts.n_classes, self.device),
        )
        return [volume.cpu().numpy() for volume in inferer.predict_images(images, fold.network)]


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
    stored = load_archive(path)
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


def choose_home(
    images: Sequence[Tensor], n_classes: int, device: torch.device
) -> torch.device | None:
    """Where exams and their logits are kept while their tiles are predicted.

    On the device itself (None) as long as they take at most half of what is free there; the host's
    memory holds them otherwise, and the device only a batch of tiles.

    Parameters
    ----------
    images
        (C, z, y, x) each.
    n_classes
        Logits a voxel, kept as float32 with one weight.
    device
        What predicts.
    """
    if device.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device)
    numbers = sum(image[0].numel() * (len(image) + n_classes + 1) for image in images)
    return torch.device("cpu") if 4 * numbers > free / 2 else None


def _place(
    network: nn.Module, plan: ConfigurationPlan, device: torch.device, whole: torch.dtype | None
) -> nn.Module:
    network = network.to(device=device, dtype=whole).eval()
    if whole is not None and device.type == "cpu":
        # torch pools volumes on a CPU in 32 bits alone.
        for pool in network.modules():
            if isinstance(pool, nn.AvgPool3d):
                pool.register_forward_pre_hook(lambda _, inputs: inputs[0].float())
                pool.register_forward_hook(lambda _, __, output: output.to(whole))
    if plan.channels_last:
        # nn.Module.to lays out weights only; inputs follow inside the convolutions.
        network = network.to(memory_format=MEMORY_FORMATS[plan.dimension])  # type: ignore[call-overload]
    return network


def _to_tensor(array: Array) -> Tensor:
    return torch.from_numpy(np.array(array, dtype=np.float32))
