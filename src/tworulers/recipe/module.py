"""What happens in a training step and at the end of an epoch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn

from tworulers.recipe.augment import downsample_label, plan_augmentation
from tworulers.recipe.data import Batch
from tworulers.recipe.derived import deep_supervision_scales, deep_supervision_weights
from tworulers.recipe.interop import Member
from tworulers.recipe.loss import (
    DeeplySupervisedLoss,
    DiceCrossEntropyLoss,
    OverlapCounts,
    count_overlap,
    pseudo_dice,
    smooth_pseudo_dice,
)
from tworulers.recipe.network import build_network
from tworulers.recipe.plan import ConfigurationPlan
from tworulers.recipe.processes import count_processes, sum_over_processes
from tworulers.recipe.resenc import ResidualEncoderUNet
from tworulers.recipe.schedule import RecipeRate, build_optimizer, learning_rate
from tworulers.recipe.space_to_depth import SpaceToDepthUNet, start_from_background
from tworulers.schema.settings import Recipe, Trainer


@dataclass(frozen=True)
class EpochRecord:
    """One point of the training curve; `epoch` counts from 0, `seconds` are the epoch's own."""

    epoch: int
    train_loss: float
    val_loss: float
    pseudo_dice: float
    smoothed_pseudo_dice: float
    learning_rate: float
    seconds: float


class SegmentationModule(pl.LightningModule):
    """Trains the network of a plan by a recipe.

    Parameters
    ----------
    plan, recipe, trainer
        Network and batch, how it learns, and where.
    n_channels, n_classes
        Image channels; labels with background.
    ignore_label
        Value of voxels without annotation, if any.
    """

    def __init__(
        self,
        plan: ConfigurationPlan,
        recipe: Recipe,
        trainer: Trainer,
        n_channels: int,
        n_classes: int,
        ignore_label: int | None = None,
    ) -> None:
        super().__init__()
        self.plan, self.recipe, self.settings = plan, recipe, trainer
        self.ignore_label = ignore_label
        self.network = build_network(plan.architecture, n_channels, n_classes)
        if recipe.cautious_start:
            start_from_background(self.network, n_classes)
        formats = {2: torch.channels_last, 3: torch.channels_last_3d}
        self.memory_format = (
            formats[plan.dimension] if plan.channels_last else torch.contiguous_format
        )
        self.network.to(memory_format=self.memory_format)  # type: ignore[call-overload]
        if trainer.compile:
            self.network.compile()
        self.scales = deep_supervision_scales(plan.architecture)
        weights = deep_supervision_weights(len(self.scales))
        if not recipe.deep_supervision or sum(weights) == 0:
            weights = (1.0, *(0.0 for _ in weights[1:]))
        self.head_weights = weights
        supervised = sum(weight > 0 for weight in weights) > 1
        self.loss = DeeplySupervisedLoss(
            DiceCrossEntropyLoss(batch_dice=plan.batch_dice, ignore_label=ignore_label),
            weights if supervised else weights[:1],
        )
        _freeze_heads(self.network, weights)
        self.curve: list[EpochRecord] = []
        self._losses: list[Tensor] = []
        self._val_losses: list[Tensor] = []
        self._counts: OverlapCounts | None = None
        self._started = time.monotonic()

    @property
    def member(self) -> Member:
        """The network with the axes that its samples are mirrored along."""
        augmentation = plan_augmentation(
            self.plan.patch_size,
            self.recipe.augmentation,
            self.recipe.mirror,
            self.plan.use_mask_for_norm,
        )
        return Member(self.network, augmentation.mirror_axes)

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """The recipe's optimiser, and its learning rate at every step."""
        optimizer = build_optimizer(self.network.parameters(), self.recipe)
        rate = RecipeRate(optimizer, self.recipe)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": rate, "interval": "step", "name": "learning_rate"},
        }

    def on_train_epoch_start(self) -> None:
        """Start the epoch's clock."""
        self._started = time.monotonic()
        self._losses = []

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:  # noqa: ARG002
        """The loss over all heads that have a weight."""
        loss, _ = self._loss(batch)
        self._losses.append(loss.detach())
        return loss

    def validation_step(self, batch: Batch, batch_idx: int) -> None:  # noqa: ARG002
        """Loss and voxel counts of a batch of plain patches."""
        loss, logits = self._loss(batch)
        self._val_losses.append(loss)
        counts = count_overlap(logits, batch.labels, self.ignore_label)
        self._counts = counts if self._counts is None else self._counts + counts

    def on_train_epoch_end(self) -> None:
        """Add the epoch to the curve, and tell loggers and callbacks of it."""
        current = self._pseudo_dice()
        known = [r.smoothed_pseudo_dice for r in self.curve if isfinite(r.smoothed_pseudo_dice)]
        previous = known[-1] if known else None
        # An epoch whose patches show no structure says nothing, so the average stays.
        smoothed = smooth_pseudo_dice(previous, current) if isfinite(current) else previous
        record = EpochRecord(
            epoch=self.current_epoch,
            train_loss=self._mean(self._losses),
            val_loss=self._mean(self._val_losses),
            pseudo_dice=current,
            smoothed_pseudo_dice=float("nan") if smoothed is None else smoothed,
            learning_rate=learning_rate(
                self.recipe, self.current_epoch, self.recipe.iterations - 1
            ),
            seconds=time.monotonic() - self._started,
        )
        self.curve.append(record)
        self._val_losses, self._counts = [], None
        shown = {name: value for name, value in asdict(record).items() if name != "epoch"}
        # The trainer rounds what it hands to loggers to 32 bits, so they are told here.
        self.log_dict(shown, logger=False)
        for logger in self.loggers:
            logger.log_metrics(shown, record.epoch)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep the curve, so that a resumed run has every epoch once."""
        checkpoint["curve"] = [asdict(record) for record in self.curve]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take the curve up again."""
        self.curve = [EpochRecord(**record) for record in checkpoint["curve"]]

    def _loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        images = batch.images.contiguous(memory_format=self.memory_format)
        supervised = len(self.loss.weights) > 1
        output = self.network(images, deep_supervision=supervised)
        heads = output if supervised else [output]
        targets = [
            downsample_label(batch.labels, scale) if weight > 0 else batch.labels
            for scale, weight in zip(self.scales, self.loss.weights, strict=False)
        ]
        return self.loss(heads, targets), heads[0]

    def _pseudo_dice(self) -> float:
        if self._counts is None:
            return float("nan")
        counts = self._counts
        summed = sum_over_processes(
            torch.stack([counts.true_positive, counts.false_positive, counts.false_negative])
        )
        return float(pseudo_dice(OverlapCounts(*summed)).nanmean())

    def _mean(self, losses: list[Tensor]) -> float:
        if not losses:
            return float("nan")
        return float(sum_over_processes(torch.stack(losses).mean())) / count_processes()


def _freeze_heads(network: nn.Module, weights: Sequence[float]) -> None:
    """Leave heads without weight as they are: data-parallel training waits for every other one."""
    inner = network.network if isinstance(network, SpaceToDepthUNet) else network
    assert isinstance(inner, ResidualEncoderUNet)
    for head, weight in zip(reversed(inner.decoder.seg_layers), weights, strict=True):
        head.requires_grad_(weight > 0)
