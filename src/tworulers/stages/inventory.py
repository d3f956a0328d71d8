"""What lies outside the project: every file of the data, by its content, so that a changed one is seen."""

from collections.abc import Iterable
from pathlib import Path

from tworulers.io.console import say, track
from tworulers.io.digests import digest_files, list_files
from tworulers.io.paths import Layout
from tworulers.io.records import write_json
from tworulers.schema import Ruler, Settings
from tworulers.stages._run import load_choice, run_stage


def inventory(settings: Settings, layout: Layout) -> None:
    """List the files of the data source and of every other place outside the results that settings name.

    Raises
    ------
    ValueError : a place is not set, or is not there; nothing that was made from it is touched.
    """
    places = list_places(settings, layout)
    faults = [
        f"{name} is {path}, which is not there"
        for name, path in places.items()
        if not path.exists()
    ]
    if settings.dataset.root is None and settings.dataset.source != "phantom":
        faults.append(
            f"dataset.root is not set; set it to the folder of the {settings.dataset.source} data"
        )
    if faults:
        raise ValueError("\n  ".join(faults))
    files = {name: [path] if path.is_file() else list_files(path) for name, path in places.items()}
    key = settings.dataset.reading.pseudonym_key
    secret = None if key is None else (layout.root / key).resolve()
    listed = [path for found in files.values() for path in found if path.resolve() != secret]
    digests = digest_files(listed, layout.digests, show_reading)
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
    say(f"{len(listed)} files outside the results")


def list_places(settings: Settings, layout: Layout) -> dict[str, Path]:
    """List the files and folders outside the results that settings name, by the name of the setting."""
    dataset, root = settings.dataset, layout.root
    rulers = [load_choice(root, "ruler", name, Ruler) for name in settings.grid.rulers]
    named = {
        "dataset.root": dataset.root,
        "dataset.truth": dataset.truth,
        "dataset.reading.table": dataset.reading.table,
        "dataset.reading.experts": dataset.reading.experts,
        "split.file": settings.split.file,
        **{f"ruler {ruler.name}": ruler.folder for ruler in rulers},
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


def show_reading(files: Iterable[Path], total: int) -> Iterable[Path]:
    """Show how far the reading of new and changed files is."""
    return track(files, total, "reading files outside the results")


if __name__ == "__main__":
    run_stage(
        inventory, ("dataset.root", "dataset.truth", "dataset.reading", "split.file", "grid.rulers")
    )
