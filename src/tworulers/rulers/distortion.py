"""What expert labels look like when one group's were drawn too wide, too tight, or carelessly."""

from collections.abc import Sequence

import cc3d
import edt
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, special

from tworulers.schema.settings import Distortion

LabelMap = NDArray[np.integer]

CORRELATION_MM = 4.0
"""Length over which the drawn boundary strays in one direction."""


def distort_label(
    label: LabelMap, spacing: Sequence[float], distortion: Distortion, rng: np.random.Generator
) -> LabelMap:
    """Distort all structures of a label map by a stated amount.

    Parameters
    ----------
    label : integer label map, background 0.
    spacing : mm along each array axis.
    distortion : `dilate_mm` moves boundaries outwards (negative: inwards), `boundary_noise_mm` is
        the standard deviation of a smooth random shift, and every connected component is missed
        with probability `missed_share`.
    rng : source of chance; the map without a distortion is returned as it is.

    Returns
    -------
    A new map of the same shape and type. Boundaries lie between voxels, so a shift below a voxel
    moves part of the boundary by a whole one: the amount is met on average. Background voxels go to
    the nearest structure; structures do not grow into each other.

    Raises
    ------
    ValueError : a share outside 0 to 1, a negative noise, or spacing that does not fit the map.
    """
    _check(label, spacing, distortion)
    drawn = label.copy()
    # Drawn in a fixed order, so that one amount does not change the chance of another.
    stray, rounding, missed = rng.spawn(3)
    if distortion.dilate_mm or distortion.boundary_noise_mm:
        shift = np.full(label.shape, distortion.dilate_mm, dtype=np.float32)
        if distortion.boundary_noise_mm:
            shift += distortion.boundary_noise_mm * draw_field(label.shape, spacing, stray)
        step = min(spacing)
        shift += step * (special.ndtr(draw_field(label.shape, spacing, rounding)) - 0.5)
        drawn = _move_boundaries(label, spacing, shift, step)
    if distortion.missed_share:
        drawn[_find_missed(label, distortion.missed_share, missed) & (drawn != 0)] = 0
    return drawn


def draw_field(
    shape: tuple[int, ...], spacing: Sequence[float], rng: np.random.Generator
) -> NDArray[np.float32]:
    """Draw a smooth random field with mean 0 and variance 1 in every voxel.

    Parameters
    ----------
    shape : of the label map.
    spacing : mm along each axis.
    rng : source of chance.
    """
    sigma = [CORRELATION_MM / 2 / step for step in spacing]
    noise = rng.standard_normal(shape, dtype=np.float32)
    field = ndimage.gaussian_filter(noise, sigma, mode="wrap")
    scale = 1.0
    for size, width in zip(shape, sigma, strict=True):
        impulse = np.zeros(size)
        impulse[0] = 1.0
        scale *= float((ndimage.gaussian_filter1d(impulse, width, mode="wrap") ** 2).sum())
    return np.asarray(field / np.sqrt(scale), dtype=np.float32)


def _move_boundaries(
    label: LabelMap, spacing: Sequence[float], shift: NDArray[np.float32], step: float
) -> LabelMap:
    # edt wants its axes in memory order.
    array = np.ascontiguousarray(label)
    inside = edt.edt(array, anisotropy=tuple(spacing), black_border=False)
    drawn = array.copy()
    drawn[(array != 0) & (inside - step / 2 < -shift)] = 0
    outside, nearest = ndimage.distance_transform_edt(
        array == 0, sampling=spacing, return_indices=True
    )
    gained = (array == 0) & (outside - step / 2 < shift)
    drawn[gained] = array[tuple(index[gained] for index in nearest)]
    return drawn


def _find_missed(label: LabelMap, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mark the voxels whose nearest component is missed, so that its distorted rim goes with it."""
    components, count = cc3d.connected_components(
        np.ascontiguousarray(label).astype(np.int32), return_N=True
    )
    lost = np.append(False, rng.random(count) < share)
    if not lost.any():
        return np.zeros(label.shape, dtype=np.bool_)
    nearest = ndimage.distance_transform_edt(
        components == 0, return_distances=False, return_indices=True
    )
    return np.asarray(lost[components[tuple(nearest)]])


def _check(label: LabelMap, spacing: Sequence[float], distortion: Distortion) -> None:
    faults = []
    if len(spacing) != label.ndim or min(spacing) <= 0:
        faults.append(f"spacing {tuple(spacing)}: expected {label.ndim} positive lengths in mm")
    if not 0 <= distortion.missed_share <= 1:
        faults.append(f"missed_share {distortion.missed_share}: expected 0 to 1")
    if distortion.boundary_noise_mm < 0:
        faults.append(f"boundary_noise_mm {distortion.boundary_noise_mm}: expected 0 or more")
    if faults:
        raise ValueError("the distortion cannot be applied:\n  " + "\n  ".join(faults))
