"""How networks predict many exams: side by side, each whole or not at all, and resumed."""

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import pandas as pd

from tworulers.io.images import read_header, write_label
from tworulers.io.label_maps import read_label
from tworulers.io.paths import Layout
from tworulers.io.pool import iterate_in_pool
from tworulers.io.records import made_by, require, write_json, write_table
from tworulers.io.resume import Stamp, digest, digest_content, list_settings
from tworulers.progress import say, track
from tworulers.recipe.axes import reverse_axes
from tworulers.recipe.clean import CleanUp
from tworulers.recipe.inference import predict_with
from tworulers.recipe.task import BEST, FINAL
from tworulers.schema.result_files import CONFIDENCE, LABELS
from tworulers.schema.settings import Recipe, Settings, Trainer
from tworulers.training.arrays import digest_arrays
from tworulers.training.folds import fold_folders
from tworulers.training.maps import NO_MAPS, Maps
from tworulers.training.plans import digest_plans, read_plans

if TYPE_CHECKING:
    from tworulers.recipe.fuse import FusedExam
    from tworulers.recipe.predict import PreparedImage

Chunk = list[tuple[str, Path]]
"""Exams that are predicted together, with their images."""


class Ensemble(Protocol):
    """Which networks predict, how, and what is done with their label maps."""

    @property
    def cleanup(self) -> CleanUp:
        """Which components of a label map go."""

    @property
    def trainer(self) -> Trainer:
        """Where the networks run."""

    @property
    def configurations(self) -> tuple[str, ...]:
        """The configurations that predict together."""

    @property
    def members(self) -> int:
        """How many networks predict."""

    def load(self) -> Any:
        """Load the networks into an `ExamPredictor`."""

    def prepare(self, exam: str, image: Path) -> dict[str, Any]:
        """Return an exam's arrays and geometry by configuration."""


@dataclass(frozen=True)
class TrainedEnsemble:
    """Networks that this project trained, on arrays that it prepared."""

    plans: Path
    dataset: Path
    weights: dict[str, tuple[Path, ...]]
    arrays: dict[str, Path]
    cleanup: CleanUp
    recipe: Recipe
    trainer: Trainer

    @property
    def configurations(self) -> tuple[str, ...]:
        """The configurations that predict together."""
        return tuple(self.weights)

    @property
    def members(self) -> int:
        """How many networks predict."""
        return sum(map(len, self.weights.values()))

    def load(self) -> Any:
        """Load the networks into an `ExamPredictor`."""
        from tworulers.recipe.predict import ExamPredictor, load_member

        plans, facts = read_plans(self.plans, self.dataset)
        networks = {
            name: [load_member(path, plans.configuration(name), facts) for path in paths]
            for name, paths in self.weights.items()
        }
        return ExamPredictor(plans, facts, networks, self.recipe, self.trainer)

    def prepare(self, exam: str, image: Path) -> dict[str, Any]:  # noqa: ARG002
        """Return an exam's stored arrays and geometry by configuration."""
        from tworulers.recipe.store import load_geometry, open_image

        return {
            name: (open_image(arrays, exam), load_geometry(arrays, exam))
            for name, arrays in self.arrays.items()
        }


WEIGHTS = {"checkpoint_final.pth": FINAL, "checkpoint_best.pth": BEST}
"""What nnU-Net calls the weights of a fold: of its last epoch, and of the one with the best smoothed pseudo-Dice."""


def choose_weights(checkpoint: str) -> str:
    """Find the file of a fold's weights by nnU-Net's name of them.

    Raises
    ------
    ValueError : another name; the message lists those there are.
    """
    if checkpoint not in WEIGHTS:
        raise ValueError(
            f"regime.checkpoint is {checkpoint!r}; networks that were trained here have {' or '.join(WEIGHTS)}"
        )
    return WEIGHTS[checkpoint]


def gather_ensemble(
    settings: Settings,
    layout: Layout,
    regime: str,
    members: Sequence[str],
    cleanup: CleanUp,
    file: str = FINAL,
) -> TrainedEnsemble:
    """All trained folds of a regime in some configurations, with the weights that a file of each holds."""
    weights = {}
    for name in members:
        model = require(layout.model(regime, name), made_by("train"))
        weights[name] = tuple(
            require(fold / file, made_by("train")) for fold in fold_folders(model)
        )
    recipe, trainer = predict_with(settings.inference, settings.recipe, settings.trainer)
    return TrainedEnsemble(
        plans=layout.plans,
        dataset=layout.planned_dataset,
        weights=weights,
        arrays={name: require(layout.arrays(name), made_by("preprocess")) for name in members},
        cleanup=cleanup,
        recipe=recipe,
        trainer=trainer,
    )


def list_inputs(
    ensemble: TrainedEnsemble, images: dict[str, Path], settings: Settings, layout: Layout
) -> Stamp:
    """List all that decides the label maps of an ensemble, for the stamp of unfinished work."""
    weights = {
        f"{name}/{path.parent.name}": path
        for name, paths in ensemble.weights.items()
        for path in paths
    }
    return {
        **list_settings(settings, "recipe", "trainer", "inference"),
        **digest_plans(layout),
        "weights": digest_content(weights, made_by("train"), layout),
        "clean-up": digest(ensemble.cleanup.steps),
        "arrays": digest_arrays(ensemble.arrays, images, layout),
        "images": digest_content(images, "the data source", layout),
    }


def predict_labels(
    ensemble: Ensemble,
    images: dict[str, Path],
    folder: Path,
    processes: int,
    described: str,
    maps: Maps = NO_MAPS,
) -> pd.DataFrame:
    """Write the label map of every exam that has none yet, on the grid of its image.

    Parameters
    ----------
    ensemble : the networks.
    images : the image of each exam, for its geometry.
    folder : where `labels/` and the table of confidences go.
    processes : side by side; one where the networks run on a GPU.
    described : what is going on, for the progress bar.
    maps : what is kept of every voxel beside its label.

    Returns
    -------
    One row an exam: `exam_id` and the fields of its confidence.
    """
    from tworulers.recipe.precision import remark_on_precision

    trainer, kept = ensemble.trainer, folder / "confidence"
    if remark := remark_on_precision(trainer.precision, trainer.accelerator):
        say(remark)
    pending = [item for item in images.items() if not _is_whole(folder, item[0], maps)]
    size = max(1, trainer.predict_batch)
    chunks = [pending[start : start + size] for start in range(0, len(pending), size)]
    told = (ensemble, folder, maps, uuid4().hex)
    done = (
        iterate_in_pool(partial(_predict_chunk, *told), chunks, min(processes, len(chunks)))
        if trainer.accelerator == "cpu"
        else _predict_ahead(*told, chunks)
    )
    _follow(done, len(pending), described)
    rows = [{"exam_id": exam, **json.loads((kept / f"{exam}.json").read_text())} for exam in images]
    for path in kept.glob("*.json"):
        path.unlink()
    kept.rmdir()
    confidence = pd.DataFrame(rows)
    numbers = [c for c in confidence.columns if c not in ("exam_id", "undefined_because")]
    confidence[numbers] = confidence[numbers].astype("float64")
    write_table(confidence, folder / CONFIDENCE)
    return confidence


def _is_whole(folder: Path, exam: str, maps: Maps) -> bool:
    """Tell whether an exam was predicted already, and what was written then can be read."""
    kept, label = folder / "confidence" / f"{exam}.json", folder / LABELS / f"{exam}.nii.gz"
    if not kept.is_file():
        return False
    try:
        json.loads(kept.read_text())
        read_label(label)
    except ValueError:
        return False
    return maps.are_whole(folder, exam)


def _follow(done: Iterator[int], total: int, described: str) -> None:
    """Show progress exam by exam although they come in chunks."""

    def exams() -> Iterator[int]:
        for count in done:
            yield from range(count)

    predicted = sum(1 for _ in islice(track(exams(), total, described), total))
    assert predicted == total


_LOADED: dict[str, Any] = {}
"""The networks of one call: loading them for every chunk would cost more than predicting."""


def _predict_chunk(ensemble: Ensemble, folder: Path, maps: Maps, call: str, chunk: Chunk) -> int:
    predictor = _load(ensemble, call)
    fused = predictor.predict_exams(_prepare(ensemble, chunk))
    return _write(ensemble, folder, maps, chunk, fused)


def _predict_ahead(
    ensemble: Ensemble, folder: Path, maps: Maps, call: str, chunks: Sequence[Chunk]
) -> Iterator[int]:
    """Keep a device busy: one thread prepares the next chunk, another fuses and writes the one before.

    Three chunks are in memory at most. An error of either thread is raised here, and one that ends the work lets both
    finish what they do, so that no exam is left half written.
    """
    if not chunks:
        return
    predictor = _load(ensemble, call)
    with ThreadPoolExecutor(1) as ahead, ThreadPoolExecutor(1) as behind:
        preparing = [ahead.submit(list, _prepare(ensemble, chunk)) for chunk in chunks[:1]]
        writing: list[Future[int]] = []
        for number, chunk in enumerate(chunks):
            prepared = preparing.pop().result()
            preparing += [
                ahead.submit(list, _prepare(ensemble, following))
                for following in chunks[number + 1 : number + 2]
            ]
            logits = predictor.predict_logits(prepared)
            if writing:
                yield writing.pop().result()
            fused = predictor.fuse_exams(prepared, logits)
            writing.append(behind.submit(_write, ensemble, folder, maps, chunk, fused))
        for last in writing:
            yield last.result()


def _prepare(ensemble: Ensemble, chunk: Chunk) -> "Iterator[PreparedImage]":
    from tworulers.recipe.predict import PreparedImage

    return (PreparedImage(exam, ensemble.prepare(exam, image)) for exam, image in chunk)


def _write(
    ensemble: Ensemble, folder: Path, maps: Maps, chunk: Chunk, predicted: "Iterable[FusedExam]"
) -> int:
    for (exam, image), fused in zip(chunk, predicted, strict=True):
        label = reverse_axes(ensemble.cleanup.apply(fused.label_map))
        header = read_header(image)
        maps.write(folder, exam, fused.probabilities, header)
        write_label(folder / LABELS / f"{exam}.nii.gz", label, header.affine, header.placed)
        write_json(asdict(fused.confidence), folder / "confidence" / f"{exam}.json")
    return len(chunk)


def _load(ensemble: Ensemble, call: str) -> Any:
    if call not in _LOADED:
        _LOADED.clear()
        _LOADED[call] = ensemble.load()
    return _LOADED[call]
