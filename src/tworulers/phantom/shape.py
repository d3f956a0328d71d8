"""Where a spine lies in an exam: distances to its bodies and discs at every voxel near it."""

from dataclasses import dataclass

import numpy as np

from tworulers.phantom.anatomy import BODY, DISC, Anatomy
from tworulers.phantom.randomness import Field, Reals, smooth_field

FAR_MM = -20.0
MARGIN_MM = 7.0
ROUGH_MM, ROUGH_WORN_MM, ROUGH_SCALE_MM = 0.10, 0.25, 5.0
LIP = 0.16
DENS_TAPER = 0.22

Axes = tuple[Field, Field, Field]
Window = tuple[slice, slice, slice]


@dataclass(frozen=True)
class Pose:
    """How a patient lies in the scanner: shift in mm along the axes, slopes back and sideways."""

    shift_mm: tuple[float, float, float]
    pitch: float
    roll: float


@dataclass(frozen=True)
class Spine:
    """A placed spine.

    `body` and `disc` are pseudo-distances in mm (positive inside, at least -20) at the voxels of
    `window`, roughness included; `wear` is the wear and `middle_mm` the front-back middle of the
    column, one value a row of the volume.
    """

    shape: tuple[int, int, int]
    window: Window
    body: Field
    disc: Field
    wear: Field
    middle_mm: Field

    def label(self, body: Field, disc: Field) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
        """Label the volume: the larger of two distances given at the window, where positive."""
        label = np.zeros(self.shape, dtype=np.uint8)
        label[self.window] = np.where(body >= disc, BODY, DISC) * (np.maximum(body, disc) > 0)
        return label


def voxel_centres(shape: tuple[int, int, int], spacing: tuple[float, ...]) -> Axes:
    """Give the voxel centres along left, down and back in mm from the centre of the volume."""
    first, second, third = (
        ((np.arange(n) - (n - 1) / 2) * step).astype(np.float32)
        for n, step in zip(shape, spacing, strict=True)
    )
    return first, second, third


def draw_pose(rng: np.random.Generator) -> Pose:
    """Draw how the patient lies: an exam's own, so that two exams of a patient differ."""
    left, down, back = rng.normal(0, (1.0, 1.0, 2.0))
    return Pose((left, down, back - 4.0), pitch=rng.normal(0, 0.05), roll=rng.normal(0, 0.02))


def place_spine(anatomy: Anatomy, pose: Pose, axes: Axes, rng: np.random.Generator) -> Spine:
    """Bend a spine along its lordosis, place it, and measure distances to its surfaces.

    Every block is a superellipsoid (exponent 4 for bodies, 3 for discs) turned by the slope of the
    curve; worn bodies have lips at their endplates, the top body tapers upwards, and worn surfaces
    are rougher.

    Parameters
    ----------
    anatomy, pose : what is placed, and how.
    axes : coordinates in mm of the voxel centres along left, down and back.
    rng : draws the roughness.
    """
    left, down, back = axes
    ends = np.cumsum(anatomy.height_mm)
    along = ends - anatomy.height_mm / 2 - ends[-1] / 2
    half = ends[-1] / 2

    def middle(q: Reals) -> Reals:
        inside = np.clip(q, -half, half)
        bend = (inside / half) ** 2 - 0.4 + 2 * inside / half**2 * (q - inside)
        behind: Reals = anatomy.lordosis_mm * bend + pose.pitch * q + pose.shift_mm[2]
        return behind

    slope = 2 * anatomy.lordosis_mm * along / half**2 + pose.pitch
    centre = np.stack(
        [pose.shift_mm[0] + pose.roll * along, along + pose.shift_mm[1], middle(along)]
    )

    window = _find_window(anatomy, centre, axes)
    near = (left[window[0]], down[window[1]], back[window[2]])
    shape = tuple(len(axis) for axis in near)
    distance = {kind: np.full(shape, FAR_MM, dtype=np.float32) for kind in (BODY, DISC)}
    for block, kind in enumerate(anatomy.kind):
        box, value = _measure_block(anatomy, block, centre[:, block], slope[block], near)
        target = distance[kind][:, box[0], box[1]]
        np.maximum(target, value, out=target)

    wear = np.interp(down, centre[1], anatomy.wear).astype(np.float32)
    rough = (ROUGH_MM + ROUGH_WORN_MM * wear[window[1]])[None, :, None]
    return Spine(
        shape=(len(left), len(down), len(back)),
        window=window,
        body=distance[BODY] + rough * smooth_field(near, ROUGH_SCALE_MM, rng),
        disc=distance[DISC] + rough * smooth_field(near, ROUGH_SCALE_MM, rng),
        wear=wear,
        middle_mm=middle(down - pose.shift_mm[1]).astype(np.float32),
    )


def _find_window(anatomy: Anatomy, centre: Reals, axes: Axes) -> Window:
    """Find the part of the volume within a margin of the spine; at least one voxel an axis."""
    reach = np.stack([anatomy.width_mm, anatomy.height_mm, anatomy.depth_mm]) / 2 + MARGIN_MM
    low, high = (centre - reach).min(axis=1), (centre + reach).max(axis=1)
    first, second, third = (_cut(axis, low[i], high[i]) for i, axis in enumerate(axes))
    return first, second, third


def _cut(axis: Field, low: float, high: float) -> slice:
    """Select the voxels between two coordinates; the nearest one where there is none."""
    start = min(int(np.searchsorted(axis, low)), len(axis) - 1)
    return slice(start, max(int(np.searchsorted(axis, high)), start + 1))


def _measure_block(
    anatomy: Anatomy, block: int, centre: Reals, slope: float, axes: Axes
) -> tuple[tuple[slice, slice], Field]:
    """Measure the pseudo-distance (1 - r) / |grad r| to a block in the rows and columns nearby."""
    left, down, back = axes
    kind, wear = anatomy.kind[block], anatomy.wear[block]
    a, b, c = anatomy.height_mm[block] / 2, anatomy.width_mm[block] / 2, anatomy.depth_mm[block] / 2
    reach = np.hypot(a, c) + MARGIN_MM
    rise = a + abs(slope) * c + MARGIN_MM
    rows = _cut(down, centre[1] - rise, centre[1] + rise)
    columns = _cut(back, centre[2] - reach, centre[2] + reach)

    dz, dy = down[rows, None] - centre[1], back[None, columns] - centre[2]
    norm = np.hypot(1, slope)
    up = (dz + slope * dy) / (norm * a)
    u, v = np.abs(up), np.abs(left - centre[0]) / b
    depth = np.full_like(u, c)
    if kind == BODY:
        depth *= 1 + LIP * wear * np.minimum(u, 1.15) ** 6
    if block == 0:
        depth *= 1 - DENS_TAPER * np.clip(-up, 0, 1)
    w = np.abs(dy - slope * dz) / (norm * depth)

    power = 4 if kind == BODY else 3
    total = _outer(v**power, u**power + w**power)
    steep = _outer(
        (v ** (power - 1) / b) ** 2,
        (u ** (power - 1) / a) ** 2 + (w ** (power - 1) / depth) ** 2,
    )
    np.maximum(total, 1e-4, out=total)
    radius = np.sqrt(np.sqrt(total)) if power == 4 else np.cbrt(total)
    value = (1 - radius) * radius ** (power - 1) / np.sqrt(steep + np.float32(1e-9))
    return (rows, columns), np.clip(value, np.float32(FAR_MM), np.float32(a))


def _outer(sideways: Reals, plane: Reals) -> Field:
    """Add what varies sideways to what varies in the sagittal plane."""
    return sideways.astype(np.float32)[:, None, None] + plane.astype(np.float32)[None]
