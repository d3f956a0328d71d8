"""What the folds of a regime say of exams they did not learn from, and what follows from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tworulers.io.exam_files import find_label
from tworulers.io.paths import Layout
from tworulers.io.records import made_by, require
from tworulers.io.results import read_cohort
from tworulers.progress import track
from tworulers.recipe.clean import (
    Choice,
    CleanUp,
    choose_configuration,
    decide_cleanup,
    dice_of,
    force_cleanup,
    mean_dice,
)
from tworulers.recipe.fuse import average, take_largest
from tworulers.recipe.store import load_probabilities
from tworulers.recipe.task import PROBABILITIES
from tworulers.schema.settings import Settings
from tworulers.training.folds import fold_folders, learns_from_all
from tworulers.training.validation import read_validation
from tworulers.training.volumes import read_reference

LabelMap = npt.NDArray[np.uint8]
NONE_LEFT = "as networks that learnt from every exam leave none to decide by"


@dataclass(frozen=True)
class ValidationExams:
    """The validation exams of all folds, fused over some configurations; read anew at each pass."""

    folders: dict[str, tuple[Path, ...]]
    labels: dict[str, Path]

    def __iter__(self) -> Iterator[tuple[LabelMap, LabelMap]]:
        """Yield the predicted and the reference label map of every exam."""
        for exam_id, reference in self.labels.items():
            probabilities = average(
                load_probabilities(folder, exam_id) for folder in self.folders[exam_id]
            )
            yield take_largest(probabilities), read_reference(reference)


def average_dice(settings: Settings, layout: Layout, configuration: str) -> float:
    """Mean over structures of the mean Dice over validation exams, absent structures left out."""
    rows = read_validation(layout.model(settings.regime.name, configuration))
    wide = rows.set_index(["exam_id", "structure"])["dice"].unstack("structure")
    dice = wide[list(settings.dataset.structures)].to_numpy(dtype=np.float64)
    return float(np.nanmean(mean_dice(dice)))


def open_validation(
    settings: Settings, layout: Layout, configurations: tuple[str, ...]
) -> ValidationExams:
    """The validation exams of a regime, fused over configurations."""
    regime = settings.regime.name
    folders: dict[str, tuple[Path, ...]] = {}
    for name in configurations:
        for fold in fold_folders(require(layout.model(regime, name), made_by("train"))):
            stored = require(fold / PROBABILITIES, f"{made_by('train')} with recipe.select=true")
            for path in sorted(stored.glob("*.npz")):
                folders[path.stem] = (*folders.get(path.stem, ()), stored)
    whole = {exam: found for exam, found in folders.items() if len(found) == len(configurations)}
    cohort = read_cohort(layout).set_index("exam_id")
    labels = {
        exam: require(find_label(layout, exam, cohort.at[exam, "label"]), made_by("annotate"))
        for exam in sorted(whole)
    }
    return ValidationExams(whole, labels)


def choose_members(settings: Settings, layout: Layout) -> tuple[Choice, dict[str, float]]:
    """Choose a configuration or a pair by cross-validated Dice; all if nothing is selected, or by fold `all`.

    Returns
    -------
    The choice, and the Dice of every candidate (members joined by `+`).
    """
    names = settings.grid.configurations
    alone = {name: average_dice(settings, layout, name) for name in names}
    if not settings.recipe.select or len(names) == 1 or learns_from_all(settings):
        why = "by request" if not settings.recipe.select else NONE_LEFT
        reason = "the only configuration" if len(names) == 1 else f"all configurations, {why}"
        return Choice(tuple(names), float(np.mean(list(alone.values()))), reason), alone
    candidates: dict[tuple[str, ...], float] = {(name,): dice for name, dice in alone.items()}
    structures = list(settings.dataset.structures.values())
    for pair in combinations(names, 2):
        exams = open_validation(settings, layout, pair)
        described = f"fusing {' and '.join(pair)}"
        rows = [
            dice_of(predicted, reference, structures, settings.dataset.ignore)
            for predicted, reference in track(exams, len(exams.labels), described)
        ]
        candidates[pair] = float(np.nanmean(mean_dice(np.stack(rows))))
    choice = choose_configuration(candidates)
    return choice, {" + ".join(members): dice for members, dice in candidates.items()}


def choose_cleanup(settings: Settings, layout: Layout, members: tuple[str, ...]) -> CleanUp:
    """Choose the clean-up: forced, none, or decided by cross-validation (`recipe.cleanup`); none after fold `all`."""
    structures = list(settings.dataset.structures.values())
    kind = settings.recipe.cleanup
    if kind == "forced":
        return force_cleanup(structures)
    if kind == "none":
        return CleanUp((), "no clean-up, by request")
    if kind == "rule" and learns_from_all(settings):
        return CleanUp((), f"no clean-up, {NONE_LEFT}")
    if kind == "rule":
        exams = open_validation(settings, layout, members)
        return decide_cleanup(exams, structures, settings.dataset.ignore)
    raise ValueError(f"recipe.cleanup is {kind!r}; expected forced, rule or none")
