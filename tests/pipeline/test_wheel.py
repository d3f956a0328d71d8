"""What is released works away from the checkout: a wheel in an environment of its own, results where one stands."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
RELEASED = ("setup.py", "MANIFEST.in", "pyproject.toml", "README.md", "LICENSE", "constraints.txt",
            "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "src", "conf")  # fmt: skip
BUILD = "from setuptools import build_meta; print(build_meta.build_{}({!r}))"
UNREACHED = ("No matching distribution", "Could not find a version", "Max retries", "Connection")

pytestmark = pytest.mark.slow


def run(*words: str | Path, within: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        list(map(str, words)), cwd=within, env={**environment, "OMP_NUM_THREADS": "1"}, capture_output=True,
        text=True, timeout=900, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of the source distribution."""
    folder = tmp_path_factory.mktemp("build")
    listed = run("git", "ls-files", "-z", *RELEASED, within=ROOT).stdout.split("\0")
    for name in filter(None, listed):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    made = run(sys.executable, "-c", BUILD.format("sdist", "."), within=folder)
    assert made.returncode == 0, made.stderr
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    made = run(sys.executable, "-c", BUILD.format("wheel", "."), within=source)
    assert made.returncode == 0, made.stderr
    return next(source.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the wheel and what it needs, and no more."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", ".", within=folder)
    pip = (folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-compile")
    done = run(*pip, "--constraint", ROOT / "constraints.txt", wheel, within=folder)
    if done.returncode and any(words in done.stderr for words in UNREACHED):
        pytest.skip("pip reaches no index that has the packages the wheel needs")
    assert done.returncode == 0, done.stderr
    return folder / "bin"


def test_the_wheel_carries_the_configuration_of_the_checkout(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    held = {
        name.removeprefix("tworulers/conf/") for name in names if name.startswith("tworulers/conf/")
    }
    files = {path.relative_to(ROOT / "conf").as_posix() for path in (ROOT / "conf").rglob("*.yaml")}
    assert held == files - {"dvc.yaml"}
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"tworulers"}


def test_a_table_is_audited_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"exam_id": [f"e{n}" for n in range(40)], "ward": ["a"] * 20 + ["b"] * 20})
    table["dice_disc"] = (rng.normal(0.9, 0.02, 40) - 0.2 * (table["ward"] == "b")).round(4)
    table.to_csv(tmp_path / "scores.csv", index=False)
    assert run(installed / "python", "-c", "import torch", within=tmp_path).returncode == 1
    words = (
        "audit",
        "--scores",
        "gold:scores.csv",
        "--by",
        "ward",
        "--fast",
        "--json",
        "--fail-on",
        "differs",
    )
    done = run(installed / "tworulers", *words, within=tmp_path)
    assert done.returncode == 3, done.stderr
    told = json.loads(done.stdout)
    assert told["audits"][0]["groupings"][0]["answers"]["differs"] == 1
    assert Path(told["audits"][0]["path"]).is_relative_to(tmp_path / "artifacts")


def test_the_notebook_runs_of_the_wheel_alone(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "python", ROOT / "tests/notebook.py", within=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"ran with {installed.parent}" in done.stdout


def test_two_folders_are_judged_with_a_grouping_of_the_users_own(
    installed: Path, tmp_path: Path
) -> None:
    for width, folder in enumerate(("mine", "drawn", "made")):
        (tmp_path / folder).mkdir()
        for n in range(12):
            mask = np.zeros((9, 9, 5), np.uint8)
            mask[2:6, 2 : 5 + (n + width) % 3, 1:3] = 1
            nib.Nifti1Image(mask, np.eye(4)).to_filename(tmp_path / folder / f"e{n}.nii.gz")
    pd.DataFrame({"exam_id": [f"e{n}" for n in range(12)], "ward": ["a", "b"] * 6}).to_csv(
        tmp_path / "exams.csv", index=False
    )
    own = tmp_path / "conf" / "attributes"
    own.mkdir(parents=True)
    (own / "sex.yaml").write_text(
        "name: wards\ngroupings:\n  ward: {title: Ward, kind: column, column: ward}\n"
    )
    done = run(
        installed / "tworulers", "judge", "--predictions", "mine", "--reference", "expert=gold:drawn",
        "--reference", "machine=silver:made", "--table", "exams.csv", "--structures", "box=1", "--fast",
        "--processes", "1", "attributes=sex", within=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ward" in done.stdout
    assert "tworulers[track]" not in done.stdout + done.stderr, "nobody asked for runs"
    assert (tmp_path / "artifacts/judged/mine/report/index.html").is_file()
    after = done.stdout.rpartition("┘")[2].strip().splitlines()
    assert len(after) == 3, "of the patients, of the ruler, and where the page is"
