"""Where a training sample is cut out: which exam, which corner, forced onto foreground or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tworulers.recipe.store import StoredExam

Axes = tuple[int, ...]
Array = npt.NDArray[Any]
TRAINING, VALIDATION = 0, 1


@dataclass(frozen=True)
class Crop:
    """A box in voxels of the prepared array: its lowest corner (negative outside) and its size."""

    corner: Axes
    size: Axes


def open_stream(
    seed: int, part: int, epoch: int, iteration: int, position: int
) -> np.random.Generator:
    """The random stream of one sample, whatever process draws it.

    Parameters
    ----------
    seed
        The run's seed.
    part
        `TRAINING` or `VALIDATION`.
    epoch, iteration, position
        Where the sample stands: its place in the global batch is `position`.
    """
    return np.random.Generator(np.random.PCG64([seed, part, epoch, iteration, position]))


def corner_bounds(
    shape: Sequence[int], sampled: Sequence[int], final: Sequence[int]
) -> tuple[Axes, Axes]:
    """Lowest and highest corner of a crop per axis, both inclusive.

    Parameters
    ----------
    shape
        Voxels of the exam's array.
    sampled
        Voxels cut out, larger than the patch where augmentation turns it.
    final
        Voxels of the patch the network sees.
    """
    lowest, highest = [], []
    for n, wide, patch in zip(shape, sampled, final, strict=True):
        padding = max(wide - patch, wide - n)
        lowest.append(-((padding + 1) // 2))
        highest.append(n + padding // 2 + padding % 2 - wide)
    return tuple(lowest), tuple(highest)


def draw_crop(
    rng: np.random.Generator,
    exam: StoredExam,
    sampled: Sequence[int],
    final: Sequence[int],
    forced: bool,
) -> Crop:
    """Draw the box of one sample.

    A forced box is centred on a random voxel of a random structure that the exam has, and may
    stick out of the array. Every other one is cut at random, or, where voxels are marked as not
    annotated, centred on a random voxel of the others; an exam without any is cut at random.
    """
    lowest, highest = corner_bounds(exam.label.shape, sampled, final)
    present = [value for value, voxels in sorted(exam.locations.items()) if len(voxels)]
    voxels = exam.annotated
    if forced and present:
        voxels = exam.locations[present[rng.integers(len(present))]]
    if voxels is not None and len(voxels):
        voxel = voxels[rng.integers(len(voxels))]
        return Crop(centre_on(voxel, lowest, sampled), tuple(sampled))
    corner = tuple(
        int(rng.integers(low, max(low, high) + 1))
        for low, high in zip(lowest, highest, strict=True)
    )
    return Crop(corner, tuple(sampled))


def centre_on(voxel: Sequence[int], lowest: Sequence[int], sampled: Sequence[int]) -> Axes:
    """The corner of a box around a voxel: bounded below, not above."""
    return tuple(
        max(low, int(v) - wide // 2) for v, low, wide in zip(voxel, lowest, sampled, strict=True)
    )


def cut(array: Array, crop: Crop, fill: float) -> Array:
    """Copy a box out of (..., z, y, x); what lies outside the array is `fill`."""
    leading = array.ndim - len(crop.size)
    shape = array.shape[leading:]
    source: list[slice] = []
    target: list[slice] = []
    for corner, wide, n in zip(crop.corner, crop.size, shape, strict=True):
        start, stop = max(corner, 0), max(min(corner + wide, n), 0)
        stop = max(stop, start)
        source.append(slice(start, stop))
        target.append(slice(start - corner, stop - corner))
    result = np.full((*array.shape[:leading], *crop.size), fill, dtype=array.dtype)
    whole = (slice(None),) * leading
    result[(*whole, *target)] = array[(*whole, *source)]
    return result
