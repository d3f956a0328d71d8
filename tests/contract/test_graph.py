"""`dvc.yaml` is what the wiring, the imports and the settings make it, and every step watches all that it runs."""

import ast
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tworulers.runner.graph.code import NOT_MAKING, digest_code, digest_making, save_digests
from tworulers.runner.graph.imports import HARMLESS, Sources, find_module, is_harmless, list_sources
from tworulers.runner.graph.syntax import digest_syntax
from tworulers.runner.graph.table import TABLE
from tworulers.runner.graph.wiring import list_steps
from tworulers.runner.graph.write import write_graph

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
READ = Sources()
STAGES = sorted({step.stage for step in list_steps(ROOT) if not step.wiring.always})

LOADED = """
import importlib, json, os, sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock
import hydra, matplotlib.pyplot, nibabel, pandas, pandera.pandas, pytorch_lightning, scipy.stats, torch

wanted, harmless = json.loads(sys.argv[1])

class Silence:
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in harmless):
            return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        def answer(name):
            if name.startswith("__"):
                raise AttributeError(name)
            return MagicMock()
        module.__getattr__ = answer

sys.meta_path.insert(0, Silence())
for modules in wanted:
    sys.stdout.flush()
    if os.fork() == 0:
        for module in modules:
            importlib.import_module(module)
        print(json.dumps(sorted(name for name in sys.modules if name.startswith("tworulers"))), flush=True)
        os._exit(0)
    os.wait()
"""
"""Imports each list of modules in a process of its own, empty ones in place of those that are harmless, and prints
which of ours were loaded."""

RUN_LATER = {
    "train": ["tworulers.recipe.train"],
    "predict": ["tworulers.recipe.predict", "tworulers.recipe.plan_json"],
}
"""What a stage runs in a process of its own, or imports only once it needs it."""


def test_the_graph_is_as_written() -> None:
    for name, text in write_graph(ROOT).items():
        assert (ROOT / name).read_text() == text, f"run ./scripts/write_graph and commit {name}"


def test_files_of_ones_own_count_in_every_stage(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "ours.py").write_text("A = 1\n")
    before = {stage: digest_code(stage, tmp_path, sources=READ) for stage in STAGES}
    (tmp_path / "own" / "ours.py").write_text("A = 2\n")
    del READ.fresh[str(tmp_path / "own" / "ours.py")]
    for stage in STAGES:
        after = digest_code(stage, tmp_path, sources=READ)
        assert after["own/ours.py"] != before[stage]["own/ours.py"]


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """The modules of ours that are in memory once a stage is imported, found by importing it."""
    modules = [[f"tworulers.stages.{stage}", *RUN_LATER.get(stage, [])] for stage in STAGES]
    command = [sys.executable, "-c", LOADED, json.dumps([modules, list(HARMLESS)])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    lines = done.stdout.splitlines()
    return dict(zip(STAGES, map(json.loads, lines), strict=True))


@pytest.mark.parametrize("stage", STAGES)
def test_every_module_that_a_stage_loads_counts(stage: str, loaded: dict[str, list[str]]) -> None:
    counted = digest_code(stage, ROOT, sources=READ)
    for module in loaded[stage]:
        path = find_module(module, SRC)
        assert path is not None
        harmless = is_harmless(module) or module in TABLE[stage].ignores or does_nothing(path)
        assert path.relative_to(SRC).as_posix() in counted or harmless, (
            f"{stage} loads {module}, which does not count: name it in tworulers/runner/graph/imports.py if no result "
            "can depend on it"
        )


def does_nothing(path: Path) -> bool:
    """Tell whether a file is a docstring, with a version at most."""
    text = re.sub(r'^__version__ = "[^"]*"$', "", path.read_text(), flags=re.MULTILINE).strip()
    return path.name == "__init__.py" and re.fullmatch(r'"""[^"]*"""', text) is not None


def test_harmless_modules_exist_and_are_few() -> None:
    assert all(find_module(module, ROOT / "src") for module in HARMLESS)
    assert len(HARMLESS) <= 12
    assert all(find_module(module, ROOT / "src") for module in NOT_MAKING)
    assert len(NOT_MAKING) <= 7


def test_what_is_said_and_shown_of_a_training_costs_no_training() -> None:
    began = time.process_time()
    made_by = digest_making("tworulers.recipe.parallel", "tworulers.training.arrays")
    assert time.process_time() - began < 1
    assert {"recipe/loss.py", "recipe/train.py", "recipe/store.py"} < made_by.keys()
    assert {name.partition("/")[0] for name in made_by} == {"io", "recipe", "schema", "training"}


CODE = {path for stage in STAGES for path in list_sources(f"tworulers.stages.{stage}", SRC, READ)}


@pytest.mark.parametrize("path", sorted(CODE), ids=lambda path: path.relative_to(SRC).as_posix())
def test_a_statement_counts_and_a_comment_or_docstring_does_not(path: Path) -> None:
    if path.suffix != ".py":
        assert Sources()[path].digest != digest_syntax(ast.parse(""))
        return
    text = path.read_text()
    before = digest_syntax(ast.parse(text))
    told = re.sub(r'^( *)"""(?=\w)', r'\1"""Now told otherwise. ', text, flags=re.MULTILINE)
    assert told != text
    assert digest_syntax(ast.parse(f"# A comment.\n\n{told}\n# The end.\n")) == before
    assert digest_syntax(ast.parse(f"{text}\nADDED = 1\n")) != before
    changed = change_one_number(text)
    assert changed is None or digest_syntax(ast.parse(changed)) != before


def change_one_number(text: str) -> str | None:
    """Return code with the last number in it raised by one; None where it has none."""
    numbers = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and type(node.value) is int
    ]
    if not numbers:
        return None
    last = max(numbers, key=lambda node: (node.lineno, node.col_offset))
    lines = text.splitlines()
    line = lines[last.lineno - 1].encode()
    changed = line[: last.col_offset] + str(last.value + 1).encode() + line[last.end_col_offset :]
    lines[last.lineno - 1] = changed.decode()
    return "\n".join(lines)


SAMPLE = '''
import os as system

@decorate(1, *[2], **{"a": None})
async def work(a, /, b: int = 0x10, *rest: "str", c=-1.5e3, **more) -> None:
    """Told."""
    global Z
    x = f"{a!r:>{b}} und {c:}{b=}" "näher" f"" if a else ...
    match a:
        case {"k": [1, *_], **left} if left: return (yield)
        case str() | None: raise ValueError from None
    try: del x[1:2, ::3]
    except* OSError as error: pass
    with open(b) as f, f: assert not (a @ b) < c is None
    return lambda q=1j: [i async for i in (w := q) if i or b"\\xff"]

class Thing(Base, metaclass=Meta): value: int; "told"
'''


def test_the_digest_is_the_same_for_every_python() -> None:
    """Held to a value written down, so that another Python than the one it was made with would tell."""
    assert digest_syntax(ast.parse(SAMPLE)) == "e3d03ccb098e74a0"
    respaced = SAMPLE.replace("{a!r:>{b}} und", "{a!r:>{b}}  und")
    assert digest_syntax(ast.parse(respaced)) != digest_syntax(ast.parse(SAMPLE))
    regrouped = SAMPLE.replace("(yield)", "((yield))").replace('"k"', "'k'")
    assert digest_syntax(ast.parse(regrouped)) == digest_syntax(ast.parse(SAMPLE))


def test_digests_are_written_where_code_changed_and_left_alone_else(tmp_path: Path) -> None:
    package = tmp_path / "src"
    for path in [*SRC.rglob("*.py"), *SRC.rglob("*.jinja")]:
        copy = package / path.relative_to(SRC)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    assert save_digests(tmp_path, package) == [name for name in TABLE if name in STAGES]
    assert save_digests(tmp_path, package) == []
    train = package / "tworulers" / "stages" / "train.py"
    train.write_text(train.read_text() + "\n# A comment.\n")
    assert save_digests(tmp_path, package) == []
    train.write_text(train.read_text() + "\nADDED = 1\n")
    assert save_digests(tmp_path, package) == ["train"]
    page = package / "tworulers" / "report" / "page.html.jinja"
    page.write_text(page.read_text() + "\n")
    assert "report" in save_digests(tmp_path, package)
