"""What follows from a plan without being written in it: crop, heads, forced patches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tworulers.recipe.axes import ANISOTROPY
from tworulers.recipe.plan import Architecture, ConfigurationPlan
from tworulers.recipe.topology import estimate_feature_map

NARROW = 64
FULL_FEATURES = 32
SMALLEST_SCALE = 0.85  # not the scale that is drawn later; kept because the crop depends on it


def uses_dummy_2d(patch_size: Sequence[int]) -> bool:
    """Tell whether a volume is augmented slice by slice: its patch is over three times as wide."""
    return len(patch_size) == 3 and max(patch_size) / patch_size[0] > ANISOTROPY


def rotation_range(patch_size: Sequence[int]) -> float:
    """Largest rotation in degrees, either way.

    30 for volumes, 180 in plane, 15 in plane for patches more than 1.5 times as long as wide.
    """
    if len(patch_size) == 3:
        return 180.0 if uses_dummy_2d(patch_size) else 30.0
    return 15.0 if max(patch_size) / min(patch_size) > 1.5 else 180.0


def mirror_axes(patch_size: Sequence[int]) -> tuple[int, ...]:
    """Axes that training mirrors and prediction averages over: all of them."""
    return tuple(range(len(patch_size)))


def prefers_channels_last(architecture: Architecture) -> bool:
    """Tell whether a network is laid out channels last: a volume's, of at most 64 features.

    There a training step takes four fifths of the time on a CPU and prediction the same; slices
    gain nothing, and wider networks lose up to a quarter, most of all deep anisotropic ones.
    """
    return architecture.dimension == 3 and max(architecture.features_per_stage) <= NARROW


def exams_per_batch(architecture: Architecture) -> int:
    """How many exams share a forward pass: as many as keep to the feature maps of one full network.

    One exam alone leaves a CPU's fast convolutions unused in narrow volume networks, where four
    together take a quarter of the time; with the full recipe's 32 features, and with slices, which
    share a batch within their exam, nothing is gained.
    """
    if architecture.dimension == 2:
        return 1
    return max(1, FULL_FEATURES // architecture.features_per_stage[0])


def initial_patch_size(patch_size: Sequence[int]) -> tuple[int, ...]:
    """Crop in voxels that still fills the patch after the largest rotation and zoom.

    Each axis must hold the extent that the patch reaches when turned about each single axis.
    """
    angle = np.deg2rad(min(rotation_range(patch_size), 90.0))
    c, s = np.cos(angle), np.sin(angle)
    p = np.asarray(patch_size, dtype=np.float64)
    if len(p) == 2:
        extents = [[p[0] * c + p[1] * s], [-p[0] * s + p[1] * c]]
    else:
        extents = [
            [p[0] * c - p[2] * s, p[0] * c + p[1] * s],
            [p[1] * c + p[2] * s, -p[0] * s + p[1] * c],
            [-p[1] * s + p[2] * c, p[0] * s + p[2] * c],
        ]
    reach = [max(n, *map(abs, turned)) for n, turned in zip(p, extents, strict=True)]
    crop = [int(n / SMALLEST_SCALE) for n in reach]
    if uses_dummy_2d(patch_size):
        crop[0] = int(patch_size[0])
    return tuple(crop)


def deep_supervision_scales(architecture: Architecture) -> tuple[tuple[float, ...], ...]:
    """Size of each head relative to the patch, per axis, full resolution first."""
    cumulated = np.cumprod(np.asarray(architecture.strides, dtype=np.float64), axis=0)
    return tuple(tuple(float(v) for v in 1 / row) for row in cumulated[:-1])


def deep_supervision_weights(n_heads: int) -> tuple[float, ...]:
    """Weight of each head's loss: halved at each, nothing at the coarsest, sum 1.

    A single head would weigh nothing, as it does in nnU-Net, which cannot train such a network.
    """
    weights = np.array([1 / 2**i for i in range(n_heads)])
    if n_heads:
        weights[-1] = 0.0
    total = weights.sum()
    return tuple(float(w) for w in (weights / total if total > 0 else weights))


def forced_foreground(batch_size: int, share: float = 0.33) -> tuple[bool, ...]:
    """Which positions of a batch must show foreground: the last `share` of them."""
    first = round(batch_size * (1 - share))
    return tuple(i >= first for i in range(batch_size))


def feature_map_estimate(configuration: ConfigurationPlan, n_label_entries: int) -> int:
    """Feature-map elements of one sample of a configuration, deep supervision off."""
    arch = configuration.architecture
    fold = int(np.prod(arch.space_to_depth))
    grid = [n // f for n, f in zip(configuration.patch_size, arch.space_to_depth, strict=True)]
    return estimate_feature_map(
        grid,
        arch.strides,
        arch.features_per_stage,
        arch.n_blocks_per_stage,
        n_label_entries * fold,
        arch.n_conv_per_stage_decoder,
    )


def require_memory(
    configuration: ConfigurationPlan,
    n_label_entries: int,
    available_bytes: int,
    bytes_per_element: int = 4,
    samples: int | None = None,
) -> None:
    """Refuse a plan whose feature maps alone outgrow the memory.

    Every feature map of every sample is kept for the backward pass, so their size is a lower
    bound of what a training step takes.

    Parameters
    ----------
    configuration, n_label_entries
        The plan; labels with background.
    available_bytes
        Memory of a GPU, or of the machine.
    bytes_per_element
        2 where feature maps are of 16 bits.
    samples
        How many of the batch are there at the same time; all where none is given.

    Raises
    ------
    ValueError
        Needed and available memory in GB, and what to override.
    """
    samples = configuration.batch_size if samples is None else samples
    needed = feature_map_estimate(configuration, n_label_entries) * samples * bytes_per_element
    if needed > available_bytes:
        raise ValueError(
            f"A training step of patch {configuration.patch_size}, batch {samples} keeps at least "
            f"{needed / 1e9:.1f} GB of feature maps, but {available_bytes / 1e9:.1f} GB are there: override "
            "patch_size, batch_size or base_features, plan with a smaller preset or recipe.memory_gb, or take a batch "
            "in parts with trainer.gradient_accumulation."
        )
