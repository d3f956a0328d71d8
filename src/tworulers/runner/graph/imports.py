"""Which source files a module imports, directly or not, read from its syntax without running it."""

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tworulers.io.digests import digest_file, stamp_file
from tworulers.io.records import write_json
from tworulers.runner.graph.syntax import digest_syntax, is_told

PACKAGE = "tworulers"

HARMLESS = {
    "tworulers.progress": "what is printed",
    "tworulers.runner.by_hand": "what is said of results made by hand",
    "tworulers.runner.console": "what is printed",
    "tworulers.runner.outcome": "what the caller is told",
    "tworulers.training.fold_progress": "what is printed while folds train",
    "tworulers.runner.checks": "refuses a command or lets it pass",
    "tworulers.runner.extras": "refuses a command whose libraries are not installed",
    "tworulers.runner.faults": "what is said of an error",
    "tworulers.runner.graph": "what every stage reads, of which its own row counts with it",
    "tworulers.runner.tracking": "copies of finished results",
    "tworulers.runner.sweeps": "runs beside the pipeline, none of which is a step of it",
    "tworulers.runner.cost": "what a finished run cost",
}
"""Modules and packages that no result depends on, with what they do; neither they nor their imports are watched."""


@dataclass(frozen=True)
class Source:
    """What is read of one file.

    Parameters
    ----------
    stamp : what changes when the file is written to.
    digest : changes when its code does; of a file that is no code, when its bytes do.
    names : dotted names that it imports.
    texts : short texts that may name modules, or files beside it.
    silent : it says what it is and does nothing: a docstring and a version at most.
    """

    stamp: list[int]
    digest: str
    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    silent: bool = False


class Sources:
    """Source files by path, each read once and kept in a file for the next time.

    Parameters
    ----------
    kept : where; it can be deleted at any time. Nothing is kept where None.
    """

    def __init__(self, kept: Path | None = None) -> None:
        self.kept = kept
        self.read: dict[str, Source] = {}
        self.fresh: dict[str, Source] = {}
        if kept is not None and kept.is_file():
            try:
                content = json.loads(kept.read_text(encoding="utf-8"))
                self.read = {path: Source(**source) for path, source in content.items()}
            except (ValueError, TypeError, AttributeError):
                self.read = {}

    def __getitem__(self, path: Path) -> Source:
        """Return what a file holds, read anew where it was written to."""
        name = str(path)
        if name not in self.fresh:
            stamp, known = stamp_file(path), self.read.get(name)
            if known is None or known.stamp != stamp:
                known = read_source(path, stamp)
            self.fresh[name] = known
        return self.fresh[name]

    def keep(self) -> None:
        """Write what was read, where anything is new."""
        if self.kept is not None and self.fresh != self.read:
            write_json({path: asdict(source) for path, source in self.fresh.items()}, self.kept)


def read_source(path: Path, stamp: list[int]) -> Source:
    """Read one file: its digest, and what it imports and names.

    Raises
    ------
    ValueError : an import is written relative to the module.
    """
    if path.suffix != ".py":
        return Source(stamp, digest_file(path))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names, texts = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path}: write imports in full, not relative to the module")
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts += [node.value] if _may_name(node.value) else []
    said = [node for node in tree.body if not is_told(node)]
    silent = all(ast.unparse(node).startswith("__version__ = ") for node in said)
    ours = {name for name in names if name.partition(".")[0] == PACKAGE}
    return Source(stamp, digest_syntax(tree), sorted(ours), sorted(set(texts)), silent)


def is_harmless(module: str) -> bool:
    """Tell whether no result depends on a module; the package itself only hands on names, when asked for them."""
    return module == PACKAGE or any(
        module == name or module.startswith(f"{name}.") for name in HARMLESS
    )


def list_sources(
    module: str, root: Path, sources: Sources | None = None, ignores: tuple[str, ...] = ()
) -> list[Path]:
    """List the source files that running a module depends on, sorted.

    Imports within functions count, and so do texts that name a module of ours (one run in a process of its own), a
    package (all modules of which are found at run time) or a file beside the module (a template). What the imports
    reach is an upper bound of what runs.

    Parameters
    ----------
    module : dotted name.
    root : the folder that holds the package.
    sources : what is known of files.
    ignores : modules that do not count here, nor what they import.

    Raises
    ------
    FileNotFoundError : there is no such module.
    """
    if find_module(module, root) is None:
        raise FileNotFoundError(f"no module {module} below {root}")
    known = sources or Sources()
    pending, seen, files = [module], set(), set()
    while pending:
        name = pending.pop()
        if name in seen or name in ignores or is_harmless(name):
            continue
        seen.add(name)
        path = find_module(name, root)
        if path is None:
            continue
        source = known[path]
        if not source.silent:
            files.add(path)
        pending += _with_parents([name, *source.names])
        named = [text for text in source.texts if text.startswith(f"{PACKAGE}.")]
        pending += [one for text in named for one in (text, *_list_modules(text, root))]
        beside = [path.parent / text for text in source.texts]
        files |= {file for file in beside if file.suffix != ".py" and file.is_file()}
    return sorted(files)


def find_module(name: str, root: Path) -> Path | None:
    """Return the file of a module of ours; None where the name is none."""
    place = root.joinpath(*name.split("."))
    candidates = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def _list_modules(package: str, root: Path) -> list[str]:
    """List the modules of a package of ours; none where the name is none."""
    folder = root.joinpath(*package.split("."))
    return [f"{package}.{path.stem}" for path in folder.glob("*.py") if path.stem != "__init__"]


def _with_parents(names: Iterable[str]) -> Iterator[str]:
    """Yield names with the packages around them, which are imported first; an imported object's name is no module."""
    for name in names:
        parts = name.split(".")
        if parts[0] == PACKAGE:
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _may_name(text: str) -> bool:
    """Tell whether a text may name a module of ours, or a file beside the one it stands in."""
    plain = len(text) < 100 and text.isprintable() and "/" not in text
    return plain and "." in text and not text.startswith(".")
