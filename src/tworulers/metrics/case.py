"""How good one prediction is against one reference, and what nDSC makes of a set of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tworulers.metrics.levels import LEVELS, score_levels
from tworulers.metrics.macro import average_structures
from tworulers.metrics.overlap import (
    Counts,
    NdscEmpty,
    NdscReading,
    count_overlap,
    normalised_dice,
    reference_fractions,
    voxel_volume,
    weigh_false_positives,
)
from tworulers.metrics.surface import SURFACE_METRICS, bound, score_surfaces
from tworulers.schema import MACRO

CASE_METRICS = ("dice", "ndsc", *SURFACE_METRICS)
COUNT_METRICS = ("tp", "fp", "fn", "image_voxels", "reference_mm3", "predicted_mm3", "image_mm3")
"""What every exam keeps beside its scores: nDSC follows from these once the set is known."""


@dataclass(frozen=True)
class _Row:
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
    metrics: Sequence[str],
    levels_of: str | None = None,
    min_component_mm3: float = 30.0,
    surface_tolerance_mm: float = 1.0,
    macro: str = "defined",
) -> pd.DataFrame:
    """Score every structure of one exam, and their plain mean.

    Parameters
    ----------
    prediction, reference : integer label maps of one shape, two or three dimensions, on one grid.
    affine : 4 x 4, voxel indices to world mm; voxel sizes are the lengths of its columns.
    structures : label value of each structure.
    metrics : any of `CASE_METRICS`; `ndsc` is left to `add_ndsc`, which needs the whole set.
    levels_of : the structure to score by disc level as well.
    min_component_mm3 : smaller pieces of that structure are not discs.
    surface_tolerance_mm : how far surfaces may lie apart for `surface_dice`.
    macro : what the mean is over, one of `macro.RULES`.

    Returns
    -------
    One row a structure and metric (`structure`, `metric`, `value`, `undefined_because`): the
    scores, with the structure `macro` for the mean; the counts and volumes of `COUNT_METRICS`; and
    `level_C2C3` .. `level_C7T1` with Dice, and `level_components`, if asked for. A NaN or infinite
    value says why, a mean over part of the structures which.
    """
    _check_case(prediction, reference, affine, structures, metrics, levels_of)
    spacing = np.linalg.norm(affine[:3, :3], axis=0)[: reference.ndim]
    voxel_mm3 = voxel_volume(affine)
    held = prediction != 0
    np.logical_or(held, reference, out=held)
    box = bound(held) if held.any() else (slice(0, 1),) * held.ndim
    image_voxels = reference.size
    prediction, reference = prediction[box], reference[box]
    counts = count_overlap(prediction, reference, structures, image_voxels=image_voxels)

    rows: list[_Row] = []
    surface_metrics = [metric for metric in metrics if metric in SURFACE_METRICS]
    for name, label in structures.items():
        scores = {"dice": counts[name].dice} if "dice" in metrics else {}
        if surface_metrics:
            masks = prediction == label, reference == label
            scores |= score_surfaces(
                *masks, spacing, surface_metrics, tolerance_mm=surface_tolerance_mm
            )
        reason = counts[name].emptiness
        rows += [
            _Row(name, metric, scores[metric], _explain(scores[metric], reason))
            for metric in scores
        ]
    rows += [
        _macro(metric, [row for row in rows if row.metric == metric], macro)
        for metric in metrics
        if metric != "ndsc"
    ]
    for name in structures:
        rows += _list_counts(name, counts[name], voxel_mm3)
    if levels_of is not None:
        label = structures[levels_of]
        rows += _list_levels(
            levels_of, prediction == label, reference == label, affine, min_component_mm3
        )
    return _to_frame(rows)


def _check_case(
    prediction: NDArray[np.integer],
    reference: NDArray[np.integer],
    affine: NDArray[np.float64],
    structures: Mapping[str, int],
    metrics: Sequence[str],
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
    if unknown := sorted(set(metrics) - set(CASE_METRICS)):
        faults.append(f"metrics among {list(CASE_METRICS)}, found {unknown}")
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


def _explain(value: float, reason: str | None) -> str | None:
    return None if isfinite(value) else reason


def _macro(metric: str, rows: Sequence[_Row], rule: str) -> _Row:
    values = {row.structure: row.value for row in rows}
    reasons = {row.structure: row.undefined_because for row in rows}
    return _Row(MACRO, metric, *average_structures(values, reasons, rule))


def _list_counts(structure: str, counts: Counts, voxel_mm3: float) -> list[_Row]:
    values = (
        counts.tp,
        counts.fp,
        counts.fn,
        counts.image_voxels,
        counts.reference_voxels * voxel_mm3,
        counts.predicted_voxels * voxel_mm3,
        counts.image_voxels * voxel_mm3,
    )
    return [
        _Row(structure, metric, float(value))
        for metric, value in zip(COUNT_METRICS, values, strict=True)
    ]


def _list_levels(
    structure: str,
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    affine: NDArray[np.float64],
    min_component_mm3: float,
) -> list[_Row]:
    found = score_levels(prediction, reference, affine, min_component_mm3=min_component_mm3)
    count = _Row(structure, "level_components", float(len(found.dice)))
    if found.status != "ok":
        return [
            count,
            *(_Row(f"level_{name}", "dice", np.nan, f"levels_{found.status}") for name in LEVELS),
        ]
    named = zip(found.names, found.dice, strict=True)
    return [count, *(_Row(f"level_{name}", "dice", dice) for name, dice in named)]


def _to_frame(rows: Iterable[_Row]) -> pd.DataFrame:
    rows = list(rows)
    return pd.DataFrame(
        {
            "structure": pd.array([row.structure for row in rows], dtype="str"),
            "metric": pd.array([row.metric for row in rows], dtype="str"),
            "value": np.array([row.value for row in rows], float),
            "undefined_because": pd.array([row.undefined_because for row in rows], dtype="str"),
        }
    )


def reference_averages(scores: pd.DataFrame, reading: NdscReading = "fraction") -> dict[str, float]:
    """Return what nDSC normalises to, for every structure, over the exams of a score table.

    Parameters
    ----------
    scores : one evaluated set with its counts, as `score_case` returns them, with an `exam_id`
        column; exams without the structure count as 0.
    reading : `fraction` and `fraction_frozen` give the mean share of the image, `volume` and
        `ratio` the mean mm3.
    """
    counts = _spread_counts(scores)
    if reading in ("volume", "ratio"):
        return {name: float(exams["reference_mm3"].mean()) for name, exams in counts.items()}
    return reference_fractions(
        {
            name: list(zip(exams["tp"] + exams["fn"], exams["image_voxels"], strict=True))
            for name, exams in counts.items()
        }
    )


def add_ndsc(
    scores: pd.DataFrame,
    averages: Mapping[str, float],
    *,
    reading: NdscReading = "fraction",
    empty: NdscEmpty = "nan",
    macro: str = "defined",
) -> pd.DataFrame:
    """Add nDSC of every structure, and its mean over structures, to one evaluated set's scores.

    Parameters
    ----------
    scores : as for `reference_averages`; nDSC rows already there are replaced.
    averages : for each structure what to normalise to, from `reference_averages` of this set or of
        another.
    reading : how `averages` are meant.
    empty : the value where the reference is empty and the prediction is not, NaN or 0 (0 keeps its
        reason).
    macro : what the mean is over, one of `macro.RULES`.

    Raises
    ------
    ValueError : if a structure has no average, or a share of the image is not between 0 and 1; all
        exams are listed.
    """
    counts = _spread_counts(scores)
    if missing := sorted(set(counts) - set(averages)):
        raise ValueError(f"nDSC needs an average for every structure; none is given for {missing}")
    rows: dict[str, list[_Row]] = {}
    for name, exams in counts.items():
        tp, fp, fn = (exams[count].to_numpy() for count in ("tp", "fp", "fn"))
        kappa = weigh_false_positives(
            reading,
            tp + fn,
            exams["image_voxels"],
            averages[name],
            voxel_mm3=exams["image_mm3"] / exams["image_voxels"],
            exams=[f"{exam} ({name})" for exam in exams["exam_id"]],
        )
        values = normalised_dice(tp, fp, fn, kappa, empty=empty)
        reasons = np.select([tp + fn > 0, fp > 0], ["", "reference_empty"], "both_empty")
        for exam, value, reason in zip(exams["exam_id"], values, reasons, strict=True):
            row = _Row(name, "ndsc", float(value), str(reason) or None)
            rows.setdefault(exam, []).append(row)
    for exam_rows in rows.values():
        exam_rows.append(_macro("ndsc", exam_rows, macro))
    ndsc = _to_frame(row for exam_rows in rows.values() for row in exam_rows)
    ndsc["exam_id"] = [exam for exam, exam_rows in rows.items() for _ in exam_rows]
    own = ["structure", "metric", "value", "undefined_because"]
    labels = scores.drop(columns=own).drop_duplicates()
    ndsc = ndsc.merge(labels, on="exam_id", how="left", validate="many_to_one")
    ndsc = ndsc[list(scores.columns)]
    return pd.concat([scores[scores["metric"] != "ndsc"], ndsc], ignore_index=True)


def _spread_counts(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return for each structure one row an exam, with a column for each count."""
    if missing := sorted({"exam_id", "structure", "metric", "value"} - set(scores.columns)):
        raise ValueError(f"a score table needs the columns {missing}")
    for column in ("regime", "ruler"):
        if column in scores.columns and len(found := sorted(scores[column].unique())) > 1:
            raise ValueError(
                f"nDSC belongs to one evaluated set, but the scores have {column}s {found}; "
                "call it for each"
            )
    counts = scores[scores["metric"].isin(COUNT_METRICS)]
    keys = ["exam_id", "structure", "metric"]
    if repeated := sorted(counts.loc[counts.duplicated(keys), "exam_id"].unique()):
        raise ValueError(f"exams are scored more than once: {repeated}")
    return {
        str(name): counts[counts["structure"] == name]
        .pivot_table(index="exam_id", columns="metric", values="value", sort=False)
        .reset_index()
        for name in counts["structure"].unique()
    }
