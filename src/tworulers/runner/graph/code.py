"""Digests of the code behind every stage: `python -m tworulers.runner.graph.code`, with which `dvc repro` begins.

A step of `dvc.yaml` watches one small file of these in place of hundreds of sources, so a comment makes nothing stale.
"""

import hashlib
import json
from pathlib import Path

from tworulers.io.paths import project_root
from tworulers.io.resume import DIGEST
from tworulers.runner.by_hand import tell_by_hand
from tworulers.runner.graph.imports import Sources, list_sources
from tworulers.runner.graph.table import TABLE
from tworulers.schema.atomic import written_beside
from tworulers.schema.own_files import list_own_files

FOLDER = "artifacts/code"
INSTALLED = Path(__file__).parents[3]
"""The folder that holds the package."""

NOT_MAKING = {
    "tworulers.schema.settings": "settings, which stamps count by their values",
    "tworulers.schema.sources": "settings, which stamps count by their values",
    "tworulers.schema.table_models": "what tables are held to when they are read",
    "tworulers.io.cluster": "who does the work",
    "tworulers.io.pool": "who does the work",
    "tworulers.io.holding": "keeps other runs away",
    "tworulers.io.resume": "whether work goes on",
}
"""Modules that unfinished work does not depend on, beyond those that no result does; see `digest_making`."""


def place_digests(stage: str) -> str:
    """Return where the digests of a stage's code are, from the project root."""
    return f"{FOLDER}/{stage}.json"


def digest_code(
    stage: str, root: Path, package: Path = INSTALLED, sources: Sources | None = None
) -> dict[str, str]:
    """Digest all code that a stage runs, by file, and what its row of the wiring says that it reads.

    Parameters
    ----------
    stage : its name.
    root : the project root, whose own files count too.
    package : the folder that holds the package.
    sources : what is known of files.
    """
    known, wiring = sources or Sources(), TABLE[stage]
    files = list_sources(f"tworulers.stages.{stage}", package, known, wiring.ignores)
    row = [sorted(wiring.reads), sorted(wiring.every.items())]
    return {
        "settings": hashlib.sha256(json.dumps(row).encode()).hexdigest()[:16],
        **{file.relative_to(package).as_posix(): known[file].digest for file in files},
        **{f"own/{file.name}": known[file].digest for file in list_own_files(root)},
    }


def digest_making(*modules: str) -> dict[str, str]:
    """Digest the code that makes what unfinished work holds, by file, for its stamp.

    It is less than all that a stage runs: what is said, recorded and shown of a training costs no training.

    Parameters
    ----------
    modules : dotted names of those that do the work; their imports count too.
    """
    known, ignored = Sources(), tuple(NOT_MAKING)
    files = {one for name in modules for one in list_sources(name, INSTALLED, known, ignored)}
    package = INSTALLED / "tworulers"
    return {
        file.relative_to(package).as_posix(): f"{DIGEST}{known[file].digest}"
        for file in sorted(files)
    }


def save_digests(root: Path, package: Path = INSTALLED) -> list[str]:
    """Write the digests of every stage of the graph, and return the stages whose code is other than it was.

    A file whose content stays is left alone.
    """
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    sources, changed = Sources(folder / ".known.json"), []
    for stage, wiring in TABLE.items():
        if wiring.always or not (wiring.outputs or wiring.marks):
            continue
        text = json.dumps(digest_code(stage, root, package, sources), indent=1) + "\n"
        path = root / place_digests(stage)
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        changed.append(stage)
        with written_beside(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    sources.keep()
    return changed


def main() -> None:
    """Digest the code behind every stage of the project above the working folder."""
    changed = save_digests(project_root())
    for line in tell_by_hand(project_root()):
        print(line)
    if changed:
        print(f"other code than before: {', '.join(changed)}")


if __name__ == "__main__":
    main()
