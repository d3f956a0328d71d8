"""Folders of sweeps: each made for one sweep, and never given to another."""

import time
from contextlib import suppress
from glob import escape
from itertools import count
from pathlib import Path

from tworulers.io.paths import place_within

SWEEPS = "sweeps"
"""Where sweeps lie below the project root, as `<stage>/<date-time>/<n>`."""

ASKED = "multirun.yaml"
"""What Hydra keeps beside the runs of a sweep: what was asked."""


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


def tidy_sweep(folder: Path) -> None:
    """Remove the empty folders of runs that wrote elsewhere, and the sweep's where it then holds no result."""
    for path in folder.iterdir():
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    if {path.name for path in folder.iterdir()} <= {ASKED}:
        (folder / ASKED).unlink(missing_ok=True)
        with suppress(OSError):  # another sweep began there
            for emptied in (folder, folder.parent, folder.parent.parent):
                emptied.rmdir()


def list_sweeps(root: Path, name: str) -> list[Path]:
    """List the folders of a dataset, or of other results of a name, below all sweeps."""
    places = ("*", "*/*", "*/*/*")
    found = (path for place in places for path in (root / SWEEPS).glob(f"{place}/{escape(name)}"))
    return sorted(path for path in found if path.is_dir())
