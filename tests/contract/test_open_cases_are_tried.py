"""Every open acceptance case is tried by a test, and what the project does not do yet is named.

Most cases are tried where the rest of their subject is tested, by a test that their folder's name is a parameter of.
Those that are tried here run a whole command, and are expected to fail as long as they stand in `NOT_YET_MENDED`.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import attempts_with_label_maps
import attempts_with_projects
import attempts_with_tables
import pytest

from command import Project

pytestmark = pytest.mark.needs_shared

TESTS = Path(__file__).parents[1]

ATTEMPTS = {
    **attempts_with_label_maps.ATTEMPTS,
    **attempts_with_projects.ATTEMPTS,
    **attempts_with_tables.ATTEMPTS,
}

NOT_YET_MENDED: set[str] = set()
"""Cases that fail today; a case that passes has to leave."""

SLOW = {
    "86-logical-outcome",
    "89-sex-as-numbers",
    "92-slash-in-group-names",
    "96-project-folder-moved",
    "97-experiment-deleted",
    "104-home-sign-in-path",
    "106-second-sweep",
    "109-rulers-over-different-exams",
    "110-name-taken-twice",
}

TRIED_BY_VALUE = {
    "72-tiny-volume-patch": (
        "tests/unit/recipe/test_train.py::test_volumes_smaller_than_the_patch_are_padded"
    ),
    "74-few-patients-folds": "tests/unit/cohort/test_split.py::test_too_few_patients_for_the_folds",
    "76-resume-equals-uninterrupted": (
        "tests/unit/recipe/test_train.py::test_interrupted_fold_ends_as_an_uninterrupted_one"
    ),
}
"""Cases whose setup is written out in a test, which does not read their folder."""


def mark(name: str) -> list[pytest.MarkDecorator]:
    failing = pytest.mark.xfail(strict=True, reason="not yet mended")
    return [*([failing] if name in NOT_YET_MENDED else []), *([pytest.mark.slow] * (name in SLOW))]


@pytest.mark.parametrize("name", [pytest.param(n, marks=mark(n)) for n in sorted(ATTEMPTS)])
def test_case(name: str, shared: Path, tmp_path: Path) -> None:
    folder = shared / "cases" / name
    case = json.loads((folder / "case.json").read_text())
    ATTEMPTS[name](folder, case, Project.at(tmp_path / "project"))


def find_parameters(module: ast.Module) -> Iterator[str]:
    """Return the texts that tests of a module are parametrized by, also through a name the module gives them."""
    given = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for function in module.body:
        if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test_"):
            continue
        reached = [d for d in function.decorator_list if "parametrize" in ast.unparse(d)]
        for node in reached:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value
                elif isinstance(part, ast.Name) and part.id in given:
                    reached.append(given.pop(part.id))


def list_tried() -> set[str]:
    """Return every case that a test is parametrized by, and those that are written out elsewhere."""
    texts = {
        text
        for path in TESTS.rglob("test_*.py")
        for text in find_parameters(ast.parse(path.read_text()))
    }
    cases = {text for text in texts if re.fullmatch(r"\d{2,3}-[a-z][a-z0-9]*(-[a-z0-9]+)+", text)}
    return cases | set(ATTEMPTS) | set(TRIED_BY_VALUE)


def test_every_open_case_is_tried(shared: Path) -> None:
    there = {path.parent.name for path in (shared / "cases").glob("*/case.json")}
    assert there - list_tried() == set()


def test_every_case_that_is_tried_or_listed_is_there(shared: Path) -> None:
    there = {path.parent.name for path in (shared / "cases").glob("*/case.json")}
    assert list_tried() - there == set()
    assert NOT_YET_MENDED - set(ATTEMPTS) == set()
    assert SLOW - set(ATTEMPTS) == set()
    for place in TRIED_BY_VALUE.values():
        file, _, test = place.partition("::")
        assert f"def {test}(" in (TESTS.parent / file).read_text()
