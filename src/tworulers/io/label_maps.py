"""Label maps: whole numbers, one file a structure, or probabilities with a threshold, read to structures' values."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt

from tworulers.io.image_files import open_image, read_voxels
from tworulers.io.image_names import list_parts
from tworulers.io.images import Header, ImageError, LabelVolume, Volume, same_grid
from tworulers.io.label_values import WIDEST_TABLE, ValueMap, count_from

INTEGER_TOLERANCE = 1e-3
"""How far a stored label may lie from an integer and still be that integer (rounding of float files)."""

LARGEST_LABEL = 2**31
"""Larger floating numbers are no labels, but what a damaged header makes of them; integers may be of any size."""

MAX_VALUES = 2**16
"""Most different values of a label map; an image of intensities has more."""

SHOWN = 10

_SLAB = 2**20
"""Voxels that are looked at at once where a copy of all of them would be large."""

Slab = tuple[EllipsisType, slice]


def read_label(
    path: Path, labels: Iterable[int] | None = None, stands_for: ValueMap | None = None
) -> LabelVolume:
    """Read a label map as uint8 integers.

    Parameters
    ----------
    path : an image file, whose values within a thousandth of an integer are that integer; or a folder of masks, one a
        structure, where `stands_for` names their files.
    labels : the values that may occur (0 always may); any small integer where not given.
    stands_for : what stored values are replaced by, in place of `labels`; they may be of any size.

    Raises
    ------
    ImageError : unreadable, fractional values (with their number and an example), or unexpected values (with counts).
    """
    meaning = stands_for or ValueMap.of_own(range(256) if labels is None else labels)
    if meaning.files:
        return _join_parts(path, meaning)
    stored = open_image(path)
    voxels = read_voxels(stored, 1)
    array = np.empty(stored.shape, np.uint8, order="F")
    found: Counter[int] = Counter()
    for slab, part in _whole_parts(voxels, path, meaning.threshold):
        _add_counts(found, part, path)
        array[slab] = meaning.apply(part)
    unexpected = {value: found[value] for value in sorted(found) if not meaning.knows(value)}
    if unexpected:
        first = dict(list(unexpected.items())[:SHOWN])
        more = f" and {len(unexpected) - SHOWN} more values" if len(unexpected) > SHOWN else ""
        raise ImageError(
            f"{path}: unexpected label values {first}{more} (value: voxels); expected {sorted(meaning.named)[:20]}. "
            f"Map them with label_map (of a data set dataset.reading.label_map={{{next(iter(unexpected))}: "
            f"{max(meaning.named.values(), default=1)}}}, 0 for background), or correct the file",
            "values",
            {"unexpected": unexpected, "values": dict(sorted(found.items()))},
        )
    return Volume(array, stored.affine, path, stored.placed)


def count_label_values(path: Path, stands_for: ValueMap | None = None) -> dict[int, int]:
    """Count the voxels of each value of a label map, whatever its values.

    Parameters
    ----------
    path : as of `read_label`.
    stands_for : the files of structures, or a threshold, where the map has them.

    Raises
    ------
    ImageError : unreadable, or fractional values.
    """
    found: Counter[int] = Counter()
    if stands_for is not None and stands_for.files:
        _add_counts(found, _join_parts(path, stands_for).array, path)
    else:
        threshold = None if stands_for is None else stands_for.threshold
        for _, part in _whole_parts(read_voxels(open_image(path), 0), path, threshold):
            _add_counts(found, part, path)
    return dict(sorted(found.items()))


def _join_parts(folder: Path, meaning: ValueMap) -> LabelVolume:
    """Put the masks of a folder, one a structure, into one label map."""
    files = list_parts(folder) if folder.is_dir() else {}
    absent = [name for name in meaning.files if name not in files]
    if absent:
        raise ImageError(
            f"{folder} has no mask {', '.join(absent[:SHOWN])}; a structure that is not there needs an empty one",
            "missing",
        )
    joined: LabelVolume | None = None
    for name, value in meaning.files.items():
        mask, header = _read_mask(files[name], meaning.threshold)
        if joined is None:
            array = np.zeros(header.shape, np.uint8, order="F")
            joined = Volume(array, header.affine, folder, header.placed)
        elif not same_grid(header, joined):
            raise ImageError(
                f"{files[name]} does not lie on the grid of the other masks in {folder}", "grid"
            )
        taken = joined.array[mask]
        if taken.any():
            places = {number: other for other, number in meaning.files.items()}
            other = places[int(taken[taken > 0][0])]
            raise ImageError(
                f"{folder}: {name} and {other} share {int((taken > 0).sum())} voxels, and a label map holds one "
                "structure a voxel; leave one of them out of predictions.structures",
                "values",
            )
        joined.array[mask] = value
    if joined is None:
        raise ImageError(f"{folder} holds no mask", "missing")
    return joined


def _read_mask(path: Path, threshold: float | None) -> tuple[npt.NDArray[np.bool_], Header]:
    """Read where a structure is; a mask holds one value beside 0."""
    stored = open_image(path)
    voxels = read_voxels(stored, 2)
    mask = np.empty(stored.shape, np.bool_, order="F")
    found: Counter[int] = Counter()
    for slab, part in _whole_parts(voxels, path, threshold):
        _add_counts(found, part, path)
        mask[slab] = part != 0
    values = sorted(set(found) - {0})
    if len(values) > 1:
        raise ImageError(
            f"{path}: expected the mask of one structure, with one value beside 0, found {values[:SHOWN]}",
            "values",
        )
    return mask, Header(path, stored.shape, stored.affine, stored.dtype, stored.placed)


def _add_counts(found: Counter[int], part: npt.NDArray[np.generic], path: Path) -> None:
    found.update(_count_values(part))
    if len(found) > MAX_VALUES:
        raise ImageError(
            f"{path}: more than {MAX_VALUES:,} different values; expected a label map. Is this the image?",
            "values",
        )


def _whole_parts(
    stored: npt.NDArray[Any], path: Path, threshold: float | None
) -> Iterator[tuple[Slab, npt.NDArray[Any]]]:
    """Give the parts of a label map, their values rounded to the whole numbers they are; refuse others at the end."""
    fractional, example, low, high = 0, 0.0, math.inf, -math.inf
    for slab in _slabs(stored.shape):
        part = stored[slab]
        if threshold is not None:
            yield slab, _cut(part, path, threshold)
            continue
        floating = np.issubdtype(part.dtype, np.floating)
        rounded = np.rint(part) if floating else part
        with np.errstate(invalid="ignore"):  # infinity less itself is no number, and no label
            wrong = ~(np.abs(part - rounded) <= INTEGER_TOLERANCE) if floating else None
        if wrong is not None:
            wrong |= ~((part > -LARGEST_LABEL) & (part < LARGEST_LABEL))
        if wrong is not None and wrong.any():
            example = example if fractional else float(part[wrong][0])
            low = float(np.minimum(low, part.min()))  # no number stays none
            high = float(np.maximum(high, part.max()))
            fractional += int(wrong.sum())
            continue
        yield slab, rounded
    if fractional:
        raise ImageError(
            f"{path}: {fractional} label voxels are not integers (for example {example:.4g}){_advise(low, high)}",
            "values",
            {"fractional": fractional, "example": example},
        )


def _advise(low: float, high: float) -> str:
    if low >= 0 and high <= 1:
        return (
            "; if these are probabilities of one structure, state the smallest one that counts as it: threshold: 0.5 "
            "beside the folder (predictions.threshold, or threshold of a model or a reference)"
        )
    if math.isnan(low):
        return ", no numbers among them (NaN); write what they stand for, such as 0 for background"
    return "; interpolated labels cannot be scored. Export the label again without interpolation"


def _cut(part: npt.NDArray[Any], path: Path, threshold: float) -> npt.NDArray[np.uint8]:
    """Tell where a probability reaches the threshold."""
    low, high = float(part.min()), float(part.max())
    if not (low >= 0 and high <= 1 + INTEGER_TOLERANCE):
        raise ImageError(
            f"{path}: a threshold of {threshold:g} is stated, so probabilities from 0 to 1 are expected; found values "
            f"from {low:.4g} to {high:.4g}",
            "values",
        )
    reached: npt.NDArray[np.uint8] = (part >= threshold).astype(np.uint8)
    return reached


def _count_values(part: npt.NDArray[Any]) -> dict[int, int]:
    """Return the whole-number values of some voxels, each with its number."""
    if part.size and part.dtype.kind in "iu":
        low, high = int(part.min()), int(part.max())
        if high - low < WIDEST_TABLE:
            flat = part.ravel(order="K")
            counts = np.bincount(
                flat if low == 0 and part.dtype.itemsize < 8 else count_from(flat, low)
            )
            return {int(value) + low: int(counts[value]) for value in np.flatnonzero(counts)}
    values, counts = np.unique(part, return_counts=True)
    return {int(value): int(n) for value, n in zip(values, counts, strict=True)}


def _slabs(shape: tuple[int, ...]) -> Iterator[Slab]:
    """Cut an image across its last axis into parts that lie together in memory."""
    step = max(1, _SLAB // max(1, math.prod(shape[:-1])))
    for start in range(0, shape[-1], step):
        yield ..., slice(start, start + step)
