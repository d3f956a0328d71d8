"""How networks predict many exams: side by side, each whole or not at all, and resumed."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.io.console import track
from tworulers.io.images import read_header, write_label
from tworulers.io.paths import Layout
from tworulers.io.records import made_by, require, write_json, write_table
from tworulers.recipe.axes import reverse_axes
from tworulers.recipe.clean import CleanUp
from tworulers.recipe.store import list_image_files
from tworulers.recipe.task import FINAL
from tworulers.schema import Recipe, Settings, Trainer
from tworulers.stages._cross_validation import fold_folders
from tworulers.stages._exams import digest_plans
from tworulers.stages._pool import open_pool
from tworulers.stages._resume import Stamp, digest, digest_content, list_settings

CONFIDENCE = "confidence.parquet"


@dataclass(frozen=True)
class Ensemble:
    """Which networks predict, how, and what is done with their label maps."""

    plans: Path
    dataset: Path
    weights: dict[str, tuple[Path, ...]]
    arrays: dict[str, Path]
    cleanup: CleanUp
    recipe: Recipe
    trainer: Trainer


def gather_ensemble(
    settings: Settings, layout: Layout, regime: str, members: Sequence[str], cleanup: CleanUp
) -> Ensemble:
    """All trained folds of a regime in some configurations."""
    weights = {}
    for name in members:
        model = require(layout.model(regime, name), made_by("train"))
        weights[name] = tuple(
            require(fold / FINAL, made_by("train")) for fold in fold_folders(model)
        )
    return Ensemble(
        plans=layout.plan / "plans.json",
        dataset=layout.plan / "dataset.json",
        weights=weights,
        arrays={name: require(layout.arrays(name), made_by("preprocess")) for name in members},
        cleanup=cleanup,
        recipe=settings.recipe,
        trainer=settings.trainer,
    )


def list_inputs(
    ensemble: Ensemble, images: dict[str, Path], settings: Settings, layout: Layout
) -> Stamp:
    """List all that decides the label maps of an ensemble, for the stamp of unfinished work."""
    arrays = {
        f"{name}/{file.name}": file
        for name, folder in ensemble.arrays.items()
        for exam in images
        for file in list_image_files(folder, exam)
    }
    weights = {
        f"{name}/{path.parent.name}": path
        for name, paths in ensemble.weights.items()
        for path in paths
    }
    return {
        **list_settings(settings, "recipe", "trainer"),
        **digest_plans(layout),
        "weights": digest_content(weights, made_by("train"), layout),
        "clean-up": digest(ensemble.cleanup.steps),
        "arrays": digest_content(arrays, made_by("preprocess"), layout),
        "images": digest_content(images, "the data source", layout),
    }


def predict_labels(
    ensemble: Ensemble, images: dict[str, Path], folder: Path, processes: int, described: str
) -> pd.DataFrame:
    """Write the label map of every exam that has none yet, on the grid of its image.

    Parameters
    ----------
    ensemble : the networks.
    images : the image of each exam, for its geometry.
    folder : where `labels/` and the table of confidences go.
    processes : side by side; one where the networks run on a GPU.
    described : what is going on, for the progress bar.

    Returns
    -------
    One row an exam: `exam_id` and the fields of its confidence.
    """
    _LOADED.clear()
    kept = folder / "confidence"
    pending = [item for item in images.items() if not (kept / f"{item[0]}.json").is_file()]
    size = max(1, ensemble.trainer.predict_batch)
    chunks = [pending[start : start + size] for start in range(0, len(pending), size)]
    predict = partial(_predict_chunk, ensemble, folder)
    if ensemble.trainer.accelerator != "cpu" or processes <= 1 or len(chunks) < 2:
        done: Iterator[int] = map(predict, chunks)
        _follow(done, len(pending), described)
    else:
        with open_pool(min(processes, len(chunks)), fresh=True) as pool:
            _follow(pool.map(predict, chunks), len(pending), described)
    rows = [{"exam_id": exam, **json.loads((kept / f"{exam}.json").read_text())} for exam in images]
    for path in kept.glob("*.json"):
        path.unlink()
    kept.rmdir()
    confidence = pd.DataFrame(rows)
    numbers = [c for c in confidence.columns if c not in ("exam_id", "undefined_because")]
    confidence[numbers] = confidence[numbers].astype("float64")
    write_table(confidence, folder / CONFIDENCE)
    return confidence


def _follow(done: Iterator[int], total: int, described: str) -> None:
    """Show progress exam by exam although they come in chunks."""

    def exams() -> Iterator[int]:
        for count in done:
            yield from range(count)

    predicted = sum(1 for _ in islice(track(exams(), total, described), total))
    assert predicted == total


_LOADED: dict[str, Any] = {}
"""The networks of one ensemble: loading them for every chunk would cost more than predicting."""


def _predict_chunk(ensemble: Ensemble, folder: Path, chunk: list[tuple[str, Path]]) -> int:
    from tworulers.recipe.predict import PreparedImage
    from tworulers.recipe.store import load_geometry, open_image

    predictor = _load(ensemble)
    prepared = (
        PreparedImage(
            exam,
            {
                name: (open_image(arrays, exam), load_geometry(arrays, exam))
                for name, arrays in ensemble.arrays.items()
            },
        )
        for exam, _ in chunk
    )
    for (exam, image), fused in zip(chunk, predictor.predict_exams(prepared), strict=True):
        label = reverse_axes(ensemble.cleanup.apply(fused.label_map))
        header = read_header(image)
        write_label(folder / "labels" / f"{exam}.nii.gz", label, header.affine, header.placed)
        write_json(asdict(fused.confidence), folder / "confidence" / f"{exam}.json")
    return len(chunk)


def _load(ensemble: Ensemble) -> Any:
    from tworulers.recipe.plan_json import facts_from_json, plans_from_json
    from tworulers.recipe.predict import ExamPredictor, load_member

    key = repr(ensemble)
    if key not in _LOADED:
        plans = plans_from_json(json.loads(ensemble.plans.read_text()))
        facts = facts_from_json(json.loads(ensemble.dataset.read_text()))
        networks = {
            name: [load_member(path, plans.configuration(name), facts) for path in paths]
            for name, paths in ensemble.weights.items()
        }
        _LOADED.clear()
        _LOADED[key] = ExamPredictor(plans, facts, networks, ensemble.recipe, ensemble.trainer)
    return _LOADED[key]
