"""Every command of the README exists and composes; the two that it opens with are what CI runs."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore

from tworulers.schema import Settings
from tworulers.stages._arguments import complete_arguments
from tworulers.stages._overrides import check_overrides, check_sweep
from tworulers.stages._run import load_settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = "\n".join(re.findall(r"```bash\n(.*?)```", README, re.DOTALL)).replace("\\\n", " ")
COMMANDS = [line.split(" && ")[0] for line in BLOCKS.splitlines() if line.startswith("python -m")]
GRID = {
    "regimes": ["gold", "mix"],
    "rulers": ["gold", "silver"],
    "configurations": ["2d", "3d_fullres"],
    "dataset": "phantom",
}


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 10


@pytest.mark.parametrize("command", COMMANDS)
def test_a_stage_command_composes(command: str) -> None:
    words = shlex.split(command)
    words[3:] = complete_arguments(words[3:])
    assert importlib.util.find_spec(words[2]) is not None
    overrides = [word for word in words[3:] if word != "-m"]
    check_overrides(words[3:])
    check_sweep(words[3:], GRID)
    first = [
        o.split(",")[0] if "-m" in words[3:] else o
        for o in overrides
        if not o.startswith(("paths=", "hydra/"))
    ]
    ConfigStore.instance().store(name="schema", node=Settings)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        assert isinstance(load_settings(compose("config", first)), Settings)


def test_the_scripts_named_exist_and_can_be_run() -> None:
    for script in set(re.findall(r"\./scripts/(\w+)", README)):
        path = ROOT / "scripts" / script
        assert path.is_file()
        assert path.stat().st_mode & 0o100


def test_every_file_and_folder_named_exists() -> None:
    names = re.findall(r"`((?:conf|docs|src|scripts)/[\w./]*)`|\((docs/[\w.]+)\)", README)
    for name in {name for pair in names for name in pair if name}:
        assert (ROOT / name).exists(), name


def test_ci_runs_both_opening_commands() -> None:
    ci = (ROOT / ".ci" / "run").read_text()
    assert "./scripts/reproduce" in ci
    assert "./scripts/test" in ci
