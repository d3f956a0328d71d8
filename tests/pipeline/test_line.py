"""The whole line on a dozen small exams, through the real commands and DVC: every stage runs, resumes, and is shown."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from tworulers.runner.graph.write import save_graph

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
BASE = Path("artifacts/phantom")


def run(project: Path, *command: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "DVC_NO_ANALYTICS": "1", "OMP_NUM_THREADS": "1"}
    env.pop("MLFLOW_TRACKING_URI", None)
    done = subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, timeout=570, check=False
    )
    assert (done.returncode != 0) is fails, (
        f"{' '.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-6000:]}"
    )
    return done


def edit(path: Path, **changes: Any) -> None:
    """Change values of a YAML file; a double underscore goes one level down."""
    content = yaml.safe_load(path.read_text())
    for key, value in changes.items():
        *parents, last = key.split("__")
        place = content
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    path.write_text(yaml.safe_dump(content, sort_keys=False))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of its own with a tiny cohort, one configuration and one fold, run once by DVC."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "conf", project / "conf")
    for name in ("dvc.yaml", ".dvcignore"):
        shutil.copy(ROOT / name, project)
    (project / "src").symlink_to(ROOT / "src")
    edit(
        project / "conf" / "dataset" / "phantom.yaml",
        phantom__patients=24,
        phantom__exams=27,
        phantom__gold_patients=14,
        phantom__shape=[16, 32, 32],
        phantom__spacing=[4.0, 4.6, 2.8],
    )
    edit(
        project / "conf" / "grid.yaml",
        grid__configurations=["3d_fullres"],
        grid__folds=[0],
        grid__rulers=["gold", "silver"],
    )
    edit(
        project / "conf" / "recipe" / "tiny.yaml",
        epochs=1,
        plan__stages=2,
        iterations=4,
        validation_iterations=1,
    )
    edit(project / "conf" / "split" / "paper.yaml", folds=2, test=0.3, strata=[])
    edit(
        project / "conf" / "audit" / "paper.yaml",
        bootstrap_draws=200,
        permutations=200,
        power_draws=100,
    )
    save_graph(project)
    run(project, "dvc", "init", "--no-scm", "--quiet")
    shutil.copytree(ROOT / ".dvc" / "plots", project / ".dvc" / "plots")
    run(project, "dvc", "repro")
    return project


def test_every_stage_leaves_its_files(project: Path) -> None:
    base = project / BASE
    assert (base / "report" / "index.html").stat().st_size > 5_000
    card = (base / "report" / "card.md").read_text()
    assert re.search(
        r"mix: \d+ exams? with labels drawn by experts, \d+ exams? with labels drawn by a machine",
        card,
    )
    scores = pd.read_parquet(base / "scores" / "mix" / "silver" / "scores.parquet")
    assert set(scores["provenance"]) == {"silver"}
    assert {"dice", "hd95", "ndsc"} <= set(scores["metric"])
    splits = pd.read_parquet(base / "split" / "splits.parquet")
    gold_test = splits.query("regime == 'gold' and split == 'test'")["exam_id"]
    assert set(scores["exam_id"]) == set(gold_test)
    for regime in ("gold", "mix"):
        for ruler in ("gold", "silver"):
            summary = json.loads((base / "audits" / regime / ruler / "summary.json").read_text())
            assert summary["provenance"] == ("gold" if ruler == "gold" else "silver")
    assert not list((base / "scratch").rglob("*.ckpt"))


def test_silver_exams_get_machine_labels_and_gold_exams_do_not(project: Path) -> None:
    cohort = pd.read_parquet(project / BASE / "cohort" / "cohort.parquet")
    annotated = {
        path.name.removesuffix(".nii.gz")
        for path in (project / BASE / "annotations" / "labels").glob("*.nii.gz")
    }
    assert annotated == set(cohort.loc[cohort["provenance"] == "silver", "exam_id"])


def test_a_second_run_does_nothing_and_tau_reruns_the_audit_alone(project: Path) -> None:
    again = run(project, "dvc", "repro").stdout
    ran = [line for line in again.splitlines() if line.startswith("Running stage")]
    assert ran == [
        f"Running stage 'conf/dvc.yaml:{name}':" for name in ("code", "inventory@phantom")
    ]
    audit = project / "conf" / "audit" / "paper.yaml"
    before = audit.read_text()
    edit(audit, thresholds__dice=0.75)
    plan = run(project, "dvc", "repro", "--dry").stdout
    audit.write_text(before)
    rerun = {
        line.split("'")[1].split("@")[0]
        for line in plan.splitlines()
        if line.startswith("Running stage")
    }
    assert "audit" in rerun
    assert rerun - {"conf/dvc.yaml:code", "conf/dvc.yaml:inventory"} <= {
        *("audit", "compare", "report", "publish")
    }


def test_dvc_shows_the_answers_and_draws_the_scores(project: Path) -> None:
    shown = json.loads(run(project, "dvc", "metrics", "show", "--json").stdout)
    (counted,) = shown[""]["data"].values()
    summary = json.loads((project / BASE / "audits/mix/gold/summary.json").read_text())
    told = counted["data"]["mix"]["gold"]
    assert {name: told[name] for name in summary["answers"]} == summary["answers"]
    assert told["mean"]["dice"] == pytest.approx(summary["metrics"]["dice/macro/mean"])
    run(project, "dvc", "plots", "show", "--out", "drawn")
    page = (project / "drawn" / "index.html").read_text()
    assert "How every fold learnt" in page
    assert "Scores over all structures by group and ruler" in page
    assert "DVC_METRIC" not in page


def test_what_was_made_by_hand_is_told_of_and_put_back(project: Path) -> None:
    audit = project / BASE / "audits" / "gold" / "gold"
    before = (audit / "summary.json").read_bytes()
    by_hand = ("regime=gold", "ruler=gold", "audit.thresholds.dice=0.7", "tracking=off")
    run(project, sys.executable, "-m", "tworulers.stages.audit", *by_hand)
    assert (audit / "summary.json").read_bytes() != before
    said = " ".join(run(project, "dvc", "repro").stdout.split())
    assert f"{BASE}/audits/gold/gold was made by hand ({' '.join(by_hand)})" in said
    assert (audit / "summary.json").read_bytes() == before
    assert "by hand" not in run(project, "dvc", "repro").stdout


def test_running_again_gives_equal_files(project: Path) -> None:
    """What ran twice left twice the same bytes: images, weights, curves, tables and records."""
    before = (project / "dvc.lock").read_bytes()
    again = [
        *("cohort", "preprocess", "train_gold", "annotate"),
        *("predict@phantom-gold", "score@phantom-gold-gold"),
    ]
    run(project, "dvc", "repro", "--force", "--single-item", *again)
    assert (project / "dvc.lock").read_bytes() == before


def test_a_sweep_gives_four_comparable_runs_and_no_verdict_to_the_identical_one(
    project: Path,
) -> None:
    run(
        project,
        sys.executable,
        "-m",
        "tworulers.stages.audit",
        "-m",
        "regime=gold,mix",
        "ruler=gold,silver",
    )
    listing = (
        "from pathlib import Path; import json; from tworulers.runner.tracking.store import connect;"
        "from tworulers.schema.settings import Tracking;"
        "m, e = connect(Path('.').resolve(), Tracking('local', experiment='tworulers-phantom'));"
        "r = m.search_runs([e], \"tags.stage = 'audit' and tags.superseded = 'no'\");"
        "print(json.dumps([[x.data.tags, x.data.params, x.data.metrics] for x in r]))"
    )
    runs = json.loads(run(project, sys.executable, "-c", listing).stdout.splitlines()[-1])
    assert {(tags["regime"], tags["ruler"]) for tags, _, _ in runs} == {
        (a, b) for a in ("gold", "mix") for b in ("gold", "silver")
    }
    assert len(runs) == 4
    asked = [{name for name in params if not name.startswith("ruler.")} for _, params, _ in runs]
    assert all(names == asked[0] for names in asked)
    identical = [(tags, metrics) for tags, _, metrics in runs if tags.get("identical") == "yes"]
    assert [(tags["regime"], tags["ruler"]) for tags, _ in identical] == [("gold", "silver")]
    assert not any(name.endswith("/p_fdr") for _, metrics in identical for name in metrics)


@pytest.mark.parametrize(
    ("stage", "overrides", "message"),
    [
        ("audit", ["audit.alhpa=0.1"], "alhpa"),
        ("audit", ["regime=gild"], "gild"),
        ("audit", ["-m", "paths=repro", "audit.alpha=0.1,0.2"], "paths=sweep"),
        ("cohort", ["dataset=hippocampus"], "dataset.root"),
        ("cohort", ["dataset=hippocampus", "dataset.root=/nowhere/at/all"], "/nowhere/at/all"),
        ("score", ["ruler=silver_model"], "predictions/silver"),
        ("split", ["paths.artifacts=elsewhere"], "stages.cohort"),
        ("train", ["recipe=small", "regime=gold"], "planned with recipe=tiny"),
    ],
)
def test_a_fault_is_one_clear_error(
    project: Path, stage: str, overrides: list[str], message: str
) -> None:
    done = run(project, sys.executable, "-m", f"tworulers.stages.{stage}", *overrides, fails=True)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
