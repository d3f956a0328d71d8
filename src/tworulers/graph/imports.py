"""Which source files a module imports, directly or not, read from its syntax without running it."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = "tworulers"

HARMLESS = {
    "tworulers.io.console": "what is printed",
    "tworulers.stages._fold_progress": "what is printed while folds train",
    "tworulers.stages._boundaries": "refuses a command or lets it pass",
    "tworulers.stages._composed": "refuses a command or lets it pass",
    "tworulers.stages._overrides": "refuses a command or lets it pass",
    "tworulers.stages._showing": "what is printed where a result could not be shown",
    "tworulers.tracking": "copies of finished results",
}
"""Modules and packages that no result depends on, with what they do; neither they nor their imports are watched."""


def is_harmless(module: str) -> bool:
    """Tell whether no result depends on a module."""
    return any(module == name or module.startswith(f"{name}.") for name in HARMLESS)


def list_sources(module: str, root: Path) -> list[Path]:
    """List the source files that running a module depends on, sorted.

    Imports within functions count, and so do texts that name a module of ours (one run in a process of its own) or a
    file beside the module (a template). What the imports reach is an upper bound of what runs.

    Parameters
    ----------
    module : dotted name.
    root : the folder that holds the package.

    Raises
    ------
    FileNotFoundError : there is no such module.
    """
    if find_module(module, root) is None:
        raise FileNotFoundError(f"no module {module} below {root}")
    pending, seen, files = [module], set(), set()
    while pending:
        name = pending.pop()
        if name in seen or is_harmless(name):
            continue
        seen.add(name)
        path = find_module(name, root)
        if path is None:
            continue
        names, texts = _read(path)
        if not _is_silent(path):
            files.add(path)
        pending += _with_parents([name, *names])
        pending += [text for text in texts if text.startswith(f"{PACKAGE}.")]
        files |= {path.parent / text for text in texts if _names_a_file(text, path.parent)}
    return sorted(files)


def list_watched(module: str, root: Path, whole_from: float = 0.5) -> list[Path]:
    """List what a step watches so that no change of its sources goes unseen: files, and whole packages.

    DVC reads its lock anew at each command, and a line for every file would make that slow. The stages, and packages
    with a module that no result depends on, are never watched whole.

    Parameters
    ----------
    module, root : as for `list_sources`.
    whole_from : the share of a package's modules from which the package is watched whole.
    """
    harmless = {find_module(name, root) for name in HARMLESS}
    files = set(list_sources(module, root))
    for folder in {path.parent for path in files} - {root / PACKAGE}:
        modules = {path for path in folder.glob("*.py") if path.name != "__init__.py"}
        if len(modules & files) >= whole_from * len(modules) and not modules & harmless:
            files = {path for path in files if path.parent != folder} | {folder}
    return sorted(files)


def find_module(name: str, root: Path) -> Path | None:
    """Return the file of a module of ours; None where the name is none."""
    place = root.joinpath(*name.split("."))
    candidates = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def _with_parents(names: Iterable[str]) -> Iterator[str]:
    """Yield names with the packages around them, which are imported first; an imported object's name is no module."""
    for name in names:
        parts = name.split(".")
        if parts[0] == PACKAGE:
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


@cache
def _read(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the dotted names that a file imports, and its short texts."""
    names, texts = [], []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path}: write imports in full, not relative to the module")
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts += [node.value] if len(node.value) < 100 else []
    return tuple(names), tuple(texts)


@cache
def _is_silent(path: Path) -> bool:
    """Tell whether a file says what it is and does nothing: a docstring and a version at most."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return all(
        isinstance(node, (ast.Expr, ast.Assign)) and isinstance(node.value, ast.Constant)
        for node in body
    )


def _names_a_file(text: str, folder: Path) -> bool:
    plain = text.isprintable() and "." in text and "/" not in text and not text.startswith(".")
    return plain and not text.endswith(".py") and (folder / text).is_file()
