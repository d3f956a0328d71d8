"""Models that nnU-Net trained, as they lie in its results: put to work on exams of ours, with their own plans."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tworulers.io.paths import Layout
from tworulers.io.records import read_json
from tworulers.io.resume import Stamp, digest_content, list_settings
from tworulers.recipe.clean import CleanUp
from tworulers.recipe.inference import predict_with
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.task import list_checkpoints
from tworulers.schema.result_files import DATASET, PLANS
from tworulers.schema.settings import Recipe, Settings, Trainer
from tworulers.training.plans import read_plans
from tworulers.training.volumes import read_channels

METADATA = Path("configs") / "metadata.json"
"""What every MONAI bundle describes itself in."""

NO_CLEANUP = CleanUp((), "models trained elsewhere are used as they are")


@dataclass(frozen=True)
class ImportedEnsemble:
    """Folds of one or several configurations of one plan; each exam is prepared when it is predicted."""

    folders: tuple[Path, ...]
    folds: tuple[str, ...]
    checkpoint: str
    channels: int
    recipe: Recipe
    trainer: Trainer
    cleanup: CleanUp = NO_CLEANUP

    def load(self) -> Any:
        """Load the networks into an `ExamPredictor`."""
        from tworulers.recipe.interop import load_trained_model
        from tworulers.recipe.predict import ExamPredictor

        models = [
            load_trained_model(folder, self.folds or None, self.checkpoint)
            for folder in self.folders
        ]
        networks = {model.configuration: model.members for model in models}
        return ExamPredictor(models[0].plans, models[0].facts, networks, self.recipe, self.trainer)

    def prepare(self, exam: str, image: Path) -> dict[str, Any]:  # noqa: ARG002
        """Prepare an exam's image for each configuration."""
        from tworulers.recipe.preprocess import preprocess_image

        plans, _ = self._plans
        array, spacing = read_channels(image, self.channels)
        return {name: preprocess_image(array, spacing, plans, name) for name in self.configurations}

    @property
    def configurations(self) -> tuple[str, ...]:
        """The configuration of each folder, which nnU-Net writes last in its name."""
        return tuple(folder.name.rpartition("__")[2] for folder in self.folders)

    @property
    def members(self) -> int:
        """How many networks predict."""
        return len(self.weights)

    @property
    def weights(self) -> dict[str, Path]:
        """The checkpoint of every fold that predicts, by configuration and fold."""
        return {
            f"{name}/{file.parent.name}": file
            for name, folder in zip(self.configurations, self.folders, strict=True)
            for file in list_checkpoints(folder, self.checkpoint, self.folds)
        }

    @property
    def _plans(self) -> tuple[Plans, DatasetFacts]:
        return read_plans(self.folders[0] / PLANS, self.folders[0] / DATASET)


def is_bundle(folder: str) -> bool:
    """Tell whether a folder is a MONAI bundle."""
    return (Path(folder).expanduser() / METADATA).is_file()


def gather_imported(settings: Settings) -> ImportedEnsemble:
    """Find the models that a regime names, and hold their labels and channels to those of the data set.

    Raises
    ------
    ValueError : with every fault of every folder: files and folds that lack, plans that differ from one folder to the
        next, a configuration that stands there twice, other labels or channels than the data set has.
    """
    regime = settings.regime
    ensemble = ImportedEnsemble(
        tuple(Path(folder).expanduser() for folder in regime.models),
        tuple(regime.folds),
        regime.checkpoint,
        len(settings.dataset.channels),
        *predict_with(settings.inference, settings.recipe, settings.trainer),
    )
    if faults := _find_missing(ensemble) or _find_differences(ensemble, settings):
        raise ValueError("\n  ".join(["models that cannot be used:", *faults]))
    return ensemble


def list_imported_inputs(
    ensemble: ImportedEnsemble, images: dict[str, Path], settings: Settings, layout: Layout
) -> Stamp:
    """List all that decides the label maps of imported models, for the stamp of unfinished work."""
    described = {
        f"{name}/{file}": folder / file
        for name, folder in zip(ensemble.configurations, ensemble.folders, strict=True)
        for file in (PLANS, DATASET)
    }
    return {
        **list_settings(settings, "recipe", "trainer", "inference"),
        "models": digest_content({**described, **ensemble.weights}, "nnU-Net", layout),
        "images": digest_content(images, "the data source", layout),
    }


def _find_missing(ensemble: ImportedEnsemble) -> list[str]:
    """List what the folders lack."""
    faults = []
    for folder in ensemble.folders:
        lacking = [name for name in (PLANS, DATASET) if not (folder / name).is_file()]
        wanted = [f"fold_{fold}/{ensemble.checkpoint}" for fold in ensemble.folds]
        lacking += [name for name in wanted if not (folder / name).is_file()]
        if not wanted and not list(folder.glob(f"fold_*/{ensemble.checkpoint}")):
            lacking.append(f"fold_*/{ensemble.checkpoint}")
        if lacking:
            faults.append(
                f"{folder} is no folder of a trained model: it lacks {', '.join(lacking)}; regime.models names "
                "folders like nnUNet_results/Dataset001_Name/nnUNetTrainer__nnUNetResEncUNetLPlans__3d_fullres"
                f"{_list_checkpoints(folder)}"
            )
    return faults


def _list_checkpoints(folder: Path) -> str:
    there = sorted({file.name for file in folder.glob("fold_*/*.pth")})
    return f"; regime.checkpoint may be {' or '.join(there)}" if there else ""


def _find_differences(ensemble: ImportedEnsemble, settings: Settings) -> list[str]:
    """List in what the models differ from each other and from the data set."""
    contents = [read_json(folder / PLANS, "nnU-Net") for folder in ensemble.folders]
    faults = [
        f"{folder / PLANS} differs from {ensemble.folders[0] / PLANS}: configurations predict together only by one plan"
        for folder, content in zip(ensemble.folders, contents, strict=True)
        if content != contents[0]
    ]
    if twice := _find_twice(ensemble.configurations):
        faults.append(
            f"regime.models names {', '.join(twice)} twice; give one folder a configuration"
        )
    for folder, name in zip(ensemble.folders, ensemble.configurations, strict=True):
        plans, facts = read_plans(folder / PLANS, folder / DATASET)
        try:
            plans.configuration(name)
        except ValueError as error:
            faults.append(f"{folder}: {error}")
        labels = {n: v for n, v in facts.labels.items() if v and v != facts.ignore_label}
        if labels != settings.dataset.structures:
            faults.append(
                f"{folder / DATASET} labels {labels}, dataset.structures are {settings.dataset.structures}; a model "
                "can be audited on the structures that it was trained for"
            )
        if len(facts.channel_names) != ensemble.channels:
            faults.append(
                f"{folder / DATASET} has the channels {', '.join(facts.channel_names)}, dataset.channels are "
                f"{', '.join(settings.dataset.channels)}"
            )
    return faults


def _find_twice(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})
