"""What `dvc status` names after an edit: every step whose result could change, and no step whose result could not."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo

ROOT = Path(__file__).parents[2]
INVENTORY = "conf/dvc.yaml:inventory"
FINISHED = {
    "files/images.json",
    "files/labels.json",
    "predictions/gold/confidence.parquet",
    "predictions/mix/confidence.parquet",
    "predictions/gold/labels/a.nii.gz",
    "source/labels/a.nii.gz",
}
"""Files within results that steps depend on by name."""


def dvc(project: Path, *arguments: str) -> str:
    command = [str(Path(sys.executable).parent / "dvc"), *arguments]
    env = {**os.environ, "DVC_NO_ANALYTICS": "1"}
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose every step counts as done: its results are stand-ins, its code and settings the real ones."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "conf", project / "conf")
    shutil.copytree(ROOT / "src", project / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("dvc.yaml", ".dvcignore"):
        shutil.copy(ROOT / name, project)
    grid = project / "conf" / "grid.yaml"
    content = yaml.safe_load(grid.read_text())
    content["grid"] |= {
        "configurations": ["2d"],
        "rulers": ["gold", "silver"],
        "label_rulers": ["gold"],
    }
    grid.write_text(yaml.safe_dump(content))
    dvc(project, "init", "--no-scm", "--quiet")
    results = project / "artifacts" / "phantom"
    for name in FINISHED:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(name)
    for stage in Repo(str(project)).index.stages:
        for out in stage.outs:
            place = project / out.def_path
            if place.suffix:
                place.write_text("{}\n")
            elif not place.exists():
                place.mkdir(parents=True)
                (place / "result.json").write_text(out.def_path)
    dvc(project, "commit", "--force", "--quiet")
    return project


@pytest.fixture
def edit(project: Path) -> Iterator[Callable[[str, str, str], None]]:
    """Replace a text of a file, for one test."""
    before: dict[Path, bytes] = {}

    def replace(name: str, old: str, new: str) -> None:
        path = project / name
        before.setdefault(path, path.read_bytes())
        assert old in path.read_text(), f"{old} is not in {name}"
        path.write_text(path.read_text().replace(old, new, 1))

    yield replace
    for path, content in before.items():
        path.write_bytes(content)


def named(project: Path) -> set[str]:
    """The steps that DVC would run, without the one that always runs and without what their grids expand."""
    with contextlib.chdir(project):
        status = Repo().status()
    return {stage.split("@")[0] for stage in status} - {INVENTORY}


TRAINS = {"train_gold", "train"}
PREDICTS = {"annotate", "predict"}
SCORES = {"score", "score_silver"}
NETWORK = {*TRAINS, *PREDICTS}
READS_IMAGES = {*NETWORK, *SCORES, "cohort", "plan", "preprocess", "select"}

EDITS = {
    "conf/trainer/cpu.yaml precision": ("32-true", "bf16-mixed", NETWORK),
    "conf/config.yaml recipe": (
        "recipe: tiny",
        "recipe: small",
        {*NETWORK, "plan", "preprocess", "select"},
    ),
    "conf/config.yaml attributes": (
        "attributes: ${dataset}",
        "attributes: race",
        {"cohort", *SCORES, "audit", "compare", "report"},
    ),
    "conf/audit/paper.yaml tau": ("dice: 0.8", "dice: 0.7", {"audit", "compare"}),
    "conf/audit/paper.yaml tolerance": (
        "surface_tolerance_mm: 1.0",
        "surface_tolerance_mm: 2.0",
        {*SCORES, "audit", "compare"},
    ),
    "src/tworulers/recipe/resenc.py": ("import", "import  ", NETWORK),
    "src/tworulers/stages/_predicting.py": ("import", "import  ", PREDICTS),
    "src/tworulers/io/console.py": ("import", "import  ", set()),
    "artifacts/phantom/files/labels.json": (
        "files",
        "other",
        {"cohort", "plan", "select", "annotate", *TRAINS, *SCORES},
    ),
    "artifacts/phantom/source/labels/a.nii.gz": (
        "source",
        "other",
        {"cohort", "plan", "select", "annotate", *TRAINS, *SCORES},
    ),
}


@pytest.mark.parametrize("place", EDITS)
def test_an_edit_makes_those_steps_stale_that_read_it(
    place: str, project: Path, edit: Callable[[str, str, str], None]
) -> None:
    old, new, stale = EDITS[place]
    edit(place.split()[0], old, new)
    assert named(project) == stale


@pytest.mark.parametrize(
    ("place", "stale"),
    [
        ("io/images.py", READS_IMAGES),
        ("cohort/distortion.py", {*SCORES, "compare"}),
        ("ingest/predictions.py", SCORES),
        ("stats/ranks.py", {"audit", "compare"}),
        ("report/page.html.jinja", {"report"}),
    ],
)
def test_an_edit_of_code_names_every_step_that_runs_it(
    place: str, stale: set[str], project: Path, edit: Callable[[str, str, str], None]
) -> None:
    """Packages that are watched whole name more."""
    edit(f"src/tworulers/{place}", "t", "t ")
    assert named(project) >= stale


def test_the_command_says_what_another_seed_changes_and_nothing_where_nothing_changed(
    project: Path, edit: Callable[[str, str, str], None]
) -> None:
    assert json.loads(dvc(project, "status", "--json")) == {INVENTORY: ["always changed"]}
    edit("conf/config.yaml", "seed: 0", "seed: 7")
    assert json.loads(dvc(project, "status", "--json")).keys() == {
        INVENTORY,
        "train_gold@2d",
        "train@mix-2d",
    }
