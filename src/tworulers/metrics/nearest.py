"""How far voxels lie from the nearest voxel of another set: exact, in mm, by looking around before searching a tree."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

LOOKED_AT = 512
"""Places around a voxel that are looked at, the nearest first, before a tree is searched."""

_TOGETHER = 2**17
"""Places that are looked at in one go: few enough to stay in the processor's caches."""


def find_distances(
    points: NDArray[np.bool_], targets: NDArray[np.bool_], sides: tuple[float, ...]
) -> NDArray[np.float64]:
    """Return the distance of every point to the nearest target, mm.

    Two surfaces of one structure mostly lie a few voxels apart. So the places around a point are looked at in the order
    of their distance, and the first that is a target is the nearest; only points without one search a tree, which
    costs by surface, not by the box around it: one far false positive does not make an exam slow.

    Parameters
    ----------
    points, targets : bool, of one shape; at least one target.
    sides : voxel size in mm, in array-axis order.

    Returns
    -------
    float64, (points,), in the order of `np.flatnonzero(points)`. From whole steps, so that equal distances are equal to
    the last bit wherever they lie.
    """
    apart = points & ~targets
    places = np.flatnonzero(apart)
    if not len(places):
        return np.zeros(np.count_nonzero(points))
    steps, lengths = list_steps(sides)
    margin = np.minimum(np.abs(steps).max(axis=0), points.shape)
    kept = (np.abs(steps) <= margin).all(axis=1)
    found = _look_around(places, targets, steps[kept], lengths[kept], margin)
    far = np.isnan(found)
    if far.any():
        found[far] = _search_tree(places[far], targets, np.asarray(sides))
    if len(places) == np.count_nonzero(points):
        return found
    distances = np.zeros(np.count_nonzero(points))
    distances[apart[points]] = found
    return distances


@lru_cache(maxsize=64)
def list_steps(sides: tuple[float, ...]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """List the steps to the places around a voxel, nearest first and complete to the last, and their lengths in mm.

    Parameters
    ----------
    sides : voxel size in mm, in array-axis order.

    Returns
    -------
    int, (at least `LOOKED_AT`, axes), and float64.
    """
    sizes = np.asarray(sides, float)
    # Along the shortest side alone there are enough places.
    most = LOOKED_AT * sizes.min()
    reach = min(most, (LOOKED_AT * sizes.prod() / np.pi) ** (1 / len(sizes)))
    while True:
        axes = [np.arange(-int(reach / side), int(reach / side) + 1) for side in sizes]
        steps = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(sizes))
        lengths = np.sqrt(((steps * sizes) ** 2).sum(axis=1))
        near = (lengths <= reach) & (lengths > 0)
        if np.count_nonzero(near) >= LOOKED_AT:
            break
        reach = min(most, 1.25 * reach)
    steps, lengths = steps[near], lengths[near]
    order = np.argsort(lengths, kind="stable")
    steps, lengths = steps[order], lengths[order]
    steps.flags.writeable = lengths.flags.writeable = False
    return steps, lengths


def _look_around(
    places: NDArray[np.intp],
    targets: NDArray[np.bool_],
    steps: NDArray[np.intp],
    lengths: NDArray[np.float64],
    margin: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return the length of the first step that leads to a target, NaN where none does."""
    wide = np.zeros(np.asarray(targets.shape) + 2 * margin, np.bool_)
    inner = tuple(slice(m, m + n) for m, n in zip(margin, targets.shape, strict=True))
    wide[inner] = targets
    flat, stride = wide.ravel(), np.array(wide.strides)
    here = np.asarray(np.unravel_index(places, targets.shape)).T @ stride + margin @ stride
    offsets = steps @ stride
    found = np.full(len(places), np.nan)
    left, start = np.arange(len(places)), 0
    while start < len(offsets) and len(left):
        many = max(1, min(_TOGETHER // len(left), max(4, start)))
        hit = flat[here[:, None] + offsets[start : start + many]]
        first = hit.argmax(axis=1)
        near = hit[np.arange(len(hit)), first]
        found[left[near]] = lengths[start + first[near]]
        left, here, start = left[~near], here[~near], start + many
    return found


def _search_tree(
    places: NDArray[np.intp], targets: NDArray[np.bool_], sides: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distance to the nearest target by a search tree."""
    points = np.asarray(np.unravel_index(places, targets.shape)).T
    drawn = np.argwhere(targets)
    tree = cKDTree(drawn * sides, balanced_tree=False, compact_nodes=False)
    nearest = tree.query(points * sides)[1]
    lengths: NDArray[np.float64] = np.sqrt((((points - drawn[nearest]) * sides) ** 2).sum(axis=1))
    return lengths
