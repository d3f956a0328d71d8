"""Looks at what lies outside the project: `python -m tworulers.runner.graph.outside dataset=...`, with `dvc repro`.

The inventory is made of the composed configuration, which takes a second. It stays where no file and no variable that
it was made of is another.
"""

import hashlib
import json
import os
import runpy
import sys
import time
from pathlib import Path

from tworulers.io.digests import list_files, stamp_file
from tworulers.io.paths import project_root
from tworulers.progress import say
from tworulers.schema.atomic import written_beside
from tworulers.schema.own_files import list_own_files

PACKAGE = Path(__file__).parents[2]
OF_THE_CALL = ("COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL", "_")
"""Variables that say where and how a command was called; those of DVC are passed over too."""

TICK_NS = 2_000_000_000
"""The coarsest steps in which a file system counts time."""


def look_outside(root: Path, inventory: Path) -> tuple[str, int]:
    """Digest all that an inventory was made of: it changes where the stage might write another, or have more to do.

    Parameters
    ----------
    root : the project root.
    inventory : the result, which names the places that settings lead to.

    Returns
    -------
    The digest, and when the last of the files was changed, in ns.

    Raises
    ------
    OSError, ValueError : there is no inventory, or none that can be read.
    """
    # Its content, not its stamp: DVC links the file anew each time.
    text = inventory.read_text(encoding="utf-8")
    places = json.loads(text)
    paths = [Path(place["path"]) for place in places.values()]
    files = [
        *(root / "dvc.yaml", *(root / "conf").rglob("*.yaml")),
        *list_own_files(root),
        *PACKAGE.rglob("*.py"),
        *(file for path in paths for file in ([path] if path.is_file() else list_files(path))),
    ]
    stamps = {str(file): stamp_file(file) for file in files}
    runs = root / "mlruns"
    marked = runs / "published" / f"{inventory.parent.name}.json"
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in OF_THE_CALL and not name.startswith("DVC_")
    }
    seen = [
        *(text, sorted(stamps.items()), sorted(variables.items())),
        *((runs / "mlflow.db").is_file(), marked.is_file()),
    ]
    digest = hashlib.sha256(json.dumps(seen).encode()).hexdigest()
    return digest, max(changed for _, _, changed, _ in stamps.values())


def make_inventory(root: Path, dataset: str) -> None:
    """Make the inventory of a data set, unless all that it was made of is as it was.

    Parameters
    ----------
    root : the project root.
    dataset : its name, as the command has it too.
    """
    inventory = root / "artifacts" / dataset / "inventory.json"
    looked = inventory.with_name(".looked")
    try:
        unmoved = looked.read_text(encoding="utf-8") == look_outside(root, inventory)[0]
    except (OSError, ValueError, KeyError, AttributeError):
        unmoved = False
    if unmoved:
        say("all files outside the results are as they were")
        return
    looked.unlink(missing_ok=True)
    began = time.time_ns()
    runpy.run_module("tworulers.stages.inventory", run_name="__main__", alter_sys=True)
    digest, changed = look_outside(root, inventory)
    # What was written to since, or in the same tick of the clock, may not be what was read.
    if changed < began - TICK_NS:
        with written_beside(looked) as temporary:
            temporary.write_text(digest, encoding="utf-8")


def main() -> None:
    """Make the inventory of the data set that the command names."""
    given = [word.partition("=")[2] for word in sys.argv[1:] if word.startswith("dataset=")]
    if len(given) != 1:
        sys.exit(f"error: expected one dataset=NAME, found {sys.argv[1:]}")
    make_inventory(project_root(), given[0])


if __name__ == "__main__":
    main()
