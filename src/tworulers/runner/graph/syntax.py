"""A digest of what a Python file does: comments, docstrings and layout do not count, nor does the Python that reads it.

`ast.dump` and `ast.unparse` write the same code in another way from one Python to the next, so the tree is written out
here, without what differs: fields that are empty or that say nothing, and how a formatted text is cut into pieces.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator

SAYING_NOTHING = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
"""Fields of the tree that do not change what code does."""


def digest_syntax(tree: ast.AST) -> str:
    """Return a short text that changes when the code of a syntax tree does."""
    return hashlib.sha256("\n".join(_write(tree)).encode()).hexdigest()[:16]


def _write(node: ast.AST) -> Iterator[str]:
    yield f"({type(node).__name__}"
    for name in node._fields:
        value = getattr(node, name, None)
        if name in SAYING_NOTHING or value is None or value == []:
            continue
        if isinstance(value, ast.JoinedStr) and not value.values:
            continue  # The empty format of a piece, which some Pythons keep.
        yield name
        if isinstance(value, ast.AST):
            yield from _write(value)
        elif isinstance(value, list):
            yield "["
            yield from _write_list(node, value)
            yield "]"
        else:
            yield ascii(value)
    yield ")"


def _write_list(node: ast.AST, values: list[object]) -> Iterator[str]:
    pieces = _merge_texts(values) if isinstance(node, ast.JoinedStr) else values
    for value in pieces:
        if isinstance(value, ast.AST):
            yield from () if is_told(value) else _write(value)
        else:
            yield ascii(value)


def is_told(node: ast.AST) -> bool:
    """Tell whether a statement is a text alone: a docstring, or a note below a constant."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _merge_texts(values: Iterable[object]) -> Iterator[object]:
    """Yield the pieces of a formatted text, neighbouring plain texts as one, empty ones left out."""
    plain = ""
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            plain += value.value
            continue
        if plain:
            yield plain
        plain = ""
        yield value
    if plain:
        yield plain
