"""Which code a calibration measured: a digest that comments, docstrings and layout do not change."""

import ast
import hashlib
from functools import cache
from pathlib import Path

from calibration.rows import Topic
from tworulers.runner.graph.imports import list_sources

ROOT = Path(__file__).parents[2]
ROOMS = ("stats", "battery", "diagnosis", "auc")
"""The pure rooms whose code decides what is measured; settings and words are not measured."""


def digest_topic(topic: Topic) -> str:
    """Return the digest of what a topic measured, and of the module that measured it.

    What counts is the import closure of `topic.measured` within the pure rooms, and the files of `calibration` that
    the topic's module imports, itself among them; as syntax, without docstrings.
    """
    found = hashlib.sha256()
    for path in _list_files(topic):
        found.update(f"{path.relative_to(ROOT)}\n{read_code(path)}\n".encode())
    return found.hexdigest()[:16]


def _list_files(topic: Topic) -> list[Path]:
    package = ROOT / "src" / "tworulers"
    measured = {
        path
        for module in topic.measured
        for path in list_sources(module, ROOT / "src")
        if path.relative_to(package).parts[0] in ROOMS
    }
    return sorted(measured | _list_scripts(topic.measure.__module__))


def _list_scripts(module: str) -> set[Path]:
    """List the files of the campaign that a module of it is made of."""
    pending, files = [module], set[Path]()
    while pending:
        path = ROOT / "scripts" / Path(*pending.pop().split(".")).with_suffix(".py")
        if not path.is_file() or path in files:
            continue
        files.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("calibration."):
                pending.append(str(node.module))
    return files


@cache
def read_code(path: Path) -> str:
    """Return the syntax of a file without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [part for part in body if not _is_text(part)]
            node.body = kept  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
