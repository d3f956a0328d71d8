"""Every result folder to MLflow, once: fills an empty store again, and does nothing where all is there."""

from tworulers.io.console import say, track
from tworulers.io.paths import Layout
from tworulers.schema import Settings
from tworulers.stages._run import run_stage
from tworulers.tracking import list_results, publish


def publish_results(settings: Settings, layout: Layout) -> None:
    """Publish all result folders of the dataset, its sweeps and the named predictions, each linked to its siblings."""
    roots = [layout.inputs, *sorted((layout.root / "sweeps").glob(f"*/*/{settings.dataset.name}"))]
    if settings.predictions.name:
        roots.append(Layout.of_predictions(settings, layout.root).outputs)
    folders = sorted({folder for root in roots for folder in list_results(root)})
    if not folders:
        raise ValueError(
            f"no results below {layout.relative(layout.inputs)}; run `dvc repro` or a stage first"
        )
    for folder in track(folders, len(folders), "publishing"):
        publish(folder, layout.root, settings.tracking)
    say(
        f"{len(folders)} results of {settings.dataset.name} are in MLflow; open them with ./scripts/ui"
    )


if __name__ == "__main__":
    run_stage(publish_results, ())
