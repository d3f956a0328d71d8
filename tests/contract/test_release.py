"""What goes out with a release is whole: one version, a changelog, a citation, and a licence for every file of data."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import yaml

import tworulers

ROOT = Path(__file__).parents[2]
OF_DATA = (".csv", ".json", ".npz", ".gz", ".ipynb", ".nii", ".png", ".svg", ".parquet", ".pth")


def test_one_version_stands_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert tworulers.__version__ == citation["version"] == version
    assert citation["license"] == "Apache-2.0"
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_file_of_data_has_a_licence() -> None:
    named = re.findall(r"`([\w./*-]+)`", (ROOT / "examples" / "LICENCES.md").read_text())
    patterns = [f"{name}*" if name.endswith("/") else name for name in named]
    places = ("examples", "docs", "tests/golden")
    listed = subprocess.run(
        ["git", "ls-files", *places], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    data = [name for name in listed if name.endswith(OF_DATA)]
    assert len(data) > 10
    assert [name for name in data if not any(fnmatch(name, one) for one in patterns)] == []
    for name in named:
        assert not name.startswith(("examples", "docs", "tests", "src", "conf")) or list(
            ROOT.glob(name.rstrip("/"))
        ), name


def test_every_hook_is_a_program_that_the_tests_run_too() -> None:
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repo["repo"] == "local"
    checks = (ROOT / "scripts" / "test").read_text()
    for hook in repo["hooks"]:
        program = Path(hook["entry"].split()[0]).name
        assert program in checks, program
        for word in hook["entry"].split()[1:]:
            assert "/" not in word or (ROOT / word).is_file(), word


def test_every_command_that_contributors_are_told_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    scripts = set(re.findall(r"\./scripts/(\w+)", text))
    assert {"setup", "test", "campaign", "write_graph"} <= scripts
    assert all((ROOT / "scripts" / script).is_file() for script in scripts)
