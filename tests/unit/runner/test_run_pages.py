"""What a person sees of an audit in MLflow: few numbers, all others one run further, and the way to why."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from paper_runs import SETTINGS, publish_paper_runs
from tworulers.runner.cost import Spent, keep_spent
from tworulers.runner.tracking import RunRecord, write_record
from tworulers.runner.tracking.headline import choose_headline, tell_verdict
from tworulers.runner.tracking.mechanism import find_home
from tworulers.runner.tracking.pages import COLUMNS, TAG, list_pages
from tworulers.runner.tracking.publishing import publish
from tworulers.runner.tracking.store import RUNS_VERSION, TrackingError, connect


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def runs(store: Path) -> dict[str, Any]:
    shown = publish_paper_runs(store)
    client, _ = connect(store, SETTINGS)
    return {name: client.get_run(run) for name, run in shown.items()}


def test_an_audit_shows_some_40_numbers_and_its_details_every_one(
    store: Path, runs: dict[str, Any]
) -> None:
    client, experiment = connect(store, SETTINGS)
    audit = runs["gold"]
    assert 30 <= len(audit.data.metrics) <= 45
    assert {
        *(f"answers/{answer}" for answer in ("differs", "differs_within_margin", "within_margin", "cannot_say")),
        *(f"dice/macro/age_3bin/{of}" for of in ("p_verdict_fdr", "median_gap", "dir")),
        *("verdict/differs", "exams", "patients", "dice/macro/mean", "hd95/macro/mean"),
    } <= set(audit.data.metrics)  # fmt: skip
    (details,) = client.search_runs(
        [experiment], f"tags.`mlflow.parentRunId` = '{audit.info.run_id}'"
    )
    assert len(details.data.metrics) > 400
    assert len(details.data.params) == 100
    assert set(audit.data.metrics) - set(details.data.metrics) == {"verdict/differs"}
    assert details.data.tags["stage"] == "details"
    assert len(audit.data.metrics) + len(audit.data.params) + len(audit.data.tags) < 60


def test_what_a_list_of_runs_shows_of_an_audit(store: Path, runs: dict[str, Any]) -> None:
    tags = runs["gold"].data.tags
    assert (tags["answers"], tags["verdict"]) == ("differs 5, cannot say 58", "differs")
    assert runs["rulers"].data.tags["dataset"] == "phantom"
    assert {name.partition(".")[2].strip("`") for name in COLUMNS} <= {*tags, "dice/macro/mean"}
    place = list_pages(store)["toy"]
    client, experiment = connect(store, SETTINGS)
    assert place.startswith(f"#/experiments/{experiment}/runs?viewStateShareKey=audits")
    assert "tags.`verdict`" in client.get_experiment(experiment).tags[TAG]


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ({"differs": 1, "within_margin": 9}, "differs"),
        ({"cannot_say": 1, "within_margin": 9}, "cannot say"),
        ({"differs_within_margin": 1, "within_margin": 9}, "differs within margin"),
        ({"within_margin": 9}, "within margin"),
        ({}, "no verdict"),
    ],
)
def test_an_audit_is_summed_up_by_its_gravest_answer(counts: dict[str, int], verdict: str) -> None:
    metrics = {f"answers/{name}": float(n) for name, n in counts.items()}
    assert tell_verdict(RunRecord("audit", "a", "", metrics=metrics))["verdict"] == verdict
    assert tell_verdict(RunRecord("score", "a", "", metrics=metrics)) == {}


def test_one_structure_stands_for_all_and_other_stages_show_all_they_have() -> None:
    quantities = [f"q{n}" for n in range(40)]
    metrics = {f"dice/disc/sex/{name}": 1.0 for name in [*quantities, "p_verdict_fdr", "dir"]}
    metrics |= {f"hd95/disc/sex/{name}": 1.0 for name in quantities} | {"hd95/disc/mean": 1.0}
    chosen = choose_headline(RunRecord("audit", "a", "", metrics=metrics))
    assert set(chosen) == {"dice/disc/sex/p_verdict_fdr", "dice/disc/sex/dir", "hd95/disc/mean"}
    assert choose_headline(RunRecord("risk", "a", "", metrics=metrics)) == metrics
    assert choose_headline(RunRecord("compare", "a", "", metrics=metrics)) == metrics


def test_one_link_leads_from_an_audit_to_why_and_back(runs: dict[str, Any]) -> None:
    why = runs["rulers"]
    for ruler in ("gold", "silver"):
        audit = runs[ruler]
        first = audit.data.tags["mlflow.note.content"].split("\n\n")[0]
        assert first.startswith(f"Why they differ: [{why.info.run_name}](#/experiments/")
        assert f"/runs/{why.info.run_id}?" in first
        assert f"/runs/{audit.info.run_id}?" in why.data.tags["mlflow.note.content"]
    assert "Why they differ" not in runs["truth"].data.tags["mlflow.note.content"]


def test_a_comparison_shown_anew_is_linked_in_place_of_the_old(store: Path) -> None:
    settings = replace(SETTINGS, experiment="anew")
    names = ("gold", "silver", "rulers")
    shown = publish_paper_runs(store, "Once.", names, settings)
    again = publish_paper_runs(store, "Once more.", names, settings)
    client, _ = connect(store, settings)
    note = client.get_run(again["gold"]).data.tags["mlflow.note.content"]
    assert note.count("Why they differ") == 1
    assert again["rulers"] in note
    assert shown["rulers"] not in note


@pytest.mark.parametrize(
    ("place", "home"),
    [
        ("artifacts/phantom/audits/mix/gold", "artifacts/phantom"),
        ("artifacts/phantom/comparisons/rulers/mix/gold_silver", "artifacts/phantom"),
        ("sweeps/audit/d/0/phantom/audits/mix/gold", "sweeps/audit/d/0/phantom"),
        ("artifacts/judged/z/audits/z/gold", "artifacts/judged/z"),
        ("artifacts/tables/a/paper/gold", "None"),
    ],
)
def test_audits_and_comparisons_of_one_folder_belong_together(place: str, home: str) -> None:
    assert str(find_home(place)) == home


def test_tables_are_csv_which_the_page_shows(store: Path, runs: dict[str, Any]) -> None:
    client, _ = connect(store, SETTINGS)
    run = runs["gold"].info.run_id
    assert {one.path for one in client.list_artifacts(run)} == {"groups.csv"}
    assert list(pd.read_csv(client.download_artifacts(run, "groups.csv"))["n"]) == [20, 30]


def test_inputs_are_shown_with_their_digests(runs: dict[str, Any]) -> None:
    inputs = runs["gold"].inputs.dataset_inputs
    assert [(one.dataset.name, one.dataset.digest) for one in inputs] == [
        ("phantom/cohort", "abc"),
        ("phantom/scores/mix/gold", "def"),
    ]


def test_a_training_made_elsewhere_has_a_run_a_fold_and_lasts_as_long_as_it_took(
    store: Path,
) -> None:
    place = "artifacts/phantom/models/mix/2d"
    (store / place).mkdir(parents=True)
    losses = {f"fold_{fold}/train_loss": [2.0, float("nan"), 1.0] for fold in range(2)}
    write_record(RunRecord("train", "train", "What.", series=losses), store / place)
    keep_spent(store, Spent("train", place, 1000.0, 60.0, 0.0, 0.1, 0.5, 0.1, commit="abc-dirty"))
    run = publish(store / place, store, SETTINGS)
    client, experiment = connect(store, SETTINGS)
    training = client.get_run(run)
    folds = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{run}'")
    assert {one.data.tags["fold"] for one in folds} == {"0", "1"}
    for one in (training, *folds):
        assert (one.info.start_time, one.info.end_time) == (1_000_000, 1_060_000)
    points = client.get_metric_history(folds[0].info.run_id, "train_loss")
    assert [(point.step, point.value) for point in points] == [(0, 2.0), (2, 1.0)]
    assert training.data.tags["mlflow.source.git.commit"] == "abc-dirty"


def test_older_runs_are_superseded_and_newer_ones_refused(store: Path) -> None:
    settings = replace(SETTINGS, experiment="versions")
    folder = store / "artifacts" / "toy"
    folder.mkdir(parents=True)
    write_record(RunRecord("audit", "audit", "What."), folder)
    client, experiment = connect(store, settings)
    old = client.create_run(
        experiment,
        run_name="audit",
        tags={"stage": "audit", "superseded": "no", "folder": "artifacts/toy", "key": "1"},
    ).info.run_id
    new = publish(folder, store, settings)
    assert client.get_run(old).data.tags["superseded"] == "yes"
    assert client.get_run(new).data.tags["runs_version"] == str(RUNS_VERSION)
    client.set_tag(new, "runs_version", str(RUNS_VERSION + 1))
    write_record(RunRecord("audit", "audit", "Other."), folder)
    with pytest.raises(
        TrackingError, match=f"runs of version {RUNS_VERSION + 1}.*update tworulers"
    ):
        publish(folder, store, settings)


def test_showing_one_audit_takes_less_than_a_second_of_the_processor(
    store: Path, runs: dict[str, Any]
) -> None:
    before = time.process_time()
    (again,) = publish_paper_runs(store, "Again.", ("truth",)).values()
    assert time.process_time() - before < 1
    assert again != runs["truth"].info.run_id
