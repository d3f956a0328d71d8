"""How much surface a block of voxels holds: the marching-cubes patch of every pattern.

A corner of the voxel grid is surrounded by 2 x 2 x 2 voxels (2 x 2 in a plane). The patch between
the voxels inside a mask and those outside runs through the midpoints of the block's cut edges, as
in Lorensen and Cline (1987): on a face with two opposite inside voxels each is cut off alone, and a
pattern with more voxels inside than outside has the patch of its complement. A loop of midpoints
that is not flat is folded the way that keeps most area in a cubic block.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Point = tuple[int, ...]
"""A place in a block: voxel centres have coordinates 0 and 2, edge midpoints 1."""

_ROUND_A_SQUARE = ((0, 0), (0, 2), (2, 2), (2, 0))


def patch_areas(spacing: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the patch area (mm2; in a plane, the contour length in mm) of every corner pattern.

    Parameters
    ----------
    spacing : voxel size in mm, in array-axis order, two or three numbers.

    Returns
    -------
    float64, shape (256,) or (16,): indexed by the pattern, bit i set where voxel i of
    `np.ndindex(2, 2, 2)` is inside.
    """
    sides = np.asarray(spacing, float)
    stretched = patch_normals(len(spacing)) * (sides.prod() / sides)
    areas: NDArray[np.float64] = np.linalg.norm(stretched, axis=2).sum(axis=1)
    return areas


@cache
def patch_normals(dimensions: int) -> NDArray[np.float64]:
    """Return the area vectors of every pattern's patch in a block with sides 1.

    Shape (patterns, facets, dimensions).

    Patterns with fewer facets are filled with zero vectors. Scaling the axes by s scales a vector
    by prod(s) / s, so one table serves every spacing.
    """
    corners: list[Point] = list(product((0, 2), repeat=dimensions))
    normals: list[list[NDArray[np.float64]]] = []
    for pattern in range(2 ** len(corners)):
        inside = {corner for bit, corner in enumerate(corners) if pattern >> bit & 1}
        if len(inside) > len(corners) // 2:
            inside = set(corners) - inside
        segments = [segment for face in _faces(dimensions) for segment in _cut_face(face, inside)]
        if dimensions == 2:
            normals.append([np.array([b[1] - a[1], a[0] - b[0]]) / 2 for a, b in segments])
        else:
            normals.append([vector for loop in _join(segments) for vector in _fold(loop)])
    table = np.zeros((len(normals), max(map(len, normals)), dimensions))
    for row, vectors in zip(table, normals, strict=True):
        row[: len(vectors)] = np.reshape(vectors, (-1, dimensions))
    table.flags.writeable = False
    return table


def _faces(dimensions: int) -> Iterator[list[Point]]:
    """List the squares of a block, each as its four corners in order."""
    if dimensions == 2:
        yield list(_ROUND_A_SQUARE)
        return
    for axis, side in product(range(3), (0, 2)):
        yield [(*around[:axis], side, *around[axis:]) for around in _ROUND_A_SQUARE]


def _cut_face(face: Sequence[Point], inside: set[Point]) -> list[tuple[Point, Point]]:
    """Draw the surface's trace on a square: one segment between two cut edges, two between four."""
    neighbours = [(face[i - 1], face[i]) for i in range(4)]
    cuts = [
        tuple((a + b) // 2 for a, b in zip(one, other, strict=True))
        for one, other in neighbours
        if (one in inside) != (other in inside)
    ]
    if face[0] not in inside:
        cuts = cuts[1:] + cuts[:1]
    return list(zip(cuts[::2], cuts[1::2], strict=True))


def _join(segments: list[tuple[Point, Point]]) -> Iterator[list[Point]]:
    """Join the segments of all faces to closed loops; a midpoint lies on exactly two segments."""
    ends: dict[Point, list[Point]] = {}
    for a, b in segments:
        ends.setdefault(a, []).append(b)
        ends.setdefault(b, []).append(a)
    while ends:
        here = next(iter(ends))
        loop = []
        while here in ends:
            loop.append(here)
            onward = [point for point in ends.pop(here) if point in ends]
            here = onward[0] if onward else here
        yield loop


def _fold(loop: list[Point]) -> list[NDArray[np.float64]]:
    """Cover a loop with triangles, in the way that has most area, and return their area vectors."""
    points = np.array(loop) / 2
    coverings = (
        [np.cross(points[b] - points[a], points[c] - points[a]) / 2 for a, b, c in triangles]
        for triangles in _triangulate(tuple(range(len(loop))))
    )
    return max(
        coverings, key=lambda vectors: round(float(np.linalg.norm(vectors, axis=1).sum()), 9)
    )


def _triangulate(loop: tuple[int, ...]) -> Iterator[list[tuple[int, int, int]]]:
    """List every way to cut a polygon into triangles."""
    if len(loop) < 3:
        yield []
        return
    first, last = loop[0], loop[-1]
    for i in range(1, len(loop) - 1):
        for left in _triangulate(loop[: i + 1]):
            for right in _triangulate(loop[i:]):
                yield [*left, *right, (first, loop[i], last)]


def corner_patterns(mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return the pattern of voxels around every corner of the grid; beyond the array is outside.

    Parameters
    ----------
    mask : bool, two or three dimensions, shape n.

    Returns
    -------
    uint8, shape n + 1 on every axis; 0 is all outside, the largest pattern all inside.
    """
    patterns = np.pad(mask, 1).view(np.uint8)
    for axis in reversed(range(mask.ndim)):
        # From the last axis to the first the pattern grows to 2, 4, 8 bits, as np.ndindex orders.
        lower, upper = (_cut(patterns, axis, part) for part in (slice(None, -1), slice(1, None)))
        patterns = lower | (upper << 2 ** (mask.ndim - 1 - axis))
    return patterns


def _cut(array: NDArray[np.uint8], axis: int, part: slice) -> NDArray[np.uint8]:
    index = [slice(None)] * array.ndim
    index[axis] = part
    return array[tuple(index)]
