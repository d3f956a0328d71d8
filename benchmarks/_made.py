"""Made label maps of the size of real ones: a spine on a stack of sagittal slices, and blocks of many structures."""

from __future__ import annotations

from pathlib import Path

import nibabel
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

SPINE = {"vb": 1, "disc": 2}
SPINE_SHAPE, SPINE_SPACING = (512, 512, 15), (0.43, 0.43, 4.0)
BODIES = 7
HEIGHT = 52
"""Pixels from one vertebral body to the next."""


def make_spine(seed: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Make a reference with seven vertebral bodies and the six discs between them, and a prediction that is near it.

    The two differ by less than a pixel in most places, as a trained model and its reference do.
    """
    rng = np.random.default_rng(seed)
    shape = SPINE_SHAPE
    x, y, z = np.ogrid[: shape[0], : shape[1], : shape[2]]
    spread = np.abs((z - shape[2] / 2 + 0.5) / 4.6) ** 4
    wave = 12 * np.sin(y / 90 + rng.uniform(0, 6))
    noises = [_roughen(rng, shape), _roughen(rng, shape)]
    maps = [np.zeros(shape, np.uint8) for _ in noises]
    for body in range(BODIES):
        middle = 80 + HEIGHT * body
        shapes = [(SPINE["vb"], middle, 19.0, 24.0)]
        if body < BODIES - 1:
            shapes.append((SPINE["disc"], middle + HEIGHT // 2, 6.0, 23.0))
        for value, at, half, wide in shapes:
            part = slice(int(at - half - 6), int(at + half + 7))
            height = (y[:, part] - at) / half
            inside = np.abs((x - 250 - wave[:, part]) / wide) ** 4 + np.abs(height) ** 4 + spread
            for drawn, noise in zip(maps, noises, strict=True):
                where = inside + noise[:, part] * (1.0 if value == 1 else 1.8) < 1
                drawn[:, part][where] = value
    return maps[1], maps[0]


def _roughen(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    noise = ndimage.gaussian_filter(rng.standard_normal(shape), (3, 3, 0.7))
    return np.asarray(0.11 * noise / noise.std())


def make_blocks(
    shape: tuple[int, int, int], structures: int, seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Make a reference with so many rounded structures along a helix, and a prediction like it."""
    rng = np.random.default_rng(seed)
    maps = [np.zeros(shape, np.uint8) for _ in range(2)]
    half = np.array([shape[0] / 10, shape[1] / 10, shape[2] / 14])
    for value in range(1, structures + 1):
        turn = 2 * np.pi * 5 * value / structures
        middle = np.array(
            [
                shape[0] * (0.5 + 0.33 * np.cos(turn)),
                shape[1] * (0.5 + 0.33 * np.sin(turn)),
                shape[2] * (0.1 + 0.8 * value / (structures + 1)),
            ]
        )
        for drawn in maps:
            moved = middle + rng.normal(0, 0.7, 3)
            low = np.maximum(moved - half - 1, 0).astype(int)
            high = np.minimum(moved + half + 2, shape).astype(int)
            box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
            axes = np.ogrid[box]
            far = sum(((at - m) / h) ** 2 for at, m, h in zip(axes, moved, half, strict=True))
            drawn[box][np.asarray(far) + 0.05 * rng.standard_normal(np.shape(far)) < 1] = value
    return maps[1], maps[0]


def write_map(path: Path, array: NDArray[np.uint8], spacing: tuple[float, ...]) -> None:
    """Write a label map as NIfTI."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(array, np.diag([*spacing, 1.0])), path)
