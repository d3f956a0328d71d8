"""Every dependency is imported by `src` or stands here with its reason, and the core imports nothing of an extra."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tworulers.runner.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MODULES = {
    "connected-components-3d": "cc3d",
    "hydra-core": "hydra",
    "pytorch-lightning": "pytorch_lightning",
    "pyyaml": "yaml",
}
"""What a package is imported as, where its name says something else."""

NOT_IMPORTED = {
    "dvc-s3": "DVC loads it by the address of a remote",
    "dvc": "runs dvc.yaml as a command",
    "psycopg": "SQLAlchemy loads it by the address of a database",
    "hydra-joblib-launcher": "Hydra loads it by the name of the launcher",
    "hydra-submitit-launcher": "Hydra loads it by the name of the launcher",
    "nvidia-ml-py": "MLflow measures NVIDIA boards by it while networks train",
    "ruamel.yaml.clib": "DVC reads its files by it, in half the time",
    "psutil": "MLflow measures the machine by it while networks train",
}
"""Dependencies that no file of `src` imports, each with its reason."""


def name_packages(requirements: list[str]) -> dict[str, str]:
    """Map each required package to the module it is imported as."""
    names = [re.split(r"[<>=\[]", requirement)[0] for requirement in requirements]
    return {name: MODULES.get(name, name.replace("-", "_")) for name in names}


CORE = name_packages(PROJECT["dependencies"])
OPTIONAL = {
    extra: name_packages(listed)
    for extra, listed in PROJECT["optional-dependencies"].items()
    if extra not in ("dev", "docs")
}


def find_imports() -> dict[str, set[str]]:
    """Map each module from elsewhere that `src` imports to the files that import it."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "src/tworulers").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [str(node.module)]
            for name in names:
                found.setdefault(name.split(".")[0], set()).add(path.relative_to(ROOT).as_posix())
    own = {*sys.stdlib_module_names, "tworulers"}
    return {name: files for name, files in found.items() if name not in own}


IMPORTED = find_imports()


@pytest.mark.parametrize(
    ("package", "module"),
    [*CORE.items(), *(pair for packages in OPTIONAL.values() for pair in packages.items())],
)
def test_a_dependency_is_imported_or_has_its_reason(package: str, module: str) -> None:
    assert (module in IMPORTED) is (package not in NOT_IMPORTED)


def test_what_is_imported_is_declared() -> None:
    declared = set(CORE.values()).union(*(packages.values() for packages in OPTIONAL.values()))
    assert set(IMPORTED) <= declared


def test_training_and_tracking_are_imported_in_their_rooms_alone() -> None:
    rooms = {
        # Lightning's own logger shows epochs in MLflow.
        "train": (
            *("src/tworulers/recipe/", "src/tworulers/monai/"),
            "src/tworulers/runner/tracking/live.py",
        ),
        "track": ("src/tworulers/runner/tracking/",),
    }
    for extra, homes in rooms.items():
        for module in OPTIONAL[extra].values():
            assert all(file.startswith(homes) for file in IMPORTED.get(module, set())), module


def test_the_extras_that_commands_name_exist() -> None:
    for extra, modules in EXTRAS.items():
        known = set(OPTIONAL[extra].values()) | {
            f"hydra_plugins.{m}" for m in OPTIONAL[extra].values()
        }
        assert set(modules) <= known
