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

from tworulers.runner.graph.code import save_digests
from tworulers.runner.graph.write import save_graph

ROOT = Path(__file__).parents[2]
ALWAYS = {"conf/dvc.yaml:code", "conf/dvc.yaml:inventory"}
FINISHED = {
    "files/images.json",
    "files/labels.json",
    "predictions/gold/confidence.parquet",
    "predictions/mix/confidence.parquet",
    "predictions/gold/inference.json",
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
    content["grid"] |= {"configurations": ["2d"], "rulers": ["gold", "silver"]}
    grid.write_text(yaml.safe_dump(content))
    save_graph(project)
    dvc(project, "init", "--no-scm", "--quiet")
    results = project / "artifacts" / "phantom"
    for name in FINISHED:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(name)
    for stage in Repo(str(project)).index.stages:
        for out in stage.outs:
            place = project / out.def_path
            if place.suffix:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("{}\n")
            elif not place.exists():
                place.mkdir(parents=True)
                (place / "result.json").write_text(out.def_path)
    save_digests(project, project / "src")
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
    save_digests(project, project / "src")
    with contextlib.chdir(project):
        status = Repo().status()
    return {stage.split("@")[0] for stage in status} - ALWAYS


TRAINS = {"train_gold", "train"}
PREDICTS = {"annotate", "predict"}
SCORES = {"score", "score_silver"}
NETWORK = {*TRAINS, *PREDICTS}

EDITS = {
    "conf/trainer/cpu.yaml precision": ("32-true", "bf16-mixed", NETWORK),
    "conf/grid.yaml recipe": (
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
    "artifacts/phantom/files/labels.json": (
        "files",
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


CODE = {
    "stages/cohort.py": {"cohort"},
    "stages/split.py": {"split"},
    "stages/plan.py": {"plan"},
    "stages/preprocess.py": {"preprocess"},
    "stages/train.py": TRAINS,
    "stages/annotate.py": {"annotate"},
    "stages/select.py": {"select"},
    "stages/predict.py": {"predict"},
    "stages/score.py": SCORES,
    "stages/audit.py": {"audit"},
    "stages/compare.py": {"compare"},
    "stages/report.py": {"report"},
    "stages/publish.py": {"publish"},
    "stages/show.py": set(),
    "progress.py": set(),
    "recipe/resenc.py": NETWORK,
    "training/ensemble.py": PREDICTS,
    "rulers/distortion.py": SCORES,
    "ingest/predictions.py": SCORES,
    "report/page.html.jinja": {"report"},
}
"""Sources, and the steps that run them; `rulers` and the layouts of data are imported by more than run them."""


@pytest.mark.slow
@pytest.mark.parametrize("place", CODE)
def test_a_statement_makes_every_step_stale_that_runs_it_and_a_comment_none(
    place: str, project: Path, edit: Callable[[str, str, str], None]
) -> None:
    name = f"src/tworulers/{place}"
    first = (project / name).read_text().splitlines()[0]
    edit(name, first, f"{first}\n{{# Said. #}}" if place.endswith("jinja") else f"# Said.\n{first}")
    if not place.endswith("jinja"):
        assert named(project) == set()
        edit(name, "# Said.", "ADDED = 1")
    stale = named(project)
    if place.startswith(("stages/", "recipe/", "training/")) or not CODE[place]:
        assert stale == CODE[place]
    assert stale >= CODE[place]


@pytest.mark.slow
def test_another_dataset_stands_beside_the_first(project: Path, tmp_path: Path) -> None:
    """Its steps have names of their own, so the lock keeps what the first made, and going back runs nothing."""
    both = tmp_path / "both"
    shutil.copytree(project, both)
    for group in ("dataset", "attributes", "split"):
        text = (both / "conf" / group / "phantom.yaml").read_text()
        (both / "conf" / group / "second.yaml").write_text(text.replace("phantom", "second"))
    shutil.copytree(both / "artifacts" / "phantom", both / "artifacts" / "second")
    grid = both / "conf" / "grid.yaml"
    first = grid.read_text()
    grid.write_text(first.replace("dataset: phantom", "dataset: second"))
    save_graph(both)
    save_digests(both, both / "src")
    (both / "mlruns/published/second.json").write_text("{}\n")
    assert named(both) >= {"cohort", "train", "audit", "report"}
    dvc(both, "commit", "--force", "--quiet")
    assert named(both) == set()
    grid.write_text(first)
    save_graph(both)
    assert named(both) == set()
    locked = yaml.safe_load((both / "dvc.lock").read_text())["stages"]
    assert {"cohort@phantom", "cohort@second"} <= locked.keys()


def test_the_command_says_what_another_seed_changes_and_nothing_where_nothing_changed(
    project: Path, edit: Callable[[str, str, str], None]
) -> None:
    always = {f"conf/dvc.yaml:{name}" for name in ("code", "inventory@phantom")}
    save_digests(project, project / "src")
    assert json.loads(dvc(project, "status", "--json")).keys() == always
    edit("conf/config.yaml", "seed: 0", "seed: 7")
    assert json.loads(dvc(project, "status", "--json")).keys() == {
        *always,
        "train_gold@phantom-2d",
        "train@phantom-mix-2d",
    }
