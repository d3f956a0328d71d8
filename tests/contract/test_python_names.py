"""The Python door: few names, imported when asked for, each with its parameters told and an example that runs."""

import doctest
import inspect
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import tworulers as tr
from tworulers.api.results import Result
from tworulers.api.risk import RiskResult

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "monai", "pytorch_lightning", "mlflow", "dvc", "hydra", "omegaconf", "matplotlib")
SLOWEST_S = 2.0
EXPLAINED = ("audit", "audit_risk")
"""Functions that explain what may be asked of all; the others say which of it they take."""


def ask_python(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)


def test_there_are_few_names() -> None:
    assert len(tr.__all__) <= 10
    assert set(tr.__all__) <= set(dir(tr))
    with pytest.raises(AttributeError, match="no attribute 'fair'"):
        tr.fair  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    said = ask_python(
        "import sys, time; start = time.perf_counter(); import tworulers; spent = time.perf_counter() - start\n"
        "print(spent, [n for n in sys.modules if n.split('.')[0] in ('numpy', 'pandas', 'scipy', 'yaml')])"
    )
    spent, _, others = said.partition(" ")
    assert float(spent) < SLOWEST_S
    assert others.strip() == "[]"


def test_all_names_come_without_training_tracking_or_the_command_line() -> None:
    said = ask_python(
        "import sys, tworulers as tr; [getattr(tr, name) for name in tr.__all__]\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert said.strip() == "[]"


@pytest.mark.parametrize("name", tr.__all__)
def test_a_name_tells_its_parameters(name: str) -> None:
    own = getattr(tr, name)
    told = inspect.getdoc(own) or ""
    if not (isinstance(own, type) and issubclass(own, Exception)):
        parameters = list(inspect.signature(own).parameters)
        if hints := typing.get_type_hints(own, include_extras=True).get("asked"):
            parameters += typing.get_args(hints)[0].__annotations__ if name in EXPLAINED else []
        for parameter in parameters:
            assert re.search(rf"^[\w, ]*\b{parameter}\b[\w, ]* : ", told, re.M), parameter


METHODS = {
    f"Result.{name}": getattr(Result, name) for name in ("difference", "to_model_card", "plot")
}
EXAMPLES = {name: getattr(tr, name) for name in tr.__all__} | METHODS | {"RiskResult": RiskResult}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_name_runs(name: str) -> None:
    (test,) = doctest.DocTestFinder(recurse=False).find(
        EXAMPLES[name], name, globs={"__name__": "example"}
    )
    assert test.examples
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert result.failed == 0
