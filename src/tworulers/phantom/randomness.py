"""Where chance enters the phantom: named random streams, and random fields smooth in space."""

import hashlib

import numpy as np
import numpy.typing as npt

Field = npt.NDArray[np.float32]
Reals = npt.NDArray[np.floating]
"""Real numbers of either precision."""


def open_stream(seed: int, name: str, of: object) -> np.random.Generator:
    """Open the random stream of a name and item: the same everywhere, in any order of items."""
    digest = hashlib.blake2b(f"{seed}/{name}/{of}".encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def smooth_field(axes: tuple[Field, ...], scale_mm: float, rng: np.random.Generator) -> Field:
    """Draw a field of mean 0 and variance 1 at every voxel that varies over about `scale_mm`.

    White noise on a lattice of that spacing is interpolated along each axis by smoothstep weights,
    divided by the square root of the sum of their squares so that the variance is 1 between lattice
    points as well.

    Parameters
    ----------
    axes : coordinates in mm of the voxel centres along each of three axes, ascending.
    scale_mm : lattice spacing in mm.
    rng : source of the draws.

    Returns
    -------
    float32 array with one value for each voxel.
    """
    steps = [_step_along(axis, scale_mm, rng.random()) for axis in axes]
    size = [int(below[-1]) + 2 for below, _, _ in steps]
    field = rng.standard_normal(size, dtype=np.float32)
    for along in (2, 1, 0):
        below, near, far = steps[along]
        wide = tuple(-1 if other == along else 1 for other in range(3))
        lower, upper = field.take(below, along), field.take(below + 1, along)
        field = lower * near.reshape(wide) + upper * far.reshape(wide)
    return field


def _step_along(
    axis: Field, scale_mm: float, phase: float
) -> tuple[npt.NDArray[np.int64], Field, Field]:
    """Find the lattice point below each voxel, and the weights of it and of the next one."""
    position = (axis - axis[0]) / scale_mm + phase
    below = position.astype(np.int64)
    t = position - below
    t = t * t * (3 - 2 * t)
    norm = np.sqrt((1 - t) ** 2 + t**2)
    return below, ((1 - t) / norm).astype(np.float32), (t / norm).astype(np.float32)
