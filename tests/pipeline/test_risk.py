"""The risk audit through its real command: a made table, real tables, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
MADE = (
    "risk=table", "risk.name=made", "risk.file=made.csv", "risk.score=risk", "risk.outcome=died",
    "risk.event=EXPIRED", "risk.unit=stay", "risk.cluster=person", "+risk.groups.sex=gender",
    "risk.sentinels=['-1']", "risk.low=0", "risk.high=1", "risk.probability=true",
    "use.bootstrap_draws=200",
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of its own with a made table: 300 stays, two codes, one blank sex."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    rng = np.random.default_rng(3)
    died = rng.random(300) < 0.3
    table = pd.DataFrame(
        {
            "stay": [f"{k:04d}" for k in range(300)],
            "person": [f"p{k // 2}" for k in range(300)],
            "gender": np.where(rng.random(300) < 0.5, "Female", "Male"),
            "died": np.where(died, "EXPIRED", "ALIVE"),
            "risk": np.clip(rng.normal(0.25 + 0.2 * died, 0.15), 0, 1).round(3).astype(str),
        }
    )
    table.loc[[3, 8], "risk"] = "-1"
    table.loc[5, "gender"] = ""
    table.loc[7, "risk"] = "3.1E-1"
    table.to_csv(tmp_path / "made.csv", index=False)
    return tmp_path


def run(project: Path, *overrides: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tworulers.stages.risk", *overrides],
        cwd=project, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode != 0) is fails, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done


def read_strictly(path: Path) -> dict:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in {path}")

    return json.loads(path.read_text(), parse_constant=refuse)


def test_a_table_is_audited_and_everything_left_out_is_said(project):
    done = run(project, *MADE, "tracking=off")
    assert "overall AUC" in done.stdout
    result = project / "artifacts" / "risk" / "made" / "risk_estimation"
    summary = read_strictly(result / "summary.json")
    notes = "\n".join(summary["notes"])
    assert "2 rows excluded, risk holds a declared code for not computed" in notes
    assert "1 rows have no sex (column 'gender')" in notes
    excluded = pd.read_parquet(result / "excluded.parquet")
    assert excluded.unit_id.tolist() == ["0003", "0008"]
    cells = pd.read_parquet(result / "cells.parquet")
    sex = summary["groupings"]["sex"]
    assert sex["rows_without_group"] == 1
    assert (cells.auc * cells.weight).sum() == pytest.approx(sex["overall_of_grouped_rows"])
    assert cells.bootstrap_low.between(0, 1).all()
    shown = set(pd.read_parquet(result / "metrics.parquet").metric)
    assert "within_difference" in shown
    assert not {"gap_to_overall", "minimum", "xauc1"} & shown
    page = (result / "risk.md").read_text()
    assert page.index("Overall AUC") < page.index("AUC matrix") < page.index("Within-group parity")
    card = (result / "card.md").read_text()
    assert "## Training data" in card
    assert f"{summary['notes'][0]}" in card
    for name in ("sex_matrix", "sex_scores", "sex_roc_across"):
        for kind in ("svg", "png"):
            assert (result / "figures" / f"{name}.{kind}").stat().st_size > 1000
        assert f"figures/{name}.svg" in page
    run(project, *MADE, "tracking=off", "use.all_metrics=true")
    (result,) = set(result.parent.iterdir()) - {result}
    every = pd.read_parquet(result / "metrics.parquet")
    assert set(every[every.role == "on_request"].appraisal) >= {"not_recommended"}
    assert "not recommended" in (result / "risk.md").read_text()


def test_faults_end_in_one_message_and_no_result(project):
    done = run(project, *MADE, "risk.sentinels=[]", "risk.event=null", "tracking=off", fails=True)
    assert (
        "made.csv: expected column 'risk' within the declared [0, 1], found 2 scores outside"
        in done.stderr
    )
    assert "risk.event is not set" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "artifacts").exists()


@pytest.mark.slow
def test_two_runs_with_one_seed_write_equal_files(project):
    result = project / "artifacts" / "risk" / "made" / "risk_estimation"

    def read_all(folder: Path = result) -> dict[str, bytes]:
        return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    run(project, *MADE, "tracking=off")
    first = read_all()
    run(project, *MADE, "tracking=off")
    assert read_all() == first
    run(project, *MADE, "tracking=off", "use.seed=1")
    (other,) = set(result.parent.iterdir()) - {result}
    changed = {name for name, content in read_all(other).items() if content != first[name]}
    shown = {"cells.csv", "index.html", "card.md"}
    assert changed == shown | {
        "cells.parquet",
        "summary.json",
        "config.yaml",
        "run.json",
        "stamp.json",
    }


@pytest.mark.slow
def test_every_use_reports_what_it_calls_for_and_runs_are_linked(project):
    run(project, "-m", *MADE, "paths=sweep", "use.threshold=0.4",
        "use=risk_estimation,single_threshold,group_thresholds,ranking")  # fmt: skip
    found = {p.parent.name: p.parent for p in project.glob("sweeps/**/summary.json")}
    assert set(found) == {"risk_estimation", "single_threshold", "group_thresholds", "ranking"}
    rates = pd.read_parquet(found["single_threshold"] / "rates.parquet")
    assert set(rates.threshold) == {0.4}
    own = pd.read_parquet(found["group_thresholds"] / "rates.parquet")
    reached = own[own.rate == "sensitivity"]
    assert (reached.value >= 0.9).all()
    metrics = pd.read_parquet(found["ranking"] / "metrics.parquet")
    assert set(metrics[metrics.role == "primary"].metric) >= {"xauc1", "xauc0"}
    assert not (found["ranking"] / "rates.parquet").exists()
    with sqlite3.connect(project / "mlruns" / "mlflow.db") as store:
        names = {row[0] for row in store.execute("select name from experiments")}
        runs = store.execute("select count(*) from runs where status = 'FINISHED'").fetchone()[0]
        keys = {row[0] for row in store.execute("select key from metrics")}
    assert "tworulers-risk" in names
    assert runs == 4
    assert {"auc/overall", "auc/sex/Female/Male"} <= keys


@pytest.mark.needs_shared
def test_eicu_gives_its_orientation_values(project, shared):
    folder = shared / "data" / "eicu_demo_apache"
    run(project, "risk=eicu", f"risk.root={folder}", "tracking=off", "use.bootstrap_draws=0")
    result = project / "artifacts" / "risk" / "eicu" / "risk_estimation"
    summary = read_strictly(result / "summary.json")
    assert summary["overall"]["value"] == pytest.approx(0.8620, abs=5e-5)
    cells = pd.read_parquet(result / "cells.parquet")
    own = cells[cells.events_of == cells.non_events_of].set_index(["grouping", "events_of"])
    for key, auc, events, rows in (
        (("sex", "Female"), 0.8588, 56, 658),
        (("sex", "Male"), 0.8657, 83, 1025),
        (("ethnicity", "Caucasian"), 0.8682, 116, 1314),
        (("ethnicity", "African American"), 0.9243, 3, 166),
        (("ethnicity", "Hispanic"), 0.9643, 7, 95),
        (("ethnicity", "Asian"), 0.7750, 4, 24),
        (("ethnicity", "Other/Unknown"), 0.7538, 7, 54),
    ):
        row = own.loc[key]
        assert row.auc == pytest.approx(auc, abs=5e-5)
        assert (row.n_events, row.n_events + row.n_non_events) == (events, rows)
    undefined = own.loc[("ethnicity", "Native American")]
    assert np.isnan(undefined.auc)
    assert undefined.undefined_because == "no_events in Native American"
    notes = "\n".join(summary["notes"])
    assert "1683 rows used, 139 events" in notes
    assert "155 rows excluded" in notes
    assert "19 rows have no ethnicity" in notes
    record = read_strictly(result / "run.json")
    assert (record["metrics"]["rows"], record["metrics"]["people"]) == (1683.0, 1449.0)


@pytest.mark.needs_shared
def test_compas_gives_its_orientation_values(project, shared):
    folder = shared / "data" / "compas_risk"
    run(project, "risk=compas", f"risk.root={folder}", "tracking=off", "use.bootstrap_draws=0")
    result = project / "artifacts" / "risk" / "compas" / "risk_estimation"
    overall = read_strictly(result / "summary.json")["overall"]["value"]
    assert overall == pytest.approx(0.7204, abs=5e-5)
    cells = pd.read_parquet(result / "cells.parquet")
    own = cells[cells.events_of == cells.non_events_of].set_index("events_of")
    for group, auc, events in (
        ("Male", 0.7186, None), ("Female", 0.6889, None), ("African_American", 0.7230, None),
        ("Caucasian", 0.6868, None), ("Hispanic", 0.6904, None), ("Other", 0.7331, None),
        ("Asian", 0.6141, 8), ("Native_American", 0.7333, 5),
    ):  # fmt: skip
        assert own.auc[group] == pytest.approx(auc, abs=5e-5)
        assert events is None or own.n_events[group] == events
