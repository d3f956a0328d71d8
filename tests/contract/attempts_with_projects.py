"""The open cases of where results, records and stores lie, each through `audit` on a ready table."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from command import ROOT, Project

Case = dict[str, Any]
QUICK = (
    "scores.provenance=gold",
    "attributes=none",
    "+attributes.groupings={sex: {kind: levels, column: sex, levels: {F: [F], M: [M]}}}",
    "audit.metrics=[dice]",
    "audit.bootstrap_draws=50",
    "audit.permutations=20",
    "audit.power_draws=0",
    "audit.linear=false",
)


def audit_apart(folder: Path, table: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Audit a table in a process of its own, whose tracking store nothing else has opened."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tworulers.stages.audit", f"scores.file={table}", *QUICK]
    return subprocess.run(
        [*command, *more], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def list_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def another_project(folder: Path, case: Case, project: Project) -> None:
    other = project.folder / "other_project"
    shutil.copytree(folder / "other_project", other)
    before = list_below(other)
    outputs = project.folder / "outputs"
    done = project.run(
        "audit", f"scores.file={folder / 'scores.csv'}", f"paths.outputs={outputs}", "tracking=off",
        *QUICK, within=other,
    )  # fmt: skip
    assert "Traceback" not in done.said
    assert list_below(other) == before
    if done.status:
        assert str(other) in done.said
    else:
        assert list(outputs.rglob("tests.parquet"))
        assert str(outputs) in done.said


def read_artifact_places(store: Path) -> list[str]:
    """Return where the runs of a store keep their artifacts."""
    with sqlite3.connect(store / "mlruns" / "mlflow.db") as database:
        return [row[0] for row in database.execute("select artifact_uri from runs")]


def moved_project(folder: Path, case: Case, project: Project) -> None:
    one, two = project.folder / "one", project.folder / "two"
    Project.at(one)
    assert audit_apart(one, folder / "first.csv").returncode == 0
    one.rename(two)
    done = audit_apart(two, folder / "second.csv")
    assert "Traceback" not in done.stderr
    assert not one.exists()
    said = done.stdout + done.stderr
    if str(one) in said:
        return
    assert done.returncode == 0, said
    places = read_artifact_places(two)
    assert len(places) == 2
    for place in places:
        path = Path(place.removeprefix("file://"))
        path = path if path.is_absolute() else two / path
        assert path.is_relative_to(two)
        assert any(path.rglob("*"))


def deleted_experiment(folder: Path, case: Case, project: Project) -> None:
    assert audit_apart(project.folder, folder / "first.csv").returncode == 0
    with sqlite3.connect(project.folder / "mlruns" / "mlflow.db") as store:
        store.execute("update experiments set lifecycle_stage = 'deleted' where experiment_id != 0")
    done = audit_apart(project.folder, folder / "second.csv")
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert done.returncode in (0, 1)
    assert "publish" in said
    assert list(project.folder.glob("artifacts/tables/second*/**/tests.parquet"))


def second_sweep(folder: Path, case: Case, project: Project) -> None:
    wanted = case["expected_values"]
    table = f"scores.file={folder / 'scores.csv'}"
    sweeps = ("0.75,0.8", "0.85,0.9")
    done = [
        project.run(
            "audit", "-m", "paths=sweep", table, "tracking=off", *QUICK, f"audit.thresholds.dice={swept}"
        )
        for swept in sweeps
    ]  # fmt: skip
    assert done[0].status == 0, done[0].said
    found: dict[str, dict[str, int]] = {}
    for path in (project.folder / "sweeps").rglob("rates.parquet"):
        settings = yaml.safe_load((path.parent / "config.yaml").read_text())
        rates = pd.read_parquet(path)
        rates = rates[rates["primary"]]
        threshold = f"{settings['audit']['thresholds']['dice']:g}"
        assert threshold not in found
        found[threshold] = {str(row.group): int(row.successes) for row in rates.itertuples()}
    if done[1].status == 0:
        assert found == {f"{float(t):g}": n for t, n in wanted["successes_of_8"].items()}
        assert len(found) == wanted["results_on_disk"]
    else:
        assert "sweeps" in done[1].said
        assert set(found) == {"0.75", "0.8"}


ATTEMPTS: dict[str, Callable[[Path, Case, Project], None]] = {
    "95-started-in-another-project": another_project,
    "96-project-folder-moved": moved_project,
    "97-experiment-deleted": deleted_experiment,
    "106-second-sweep": second_sweep,
}
