"""What a data set looks like to the planner: spacings, shapes after cropping, intensities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

SAMPLES_IN_ALL = 100_000_000
DRAWS_AT_ONCE = 1_000_000
SEED = 1234


@dataclass(frozen=True)
class CaseFingerprint:
    """One exam: spacing (mm), shape after cropping (voxels), its foreground intensities.

    `intensities` holds per channel the sorted distinct values of the sample and how often each
    was drawn: the sample itself would be larger by orders of magnitude for integer images.
    """

    spacing: tuple[float, ...]
    shape_after_crop: tuple[int, ...]
    relative_size_after_cropping: float
    intensities: tuple[tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]], ...]


@dataclass(frozen=True)
class Fingerprint:
    """All exams: what the planner reads. Intensity properties are keyed by channel index."""

    spacings: tuple[tuple[float, ...], ...]
    shapes_after_crop: tuple[tuple[int, ...], ...]
    foreground_intensity_properties_per_channel: Mapping[str, Mapping[str, float]]
    median_relative_size_after_cropping: float


def fill_nonzero(image: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where any channel of `image` (channel, *axes) is not zero, holes filled."""
    mask = (image != 0).any(axis=0)
    filled: npt.NDArray[np.bool_] = ndimage.binary_fill_holes(mask)
    return filled


def bound(mask: npt.NDArray[np.bool_]) -> tuple[slice, ...]:
    """Tight box around the true voxels; the whole array if there are none."""
    boxes = ndimage.find_objects(mask.astype(np.uint8))
    return boxes[0] if boxes else tuple(slice(0, n) for n in mask.shape)


def measure_case(
    image: npt.NDArray[np.floating[Any]],
    label: npt.NDArray[np.integer[Any]],
    spacing: Sequence[float],
    n_cases: int,
) -> CaseFingerprint:
    """Measure one exam.

    Parameters
    ----------
    image
        (channel, slice, row, column), intensities as read.
    label
        (slice, row, column), 0 background.
    spacing
        Millimetres per axis, same order.
    n_cases
        Exams of the data set: the intensity sample is shared out evenly among them.

    Raises
    ------
    ValueError
        Shapes that differ, or an image that is not finite.
    """
    if image.ndim != label.ndim + 1 or image.shape[1:] != label.shape:
        raise ValueError(
            f"Image {image.shape} and label {label.shape} do not match: expected "
            "(channel, *axes) and (*axes) of one grid."
        )
    if len(spacing) != label.ndim:
        raise ValueError(f"Spacing has {len(spacing)} numbers, the label {label.ndim} axes.")
    if not np.isfinite(image).all():
        raise ValueError("The image holds NaN or infinite intensities; mend or exclude the exam.")
    box = bound(fill_nonzero(image))
    cropped = tuple(part.stop - part.start for part in box)
    return CaseFingerprint(
        spacing=tuple(float(s) for s in spacing),
        shape_after_crop=cropped,
        relative_size_after_cropping=float(np.prod(cropped) / np.prod(label.shape)),
        intensities=_sample_foreground(image[(slice(None), *box)], label[box], n_cases),
    )


def _sample_foreground(
    image: npt.NDArray[Any], label: npt.NDArray[Any], n_cases: int
) -> tuple[tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]], ...]:
    """Draw foreground voxels with replacement: one stream an exam, channels in order."""
    foreground = label > 0
    generator = np.random.RandomState(SEED)  # the stream nnU-Net draws from
    sampled = []
    for channel in image:
        voxels = channel[foreground].astype(np.float32)
        if voxels.size == 0:
            sampled.append((voxels, np.zeros(0, dtype=np.int64)))
            continue
        times = np.zeros(voxels.size, dtype=np.int64)
        left = SAMPLES_IN_ALL // n_cases
        while left > 0:
            drawn = generator.randint(0, voxels.size, min(left, DRAWS_AT_ONCE))
            times += np.bincount(drawn, minlength=voxels.size)
            left -= DRAWS_AT_ONCE
        sampled.append(_count_distinct(voxels, times))
    return tuple(sampled)


def _count_distinct(
    values: npt.NDArray[np.float32], times: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    drawn = times > 0
    order = np.argsort(values[drawn], kind="stable")
    ordered, counts = values[drawn][order], times[drawn][order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    return ordered[starts], np.add.reduceat(counts, starts)


def pool_fingerprints(cases: Sequence[CaseFingerprint]) -> Fingerprint:
    """Pool exams into the fingerprint of the data set.

    Raises
    ------
    ValueError
        No exams, or no foreground in any of them.
    """
    if not cases:
        raise ValueError("A fingerprint needs at least one exam.")
    properties = {}
    for channel in range(len(cases[0].intensities)):
        pairs = [case.intensities[channel] for case in cases if case.intensities[channel][0].size]
        if not pairs:
            raise ValueError("No exam has a foreground voxel: the labels are empty.")
        values, counts = _count_distinct(
            np.concatenate([v for v, _ in pairs]), np.concatenate([c for _, c in pairs])
        )
        properties[str(channel)] = _describe(values.astype(np.float64), counts)
    return Fingerprint(
        spacings=tuple(case.spacing for case in cases),
        shapes_after_crop=tuple(case.shape_after_crop for case in cases),
        foreground_intensity_properties_per_channel=properties,
        median_relative_size_after_cropping=float(
            np.median([case.relative_size_after_cropping for case in cases])
        ),
    )


def _describe(values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> dict[str, float]:
    """Moments and percentiles of a sample given as distinct sorted values and their counts."""
    mean = float(np.average(values, weights=counts))
    last = np.cumsum(counts)
    total = int(last[-1])

    def percentile(q: float) -> float:
        place = q / 100 * (total - 1)
        low = int(np.floor(place))
        below, above = values[np.searchsorted(last, [low, min(low + 1, total - 1)], side="right")]
        return float(below + (above - below) * (place - low))

    return {
        "max": float(values[-1]),
        "mean": mean,
        "median": percentile(50),
        "min": float(values[0]),
        "percentile_00_5": percentile(0.5),
        "percentile_99_5": percentile(99.5),
        "std": float(np.sqrt(np.average((values - mean) ** 2, weights=counts))),
    }


def fingerprint_to_json(fingerprint: Fingerprint) -> dict[str, Any]:
    """The fingerprint under the key names of nnU-Net's `dataset_fingerprint.json`."""
    return {
        "foreground_intensity_properties_per_channel": {
            channel: dict(properties)
            for channel, properties in (
                fingerprint.foreground_intensity_properties_per_channel.items()
            )
        },
        "median_relative_size_after_cropping": fingerprint.median_relative_size_after_cropping,
        "shapes_after_crop": [list(shape) for shape in fingerprint.shapes_after_crop],
        "spacings": [list(spacing) for spacing in fingerprint.spacings],
    }
