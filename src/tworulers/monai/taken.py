"""A bundle of ours put to work on exams of a cohort, as the regime that it was made of would be."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tworulers.io.paths import Layout
from tworulers.io.resume import Stamp, digest_content, list_settings
from tworulers.monai.inference import (
    DATASET,
    HOW,
    MODELS,
    PLANS,
    list_weights,
    load_predictor,
    prepare_exam,
    read_json,
    read_plans,
)
from tworulers.recipe.clean import CleanUp
from tworulers.recipe.inference import predict_with
from tworulers.schema.running import Inference
from tworulers.schema.settings import Recipe, Settings, Trainer
from tworulers.training.volumes import read_channels


@dataclass(frozen=True)
class BundleEnsemble:
    """All networks of a bundle, tiled and mirrored as it and `inference` say, cleaned up as it says."""

    root: Path
    channels: int
    configurations: tuple[str, ...]
    cleanup: CleanUp
    trainer: Trainer
    inference: Inference

    @property
    def members(self) -> int:
        """How many networks predict."""
        return sum(len(list_weights(self.root, name)) for name in self.configurations)

    def load(self) -> Any:
        """Load the networks into an `ExamPredictor`."""
        how = read_json(self.root / MODELS / HOW)
        own = Recipe(mirror=how["mirror"], tile_overlap=how["tile_overlap"])
        recipe, trainer = predict_with(self.inference, own, self.trainer)
        changed = {**how, "mirror": recipe.mirror, "tile_overlap": recipe.tile_overlap}
        return load_predictor(self.root, trainer, changed)

    def prepare(self, exam: str, image: Path) -> dict[str, Any]:  # noqa: ARG002
        """Prepare an exam's image for each configuration."""
        return prepare_exam(self.root, *read_channels(image, self.channels))


def gather_bundle(settings: Settings) -> BundleEnsemble:
    """Take a regime's only model as a bundle that `export` wrote.

    Raises
    ------
    ValueError : several models, a bundle made elsewhere, or one of other labels or channels than the data set has.
    """
    if len(settings.regime.models) > 1:
        raise ValueError(
            f"regime.models names {len(settings.regime.models)} folders and one of them is a bundle, which holds all "
            "that predict together; name that one alone"
        )
    root = Path(settings.regime.models[0]).expanduser()
    if not (root / MODELS / HOW).is_file():
        raise ValueError(
            f"{root} is a bundle that was not made here (it has no {MODELS}/{HOW}); predict with its own command, "
            "python -m monai.bundle run, and judge the label maps: tworulers judge --predictions DIR ..."
        )
    _, facts = read_plans(root)
    labels = {n: v for n, v in facts.labels.items() if v and v != facts.ignore_label}
    if labels != settings.dataset.structures or len(facts.channel_names) != len(
        settings.dataset.channels
    ):
        raise ValueError(
            f"{root} labels {labels} from the channels {', '.join(facts.channel_names)}; the data set has the "
            f"structures {settings.dataset.structures} and the channels {', '.join(settings.dataset.channels)}"
        )
    how = read_json(root / MODELS / HOW)
    cleanup = CleanUp(tuple(map(tuple, how["cleanup"])), how["cleanup_reason"])
    return BundleEnsemble(
        root,
        len(facts.channel_names),
        tuple(how["members"]),
        cleanup,
        settings.trainer,
        settings.inference,
    )


def list_bundle_inputs(
    ensemble: BundleEnsemble, images: dict[str, Path], settings: Settings, layout: Layout
) -> Stamp:
    """List all that decides the label maps of a bundle, for the stamp of unfinished work."""
    models = ensemble.root / MODELS
    files = {name: models / name for name in (PLANS, DATASET, HOW)}
    weights = {
        f"{name}/{file.name}": file
        for name in ensemble.configurations
        for file in list_weights(ensemble.root, name)
    }
    return {
        **list_settings(settings, "trainer", "inference"),
        "models": digest_content({**files, **weights}, "the bundle", layout),
        "images": digest_content(images, "the data source", layout),
    }
