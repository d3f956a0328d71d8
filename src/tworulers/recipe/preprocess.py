"""What a network sees of an exam: cropped, transposed, normalised, resampled; and the way back.

Images and labels go apart, because an exam's label differs from regime to regime: the image leaves
a `Geometry` behind that its labels, and later its predictions, follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from tworulers.recipe.fingerprint import bound, fill_nonzero
from tworulers.recipe.plan import ConfigurationPlan, Plans
from tworulers.recipe.resample import (
    resample_image,
    resample_label,
    resample_logits,
    resampled_shape,
)

LOCATION_SEED = 1234
LOCATIONS = 10_000
LOCATION_SHARE = 0.01
SMALLEST_STD = 1e-8

FloatArray = npt.NDArray[np.float32]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Geometry:
    """How one exam's array was cut out and resampled; all axes in the plans' transposed order.

    `spacing` and `target` are voxel edges in mm before and after resampling, `box` is half open.
    `inside` marks, within the box, the non-zero mask with its holes filled; None: all of it.
    """

    spacing: tuple[float, ...]
    target: tuple[float, ...]
    full_shape: tuple[int, ...]
    box: tuple[tuple[int, int], ...]
    shape: tuple[int, ...]
    transpose_forward: tuple[int, ...]
    inside: npt.NDArray[np.bool_] | None = None

    @property
    def cropped_shape(self) -> tuple[int, ...]:
        """Voxels of the box before resampling."""
        return tuple(high - low for low, high in self.box)

    @property
    def transpose_backward(self) -> tuple[int, ...]:
        """The permutation that undoes `transpose_forward`."""
        return tuple(int(a) for a in np.argsort(self.transpose_forward))

    @property
    def slices(self) -> tuple[slice, ...]:
        """The box as an index."""
        return tuple(slice(low, high) for low, high in self.box)


@dataclass(frozen=True)
class PreparedLabel:
    """A label on the array's grid (int8, -1 outside the body) and sampled voxels of each structure.

    `locations` maps a structure's value to (n, 3) voxel indices, empty where it is absent. `annotated` are
    such voxels of all that somebody annotated, background too; None where all voxels count as it.
    """

    array: npt.NDArray[np.int8]
    locations: Mapping[int, npt.NDArray[np.int32]]
    annotated: npt.NDArray[np.int32] | None = None


def preprocess_image(
    image: Array, spacing: Sequence[float], plans: Plans, configuration: str
) -> tuple[FloatArray, Geometry]:
    """Prepare an exam's image for one configuration.

    Parameters
    ----------
    image
        (C, a0, a1, a2), intensities as read, axes as read.
    spacing
        Voxel edges in mm, axes as read.
    plans, configuration
        The plan and the name of one of its configurations.

    Returns
    -------
    array, geometry
        float32 (C, z, y, x) on the plan's grid, and what its labels and predictions need.

    Raises
    ------
    ValueError
        Not three axes behind the channels, another number of channels than planned, a spacing
        that is not positive, or intensities that are not finite.
    """
    plan = plans.configuration(configuration)
    _check_image(image, spacing, plan)
    forward = plans.transpose_forward
    array = image.transpose(0, *(1 + axis for axis in forward)).astype(np.float32)
    edges = tuple(float(spacing[axis]) for axis in forward)
    mask = fill_nonzero(array)
    box = bound(mask)
    cropped = array[(slice(None), *box)]
    inside = mask[box]
    intensities = plans.foreground_intensity_properties_per_channel
    normalised = normalise(cropped, inside, plan, intensities)
    # Slices of a 2D configuration are never resampled across.
    target = plan.spacing if plan.dimension == len(edges) else (edges[0], *plan.spacing)
    shape = resampled_shape(inside.shape, edges, target)
    if min(shape) < 1:
        raise ValueError(
            f"Resampling {inside.shape} voxels of {edges} mm to {target} mm leaves no voxel along "
            "an axis: exclude the exam or plan a finer spacing."
        )
    geometry = Geometry(
        spacing=edges,
        target=tuple(target),
        full_shape=array.shape[1:],
        box=tuple((part.start, part.stop) for part in box),
        shape=shape,
        transpose_forward=forward,
        inside=None if inside.all() else inside,
    )
    resampled = resample_image(normalised, shape, edges, target, plan.image_order)
    return np.ascontiguousarray(resampled, dtype=np.float32), geometry


def preprocess_label(
    label: Array, geometry: Geometry, structures: Sequence[int], ignore: int | None = None
) -> PreparedLabel:
    """Bring an exam's label to the grid of its prepared image.

    Parameters
    ----------
    label
        (a0, a1, a2) integers, axes as read, 0 background.
    geometry
        What `preprocess_image` returned for the exam.
    structures
        Values of the foreground structures.
    ignore
        The value of voxels that nobody annotated, if there is one.

    Raises
    ------
    ValueError
        A shape other than the image's, values below 0 or above 127, or unknown values.
    """
    array = label.transpose(geometry.transpose_forward)
    if array.shape != geometry.full_shape:
        backward = [geometry.full_shape[a] for a in geometry.transpose_backward]
        raise ValueError(
            f"The label has {label.shape} voxels, the image {tuple(backward)}: they must be on "
            "one grid."
        )
    known = {*structures} if ignore is None else {*structures, ignore}
    unknown = sorted(set(np.unique(array).tolist()) - {0, *known})
    if unknown or max(known) > 127:
        raise ValueError(
            f"The label holds {unknown}; expected 0 and {sorted(known)} (at most 127)."
        )
    cropped = array[geometry.slices].astype(np.int8)
    if geometry.inside is not None:
        cropped[(cropped == 0) & ~geometry.inside] = -1
    prepared = np.ascontiguousarray(
        resample_label(cropped, geometry.shape, geometry.spacing, geometry.target)
    )
    generator = np.random.RandomState(LOCATION_SEED)
    locations = sample_locations(prepared, structures, generator)
    if ignore is None:
        return PreparedLabel(prepared, locations)
    # In nnU-Net's order, so that the same voxels are drawn.
    annotated = [np.flatnonzero(prepared == value) for value in (-1, 0, *structures)]
    voxels = _sample(np.concatenate(annotated), prepared.shape, generator)
    return PreparedLabel(prepared, locations, voxels)


def sample_locations(
    label: Array, structures: Sequence[int], generator: np.random.RandomState | None = None
) -> dict[int, npt.NDArray[np.int32]]:
    """Draw voxels of each structure without replacement: all up to 10,000, then 1 % at least."""
    generator = generator or np.random.RandomState(LOCATION_SEED)
    return {
        int(structure): _sample(np.flatnonzero(label == structure), label.shape, generator)
        for structure in structures
    }


def _sample(
    voxels: npt.NDArray[np.int64], shape: tuple[int, ...], generator: np.random.RandomState
) -> npt.NDArray[np.int32]:
    n = max(min(LOCATIONS, len(voxels)), int(np.ceil(len(voxels) * LOCATION_SHARE)))
    drawn = voxels[generator.choice(len(voxels), n, replace=False)] if n else voxels
    return np.stack(np.unravel_index(drawn, shape), axis=1).astype(np.int32)


def normalise(
    image: FloatArray,
    inside: npt.NDArray[np.bool_],
    plan: ConfigurationPlan,
    intensities: Mapping[str, Mapping[str, float]],
) -> FloatArray:
    """Normalise every channel by its planned scheme; a constant channel becomes zero.

    Parameters
    ----------
    image
        (C, z, y, x), cropped.
    inside
        (z, y, x), the voxels that a masked z-score is restricted to; others keep their value.
    plan
        Schemes and masks of the channels.
    intensities
        The fingerprint's foreground intensities by channel, for CT.
    """
    result = np.empty_like(image)
    schemes = zip(plan.normalization_schemes, plan.use_mask_for_norm, strict=True)
    for channel, (scheme, masked) in enumerate(schemes):
        values = image[channel]
        if scheme == "ZScoreNormalization":
            where = inside if masked else np.ones_like(inside)
            result[channel] = values
            if where.any():
                result[channel][where] = _standardise(values[where])
        elif scheme == "CTNormalization":
            known = intensities[str(channel)]
            low, high = known["percentile_00_5"], known["percentile_99_5"]
            spread = max(known["std"], SMALLEST_STD)
            result[channel] = (np.clip(values, low, high) - known["mean"]) / spread
        elif scheme == "RescaleTo01Normalization":
            shifted = values - values.min()
            result[channel] = shifted / max(float(shifted.max()), SMALLEST_STD)
        elif scheme == "RGBTo01Normalization":
            result[channel] = values / 255
        elif scheme == "NoNormalization":
            result[channel] = values
        else:
            raise ValueError(f"Channel {channel}: unknown normalisation scheme {scheme!r}.")
    return result


def restore_probabilities(logits: Array, geometry: Geometry) -> FloatArray:
    """Softmax probabilities (K, a0, a1, a2), axes as read, background outside the box."""
    restored = resample_logits(logits, geometry.cropped_shape, geometry.target, geometry.spacing)
    cropped = softmax(restored.astype(np.float32), axis=0)
    full = np.zeros((len(cropped), *geometry.full_shape), dtype=np.float32)
    full[0] = 1
    full[(slice(None), *geometry.slices)] = cropped
    order = (0, *(1 + axis for axis in geometry.transpose_backward))
    return np.ascontiguousarray(full.transpose(order))


def _standardise(values: FloatArray) -> FloatArray:
    if values.min() == values.max():
        return np.zeros_like(values)
    mean = np.float32(values.mean(dtype=np.float64))
    spread = max(float(values.std(dtype=np.float64)), SMALLEST_STD)
    standard: FloatArray = (values - mean) / np.float32(spread)
    return standard


def _check_image(image: Array, spacing: Sequence[float], plan: ConfigurationPlan) -> None:
    faults = []
    if image.ndim != 4:
        faults.append(f"expected (channel, 3 axes), found an array of shape {image.shape}")
    elif len(image) != len(plan.normalization_schemes):
        faults.append(
            f"expected {len(plan.normalization_schemes)} channels as planned, found {len(image)}"
        )
    if len(spacing) != 3 or not all(np.isfinite(s) and s > 0 for s in spacing):
        faults.append(f"expected three positive voxel edges in mm, found {tuple(spacing)}")
    if not np.isfinite(image).all():
        bad = int((~np.isfinite(image)).sum())
        faults.append(f"{bad} intensities are NaN or infinite; mend or exclude the exam")
    if faults:
        raise ValueError("The image cannot be prepared: " + "; ".join(faults) + ".")
