"""How a training sample is changed: parameters are drawn first, applied second.

The order, ranges and operators are nnU-Net's (Isensee et al. 2021); `light` is a small set for
networks that learn in minutes. Operators take tensors (C, *axes) on any device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tworulers.recipe.derived import (
    initial_patch_size,
    mirror_axes,
    rotation_range,
    uses_dummy_2d,
)
from tworulers.recipe.operators import (
    adjust_contrast,
    adjust_gamma,
    blur,
    crop_centre,
    rotation_matrix,
    simulate_low_resolution,
    transform_spatially,
)

Axes = tuple[int, ...]
Range = tuple[float, float]


@dataclass(frozen=True)
class Ranges:
    """How often and how strongly a sample is changed; rotations in radians.

    A probability is per sample; `*_channel` is the share of channels that then change.
    """

    rotation: float = 0.0
    p_rotation: float = 0.0
    scale: Range = (1.0, 1.0)
    p_scale: float = 0.0
    noise: float = 0.1
    p_noise: float = 0.0
    sigma: Range = (0.5, 1.0)
    p_blur: float = 0.0
    blur_channel: float = 0.5
    brightness: Range = (0.75, 1.25)
    p_brightness: float = 0.0
    contrast: Range = (0.75, 1.25)
    p_contrast: float = 0.0
    low_resolution: Range = (0.5, 1.0)
    p_low_resolution: float = 0.0
    low_resolution_channel: float = 0.5
    gamma: Range = (0.7, 1.5)
    p_gamma_inverted: float = 0.0
    p_gamma: float = 0.0
    p_mirror: float = 0.0


FULL = Ranges(
    p_rotation=0.2, scale=(0.7, 1.4), p_scale=0.2, p_noise=0.1, p_blur=0.2, p_brightness=0.15,
    p_contrast=0.15, p_low_resolution=0.25, p_gamma_inverted=0.1, p_gamma=0.3, p_mirror=0.5,
)  # fmt: skip
LIGHT = Ranges(
    rotation=0.12, p_rotation=0.4, scale=(0.9, 1.1), p_scale=0.4, p_brightness=0.3,
    brightness=(0.85, 1.15), p_contrast=0.3, contrast=(0.85, 1.15),
)  # fmt: skip
NONE = Ranges()


@dataclass(frozen=True)
class Augmentation:
    """Everything about augmentation that hangs on the plan.

    `patch` is what the network sees, `sampled` what is cut out for it (voxels; 2D plans have two
    axes). `in_plane` turns each slice of a volume alike and alone; `mirror_axes` count without the
    channel axis; `masked` marks channels that stay zero outside the body.
    """

    ranges: Ranges
    patch: Axes
    sampled: Axes
    in_plane: bool
    mirror_axes: Axes
    masked: tuple[bool, ...]


@dataclass(frozen=True)
class Draws:
    """The parameters of one sample; None leaves a step out.

    Per-channel tuples hold None for a channel that does not change.
    """

    angles: tuple[float, ...] | None = None
    scale: float | None = None
    noise: float | None = None
    noise_seed: int = 0
    sigmas: tuple[tuple[float, ...] | None, ...] | None = None
    brightness: tuple[float, ...] | None = None
    contrast: tuple[float, ...] | None = None
    low_resolution: tuple[float | None, ...] | None = None
    gamma_inverted: tuple[float, ...] | None = None
    gamma: tuple[float, ...] | None = None
    mirror: Axes = ()


def plan_augmentation(
    patch: Axes, name: str, mirror: bool, masked: tuple[bool, ...]
) -> Augmentation:
    """Choose ranges and the sampled patch for a planned patch.

    Parameters
    ----------
    patch
        Voxels of the network's input, two or three axes.
    name
        `full`, `light` or `none`.
    mirror
        Whether samples are mirrored (only `full` does).
    masked
        Per channel, whether its z-score was restricted to the body.

    Raises
    ------
    ValueError
        An unknown name.
    """
    sets = {"full": FULL, "light": LIGHT, "none": NONE}
    if name not in sets:
        raise ValueError(f"Unknown augmentation {name!r}: expected one of {', '.join(sets)}.")
    in_plane = uses_dummy_2d(patch)
    if name != "full":
        return Augmentation(sets[name], patch, patch, in_plane, (), masked)
    return Augmentation(
        ranges=replace(FULL, rotation=float(np.deg2rad(rotation_range(patch)))),
        patch=patch,
        sampled=initial_patch_size(patch),
        in_plane=in_plane,
        mirror_axes=mirror_axes(patch) if mirror else (),
        masked=masked,
    )


def draw(rng: np.random.Generator, plan: Augmentation, channels: int) -> Draws:
    """Draw the parameters of one sample of `channels` channels."""
    r = plan.ranges
    axes = len(plan.patch)
    flat = axes == 2 or plan.in_plane

    def happens(p: float) -> bool:
        return bool(p > 0 and rng.random() < p)

    def per_channel(interval: Range) -> tuple[float, ...]:
        return tuple(_draw_contrast(rng, interval) for _ in range(channels))

    angles = None
    if happens(r.p_rotation):
        angles = tuple(float(a) for a in rng.uniform(-r.rotation, r.rotation, 1 if flat else 3))
    scale = float(rng.uniform(*r.scale)) if happens(r.p_scale) else None
    noise = float(rng.uniform(0, r.noise)) if happens(r.p_noise) else None
    sigmas = None
    if happens(r.p_blur):
        sigmas = tuple(
            tuple(float(s) for s in rng.uniform(*r.sigma, axes))
            if happens(r.blur_channel)
            else None
            for _ in range(channels)
        )
    brightness = per_channel(r.brightness) if happens(r.p_brightness) else None
    contrast = per_channel(r.contrast) if happens(r.p_contrast) else None
    low = None
    if happens(r.p_low_resolution):
        low = tuple(
            float(rng.uniform(*r.low_resolution)) if happens(r.low_resolution_channel) else None
            for _ in range(channels)
        )
    return Draws(
        angles=angles,
        scale=scale,
        noise=noise,
        noise_seed=int(rng.integers(2**31)),
        sigmas=sigmas,
        brightness=brightness,
        contrast=contrast,
        low_resolution=low,
        gamma_inverted=per_channel(r.gamma) if happens(r.p_gamma_inverted) else None,
        gamma=per_channel(r.gamma) if happens(r.p_gamma) else None,
        mirror=tuple(axis for axis in plan.mirror_axes if happens(r.p_mirror)),
    )


def apply(image: Tensor, label: Tensor, draws: Draws, plan: Augmentation) -> tuple[Tensor, Tensor]:
    """Change one sample as drawn.

    Parameters
    ----------
    image
        (C, *sampled) float32.
    label
        (*sampled) integers, -1 outside the image or the body.
    draws, plan
        The sample's parameters and what they were drawn for.

    Returns
    -------
    image, label
        (C, *patch) and (*patch); the label's -1 has become 0.
    """
    image, label = _place(image, label, draws, plan)
    if draws.noise is not None:
        stream = torch.Generator(image.device).manual_seed(draws.noise_seed)
        noise = torch.randn(image.shape, generator=stream, device=image.device)
        image = image + noise * draws.noise
    image = _change_channels(image, draws, plan)
    if draws.mirror:
        image = image.flip([1 + axis for axis in draws.mirror])
        label = label.flip(list(draws.mirror))
    if any(plan.masked):
        channels = torch.tensor(plan.masked, device=image.device)
        outside = (label < 0)[None] & channels.view(-1, *(1,) * label.ndim)
        image = image.masked_fill(outside, 0)
    return image.contiguous(), label.clamp(min=0).contiguous()


def downsample_label(label: Tensor, scale: tuple[float, ...]) -> Tensor:
    """The target of a deep-supervision head: (N, *axes) labels at `scale` of the resolution.

    The voxel whose centre lies nearest is taken (floor((i + 0.5) n / m) per axis).
    """
    for axis, factor in enumerate(scale, start=1):
        n = label.shape[axis]
        m = round(n * factor)
        if m != n:
            index = torch.floor((torch.arange(m, dtype=torch.float64) + 0.5) * (n / m)).long()
            label = label.index_select(axis, index.clamp(max=n - 1).to(label.device))
    return label


def _place(image: Tensor, label: Tensor, draws: Draws, plan: Augmentation) -> tuple[Tensor, Tensor]:
    """Rotate, scale and crop to the patch."""
    if draws.angles is None and draws.scale is None:
        return crop_centre(image, plan.patch, 0), crop_centre(label[None], plan.patch, -1)[0]
    flat = plan.in_plane or len(plan.patch) == 2
    angles = draws.angles or ((0.0,) if flat else (0.0, 0.0, 0.0))
    matrix = rotation_matrix(angles) * (1.0 if draws.scale is None else draws.scale)
    if not plan.in_plane:
        moved, labels = transform_spatially(image, label[None], matrix, plan.patch)
        return moved, labels[0]
    # Slices become channels, so that all turn alike; the slice axis is only cropped.
    slices, rows, columns = image.shape[1:]
    moved, labels = transform_spatially(
        image.reshape(-1, rows, columns), label, matrix, plan.patch[1:]
    )
    moved = moved.reshape(len(image), slices, *plan.patch[1:])
    return crop_centre(moved, plan.patch, 0), crop_centre(labels[None], plan.patch, -1)[0]


def _change_channels(image: Tensor, draws: Draws, plan: Augmentation) -> Tensor:
    channels = list(image)
    for c, x in enumerate(channels):
        if draws.sigmas is not None and (sigmas := draws.sigmas[c]) is not None:
            x = blur(x, sigmas)
        if draws.brightness is not None:
            x = x * draws.brightness[c]
        if draws.contrast is not None:
            x = adjust_contrast(x, draws.contrast[c])
        if draws.low_resolution is not None and (low := draws.low_resolution[c]) is not None:
            factors = [low] * x.ndim
            if plan.in_plane:
                factors[0] = 1.0
            x = simulate_low_resolution(x, factors)
        if draws.gamma_inverted is not None:
            x = adjust_gamma(x, draws.gamma_inverted[c], inverted=True)
        if draws.gamma is not None:
            x = adjust_gamma(x, draws.gamma[c])
        channels[c] = x
    return torch.stack(channels)


def _draw_contrast(rng: np.random.Generator, interval: Range) -> float:
    """Below 1 or above 1 with equal chance, uniform on either side."""
    low, high = interval
    return float(rng.uniform(low, 1) if rng.random() < 0.5 else rng.uniform(1, high))
