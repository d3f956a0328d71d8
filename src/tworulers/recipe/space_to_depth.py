"""What the tiny recipe changes to learn in a minute on a CPU: a folded grid and a cautious start.

At full resolution nearly all of the time goes into the first stage. Folding each 1 x 2 x 2 (or
2 x 2 x 2) cell of voxels into channels keeps every intensity and every output voxel but runs the
network on a grid four (eight) times smaller: about three times faster a step on a CPU.

With a few hundred steps the second problem is the collapse to background, which fills nearly all
of an image: momentum SGD, which is right for a thousand epochs, never leaves it in that time.
AdamW with a short warm-up leaves it after 60 to 150 steps if the heads start small and lean to
background, so that the first gradients come from the structures and not from undoing random
foreground everywhere. `start_from_background` does that; the full recipe starts as published.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from tworulers.recipe.plan import Architecture
from tworulers.recipe.resenc import Heads, ResidualEncoderUNet


def fold(x: Tensor, factors: Sequence[int]) -> Tensor:
    """Move each cell of voxels into channels: (b, c, *n) to (b, c * prod(f), *(n / f)).

    Channels come in blocks, one an input channel, as in `torch.pixel_unshuffle`.
    """
    d = len(factors)
    batch, channels, *size = x.shape
    split = [n for s, f in zip(size, factors, strict=True) for n in (s // f, f)]
    cells = [3 + 2 * a for a in range(d)]
    grid = [2 + 2 * a for a in range(d)]
    coarse = [s // f for s, f in zip(size, factors, strict=True)]
    x = x.reshape(batch, channels, *split).permute(0, 1, *cells, *grid)
    return x.reshape(batch, channels * math.prod(factors), *coarse)


def unfold(x: Tensor, factors: Sequence[int]) -> Tensor:
    """Undo `fold`: (b, c * prod(f), *n) to (b, c, *(n * f))."""
    d = len(factors)
    batch, channels, *size = x.shape
    x = x.reshape(batch, channels // math.prod(factors), *factors, *size)
    order = [axis for a in range(d) for axis in (2 + d + a, 2 + a)]
    fine = [n * f for n, f in zip(size, factors, strict=True)]
    return x.permute(0, 1, *order).reshape(batch, -1, *fine)


class SpaceToDepthUNet(nn.Module):
    """A residual-encoder U-Net between a fold and an unfold of every head."""

    def __init__(self, arch: Architecture, n_channels: int, n_classes: int) -> None:
        super().__init__()
        cell = math.prod(arch.space_to_depth)
        self.factors = arch.space_to_depth
        self.divisor = arch.divisor
        self.network = ResidualEncoderUNet(arch, n_channels * cell, n_classes * cell)

    def forward(self, x: Tensor, deep_supervision: bool = False) -> Tensor | Heads:
        """Logits on the grid of the input, or a list of all heads, full resolution first."""
        output = self.network(fold(x, self.factors), deep_supervision)
        if isinstance(output, Tensor):
            return unfold(output, self.factors)
        return [unfold(head, self.factors) for head in output]


@torch.no_grad()
def start_from_background(
    network: nn.Module, n_classes: int, head_scale: float = 0.3, background_bias: float = 3.0
) -> None:
    """Shrink the heads and lean them to background, for trainings of a few hundred steps.

    Parameters
    ----------
    network
        From `build_network`, folded or not; changed in place.
    n_classes
        Labels, background included.
    head_scale
        Factor on the weights of every head.
    background_bias
        Added to the logit of background.
    """
    inner = network.network if isinstance(network, SpaceToDepthUNet) else network
    if not isinstance(inner, ResidualEncoderUNet):
        raise TypeError(f"Expected a network from build_network, found {type(network).__name__}.")
    heads: Iterable[Any] = inner.decoder.seg_layers.children()
    for head in heads:
        head.weight.mul_(head_scale)
        # Channels come in blocks of one class each, background first.
        head.bias[: head.bias.numel() // n_classes].add_(background_bias)
