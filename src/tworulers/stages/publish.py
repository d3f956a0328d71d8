"""Every result folder to MLflow, once: fills an empty store again, and does nothing where all is there."""

from collections.abc import Iterable
from pathlib import Path

from tworulers.io.digests import digest_file
from tworulers.io.paths import Layout
from tworulers.io.records import write_json
from tworulers.io.sweeps import list_sweeps
from tworulers.progress import say, track
from tworulers.runner.keyed import list_places
from tworulers.runner.run import run_stage
from tworulers.runner.tracking.publishing import publish
from tworulers.runner.tracking.record import (
    RECORD,
    list_results,
    read_record,
    was_made_to_be_shared,
)
from tworulers.runner.tracking.store import TrackingError, wait_longer
from tworulers.schema.settings import Settings

ORDER = ("cohort", "split", "plan", "preprocess", "train", "select", "predict", "annotate", "score")
"""The first stages; results of later ones are asked for more often and are published last."""

LAST = ("audit", "compare", "report")
"""MLflow lists the newest run first, so these stand on top."""


def publish_results(settings: Settings, layout: Layout) -> None:
    """Publish all result folders of the dataset, its sweeps and the named predictions, each linked to its siblings.

    `tracking.folder` asks for one folder's results alone, `report.shared` for those made to be passed on. Where all
    were asked for, a file beside the store says so, which is what DVC looks for.

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
            raise ValueError(f"MLflow cannot show {layout.show(folder)}: {error}") from error
    if damaged:
        raise ValueError("\n  ".join([f"{len(damaged)} results are not published:", *damaged]))
    if not settings.tracking.folder:
        marks = {layout.relative(folder): digest_file(folder / RECORD)[:16] for folder in folders}
        write_json(marks, layout.published)
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
            f"no results below {layout.show(roots[0])}; run `dvc repro` or a stage first"
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
    run_stage(publish_results)
