"""Every result folder to MLflow, once: fills an empty store again, and does nothing where all is there."""

from collections.abc import Iterable
from pathlib import Path

from tworulers.io.console import say, track
from tworulers.io.paths import Layout
from tworulers.io.sweeps import list_sweeps
from tworulers.schema import Settings
from tworulers.stages._keyed import list_places
from tworulers.stages._run import run_stage
from tworulers.tracking import (
    TrackingError,
    list_results,
    publish,
    read_record,
    wait_longer,
    was_made_to_be_shared,
)

ORDER = ("cohort", "split", "plan", "preprocess", "train", "select", "predict", "annotate", "score")
"""The first stages; results of later ones are asked for more often and are published last."""

LAST = ("audit", "compare", "report")
"""MLflow lists the newest run first, so these stand on top."""


def publish_results(settings: Settings, layout: Layout) -> None:
    """Publish all result folders of the dataset, its sweeps and the named predictions, each linked to its siblings.

    `tracking.folder` asks for one folder's results alone, `report.shared` for those made to be passed on.

    Raises
    ------
    ValueError : there is no result, a record is damaged (the others are published), or MLflow cannot show them.
    """
    folders = find_results(settings, layout)
    if settings.report.shared:
        folders = [place for place in folders if was_made_to_be_shared(place, layout.root)]
        if not folders:
            raise ValueError(
                "none of these results was made to be passed on; make the report again with report.shared=true"
            )
    wait_longer()
    damaged, shown = [], 0
    for folder in track(folders, len(folders), "publishing"):
        try:
            shown += bool(publish(folder, layout.root, settings.tracking))
        except ValueError as error:
            damaged.append(str(error))
        except TrackingError as error:
            raise ValueError(f"MLflow cannot show {layout.relative(folder)}: {error}") from error
    if damaged:
        raise ValueError("\n  ".join([f"{len(damaged)} results are not published:", *damaged]))
    say(f"{shown} results are in MLflow; open them with ./scripts/ui")


def find_results(settings: Settings, layout: Layout) -> list[Path]:
    """Find the result folders that are asked for, in the order to publish them.

    Raises
    ------
    ValueError : there is none.
    """
    if settings.tracking.folder:
        roots = [layout.root / settings.tracking.folder]
    else:
        roots = [layout.inputs, *list_sweeps(layout.root, settings.dataset.name)]
        if settings.predictions.name:
            named = Layout.of_predictions(settings, layout.root).outputs
            sweeps = list_sweeps(layout.root, "judged")
            judged = [named, *(sweep / named.name for sweep in sweeps)]
            roots += [place for one in judged for place in list_places(one)]
    folders = sort_results({folder for root in roots for folder in list_results(root)})
    if not folders:
        raise ValueError(
            f"no results below {layout.relative(roots[0])}; run `dvc repro` or a stage first"
        )
    return folders


def sort_results(folders: Iterable[Path]) -> list[Path]:
    """Sort result folders by stage, in the order of the pipeline, and by path within it."""

    def rank(folder: Path) -> tuple[int, Path]:
        try:
            stage = read_record(folder).stage
        except ValueError:
            return -1, folder
        if stage in LAST:
            return len(ORDER) + 1 + LAST.index(stage), folder
        return ORDER.index(stage) if stage in ORDER else len(ORDER), folder

    return sorted(folders, key=rank)


if __name__ == "__main__":
    run_stage(publish_results, ("dataset.name",))
