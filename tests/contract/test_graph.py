"""`dvc.yaml` is what the wiring, the imports and the settings make it, and every step watches all that it runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tworulers.graph.imports import HARMLESS, find_module, is_harmless
from tworulers.graph.wiring import STEPS, Step
from tworulers.graph.write import write_graph

ROOT = Path(__file__).parents[2]
COMMITTED = (ROOT / "dvc.yaml").read_text(encoding="utf-8")

WATCHING = [step for step in STEPS if not step.always]

LOADED = """
import importlib, json, os, sys
import hydra, matplotlib.pyplot, nibabel, pandas, pandera.pandas, pytorch_lightning, scipy.stats, torch
for modules in json.loads(sys.argv[1]):
    sys.stdout.flush()
    if os.fork() == 0:
        for module in modules:
            importlib.import_module(module)
        print(json.dumps(sorted(name for name in sys.modules if name.startswith("tworulers"))), flush=True)
        os._exit(0)
    os.wait()
"""
"""Imports each list of modules in a process of its own, and prints which of ours were loaded."""

RUN_LATER = {
    "train": ["tworulers.recipe.train"],
    "predict": ["tworulers.recipe.predict", "tworulers.recipe.plan_json"],
}
"""What a stage runs in a process of its own, or imports only once it needs it."""


def test_the_graph_is_as_written() -> None:
    for name, text in write_graph(ROOT).items():
        assert (ROOT / name).read_text() == text, f"run ./scripts/write_graph and commit {name}"


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """The modules of ours that are in memory once a stage is imported, found by importing it."""
    stages = sorted({step.stage for step in WATCHING})
    modules = [[f"tworulers.stages.{stage}", *RUN_LATER.get(stage, [])] for stage in stages]
    command = [sys.executable, "-c", LOADED, json.dumps(modules)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    lines = done.stdout.splitlines()
    return dict(zip(stages, map(json.loads, lines), strict=True))


@pytest.mark.parametrize("step", WATCHING, ids=lambda step: step.name)
def test_a_step_watches_every_module_that_it_loads(
    step: Step, loaded: dict[str, list[str]]
) -> None:
    entry = COMMITTED.split(f"\n  {step.name}:\n")[1].split("\n\n")[0]
    for module in loaded[step.stage]:
        path = find_module(module, ROOT / "src")
        assert path is not None
        places = (path, path.parent)
        watched = any(f"- {place.relative_to(ROOT).as_posix()}\n" in entry for place in places)
        assert watched or is_harmless(module) or does_nothing(path), (
            f"{step.name} loads {module} and does not watch it: run ./scripts/write_graph, or "
            f"name it in tworulers/graph/imports.py if no result can depend on it"
        )


def does_nothing(path: Path) -> bool:
    """Tell whether a file is a docstring, with a version at most."""
    text = re.sub(r'^__version__ = "[^"]*"$', "", path.read_text(), flags=re.MULTILINE).strip()
    return path.name == "__init__.py" and re.fullmatch(r'"""[^"]*"""', text) is not None


def test_harmless_modules_exist_and_are_few() -> None:
    assert all(find_module(module, ROOT / "src") for module in HARMLESS)
    assert len(HARMLESS) < 8
