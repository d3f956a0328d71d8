"""Which strides, kernels and patch a network gets from a patch size and a voxel spacing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

MIN_BOTTLENECK_EDGE = 4
FEATURE_CAP = {2: 512, 3: 320}
BLOCKS_PER_STAGE = (1, 3, 4, 6)  # every deeper stage has as many as the last


@dataclass(frozen=True)
class Topology:
    """Strides and kernels of every stage, and the patch rounded up to what they divide."""

    strides: tuple[tuple[int, ...], ...]
    kernel_sizes: tuple[tuple[int, ...], ...]
    patch_size: tuple[int, ...]

    @property
    def n_stages(self) -> int:
        """Stages of the encoder, the full-resolution one included."""
        return len(self.strides)

    @property
    def divisor(self) -> tuple[int, ...]:
        """Product of all strides per axis: the patch must be a multiple of it."""
        return divisor_of(self.strides)


def divisor_of(strides: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Product of the strides of all stages, one number an axis."""
    return tuple(int(d) for d in np.prod(np.asarray(strides, dtype=int), axis=0))


def round_up(shape: Sequence[float], divisor: Sequence[int]) -> tuple[int, ...]:
    """Smallest multiple of `divisor` that is at least `shape`, per axis."""
    return tuple(int(np.ceil(n / d)) * d for n, d in zip(shape, divisor, strict=True))


def blocks_per_stage(n_stages: int) -> tuple[int, ...]:
    """Residual blocks of the first `n_stages` encoder stages: 1, 3, 4, 6, 6, ..."""
    return tuple(BLOCKS_PER_STAGE[min(i, len(BLOCKS_PER_STAGE) - 1)] for i in range(n_stages))


def features_per_stage(n_stages: int, base: int, cap: int) -> tuple[int, ...]:
    """Channels of each stage: doubled at every stage until the cap."""
    return tuple(min(cap, base * 2**i) for i in range(n_stages))


def grow_kernels(kernel: Sequence[int], spacing: Sequence[float]) -> tuple[int, ...]:
    """Kernel edge 3 on each axis whose spacing is less than twice the finest; once 3, always 3."""
    finest = min(spacing)
    return tuple(3 if k == 3 or s / finest < 2 else 1 for k, s in zip(kernel, spacing, strict=True))


def derive_topology(
    patch_size: Sequence[float], spacing: Sequence[float], max_stages: int | None = None
) -> Topology:
    """Halve axes until they are too small, finest first, and round the patch up.

    Parameters
    ----------
    patch_size
        Edge per axis in voxels; half voxels are allowed and rounded up.
    spacing
        Voxel spacing per axis in mm.
    max_stages
        Stop at this many stages; None lets the patch decide.

    Source: Isensee et al. 2021 (nnU-Net), network topology.
    """
    dimension = len(patch_size)
    size = [float(n) for n in patch_size]
    current = [float(s) for s in spacing]
    kernel: tuple[int, ...] = (1,) * dimension
    strides: list[tuple[int, ...]] = [(1,) * dimension]
    kernels: list[tuple[int, ...]] = []
    while max_stages is None or len(strides) < max_stages:
        axes = [a for a in range(dimension) if size[a] >= 2 * MIN_BOTTLENECK_EDGE]
        if not axes:
            break
        finest = min(current[a] for a in axes)
        axes = [a for a in axes if current[a] / finest < 2]
        if len(axes) == 1 and size[axes[0]] < 3 * MIN_BOTTLENECK_EDGE:
            break
        kernel = grow_kernels(kernel, current)
        kernels.append(kernel)
        strides.append(tuple(2 if a in axes else 1 for a in range(dimension)))
        for a in axes:
            current[a] *= 2
            size[a] = np.ceil(size[a] / 2)
    kernels.append((3,) * dimension)
    return Topology(tuple(strides), tuple(kernels), round_up(patch_size, divisor_of(strides)))


def estimate_feature_map(
    patch_size: Sequence[int],
    strides: Sequence[Sequence[int]],
    features: Sequence[int],
    blocks: Sequence[int],
    n_classes: int,
    convs_per_stage_decoder: Sequence[int] | None = None,
) -> int:
    """Feature-map elements of one sample, deep supervision off: the planner's memory measure.

    Parameters
    ----------
    patch_size
        Edge per axis in voxels, a multiple of the strides' product.
    strides, features, blocks
        Per encoder stage: stride per axis, channels, residual blocks.
    n_classes
        Label entries of the data set (background and ignore count).
    convs_per_stage_decoder
        Convolutions of each decoder level, deepest first; one each by default.
    """
    size = np.asarray(patch_size, dtype=np.int64)
    total = int(features[0] * np.prod(size))
    voxels, channels = [], features[0]
    for stride, width, n_blocks in zip(strides, features, blocks, strict=True):
        size = size // np.asarray(stride)
        voxels.append(int(np.prod(size)))
        projected = width != channels or any(s != 1 for s in stride)
        total += width * voxels[-1] * (2 * n_blocks + int(projected))
        channels = width
    convs = list(convs_per_stage_decoder or [1] * (len(features) - 1))[::-1]
    for level, n_convs in enumerate(convs):
        total += features[level] * voxels[level] * (1 + n_convs)
    # A network of one stage has no decoder and no head.
    return total + (n_classes * voxels[0] if len(features) > 1 else 0)


def fit_patch(
    initial: Sequence[float],
    median_shape: Sequence[float],
    spacing: Sequence[float],
    budget: float,
    estimate: Callable[[Topology], int],
) -> tuple[Topology, int]:
    """Shrink a patch along its relatively longest axis until its estimate is within budget.

    Parameters
    ----------
    initial
        Starting edge per axis in voxels.
    median_shape
        Median image edge per axis in voxels; an axis is long relative to it.
    spacing
        Voxel spacing per axis in mm.
    budget
        Feature-map elements that one sample may take.
    estimate
        Feature-map elements of a topology.

    Returns
    -------
    The topology of the largest such patch, and its estimate.
    """
    topology = derive_topology(initial, spacing)
    elements = estimate(topology)
    while elements > budget:
        patch = list(topology.patch_size)
        relative = [n / m for n, m in zip(patch, median_shape, strict=True)]
        axis = int(np.argsort(relative, kind="stable")[-1])
        trial = list(patch)
        trial[axis] -= topology.divisor[axis]
        patch[axis] -= derive_topology(trial, spacing).divisor[axis]
        topology = derive_topology(patch, spacing)
        elements = estimate(topology)
    return topology, elements
