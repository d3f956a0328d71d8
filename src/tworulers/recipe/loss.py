"""What training minimises: cross-entropy plus soft Dice over the heads, and the Dice it watches.

Isensee et al. 2021; soft Dice after Milletari et al. 2016, foreground only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from monai.losses import DeepSupervisionLoss
from torch import Tensor
from torch.nn import functional as F
from torch.nn.modules.loss import _Loss

from tworulers.recipe.processes import sum_over_processes

SMOOTH = 1e-5
SMALLEST = 1e-8


def soft_dice(
    logits: Tensor, target: Tensor, *, batch_dice: bool, ignore_label: int | None = None
) -> Tensor:
    """Mean soft Dice of the foreground classes, between 0 and 1.

    Parameters
    ----------
    logits
        (batch, class, *axes), background first.
    target
        (batch, *axes), integer labels.
    batch_dice
        True: overlaps are summed over the batch (and over all processes) before the ratio. False:
        one ratio a sample; a class absent from a sample then counts as missed unless nothing of
        it is predicted.
    ignore_label
        Voxels with this label are left out.
    """
    axes = tuple(range(2, logits.ndim))
    probability = torch.softmax(logits, dim=1)[:, 1:].float()
    kept = None
    if ignore_label is not None:
        kept = (target != ignore_label)[:, None]
        probability = probability * kept
    labels = torch.arange(1, logits.shape[1], device=target.device)
    truth = target[:, None] == labels.view(1, -1, *(1 for _ in axes))
    overlap = (probability * truth).sum(axes)
    predicted = probability.sum(axes)
    present = truth.sum(axes, dtype=torch.float32)
    if batch_dice:
        sums = torch.stack([overlap.sum(0), predicted.sum(0), present.sum(0)])
        overlap, predicted, present = sum_over_processes(sums)
    union = (predicted + present + SMOOTH).clamp_min(SMALLEST)
    return ((2 * overlap + SMOOTH) / union).mean()


def dice_cross_entropy(
    logits: Tensor, target: Tensor, *, batch_dice: bool, ignore_label: int | None = None
) -> Tensor:
    """Cross-entropy (mean over voxels) minus soft Dice: goes to -1.

    Parameters are those of `soft_dice`. Without any annotated voxel cross-entropy is left out.
    """
    dice = soft_dice(logits, target, batch_dice=batch_dice, ignore_label=ignore_label)
    if ignore_label is None:
        return F.cross_entropy(logits, target.long()) - dice
    if not bool((target != ignore_label).any()):
        return -dice
    return F.cross_entropy(logits, target.long(), ignore_index=ignore_label) - dice


class DiceCrossEntropyLoss(_Loss):
    """`dice_cross_entropy` as a loss of MONAI and torch.

    MONAI's `DiceCELoss` knows neither an ignored label nor the batch of several processes, so ours stays.
    """

    def __init__(self, *, batch_dice: bool, ignore_label: int | None = None) -> None:
        super().__init__()
        self.batch_dice, self.ignore_label = batch_dice, ignore_label

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Logits (batch, class, *axes) and labels (batch, *axes) to one number."""
        return dice_cross_entropy(
            input, target, batch_dice=self.batch_dice, ignore_label=self.ignore_label
        )


class DeeplySupervisedLoss(DeepSupervisionLoss):
    """Weighted sum of a loss over the heads; heads without weight are skipped.

    MONAI's own takes one target and shrinks it by its nearest neighbour; the recipe shrinks labels with its
    augmentation, so every head brings a target.

    Parameters
    ----------
    loss
        What each head is asked for.
    weights
        One a head, full resolution first (see `deep_supervision_weights`).

    Raises
    ------
    ValueError
        Weights that are all zero.
    """

    def __init__(self, loss: _Loss, weights: Sequence[float]) -> None:
        if not any(weights):
            raise ValueError(
                "No head has a weight, so nothing would be learnt: a network of two stages cannot be "
                "trained with deep supervision. Use three stages or more, or turn it off."
            )
        super().__init__(loss, weights=list(weights))

    def forward(self, input: Sequence[Tensor], target: Sequence[Tensor]) -> Tensor:
        """Logits and labels of each head, full resolution first, to one number.

        Raises
        ------
        ValueError
            Lengths that differ.
        """
        weights = self.weights or []
        if not len(input) == len(target) == len(weights):
            raise ValueError(
                f"{len(input)} heads, {len(target)} targets and {len(weights)} weights: "
                "expected one of each a head."
            )
        losses = [
            weight * self.loss(head, labels)
            for head, labels, weight in zip(input, target, weights, strict=True)
            if weight != 0
        ]
        return torch.stack(losses).sum()


@dataclass(frozen=True)
class OverlapCounts:
    """Voxels a class got right, invented and missed; each a (class,) tensor. Counts add up."""

    true_positive: Tensor
    false_positive: Tensor
    false_negative: Tensor

    def __add__(self, other: OverlapCounts) -> OverlapCounts:
        return OverlapCounts(
            self.true_positive + other.true_positive,
            self.false_positive + other.false_positive,
            self.false_negative + other.false_negative,
        )


@torch.no_grad()
def count_overlap(logits: Tensor, target: Tensor, ignore_label: int | None = None) -> OverlapCounts:
    """Count the hard prediction against its target, all classes, background included.

    Parameters are those of `soft_dice`.
    """
    n_classes = logits.shape[1]
    predicted, truth = logits.argmax(1).flatten(), target.flatten().long()
    if ignore_label is not None:
        kept = truth != ignore_label
        predicted, truth = predicted[kept], truth[kept]
    table = torch.bincount(truth * n_classes + predicted, minlength=n_classes**2)
    table = table.view(n_classes, n_classes).double()
    hits = table.diagonal()
    return OverlapCounts(hits, table.sum(0) - hits, table.sum(1) - hits)


def pseudo_dice(counts: OverlapCounts) -> Tensor:
    """Dice of each foreground class over all counted patches; NaN where it never occurs."""
    hits = 2 * counts.true_positive
    return (hits / (hits + counts.false_positive + counts.false_negative))[1:]


def smooth_pseudo_dice(previous: float | None, current: float) -> float:
    """Exponential average over epochs: nine tenths of the past, the first value as it is."""
    return current if previous is None else 0.9 * previous + 0.1 * current
