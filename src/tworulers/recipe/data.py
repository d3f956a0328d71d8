"""Batches for training and validation: cut from memory-mapped exams, the same on any machine.

Every sample is drawn from a stream that only its place in the run decides (seed, epoch, iteration,
position in the batch), so neither workers nor processes nor a resumed run change what is learnt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from tworulers.recipe.augment import Augmentation, Draws, apply, draw, plan_augmentation
from tworulers.recipe.derived import forced_foreground
from tworulers.recipe.plan import ConfigurationPlan
from tworulers.recipe.sample import TRAINING, VALIDATION, cut, draw_crop, open_stream
from tworulers.recipe.store import StoredExam
from tworulers.schema.settings import Recipe, Trainer


@dataclass
class Batch:
    """Samples of one step: images (N, C, *axes), labels (N, *axes).

    `draws` holds the augmentation that is still to be applied, or nothing.
    """

    images: Tensor
    labels: Tensor
    draws: tuple[Draws, ...] = ()

    def to(self, device: Any, **_: Any) -> Batch:
        """Move the tensors without waiting for the copy."""
        return replace(
            self,
            images=self.images.to(device, non_blocking=True),
            labels=self.labels.to(device, non_blocking=True),
        )

    def pin_memory(self) -> Batch:
        """Pin the tensors, so that they are copied while the device computes."""
        return replace(self, images=self.images.pin_memory(), labels=self.labels.pin_memory())


@dataclass(frozen=True)
class Stream:
    """Where samples come from: one part of a run and this process's share of each batch."""

    seed: int
    part: int
    rank: int = 0
    processes: int = 1


class EpochOrder(Sampler[tuple[int, int]]):
    """Names every batch of an epoch as (epoch, iteration); a resumed run begins at its own."""

    def __init__(self, iterations: int, epoch: int = 0) -> None:
        self.iterations = iterations
        self.epoch = epoch

    def set_epoch(self, epoch: int) -> None:
        """Begin another epoch; the trainer calls it before all but the first."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter([(self.epoch, iteration) for iteration in range(self.iterations)])

    def __len__(self) -> int:
        return self.iterations


class PatchDataset(Dataset[Batch]):
    """Maps (epoch, iteration) to a batch.

    Parameters
    ----------
    exams
        What is drawn from, uniformly with replacement.
    augmentation
        How samples are changed; its `sampled` voxels are cut out.
    batch_size
        Samples of the whole batch, over all processes.
    foreground_share
        Share of a batch that is forced onto foreground.
    stream
        Seed, part of the run, and this process's place.
    apply_now
        False leaves augmentation to the device.
    parts
        How many batches of the loader, one after the other, are one batch of the plan.
    """

    def __init__(
        self,
        exams: Sequence[StoredExam],
        augmentation: Augmentation,
        batch_size: int,
        foreground_share: float,
        stream: Stream,
        apply_now: bool = True,
        parts: int = 1,
    ) -> None:
        self.exams = exams
        self.augmentation = augmentation
        self.forced = forced_foreground(batch_size, foreground_share)
        self.stream = stream
        self.apply_now = apply_now
        flat = len(augmentation.patch) == 2
        self.sampled = (1, *augmentation.sampled) if flat else augmentation.sampled
        self.final = (1, *augmentation.patch) if flat else augmentation.patch
        shares = np.array_split(np.arange(batch_size), stream.processes)
        self.parts = [part.tolist() for part in np.array_split(shares[stream.rank], parts)]

    def __getitem__(self, index: tuple[int, int]) -> Batch:
        epoch, (iteration, part) = index[0], divmod(index[1], len(self.parts))
        samples = [self._sample(epoch, iteration, position) for position in self.parts[part]]
        images, labels, draws = zip(*samples, strict=True)
        pending = () if self.apply_now else tuple(draws)
        return Batch(torch.stack(images), torch.stack(labels), pending)

    def _sample(self, epoch: int, iteration: int, position: int) -> tuple[Tensor, Tensor, Draws]:
        rng = open_stream(self.stream.seed, self.stream.part, epoch, iteration, position)
        exam = self.exams[int(rng.integers(len(self.exams)))]
        crop = draw_crop(rng, exam, self.sampled, self.final, self.forced[position])
        image = torch.from_numpy(cut(exam.image, crop, 0).astype(np.float32, copy=False))
        label = torch.from_numpy(cut(exam.label, crop, -1))
        if len(self.augmentation.patch) == 2:
            image, label = image[:, 0], label[0]
        draws = draw(rng, self.augmentation, len(image))
        if self.apply_now:
            image, label = apply(image, label, draws, self.augmentation)
        return image, label, draws


class FoldData(pl.LightningDataModule):
    """Training and validation batches of one fold.

    Parameters
    ----------
    images, labels
        Folders of prepared images and labels.
    train, val
        Exams of the fold.
    plan, recipe, trainer, seed
        What is cut, how often, how it is changed, and where that happens.
    """

    def __init__(
        self,
        images: Path,
        labels: Path,
        train: Sequence[str],
        val: Sequence[str],
        plan: ConfigurationPlan,
        recipe: Recipe,
        trainer: Trainer,
        seed: int,
    ) -> None:
        super().__init__()
        self.parts = {
            TRAINING: [StoredExam(exam_id, images, labels) for exam_id in train],
            VALIDATION: [StoredExam(exam_id, images, labels) for exam_id in val],
        }
        self.plan, self.recipe, self.settings, self.seed = plan, recipe, trainer, seed
        masked = plan.use_mask_for_norm
        self.augmentation = plan_augmentation(
            plan.patch_size, recipe.augmentation, recipe.mirror, masked
        )
        self.plain = plan_augmentation(plan.patch_size, "none", False, masked)
        self.on_device = trainer.accelerator != "cpu"

    def train_dataloader(self) -> DataLoader[Batch]:
        """Augmented batches."""
        return self._load(TRAINING, self.augmentation, self.recipe.iterations)

    def val_dataloader(self) -> DataLoader[Batch]:
        """Batches of plain patches."""
        return self._load(VALIDATION, self.plain, self.recipe.validation_iterations)

    def on_after_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:  # noqa: ARG002
        """Apply on the device what the workers only drew."""
        if not batch.draws:
            return batch
        validating = self.trainer is not None and self.trainer.validating
        augmentation = self.plain if validating else self.augmentation
        pairs = [
            apply(image, label, draws, augmentation)
            for image, label, draws in zip(batch.images, batch.labels, batch.draws, strict=True)
        ]
        images, labels = zip(*pairs, strict=True)
        return Batch(torch.stack(images), torch.stack(labels))

    def _load(self, part: int, augmentation: Augmentation, iterations: int) -> DataLoader[Batch]:
        rank, processes, epoch = 0, 1, 0
        if self.trainer is not None:
            rank, processes = self.trainer.global_rank, self.trainer.world_size
            # While a run resumes, the trainer counts one epoch too few; the curve does not.
            epoch = len(getattr(self.trainer.lightning_module, "curve", ()))
        parts = self.settings.gradient_accumulation if part == TRAINING else 1
        dataset = PatchDataset(
            self.parts[part],
            augmentation,
            self.plan.batch_size,
            self.recipe.foreground_share,
            Stream(self.seed, part, rank, processes),
            apply_now=not self.on_device,
            parts=parts,
        )
        workers = self.settings.workers if part == TRAINING else (self.settings.workers + 1) // 2
        return DataLoader(
            dataset,
            batch_size=None,
            sampler=EpochOrder(iterations * parts, epoch),
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=self.on_device and torch.cuda.is_available(),
        )
