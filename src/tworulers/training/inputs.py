"""What a regime is trained from: its folds, their labels, and all that decides what is learnt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tworulers.cohort.folds import list_folds
from tworulers.io.exam_files import find_label
from tworulers.io.paths import Layout
from tworulers.io.records import made_by, require
from tworulers.io.results import read_cohort, read_splits
from tworulers.io.resume import Stamp, digest, digest_content, list_settings
from tworulers.schema.folds import ALL, Fold
from tworulers.schema.settings import Settings
from tworulers.training.arrays import digest_arrays
from tworulers.training.folds import learns_from_all
from tworulers.training.plans import digest_plans, load_plans


@dataclass(frozen=True)
class TrainingInputs:
    """The exams of all folds of a regime by part, the label of each exam, and all that decides what is learnt."""

    folds: Mapping[Fold, Mapping[str, Sequence[str]]]
    labels: Mapping[str, Path]
    made_from: Stamp


def list_training_inputs(
    settings: Settings, layout: Layout, code: Mapping[str, str]
) -> TrainingInputs:
    """Find the folds of a regime and the labels of their exams, and list all that decides what is learnt.

    Parameters
    ----------
    settings, layout : what is trained, and where its files are.
    code : digests of what trains, by file.

    Raises
    ------
    ValueError : the regime has fewer folds than the grid asks for, or the plans are another recipe's.
    """
    regime, name = settings.regime.name, settings.configuration.name
    images = require(layout.arrays(name), made_by("preprocess"))
    load_plans(layout, settings.recipe.name)
    cells = read_cohort(layout).set_index("exam_id")["label"]
    folds = list_folds(read_splits(layout), regime)
    asked = [fold for fold in settings.grid.folds if fold != ALL]
    if not folds or max(map(int, asked), default=0) >= len(folds):
        raise ValueError(
            f"regime {regime} has {len(folds)} folds in {layout.split}, but grid.folds asks for "
            f"{settings.grid.folds}; split again with more folds or ask for fewer"
        )
    exams = sorted({exam for fold in folds for part in fold.values() for exam in part})
    labels = {exam: find_label(layout, exam, cells[exam]) for exam in exams}
    made_from = {
        **list_settings(settings, "recipe", "trainer"),
        **digest_plans(layout),
        "code": code,
        "folds": digest(exams if learns_from_all(settings) else folds),
        "seed": settings.seed,
        "labels": digest_content(labels, made_by("annotate"), layout),
        "arrays": digest_arrays({name: images}, exams, layout),
    }
    if settings.recipe.pretrained is not None:
        start = {"weights": layout.root / settings.recipe.pretrained}
        made_from["pretrained weights"] = digest_content(start, "recipe.pretrained", layout)
    everything = {"train": exams, "val": exams}
    return TrainingInputs({**dict(enumerate(folds)), ALL: everything}, labels, made_from)
