"""How good one prediction is against one reference: every metric of every structure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import ndimage

from tworulers.metrics.known.dice import DICE
from tworulers.metrics.levels import LEVELS, score_levels
from tworulers.metrics.macro import average_structures
from tworulers.metrics.overlap import Counts, count_overlap, voxel_volume
from tworulers.metrics.surface import bound, measure_border_voxels, measure_elements
from tworulers.schema.metric import BORDER, COUNTS, ELEMENTS, EXAMS, Metric
from tworulers.schema.settings import MACRO, Audit

COUNT_METRICS = ("tp", "fp", "fn", "image_voxels", "reference_mm3", "predicted_mm3", "image_mm3")
"""What every exam keeps beside its scores: metrics of the set follow from these once it is known."""

SURFACES = {ELEMENTS: measure_elements, BORDER: measure_border_voxels}
"""How the distances between two surfaces are measured, by what a metric needs."""

NOT_ANNOTATED = "not_annotated"
"""Why the scores of an exam are undefined of which nobody annotated a voxel."""

HIGHEST_LISTED = 65_535
"""Label up to which boxes of all labels are found in one pass."""

Masks = tuple[NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True)
class Row:
    """One score of an exam, and why it is undefined or infinite."""

    structure: str
    metric: str
    value: float
    undefined_because: str | None = None


def score_case(
    prediction: NDArray[np.integer],
    reference: NDArray[np.integer],
    *,
    affine: NDArray[np.float64],
    structures: Mapping[str, int],
    metrics: Sequence[Metric],
    settings: Audit,
    unseen: NDArray[np.bool_] | None = None,
) -> pd.DataFrame:
    """Score every structure of one exam, and their plain mean.

    Parameters
    ----------
    prediction, reference : integer label maps of one shape, two or three dimensions, on one grid.
    affine : 4 x 4, voxel indices to world mm; voxel sizes are the lengths of its columns.
    structures : label value of each structure.
    metrics : those that need the whole set are left to `sets.add_set_metrics`.
    settings : `levels_of` is the structure to score by disc level as well, `min_component_mm3` the size of its
        smallest disc, `macro` what the mean is over; the metrics read their own.
    unseen : of that shape, the voxels that nobody annotated: no part of either map, nor of the image.

    Returns
    -------
    One row a structure and metric (`structure`, `metric`, `value`, `undefined_because`): the
    scores, with the structure `macro` for the mean; the counts and volumes of `COUNT_METRICS`; and
    `level_C2C3` .. `level_C7T1` with Dice, and `level_components`, if asked for. A NaN or infinite
    value says why, a mean over part of the structures which. Where nothing is annotated there are no counts, and every
    score is undefined.
    """
    _check_case(prediction, reference, affine, structures, metrics, settings.levels_of)
    seen = reference.size if unseen is None else int(np.count_nonzero(~unseen))
    if not seen:
        return _explain_none(structures, metrics)
    spacing = np.linalg.norm(affine[:3, :3], axis=0)[: reference.ndim]
    prediction, reference = _cut_out(prediction, reference, unseen)
    voxel_mm3 = voxel_volume(affine)
    metrics = [metric for metric in metrics if metric.needs != EXAMS]
    rows: list[Row] = []
    counts: list[Row] = []
    boxes = find_boxes((prediction, reference), list(structures.values()))
    for (name, label), own_box in zip(structures.items(), boxes, strict=True):
        masks = prediction[own_box] == label, reference[own_box] == label
        found = count_overlap(*masks, image_voxels=seen, voxel_mm3=voxel_mm3)
        scores = score_structure(masks, found, spacing, metrics, settings)
        reason = found.emptiness
        rows += [Row(name, one, value, explain(value, reason)) for one, value in scores.items()]
        counts += _list_counts(name, found)
    for metric in metrics:
        own = [row for row in rows if row.metric == metric.name]
        rows.append(average_rows(metric.name, own, settings.macro))
    rows += counts
    if settings.levels_of is not None:
        label = structures[settings.levels_of]
        masks = prediction == label, reference == label
        rows += _list_levels(settings.levels_of, masks, affine, settings.min_component_mm3)
    return make_frame(rows)


def _explain_none(structures: Iterable[str], metrics: Sequence[Metric]) -> pd.DataFrame:
    """Say of every score that nothing of the exam is annotated."""
    names = (*structures, MACRO)
    return make_frame(
        Row(name, metric.name, nan, NOT_ANNOTATED) for name in names for metric in metrics
    )


def _cut_out(
    prediction: NDArray[np.integer],
    reference: NDArray[np.integer],
    unseen: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Leave what nobody annotated out of both maps, and all around what either holds."""
    if unseen is not None:
        prediction, reference = (np.where(unseen, 0, one) for one in (prediction, reference))
    held = prediction != 0
    held |= reference != 0
    box = bound(held) if held.any() else (slice(0, 1),) * held.ndim
    return prediction[box], reference[box]


def find_boxes(
    maps: Sequence[NDArray[np.integer]], labels: Sequence[int]
) -> list[tuple[slice, ...]]:
    """Give the smallest box that holds each label in any of the maps, one voxel where none does.

    The whole map for labels that cannot be looked up in a list.

    Parameters
    ----------
    maps : label maps of one shape.
    labels : what is looked for.
    """
    if min(labels) < 1 or max(labels) > HIGHEST_LISTED:
        return [(slice(None),) * maps[0].ndim] * len(labels)
    found = [_find_objects(labelled, max(labels)) for labelled in maps]
    boxes = []
    for label in labels:
        held = [objects[label - 1] for objects in found if objects[label - 1] is not None]
        sides = zip(*held, strict=True) if held else [(slice(0, 1),)] * maps[0].ndim
        boxes.append(
            tuple(slice(min(s.start for s in side), max(s.stop for s in side)) for side in sides)
        )
    return boxes


def _find_objects(labelled: NDArray[np.integer], highest: int) -> list[Any]:
    """Find the box of each label up to a highest, going along the memory: files are stored last axis outermost."""
    if labelled.strides[0] >= labelled.strides[-1]:
        return list(ndimage.find_objects(labelled, highest))
    turned = ndimage.find_objects(labelled.T, highest)
    return [None if box is None else box[::-1] for box in turned]


def score_structure(
    masks: Masks,
    counts: Counts,
    spacing: Sequence[float] | NDArray[np.float64],
    metrics: Sequence[Metric],
    settings: Audit,
) -> dict[str, float]:
    """Score one structure of one exam; what several metrics need is measured once.

    Parameters
    ----------
    masks : of prediction and reference, bool, one shape.
    counts : of the same masks.
    spacing : voxel size in mm, in array-axis order.
    metrics : of one exam each.
    settings : what they may read.

    Returns
    -------
    Values by metric; NaN where undefined.
    """
    measured: dict[str, Any] = {COUNTS: counts}
    wanted = {metric.needs for metric in metrics} - {COUNTS}
    if wanted and not counts.emptiness:
        box = bound(masks[0] | masks[1])
        boxed = [np.ascontiguousarray(mask[box]) for mask in masks]
        measured |= {needs: SURFACES[needs](boxed[0], boxed[1], spacing) for needs in wanted}
    return {metric.name: _compute(metric, counts, measured, settings) for metric in metrics}


def _compute(metric: Metric, counts: Counts, measured: Mapping[str, Any], settings: Audit) -> float:
    if counts.emptiness == "both_empty":
        return nan if metric.both_empty is None else metric.both_empty
    if counts.emptiness and metric.one_empty is not None:
        return metric.one_empty
    assert metric.compute is not None
    return float(metric.compute(measured[metric.needs], settings))


def _check_case(
    prediction: NDArray[np.integer],
    reference: NDArray[np.integer],
    affine: NDArray[np.float64],
    structures: Mapping[str, int],
    metrics: Sequence[Metric],
    levels_of: str | None,
) -> None:
    faults = []
    if prediction.shape != reference.shape:
        faults.append(
            f"one grid for both label maps, found shapes {prediction.shape} and {reference.shape}"
        )
    if reference.ndim not in (2, 3):
        faults.append(f"two or three dimensions, found {reference.ndim}")
    for name, labels in (("prediction", prediction), ("reference", reference)):
        if labels.dtype.kind not in "iub":
            faults.append(f"whole-number labels in the {name}, found {labels.dtype}")
    if np.shape(affine) != (4, 4):
        faults.append(f"a 4 x 4 affine, found shape {np.shape(affine)}")
    elif not np.linalg.norm(affine[:3, :3], axis=0).all():
        faults.append(f"an affine with voxel sizes above 0, found {np.asarray(affine).tolist()}")
    if unknown := sorted(metric.name for metric in metrics if metric.compute is None):
        faults.append(f"metrics that say how they are computed, found {unknown}")
    if (
        not structures
        or MACRO in structures
        or 0 in structures.values()
        or len(set(structures.values())) < len(structures)
    ):
        faults.append(
            f"structures with labels above 0, all different, and none called {MACRO!r}, "
            f"found {dict(structures)}"
        )
    if levels_of is not None and levels_of not in structures:
        faults.append(f"levels_of among {list(structures)}, found {levels_of!r}")
    if levels_of is not None and reference.ndim != 3:
        faults.append("a volume to tell disc levels in, found a plane")
    if faults:
        raise ValueError(
            "an exam cannot be scored; expected\n" + "\n".join(f"  {fault}" for fault in faults)
        )


def explain(value: float, reason: str | None) -> str | None:
    """Say why a value is undefined or infinite; None where it is finite."""
    return None if isfinite(value) else reason or "undefined"


def average_rows(metric: str, rows: Sequence[Row], rule: str) -> Row:
    """Average one metric over the structures of an exam, by one of `macro.RULES`."""
    values = {row.structure: row.value for row in rows}
    reasons = {row.structure: row.undefined_because for row in rows}
    return Row(MACRO, metric, *average_structures(values, reasons, rule))


def _list_counts(structure: str, counts: Counts) -> list[Row]:
    values = (
        counts.tp,
        counts.fp,
        counts.fn,
        counts.image_voxels,
        counts.reference_mm3,
        counts.predicted_mm3,
        counts.image_voxels * counts.voxel_mm3,
    )
    return [
        Row(structure, metric, float(value))
        for metric, value in zip(COUNT_METRICS, values, strict=True)
    ]


def _list_levels(
    structure: str, masks: Masks, affine: NDArray[np.float64], min_component_mm3: float
) -> list[Row]:
    found = score_levels(*masks, affine, min_component_mm3=min_component_mm3)
    count = Row(structure, "level_components", float(len(found.dice)))
    if found.status != "ok":
        return [
            count,
            *(Row(f"level_{name}", DICE.name, nan, f"levels_{found.status}") for name in LEVELS),
        ]
    named = zip(found.names, found.dice, strict=True)
    return [count, *(Row(f"level_{name}", DICE.name, dice) for name, dice in named)]


def make_frame(rows: Iterable[Row]) -> pd.DataFrame:
    """Lay rows out as a table: structure, metric, value, undefined_because."""
    rows = list(rows)
    return pd.DataFrame(
        {
            "structure": pd.array([row.structure for row in rows], dtype="str"),
            "metric": pd.array([row.metric for row in rows], dtype="str"),
            "value": np.array([row.value for row in rows], float),
            "undefined_because": pd.array([row.undefined_because for row in rows], dtype="str"),
        }
    )
