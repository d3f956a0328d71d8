"""The operators that augmentation applies: deterministic functions of a tensor and its parameters.

Tensors are (C, *axes) or, for intensity operators, one channel (*axes); two or three axes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

SMALLEST_RANGE = 1e-7
LABEL_WEIGHT = 1000  # one-hot maps are compared at this magnitude in half precision


def rotation_matrix(angles: Sequence[float]) -> npt.NDArray[np.float64]:
    """Right-handed rotation about axes 0, 1 and 2 in turn (radians); one angle turns a plane."""
    if len(angles) == 1:
        c, s = np.cos(angles[0]), np.sin(angles[0])
        return np.array([[c, -s], [s, c]])
    (c0, c1, c2), (s0, s1, s2) = np.cos(angles), np.sin(angles)
    about_0 = np.array([[1, 0, 0], [0, c0, -s0], [0, s0, c0]])
    about_1 = np.array([[c1, 0, s1], [0, 1, 0], [-s1, 0, c1]])
    about_2 = np.array([[c2, -s2, 0], [s2, c2, 0], [0, 0, 1]])
    product: npt.NDArray[np.float64] = about_2 @ about_1 @ about_0
    return product


def transform_spatially(
    image: Tensor, labels: Tensor, matrix: npt.NDArray[np.float64], patch: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Turn and scale image and labels about their centre and crop to the patch.

    An output voxel at offset q from the patch centre takes the input at `matrix` q from the input
    centre. Images are interpolated linearly, 0 outside; a label is the largest of its linearly
    interpolated one-hot maps, with -1 outside competing as a class of its own.

    Parameters
    ----------
    image
        (C, *axes) float32.
    labels
        (L, *axes) integers on the same grid.
    matrix
        (d, d), rotation times scale.
    patch
        Voxels of the result.
    """
    size = image.shape[1:]
    grid = _sampling_grid(size, matrix, patch, image.device)
    values = [int(v) for v in torch.unique(labels)]
    if -1 not in values:
        values = [-1, *values]
    # -1 is shifted so that the zeros sampled outside the input count for it.
    maps = torch.stack([(labels == v).to(image.dtype) - float(v == -1) for v in values])
    stacked = torch.cat([image, maps.flatten(0, 1)])
    sampled = F.grid_sample(stacked[None], grid[None], mode="bilinear", align_corners=False)[0]
    moved = sampled[: len(image)]
    scores = sampled[len(image) :].view(len(values), len(labels), *patch)
    scores[values.index(-1)] += 1
    return moved, _pick_labels(scores, values, labels, grid)


def crop_centre(array: Tensor, patch: Sequence[int], fill: float) -> Tensor:
    """The central patch of (C, *axes), padded with `fill` where the array is smaller."""
    padding: list[int] = []
    for axis, wide in enumerate(patch, start=1):
        start = array.shape[axis] // 2 - wide // 2
        stop = start + wide
        padding = [max(0, -start), max(0, stop - array.shape[axis]), *padding]
        array = array.narrow(axis, max(0, start), min(stop, array.shape[axis]) - max(0, start))
    return F.pad(array, padding, value=fill) if any(padding) else array


def adjust_contrast(x: Tensor, factor: float) -> Tensor:
    """Stretch intensities about their mean, kept within their old range."""
    mean = x.mean()
    return ((x - mean) * factor + mean).clamp(x.min(), x.max())


def adjust_gamma(x: Tensor, gamma: float, inverted: bool = False) -> Tensor:
    """Raise the rescaled intensities to a power; mean and standard deviation stay."""
    if inverted:
        return -adjust_gamma(-x, gamma)
    mean, spread = x.mean(), x.std()
    low = x.min()
    width = x.max() - low
    curved = ((x - low) / width.clamp(min=SMALLEST_RANGE)).pow(gamma) * width + low
    return (curved - curved.mean()) / curved.std().clamp(min=SMALLEST_RANGE) * spread + mean


def blur(x: Tensor, sigmas: Sequence[float]) -> Tensor:
    """Gaussian blur, one sigma (voxels) per axis, edges reflected."""
    for axis, sigma in enumerate(sigmas):
        kernel = gaussian_kernel(sigma).to(x)
        lines = x.movedim(axis, -1)
        rows = lines.reshape(-1, 1, lines.shape[-1])
        radius = len(kernel) // 2
        # An axis shorter than the kernel cannot be reflected: its edge is repeated.
        mode = "reflect" if rows.shape[-1] > radius else "replicate"
        padded = F.pad(rows, (radius, radius), mode=mode)
        x = F.conv1d(padded, kernel[None, None]).view(lines.shape).movedim(-1, axis)
    return x


def gaussian_kernel(sigma: float) -> Tensor:
    """Normalised Gaussian weights; the length is the odd number nearest to 6 sigma + 0.5."""
    wide = 6 * sigma + 0.5
    length = round(wide)
    if length % 2 == 0:
        length += 1 if wide >= length else -1
    offsets = torch.arange(length, dtype=torch.float32) - length // 2
    weights = torch.exp(-0.5 * (offsets / sigma) ** 2)
    return weights / weights.sum()


def simulate_low_resolution(x: Tensor, factors: Sequence[float]) -> Tensor:
    """Shrink by nearest voxels and enlarge linearly, one factor per axis."""
    size = list(x.shape)
    small = [max(1, round(n * f)) for n, f in zip(size, factors, strict=True)]
    mode = "trilinear" if len(size) == 3 else "bilinear"
    shrunk = F.interpolate(x[None, None], small, mode="nearest-exact")
    return F.interpolate(shrunk, size, mode=mode, align_corners=False)[0, 0]


def _sampling_grid(
    size: Sequence[int],
    matrix: npt.NDArray[np.float64],
    patch: Sequence[int],
    device: torch.device,
) -> Tensor:
    """Where each voxel of the patch samples the input, in torch's normalised, reversed axes."""
    offsets = torch.meshgrid(
        *(torch.arange(n, dtype=torch.float32, device=device) - (n - 1) / 2 for n in patch),
        indexing="ij",
    )
    turn = torch.from_numpy(matrix.T.astype(np.float32)).to(device)
    turned = torch.stack(offsets, dim=-1) @ turn
    extent = torch.tensor([float(n) for n in size], device=device)
    return (turned * 2 / extent).flip(-1)


def _pick_labels(scores: Tensor, values: list[int], labels: Tensor, grid: Tensor) -> Tensor:
    scores = (scores * LABEL_WEIGHT).half()
    top, best = scores.max(dim=0)
    # `max` does not promise the first of equals, so the smallest tied label is picked by hand.
    is_top = scores == top
    tied = is_top.sum(dim=0) > 1
    lookup = torch.tensor(values, device=labels.device, dtype=labels.dtype)
    picked = lookup[best]
    if tied.any():
        first = is_top.to(torch.int8).argmax(dim=0)
        moved = F.grid_sample(
            labels[None].float() + 1, grid[None], mode="nearest", align_corners=False
        )
        nearest = (moved[0] - 1).to(labels.dtype)
        place = torch.searchsorted(lookup, nearest.contiguous()).clamp(max=len(values) - 1)
        among = is_top.gather(0, place[None])[0]
        picked = torch.where(tied, torch.where(among, nearest, lookup[first]), picked)
    return picked
