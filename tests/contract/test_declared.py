"""A stage declares every setting that it reads, followed from its first function through all that it hands them to."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tworulers.runner.graph.imports import find_module
from tworulers.runner.graph.table import TABLE

SRC = Path(__file__).parents[2] / "src"
STAGES = sorted(TABLE)
FEW = ("lock", "publish", "show")
"""Stages that read next to nothing themselves."""

ROOMS = tuple(
    f"tworulers.{room}." for room in ("stages", "runner", "ingest", "phantom", "training", "io")
)
"""Where functions are that stages hand all settings to."""


DERIVED = {"dataset.values": ("dataset.structures", "dataset.ignore")}
"""What settings are made of that no file of `conf/` holds."""


@cache
def parse(module: str) -> tuple[dict[str, ast.FunctionDef], dict[str, tuple[str, str]]]:
    """The functions of a module, and where the names it imports come from."""
    path = find_module(module, SRC)
    assert path is not None
    tree = ast.parse(path.read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    imported = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return functions, imported


def follow(module: str, name: str, seen: set[tuple[str, str]]) -> Iterator[str]:
    """Yield the settings that a function reads, as far as their names are written out."""
    functions, imported = parse(module)
    if name not in functions:
        origin = imported.get(name)
        if origin and origin[0].startswith(ROOMS):
            yield from follow(*origin, seen)
        return
    if (module, name) in seen:
        return
    seen.add((module, name))
    body = functions[name]
    inner = {id(node.value) for node in ast.walk(body) if isinstance(node, ast.Attribute)}
    for node in ast.walk(body):
        chain = spell(node) if isinstance(node, ast.Attribute) and id(node) not in inner else ""
        if chain.startswith("settings.") and takes_settings(body):
            yield chain.removeprefix("settings.")
        if isinstance(node, ast.Name) and (node.id in functions or node.id in imported):
            yield from follow(module, node.id, seen)


def spell(node: ast.AST | None) -> str:
    if isinstance(node, ast.Attribute):
        return f"{spell(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def takes_settings(function: ast.FunctionDef) -> bool:
    """Tell whether what a function calls settings are all of them, and not those of one group."""
    given = function.args.args
    return any(a.arg == "settings" and spell(a.annotation) == "Settings" for a in given)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_declares_what_it_reads(stage: str) -> None:
    """What a stage does not declare it cannot read; this finds it before it is tried."""
    declared = set(TABLE[stage].seen)
    read = set(follow(f"tworulers.stages.{stage}", stage, set()))
    assert len(read) > 1 or stage in FEW
    for setting in {one for name in read for one in DERIVED.get(name, (name,))}:
        group, _, key = setting.partition(".")
        key = key.partition(".")[0]
        known = not declared.isdisjoint({group, f"{group}.{key}", setting})
        whole = not key and any(name.startswith(f"{group}.") for name in declared)
        assert known or whole, (
            f"{stage} reads {setting}, which its row in runner/graph/table.py does not name: add it there and run "
            "./scripts/write_graph"
        )


@pytest.mark.parametrize(
    ("stage", "read"),
    [("train", "seed"), ("select", "recipe.cleanup"), ("annotate", "recipe.cleanup")],
)
def test_reads_are_followed_into_other_modules(stage: str, read: str) -> None:
    assert read in set(follow(f"tworulers.stages.{stage}", stage, set()))
