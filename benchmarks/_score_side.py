"""One side of the comparison of scores: ours, or surface-distance or MONAI by the python that has it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from _sides import serve

METRICS = ("dice", "hd95", "hd95_voxel", "hd95_pooled", "surface_dice", "mean_surface_distance")


def score_ours(file: str, times: int) -> dict[str, Any]:
    """Score every structure of an exam by all six metrics, so many times over."""
    from tworulers.metrics.case import score_case
    from tworulers.metrics.registry import METRICS as KNOWN
    from tworulers.schema.settings import Audit

    exam, asked = _load(file), Audit(metrics=list(METRICS), levels_of=None)
    for _ in range(times):
        rows = score_case(
            exam["prediction"],
            exam["reference"],
            affine=np.diag([*exam["spacing"], 1.0]),
            structures={f"s{value}": value for value in exam["labels"]},
            metrics=[KNOWN[name] for name in METRICS],
            settings=asked,
        )
    values = rows.set_index(["metric", "structure"])["value"]
    return {
        metric: [float(values[metric, f"s{value}"]) for value in exam["labels"]]
        for metric in METRICS
    }


def score_surface_distance(file: str, times: int) -> dict[str, Any]:
    """HD95 of every structure by surface-distance."""
    import surface_distance

    exam = _load(file)
    for _ in range(times):
        values = []
        for value in exam["labels"]:
            measured = surface_distance.compute_surface_distances(
                exam["reference"] == value, exam["prediction"] == value, exam["spacing"]
            )
            values.append(float(surface_distance.compute_robust_hausdorff(measured, 95)))
    return {"hd95": values}


def score_monai(file: str, times: int) -> dict[str, Any]:
    """HD95 between border voxels of every structure by MONAI."""
    import torch
    from monai.metrics import compute_hausdorff_distance

    exam = _load(file)
    for _ in range(times):
        one_hot = [
            torch.from_numpy(np.stack([exam[side] == value for value in exam["labels"]])[None])
            for side in ("prediction", "reference")
        ]
        found = compute_hausdorff_distance(
            *one_hot, include_background=True, percentile=95, spacing=exam["spacing"]
        )
    return {"hd95_voxel": found[0].tolist()}


_KEPT: dict[str, dict[str, Any]] = {}


def _load(file: str) -> dict[str, Any]:
    if file not in _KEPT:
        with np.load(file) as held:
            exam = {name: held[name] for name in held.files}
        spacing = tuple(exam["spacing"].tolist())
        _KEPT[file] = exam | {"spacing": spacing, "labels": exam["labels"].tolist()}
    return _KEPT[file]


if __name__ == "__main__":
    sides = {"ours": score_ours, "surface_distance": score_surface_distance, "monai": score_monai}
    serve({"score": sides[sys.argv[1]]})
