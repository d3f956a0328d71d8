"""What lies outside the project: every file of the data, by its content, so that a changed one is seen."""

from functools import partial
from pathlib import Path

from tworulers.io.digests import digest_files, list_files
from tworulers.io.paths import Layout
from tworulers.io.records import write_json
from tworulers.progress import say, track
from tworulers.runner.cost import expect_seconds
from tworulers.runner.graph.write import require_current
from tworulers.runner.run import run_stage
from tworulers.runner.settings import load_choice
from tworulers.runner.tracking.store import is_gone
from tworulers.schema.settings import Regime, Ruler, Settings

TOLD_ABOVE_S = 60
"""How long the line has to be for its duration to be said."""


def inventory(settings: Settings, layout: Layout) -> None:
    """List the files of the data source and of every other place outside the results that settings name.

    Where the store of runs is not there any more, the mark that it was filled goes too.

    Raises
    ------
    ValueError : `dvc.yaml` is not what `conf/` makes it, or a place is not set or not there; nothing made from it is
        touched.
    """
    require_current(layout.root)
    places = list_places(settings, layout)
    faults = [
        f"{name} is {path}, which is not there"
        for name, path in places.items()
        if not path.exists()
    ]
    if settings.dataset.root is None and not settings.dataset.made:
        faults.append(
            f"dataset.root is not set; set it to the folder of the {settings.dataset.source} data"
        )
    if faults:
        raise ValueError("\n  ".join(faults))
    files = {name: [path] if path.is_file() else list_files(path) for name, path in places.items()}
    key = settings.dataset.reading.pseudonym_key
    secret = None if key is None else (layout.root / key).resolve()
    listed = [path for found in files.values() for path in found if path.resolve() != secret]
    show = partial(track, description="reading files outside the results")
    digests = digest_files(listed, layout.digests, show)
    content = {
        name: {
            "path": str(path),
            "files": {
                file.relative_to(path).as_posix(): digests[file]
                for file in files[name]
                if file in digests
            },
        }
        for name, path in places.items()
    }
    write_json(content, layout.inventory)
    if is_gone(layout.root, settings.tracking):
        layout.published.unlink(missing_ok=True)
    say(f"{len(listed)} files outside the results")
    whole = expect_seconds(layout.root, layout.relative(layout.outputs))
    if whole > TOLD_ABOVE_S:
        say(f"all steps together took {whole / 60:.0f} min when each last ran")


def list_places(settings: Settings, layout: Layout) -> dict[str, Path]:
    """List the files and folders outside the results that settings name, by the name of the setting."""
    dataset, root = settings.dataset, layout.root
    rulers = [load_choice(root, "ruler", name, Ruler) for name in settings.grid.rulers]
    regimes = [load_choice(root, "regime", name, Regime) for name in settings.grid.regimes]
    models = [(f"regime {one.name} model {path}", path) for one in regimes for path in one.models]
    named = {
        "dataset.root": dataset.root,
        "dataset.truth": dataset.truth,
        "dataset.reading.table": dataset.reading.table,
        "dataset.reading.experts": dataset.reading.experts,
        "split.file": settings.split.file,
        **{f"ruler {ruler.name}": ruler.folder for ruler in rulers},
        **dict(models),
    }
    # Tables are named as seen from the data.
    bases = dict.fromkeys(
        ("dataset.reading.table", "dataset.reading.experts"), Path(dataset.root or root)
    )
    places = {
        name: (root / bases.get(name, root) / path).absolute()
        for name, path in named.items()
        if path is not None
    }
    made = layout.inputs.absolute()
    return {name: path for name, path in places.items() if not path.is_relative_to(made)}


if __name__ == "__main__":
    run_stage(inventory)
