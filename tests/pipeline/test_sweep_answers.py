"""Sweeps that answer: what the ruler changes at other settings, by one command, and a table of all runs in the end."""

import csv
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command import ROOT, Project
from scored import QUICK, make_scored

OFF = (*QUICK, "tracking=off")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    make_scored(tmp_path)
    return Project(tmp_path)


def read_summary(project: Project, stage: str) -> tuple[Path, list[dict[str, str]]]:
    (sweep,) = (project.folder / "sweeps" / stage).iterdir()
    with (sweep / "summary.csv").open() as stream:
        return sweep, list(csv.DictReader(stream))


def digest(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.md5(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
def test_what_the_ruler_changes_at_another_level_is_one_command(project: Project) -> None:
    before = digest(project.folder / "artifacts")
    ended = project.run("compare", "-m", "audit.alpha=0.05,1e-9", "grid.regimes=[mix]", *OFF)
    assert ended.status == 0, ended.said
    assert digest(project.folder / "artifacts") == before
    sweep, rows = read_summary(project, "compare")
    assert "2 of 2 runs are done" in ended.said
    of_mix = [row for row in rows if row["regime"] == "mix"]
    assert [row["overrides"] for row in of_mix] == ["audit.alpha=0.05", "audit.alpha=1e-09"]
    for row, number in zip(of_mix, ("0", "1"), strict=True):
        home = sweep / number / "phantom"
        made = json.loads((home / "audits/mix/silver/audit.json").read_text())["settings"]
        assert made["alpha"] == float(row["overrides"].partition("=")[2])
        summary = json.loads((home / "comparisons/rulers/mix/gold_silver/summary.json").read_text())
        assert row["ruler_is"] == summary["status"].replace("_", " ")
        assert row["verdict"]
        assert float(row["mean_other"]) > float(row["mean"]) > 0
        answers = [float(row[name]) for name in ("differs", "within_margin", "cannot_say")]
        tests = sum(summary["tests_base"].values())
        assert sum(answers) + float(row["differs_within_margin"]) == tests
    # The machine's ruler shows a difference that the stricter level does not take for one.
    assert [float(row["differs_other"]) > 0 for row in of_mix] == [True, False]
    names = [
        json.loads((sweep / n / "phantom" / place / "run.json").read_text())["name"]
        for n in ("0", "1")
        for place in ("audits/mix/gold", "comparisons/rulers/mix/gold_silver")
    ]
    assert names == [
        "audit · mix by gold · audit.alpha=0.05",
        "rulers · mix: gold, silver · audit.alpha=0.05",
        "audit · mix by gold · audit.alpha=1e-09",
        "rulers · mix: gold, silver · audit.alpha=1e-09",
    ]


@pytest.mark.slow
def test_a_report_of_a_sweep_makes_its_audits_and_comparisons(project: Project) -> None:
    asked = ("grid.regimes=[mix]", "attributes=age,sex")
    others = [one for one in OFF if not one.startswith(("attributes", "grid.regimes"))]
    ended = project.run("report", "-m", *asked, *others)
    assert ended.status == 0, ended.said
    sweep, rows = read_summary(project, "report")
    assert [row["overrides"] for row in rows] == ["attributes=age", "attributes=sex"]
    pages = [(sweep / n / "phantom/report/index.html").read_text() for n in ("0", "1")]
    assert "Age" in pages[0]
    assert pages[0] != pages[1]
    assert {path.name for path in (project.folder / "artifacts/phantom").iterdir()} == {
        "cohort",
        "scores",
    }


def test_a_failed_run_is_listed_and_does_not_end_the_others(project: Project) -> None:
    asked = ("regime=silver,mix", "audit.alpha=0.05,0.1")
    ended = project.run("audit", "-m", *asked, *OFF)
    assert ended.status == 1
    _, rows = read_summary(project, "audit")
    assert [row["status"] for row in rows] == ["failed", "failed", "done", "done"]
    assert "scores/silver/gold/scores.parquet is missing" in rows[0]["error"]
    assert "2 of 4 runs are done" in ended.said
    assert "run 1, regime=silver audit.alpha=0.1: " in ended.said


def test_a_sweep_over_the_grid_tells_its_table_and_leaves_no_folder(project: Project) -> None:
    ended = project.run("audit", "-m", "regime=mix", "ruler=gold,silver,truth", *OFF)
    assert ended.status == 1
    assert "2 of 3 runs are done" in ended.said
    assert "run 0, ruler=gold: artifacts/phantom/audits/mix/gold" in ended.said
    assert not (project.folder / "sweeps").exists()


def test_a_comparison_without_scores_says_what_makes_them(project: Project) -> None:
    ended = project.run("compare", "paths=sweep", *OFF, "grid.rulers=[dataset,truth]")
    assert ended.status == 1
    assert "stages.score" in ended.said


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["processes", "local"])
def test_runs_side_by_side_see_an_accelerator_each_and_own_files(
    launcher: str, project: Project
) -> None:
    # A project's own file is run in every process.
    own = project.folder / "own" / "seen.py"
    own.parent.mkdir()
    own.write_text("")
    stage = project.folder / "look.py"
    stage.write_text(
        "import os, sys, time\nfrom pathlib import Path\n"
        "from tworulers.runner.graph.table import Wiring\nfrom tworulers.runner.run import run_stage\n"
        "def look(settings, layout):\n"
        "    assert 'own_seen' in sys.modules\n"
        "    Path(f'seen_{settings.seed}').write_text(os.environ['CUDA_VISIBLE_DEVICES'])\n"
        "    time.sleep(3)\n"
        "    if settings.seed == 1:\n"
        "        raise ValueError('one is no seed')\n"
        "if __name__ == '__main__':\n"
        "    run_stage(look, Wiring(reads=('seed',)))\n"
    )
    done = subprocess.run(
        [sys.executable, "look.py", "-m", "seed=0,1", f"hydra/launcher={launcher}", "tracking=off"],
        cwd=project.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "CUDA_VISIBLE_DEVICES": "5,GPU-7"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1, said
    assert "1 of 2 runs are done" in said
    assert "run 1, seed=1: one is no seed" in said
    seen = {(project.folder / f"seen_{n}").read_text() for n in (0, 1)}
    assert seen == {"5", "GPU-7"}
