"""One side of the comparison of scores: ours, or surface-distance or MONAI by the python that has it."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from _sides import serve

RULERS = ("expert", "machine")
SPINE = {"vb": 1, "disc": 2}
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


def score_many_ours(folder: str, processes: int) -> dict[str, Any]:
    """Score every exam of a folder by both of its rulers, as `tworulers.stages.score` does."""
    from joblib.externals.loky import get_reusable_executor

    from tworulers.ingest.scoring import ScoreTask, score_exams
    from tworulers.schema.settings import Audit

    asked = Audit(metrics=["dice", "hd95"])
    found = {}
    for ruler in RULERS:
        tasks = [
            ScoreTask(path.name, "gold", path, Path(folder, ruler, path.name), None, SPINE, asked)
            for path in sorted(Path(folder, "prediction").iterdir())
        ]
        rows = score_exams(tasks, processes)
        found[ruler] = rows[(rows["metric"] == "hd95") & rows["structure"].isin(SPINE)]["value"]
    get_reusable_executor().shutdown()  # its workers are counted once they have ended
    return {ruler: values.tolist() for ruler, values in found.items()}


def score_many_peer(folder: str, processes: int) -> dict[str, Any]:
    """Dice and HD95 of the same, by a loop over surface-distance in as many processes."""
    found = {}
    with ProcessPoolExecutor(processes) as pool:
        for ruler in RULERS:
            names = sorted(path.name for path in Path(folder, "prediction").iterdir())
            pairs = [
                (str(Path(folder, "prediction", x)), str(Path(folder, ruler, x))) for x in names
            ]
            found[ruler] = [value for exam in pool.map(_score_pair, pairs) for value in exam]
    return found


def _score_pair(pair: tuple[str, str]) -> list[float]:
    import nibabel
    import surface_distance

    prediction, reference = (nibabel.load(path) for path in pair)
    spacing = reference.header.get_zooms()
    drawn, found = (np.asarray(one.dataobj) for one in (reference, prediction))
    values = []
    for value in SPINE.values():
        masks = drawn == value, found == value
        surface_distance.compute_dice_coefficient(*masks)
        measured = surface_distance.compute_surface_distances(*masks, spacing)
        values.append(float(surface_distance.compute_robust_hausdorff(measured, 95)))
    return values


_KEPT: dict[str, dict[str, Any]] = {}


def _load(file: str) -> dict[str, Any]:
    if file not in _KEPT:
        with np.load(file) as held:
            exam = {name: held[name] for name in held.files}
        spacing = tuple(exam["spacing"].tolist())
        _KEPT[file] = exam | {"spacing": spacing, "labels": exam["labels"].tolist()}
    return _KEPT[file]


if __name__ == "__main__":
    side = sys.argv[1]
    many = {"ours_many": score_many_ours, "peer_many": score_many_peer}
    if side in many:
        Path(sys.argv[4]).write_text(json.dumps(many[side](sys.argv[2], int(sys.argv[3]))))
    else:
        one = {
            "ours": score_ours,
            "surface_distance": score_surface_distance,
            "monai": score_monai,
        }
        serve({"score": one[side]})
