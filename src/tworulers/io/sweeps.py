"""Folders of sweeps: each made for one sweep, and never given to another."""

import shutil
import time
from contextlib import suppress
from glob import escape
from itertools import count
from pathlib import Path

from tworulers.io.paths import place_within

SWEEPS = "sweeps"
"""Where sweeps lie below the project root, as `<stage>/<date-time>/<n>`."""


def claim_sweep(root: Path, stage: str) -> Path:
    """Make a new folder for one sweep of a stage, named after the time; one of the same second gets a number."""
    parent = place_within(root / SWEEPS, sweep=stage)
    moment = time.strftime("%Y-%m-%d_%H-%M-%S")
    for place in count(1):
        folder = parent / (moment if place == 1 else f"{moment}_{place}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError("there is always another number")


def holds_results(folder: Path) -> bool:
    """Tell whether any run of a sweep wrote into the sweep's own folder."""
    return any(path.is_dir() and not path.name.startswith(".") for path in folder.iterdir())


def tidy_sweep(folder: Path, kept: str) -> None:
    """Remove the empty folders of runs that wrote elsewhere, and the sweep's where it then holds no result.

    Parameters
    ----------
    folder : of the sweep.
    kept : the folder in it that holds how the runs ended, which are read by now.
    """
    shutil.rmtree(folder / kept, ignore_errors=True)
    for path in folder.iterdir():
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    if not holds_results(folder):
        # What a launcher wrote down of runs whose results lie elsewhere.
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # another sweep began there
            for emptied in (folder.parent, folder.parent.parent):
                emptied.rmdir()


def list_sweeps(root: Path, name: str) -> list[Path]:
    """List the folders of a dataset, or of other results of a name, below all sweeps."""
    places = ("*", "*/*", "*/*/*")
    found = (path for place in places for path in (root / SWEEPS).glob(f"{place}/{escape(name)}"))
    return sorted(path for path in found if path.is_dir())
