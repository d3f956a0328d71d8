"""The network: a residual-encoder U-Net for slices or volumes, built from the numbers of a plan.

Isensee et al. 2024 ("nnU-Net revisited"). Names of modules and the order in which they are
registered follow the published implementation, so that trained weights move both ways. Layers come
from MONAI's factories one by one: its block `Convolution` keeps norm and activation under one name,
which published weights do not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from monai.networks.layers.factories import Act, Conv, Norm, Pool
from torch import Tensor, nn

from tworulers.recipe.plan import Architecture

LEAK = 0.01
CONVOLUTIONS = tuple(Conv[kind, axes] for kind in (Conv.CONV, Conv.CONVTRANS) for axes in (2, 3))
Heads = list[Tensor]


def rectify() -> nn.Module:
    """Make the recipe's leaky rectifier."""
    layer: nn.Module = Act[Act.LEAKYRELU](LEAK, inplace=True)
    return layer


class ConvNorm(nn.Module):
    """Convolution, instance norm, and a leaky rectifier unless told otherwise."""

    def __init__(
        self,
        n_in: int,
        n_out: int,
        kernel: Sequence[int],
        stride: Sequence[int] | None = None,
        *,
        bias: bool = True,
        activate: bool = True,
    ) -> None:
        super().__init__()
        dimension = len(kernel)
        self.conv = Conv[Conv.CONV, dimension](
            n_in,
            n_out,
            tuple(kernel),
            tuple(stride or (1,) * dimension),
            padding=tuple((k - 1) // 2 for k in kernel),
            bias=bias,
        )
        self.norm = Norm[Norm.INSTANCE, dimension](n_out, eps=1e-5, affine=True)
        self.activation = rectify() if activate else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """(batch, n_in, *axes) to (batch, n_out, *axes / stride)."""
        y: Tensor = self.activation(self.norm(self.conv(x)))
        return y


class ConvStack(nn.Module):
    """One or more `ConvNorm` in a row: the stem, and each decoder level."""

    def __init__(self, n_convs: int, n_in: int, n_out: int, kernel: Sequence[int]) -> None:
        super().__init__()
        self.convs = nn.Sequential(
            *(ConvNorm(n_in if i == 0 else n_out, n_out, kernel) for i in range(n_convs))
        )

    def forward(self, x: Tensor) -> Tensor:
        """(batch, n_in, *axes) to (batch, n_out, *axes)."""
        y: Tensor = self.convs(x)
        return y


class ResidualBlock(nn.Module):
    """Two convolutions beside a skip that pools and projects where size or width change."""

    def __init__(self, n_in: int, n_out: int, kernel: Sequence[int], stride: Sequence[int]) -> None:
        super().__init__()
        dimension = len(kernel)
        self.conv1 = ConvNorm(n_in, n_out, kernel, stride)
        self.conv2 = ConvNorm(n_out, n_out, kernel, activate=False)
        skip: list[nn.Module] = []
        if any(s != 1 for s in stride):
            skip.append(Pool[Pool.AVG, dimension](tuple(stride), tuple(stride)))
        if n_in != n_out:
            skip.append(ConvNorm(n_in, n_out, (1,) * dimension, bias=False, activate=False))
        self.skip = nn.Sequential(*skip)
        self.activation = rectify()

    def forward(self, x: Tensor) -> Tensor:
        """(batch, n_in, *axes) to (batch, n_out, *axes / stride)."""
        y: Tensor = self.activation(self.conv2(self.conv1(x)) + self.skip(x))
        return y


class Stage(nn.Module):
    """The residual blocks of one resolution; the first changes size and width."""

    def __init__(
        self, n_blocks: int, n_in: int, n_out: int, kernel: Sequence[int], stride: Sequence[int]
    ) -> None:
        super().__init__()
        first = ResidualBlock(n_in, n_out, kernel, stride)
        flat = (1,) * len(kernel)
        others = (ResidualBlock(n_out, n_out, kernel, flat) for _ in range(n_blocks - 1))
        self.blocks = nn.Sequential(first, *others)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, n_in, *axes) to (batch, n_out, *axes / stride)."""
        y: Tensor = self.blocks(x)
        return y


class Encoder(nn.Module):
    """Stem and stages; returns the output of every stage, full resolution first."""

    def __init__(self, arch: Architecture, n_channels: int) -> None:
        super().__init__()
        width = arch.features_per_stage[0]
        self.stem = ConvStack(1, n_channels, width, arch.kernel_sizes[0])
        stages = []
        for n_blocks, n_out, kernel, stride in zip(
            arch.n_blocks_per_stage,
            arch.features_per_stage,
            arch.kernel_sizes,
            arch.strides,
            strict=True,
        ):
            stages.append(Stage(n_blocks, width, n_out, kernel, stride))
            width = n_out
        self.stages = nn.Sequential(*stages)

    def forward(self, x: Tensor) -> list[Tensor]:
        """(batch, channel, *axes) to one feature map a stage."""
        x = self.stem(x)
        outputs = []
        for stage in self.stages:
            x = stage(x)
            outputs.append(x)
        return outputs


class Decoder(nn.Module):
    """Upsampling levels, deepest first, each with a segmentation head."""

    def __init__(self, arch: Architecture, n_classes: int) -> None:
        super().__init__()
        dimension = arch.dimension
        stages, transposed, heads = [], [], []
        for level, n_convs in enumerate(arch.n_conv_per_stage_decoder):
            below = arch.n_stages - 1 - level
            n_below, n_skip = arch.features_per_stage[below], arch.features_per_stage[below - 1]
            stride = arch.strides[below]
            transposed.append(Conv[Conv.CONVTRANS, dimension](n_below, n_skip, stride, stride))
            stages.append(ConvStack(n_convs, 2 * n_skip, n_skip, arch.kernel_sizes[below - 1]))
            heads.append(Conv[Conv.CONV, dimension](n_skip, n_classes, 1))
        self.stages = nn.ModuleList(stages)
        self.transpconvs = nn.ModuleList(transposed)
        self.seg_layers = nn.ModuleList(heads)

    def forward(self, skips: list[Tensor], deep_supervision: bool) -> Heads:
        """Logits of every head, full resolution first; of that one alone without supervision."""
        x = skips[-1]
        outputs: Heads = []
        for level, (up, stage, head) in enumerate(
            zip(self.transpconvs, self.stages, self.seg_layers, strict=True)
        ):
            x = stage(torch.cat((up(x), skips[-2 - level]), dim=1))
            if deep_supervision or level == len(self.stages) - 1:
                outputs.append(head(x))
        return outputs[::-1]


class ResidualEncoderUNet(nn.Module):
    """Residual encoder, plain decoder, one head a decoder level."""

    def __init__(self, arch: Architecture, n_channels: int, n_classes: int) -> None:
        super().__init__()
        self.divisor = tuple(d // f for d, f in zip(arch.divisor, arch.space_to_depth, strict=True))
        self.encoder = Encoder(arch, n_channels)
        self.decoder = Decoder(arch, n_classes)
        initialise(self)

    def forward(self, x: Tensor, deep_supervision: bool = False) -> Tensor | Heads:
        """Logits.

        Parameters
        ----------
        x
            (batch, channel, *axes), every axis a multiple of `divisor`.
        deep_supervision
            True: a list with the logits of every head, full resolution first. False: the
            full-resolution logits (batch, class, *axes) alone.
        """
        heads: Heads = self.decoder(self.encoder(x), deep_supervision)
        return heads if deep_supervision else heads[0]


def initialise(network: nn.Module) -> None:
    """He-normal convolutions with zero bias; each residual block starts as its skip path."""
    for module in network.modules():
        layer: Any = module
        if isinstance(module, CONVOLUTIONS):
            nn.init.kaiming_normal_(layer.weight, a=LEAK)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        elif isinstance(module, ResidualBlock):
            nn.init.zeros_(layer.conv2.norm.weight)
            nn.init.zeros_(layer.conv2.norm.bias)
