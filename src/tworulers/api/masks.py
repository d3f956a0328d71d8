"""Label maps, in memory or as files, to a table of scores and to its audit."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.api.assemble import Asked
from tworulers.api.inputs import list_some
from tworulers.api.scores import AuditOfScores, audit
from tworulers.ingest.predictions import read_pair
from tworulers.metrics.case import COUNT_METRICS, score_case
from tworulers.metrics.registry import METRICS
from tworulers.metrics.sets import add_set_metrics
from tworulers.schema.metric import COUNTS, Metric
from tworulers.schema.settings import MACRO, Audit

Spacing = Sequence[float] | Mapping[str, Sequence[float]]


def score_masks(
    pred_masks: Any,
    true_masks: Any,
    *,
    labels: Mapping[str, int] | None = None,
    spacing: Spacing | None = None,
    metrics: Sequence[str | Metric] = ("dice", "hd95"),
    tolerance_mm: float = 1.0,
    trust_grid: bool = False,
) -> pd.DataFrame:
    """Score predicted label maps against reference ones, exam by exam.

    Parameters
    ----------
    pred_masks, true_masks : exams by name, or in the same order: arrays of 2 or 3 axes, whole numbers or truth values,
        or paths of NIfTI, NRRD or MetaImage files. An array of 4 axes has one exam along the first, one of 2 or 3 axes
        is one exam.
    labels : value of each structure, by name; by default the values of the references, called `label_1` and so on.
    spacing : voxel size in mm along the axes of the arrays, for all exams or by exam. Files have their own.
    metrics : names of metrics of ours, or `Metric` objects that compute themselves.
    tolerance_mm : how far surfaces may lie apart for `surface_dice`.
    trust_grid : voxels of files correspond by index, although their headers put them elsewhere, or nowhere.

    Returns
    -------
    One row an exam, structure and metric: `exam_id`, `structure`, `metric`, `value`, `undefined_because`, and the
    metric's `title` and `unit`. With several structures `macro` is the mean of those that an exam has.

    Raises
    ------
    ValueError : exams that are not on both sides, shapes that differ, no spacing where a metric needs one, a metric
        that is not known.

    Examples
    --------
    >>> import numpy as np, tworulers as tr
    >>> true = np.zeros((4, 4, 4), int); true[1:3, 1:3, 1:3] = 1
    >>> pred = np.zeros((4, 4, 4), int); pred[1:3, 1:3, 1:4] = 1
    >>> scores = tr.score_masks({"a": pred}, {"a": true}, labels={"disc": 1}, spacing=(1, 1, 2))
    >>> scores[["exam_id", "structure", "metric", "value"]].values.tolist()
    [['a', 'disc', 'dice', 0.8], ['a', 'disc', 'hd95', 2.0]]
    """
    predicted, true = _by_exam(pred_masks), _by_exam(true_masks)
    if alone := sorted(set(predicted) ^ set(true)):
        raise ValueError(f"exams that are not on both sides: {list_some(alone)}")
    chosen = [one if isinstance(one, Metric) else _find(one) for one in metrics]
    settings = Audit(
        name="python", metrics=[one.name for one in chosen], surface_tolerance_mm=tolerance_mm
    )
    named = labels or _name_labels(true)
    pairs = {exam: (mask, true[exam]) for exam, mask in predicted.items()}
    scores = _score_exams(pairs, named, spacing, chosen, settings, trust_grid)
    told = {one.name: one for one in chosen}
    scores["title"] = scores["metric"].map({name: one.title for name, one in told.items()})
    scores["unit"] = scores["metric"].map({name: one.unit for name, one in told.items()})
    columns = ["exam_id", "structure", "metric", "value", "undefined_because", "title", "unit"]
    return scores[columns].reset_index(drop=True)


def _score_exams(
    pairs: Mapping[str, tuple[Any, Any]],
    labels: Mapping[str, int],
    spacing: Spacing | None,
    metrics: Sequence[Metric],
    settings: Audit,
    trust_grid: bool,
) -> pd.DataFrame:
    """Score every exam, and the metrics that need all of them."""
    parts = []
    for exam, pair in pairs.items():
        prediction, reference, affine = _load(exam, *pair, labels, spacing, metrics, trust_grid)
        try:
            rows = score_case(
                prediction, reference, affine=affine, structures=labels, metrics=metrics,
                settings=settings,
            )  # fmt: skip
        except ValueError as error:
            raise ValueError(f"exam {exam!r}: {error}") from error
        parts.append(rows.assign(exam_id=exam))
    scores = add_set_metrics(pd.concat(parts, ignore_index=True), metrics, settings)
    scores = scores[~scores["metric"].isin(COUNT_METRICS)]
    return scores[scores["structure"] != MACRO] if len(labels) == 1 else scores


def audit_masks(
    pred_masks: Any,
    true_masks: Any,
    sensitive_features: Any,
    *,
    provenance: str,
    labels: Mapping[str, int] | None = None,
    spacing: Spacing | None = None,
    metrics: Sequence[str | Metric] = ("dice", "hd95"),
    tolerance_mm: float = 1.0,
    trust_grid: bool = False,
    reference: Mapping[str, str] | None = None,
    **asked: Unpack[Asked],
) -> AuditOfScores:
    """Score predicted label maps against reference ones, and audit the scores.

    Parameters
    ----------
    pred_masks, true_masks, labels, spacing, metrics, tolerance_mm, trust_grid : as of `score_masks`; spacing in mm.
    sensitive_features : one row an exam, by the names of the exams or in their order; as of `audit`.
    provenance : who drew the references: "gold" (experts), "silver" (a machine), "truth".
    reference : by feature, the group that the others are contrasted with.
    asked : `data`, `bins`, `intersectional`, `success`, `margin`, `given`, `subject_id`, `alpha` and `seed`, as of
        `audit`.

    Raises
    ------
    ValueError : as of `score_masks` and `audit`.

    Examples
    --------
    >>> import numpy as np, tworulers as tr
    >>> rng = np.random.default_rng(0)
    >>> true = rng.random((24, 6, 6, 6)) < 0.5
    >>> pred = true ^ (rng.random(true.shape) < 0.1)
    >>> sex = np.tile(["F", "M"], 12)
    >>> r = tr.audit_masks(pred, true, {"sex": sex}, provenance="gold", metrics=["dice"])
    >>> r.by_group[["group", "n"]].values.tolist()
    [['F', 12], ['M', 12]]
    """
    scores = score_masks(
        pred_masks,
        true_masks,
        labels=labels,
        spacing=spacing,
        metrics=metrics,
        tolerance_mm=tolerance_mm,
        trust_grid=trust_grid,
    )
    exams = dict.fromkeys(scores["exam_id"])
    asked.setdefault("data", pd.DataFrame(index=list(exams)))
    asked.setdefault("metric", [one for one in metrics if isinstance(one, Metric)])
    return audit(scores, sensitive_features, provenance=provenance, reference=reference, **asked)


def _by_exam(masks: Any) -> dict[str, Any]:
    """Name exams: by their keys, or by their place."""
    if isinstance(masks, Mapping):
        return {str(exam): mask for exam, mask in masks.items()}
    one = isinstance(masks, (str, Path)) or (isinstance(masks, np.ndarray) and masks.ndim < 4)
    return {str(place): mask for place, mask in enumerate([masks] if one else masks)}


def _find(name: str) -> Metric:
    if name not in METRICS:
        raise ValueError(f"metrics: no metric is called {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]


def _name_labels(masks: Mapping[str, Any]) -> dict[str, int]:
    """Name the structures of arrays by the values that they hold."""
    if any(isinstance(mask, (str, Path)) for mask in masks.values()):
        raise ValueError("labels: files need the value of each structure, as {'disc': 1}")
    found = sorted({int(value) for mask in masks.values() for value in np.unique(mask)} - {0})
    if not found:
        raise ValueError("labels: no reference holds a structure; name them, as {'disc': 1}")
    return {f"label_{value}": value for value in found}


def _load(
    exam: str,
    prediction: Any,
    reference: Any,
    labels: Mapping[str, int],
    spacing: Spacing | None,
    metrics: Sequence[Metric],
    trust_grid: bool,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Return both label maps on one grid, and the affine that has its voxel sizes."""
    if isinstance(prediction, (str, Path)) and isinstance(reference, (str, Path)):
        judged, judge = read_pair(
            Path(prediction), Path(reference), labels.values(), trust_grid=trust_grid
        )
        return judged.array, judge.array, judge.affine
    if isinstance(prediction, (str, Path)) or isinstance(reference, (str, Path)):
        raise ValueError(f"exam {exam!r}: expected two arrays or two files, found one of each")
    sides = spacing.get(exam) if isinstance(spacing, Mapping) else spacing
    needing = [one.name for one in metrics if one.unit or one.needs != COUNTS]
    if sides is None and needing:
        raise ValueError(
            f"exam {exam!r}: {', '.join(needing)} need spacing=, the voxel size in mm along the axes of the arrays; "
            "or ask for metrics=['dice'] alone"
        )
    first, second = (_take_labels(mask) for mask in (prediction, reference))
    sizes = np.ones(3)
    if sides is not None:
        if len(sides) != second.ndim:
            raise ValueError(f"exam {exam!r}: spacing {sides} for arrays of {second.ndim} axes")
        sizes[: len(sides)] = sides
    return first, second, np.diag([*sizes, 1.0])


def _take_labels(mask: Any) -> NDArray[Any]:
    array = np.asarray(mask)
    return array.astype(np.uint8) if array.dtype == np.bool_ else array
