"""Files, functions and stages stay short enough to be read at a glance."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST_FILE, LONGEST_STAGE, LONGEST_FUNCTION = 400, 150, 60


def list_long() -> Iterator[str]:
    """Yield the files, and the functions by file, that are too long."""
    for room in ("src", "scripts", "benchmarks", "examples"):
        for path in sorted((ROOT / room).rglob("*.py")):
            text, name = path.read_text(), path.relative_to(ROOT).as_posix()
            stage = path.parent.name == "stages" and not path.name.startswith("_")
            if len(text.splitlines()) > (LONGEST_STAGE if stage else LONGEST_FILE):
                yield name
            for node in ast.walk(ast.parse(text)):
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    continue
                if (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION:
                    yield f"{name} {node.name}"


def test_nothing_is_too_long() -> None:
    assert list(list_long()) == []
