"""What messages tell a person to type is there to be typed: settings by their whole keys, commands, stages, options."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from tworulers.cli.commands import COMMANDS
from tworulers.schema.settings import Settings

ROOT = Path(__file__).parents[2]
KEY = re.compile(r"(?<![\w./`-])[a-z]\w*(?:\.[a-z]\w*)+(?![\w(/])")
STAGE = re.compile(r"python -m tworulers\.stages\.([a-z]+)")
COMMAND = re.compile(r"`?tworulers ([a-z]+)(?= --| [a-z_]+=|`)")
SCRIPT = re.compile(r"\./scripts/(\w+)")


def list_texts() -> Iterator[tuple[str, str]]:
    """Yield the texts of the source that are no docstrings, gaps of f-strings as `{}`, with where they stand."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        tree = ast.parse(path.read_text())
        lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        within = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in ast.walk(node)
            if part is not node
        }
        for node in ast.walk(tree):
            if id(node) in lone | within:
                continue
            where = f"{path.relative_to(ROOT / 'src')}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.JoinedStr):
                parts = [
                    str(part.value) if isinstance(part, ast.Constant) else "{}"
                    for part in node.values
                ]
                yield where, "".join(parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield where, node.value


def list_keys(known: Any, before: str = "") -> Iterator[tuple[str, bool]]:
    """Yield every key of the settings, and whether it is a group of keys that are all known."""
    for key, value in known.items():
        grouped = isinstance(value, dict) and bool(value)
        yield f"{before}{key}", grouped
        if grouped:
            yield from list_keys(value, f"{before}{key}.")


KEYS = dict(list_keys(OmegaConf.to_container(OmegaConf.structured(Settings))))


def find_wrong_key(text: str) -> str:
    """Find a key in a text that is a setting's without its beginning, or of a group that has none of its name."""
    for found in KEY.finditer(text):
        key = found[0]
        first, typed = key.partition(".")[0], text[found.end() :].startswith("=")
        beginnings = [key[: at.start()] for at in re.finditer(r"\.", key)]
        if key in KEYS or any(KEYS.get(part) is False for part in beginnings):
            continue
        if any(one.endswith(f".{key}") for one in KEYS) or (first in KEYS and typed):
            return key
    return ""


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("set reading.trust_grid=true", "reading.trust_grid"),
        ("give audit.sed=1", "audit.sed"),
        ("set dataset.reading.trust_grid=true, or scores.columns.exam_id='case'", ""),
        ("see cohort.parquet of numpy.random", ""),
    ],
)
def test_a_wrong_key_is_seen(text: str, wrong: str) -> None:
    assert find_wrong_key(text) == wrong


def test_keys_that_are_told_are_keys_of_the_settings() -> None:
    texts = list(list_texts())
    told = [text for _, text in texts if any(key in KEYS for key in KEY.findall(text))]
    assert len(told) > 100
    assert [(where, key) for where, text in texts if (key := find_wrong_key(text))] == []


def test_commands_stages_and_scripts_that_are_told_are_there() -> None:
    stages = {path.stem for path in (ROOT / "src/tworulers/stages").glob("[a-z]*.py")}
    scripts = {path.name for path in (ROOT / "scripts").iterdir()}
    known = {STAGE: stages, COMMAND: {one.name for one in COMMANDS}, SCRIPT: scripts}
    for pattern, names in known.items():
        told = [(where, name) for where, text in list_texts() for name in pattern.findall(text)]
        assert told
        assert [(where, name) for where, name in told if name not in names] == []
