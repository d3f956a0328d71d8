"""MLflow shows copies: every name is taken, nothing undefined is hidden, and publishing twice changes nothing."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tworulers.io.records import write_json
from tworulers.io.resume import STAMP
from tworulers.runner.tracking import RunRecord, write_record
from tworulers.runner.tracking.names import name_metrics, slug
from tworulers.runner.tracking.publishing import publish
from tworulers.runner.tracking.siblings import find_families
from tworulers.runner.tracking.store import connect
from tworulers.runner.tracking.trainings import name_training, open_training
from tworulers.schema.settings import Tracking
from tworulers.stages.publish import sort_results

# Names that trackers have refused or merged: brackets, comparison signs, percent, doubled slashes, near-twins.
AWKWARD = [
    "dice[vb]", "dice(vb)", "dice{vb}", "hd95@mm", "rate<40", "rate>=60", "rate|all", "a=b", "share %", "a//b",
    "a+b", "a(b", "a_b", "a b", "a.b", "ümlaut", "/lead", "trail/", "a..b", "x" * 300,
]  # fmt: skip


def test_twenty_awkward_names_stay_twenty() -> None:
    named = name_metrics({name: float(i) for i, name in enumerate(AWKWARD)})
    assert sorted(named.values()) == [float(i) for i in range(20)]
    assert len({name.casefold() for name in named}) == 20
    assert all(len(name) <= 250 for name in named)


@given(st.lists(st.text(min_size=1, max_size=40), unique=True, max_size=30))
def test_no_metric_is_lost_to_another(names: list[str]) -> None:
    assert len(name_metrics(dict.fromkeys(names, 1.0))) == len(names)


def test_group_names_become_words() -> None:
    assert [slug(name) for name in ("<40", "40-60", "60+", ">= median")] == [
        "lt40",
        "40-60",
        "60plus",
        "ge_median",
    ]


def record(ruler: str, **more: Any) -> RunRecord:
    tags = {"dataset": "toy", "regime": "mix", "ruler": ruler, "attributes": "paper"}
    return RunRecord(
        "audit", f"audit · mix by {ruler}", "What it is.", tags, sibling_tag="ruler", **more
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


SETTINGS = Tracking(name="local", experiment="toy")


def result(store: Path, ruler: str, made: RunRecord) -> Path:
    folder = store / "artifacts" / "toy" / "audits" / "mix" / ruler
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "risk.md").write_text(ruler)
    write_record(made, folder)
    return folder


def test_a_result_is_published_once_whole_and_linked_to_the_other_ruler(store: Path) -> None:
    metrics = {
        "dice/macro/age_3bin/p": 0.03,
        "hd95/macro/mean": float("inf"),
        **dict.fromkeys(AWKWARD, 1.0),
    }
    gold = result(
        store,
        "gold",
        record("gold", params={"alpha": 0.05}, metrics=metrics, series={"loss": [2.0, 1.0]}),
    )
    silver = result(
        store,
        "silver",
        record("silver", params={"alpha": 0.05}, metrics={"dice/macro/age_3bin/p": 0.003}),
    )
    ids = [publish(folder, store, SETTINGS) for folder in (gold, silver)]
    assert publish(gold, store, SETTINGS) == ids[0]
    client, _ = connect(store, SETTINGS)
    first, second = (client.get_run(run) for run in ids)
    assert first.data.metrics["dice/macro/age_3bin/p"] == 0.03
    assert len(first.data.metrics) == 22
    assert "hd95/macro/mean" in first.data.tags["undefined"]
    assert first.data.params == {"alpha": "0.05"}
    assert first.data.tags["ruler_silver"] == ids[1]
    assert f"/runs/{ids[0]}" in second.data.tags["mlflow.note.content"]
    assert [point.value for point in client.get_metric_history(ids[0], "loss")] == [2.0, 1.0]
    assert "risk.md" in {artifact.path for artifact in client.list_artifacts(ids[0])}


def test_a_training_made_again_is_shown_by_one_run_and_another_result_by_its_own(
    store: Path,
) -> None:
    client, experiment = connect(store, SETTINGS)
    folder = store / "artifacts" / "toy" / "models" / "mix" / "2d"
    folder.mkdir(parents=True)
    place, made_from = folder.relative_to(store).as_posix(), {"recipe.epochs": 4}
    write_json(made_from, folder / STAMP)
    watched, shown = [], []
    for dice in (0.7, 0.7, 0.8):
        key = name_training(place, made_from)
        run = open_training(client, experiment, key, "train", {"folder": place}, 0.0)
        client.set_terminated(run)
        made = replace(record("gold", metrics={"dice": dice}), stage="train", name="train")
        write_record(made, folder)
        watched.append(run)
        shown.append(publish(folder, store, SETTINGS))
    first, again, other = watched
    assert shown == [first, first, other]
    told = {run: client.get_run(run) for run in watched}
    assert [told[run].data.tags["superseded"] for run in watched] == ["yes", "yes", "no"]
    assert [told[run].data.metrics for run in watched] == [{"dice": 0.7}, {}, {"dice": 0.8}]
    assert told[again].info.run_name == told[first].info.run_name == "train (superseded)"


def test_a_new_result_of_the_same_folder_supersedes_the_old_run(store: Path) -> None:
    old = publish(result(store, "truth", record("truth", metrics={"n": 1.0})), store, SETTINGS)
    new = publish(result(store, "truth", record("truth", metrics={"n": 2.0})), store, SETTINGS)
    client, _ = connect(store, SETTINGS)
    assert old != new
    assert client.get_run(old).data.tags["superseded"] == "yes"
    assert client.get_run(new).data.tags["superseded"] == "no"
    names = [client.get_run(run).info.run_name for run in (old, new)]
    assert names == ["audit · mix by truth (superseded)", "audit · mix by truth"]


def test_a_description_links_each_sibling_once_and_before_it_gets_long(store: Path) -> None:
    made = record("one")
    made = RunRecord(**{**vars(made), "tags": {**made.tags, "regime": "other"}})
    long = RunRecord(**{**vars(made), "description": "Who judged.\n\n| a |\n|---|\n| 1 |"})
    runs = {}
    for ruler in ("one", "two", "three"):
        tags = {**long.tags, "ruler": ruler}
        folder = store / "artifacts" / "toy" / "audits" / "other" / ruler
        folder.mkdir(parents=True)
        write_record(RunRecord(**{**vars(long), "name": ruler, "tags": tags}), folder)
        runs[ruler] = publish(folder, store, SETTINGS)
    client, _ = connect(store, SETTINGS)
    note = client.get_run(runs["one"]).data.tags["mlflow.note.content"].split("\n\n")
    assert [part.split()[0] for part in note] == ["Who", "Beside", "|"]
    assert note[1].startswith("Beside it, with another ruler: [three](")
    for ruler in ("two", "three"):
        assert note[1].count(f"/runs/{runs[ruler]}?") == 1
        assert f"compare-runs?runs=%5B%22{runs['one']}%22%2C+%22{runs[ruler]}%22%5D" in note[1]


def test_only_runs_that_differ_in_one_choice_are_linked(store: Path) -> None:
    """Another threshold, another configuration or another sweep makes no sibling."""
    runs = {}
    for name, ruler, alpha, more in (
        ("plain gold", "gold", 0.05, {}),
        ("plain silver", "silver", 0.05, {}),
        ("strict gold", "gold", 0.01, {}),
        ("flat gold", "gold", 0.05, {"configuration": "2d"}),
        ("swept gold", "gold", 0.05, {"sweep": "sweeps/audit/a/0"}),
        ("swept silver", "silver", 0.05, {"sweep": "sweeps/audit/a/1"}),
    ):
        tags = {"dataset": "toy", "regime": "apart", "ruler": ruler, **more}
        params = {"ruler.name": ruler, "audit.alpha": alpha}
        folder = store / "artifacts" / "toy" / name.replace(" ", "_")
        folder.mkdir(parents=True)
        write_record(RunRecord("audit", name, "What.", tags, params, sibling_tag="ruler"), folder)
        runs[name] = publish(folder, store, SETTINGS)
    client, _ = connect(store, SETTINGS)
    linked = {}
    for name, run in runs.items():
        tags = client.get_run(run).data.tags
        linked[name] = {tags[tag] for tag in ("ruler_gold", "ruler_silver") if tag in tags}
    assert linked == {
        "plain gold": {runs["plain silver"]},
        "plain silver": {runs["plain gold"]},
        "strict gold": set(),
        "flat gold": set(),
        "swept gold": {runs["swept silver"]},
        "swept silver": {runs["swept gold"]},
    }


DAY = "2026-01-02_03-04-05"
SWEEP = f"sweeps/audit/{DAY}"


@pytest.mark.parametrize(
    ("stage", "machine", "expert", "linked"),
    [
        ("audit", "sweeps/A:toy/audits/mix", "sweeps/B:toy/audits/mix", False),
        ("audit", "sweeps/A:toy/audits/mix", "sweeps/A:toy/audits/mix", True),
        ("audit", f"{SWEEP}/0:toy/audits/mix", f"{SWEEP}/1:toy/audits/mix", True),
        ("audit", f"{SWEEP}/0:tables/a/paper", f"{SWEEP}/1:tables/a/paper", True),
        ("audit", f"{SWEEP}/0:toy/audits/mix", f"sweeps/audit/{DAY}_2/1:toy/audits/mix", False),
        ("audit", f"sweeps/train/{DAY}/0:toy/audits/mix", f"sweeps/train/{DAY}/1:toy/audits/mix", False),
        ("audit", f"{SWEEP}/gold:toy/audits/mix", f"{SWEEP}/silver:toy/audits/mix", False),
        ("risk", f"sweeps/risk/{DAY}/0:risk/a", f"sweeps/risk/{DAY}/1:risk/a", True),
        ("audit", "artifacts/toy/audits/mix", "artifacts/toy/audits/mix", True),
        ("audit", "artifacts/judged/z/audits/z", "artifacts/judged/z/audits/z", True),
        ("score", "artifacts/judged/z/scores/z", "artifacts/judged/z-431df8db/scores/z", False),
        ("audit", "artifacts/judged/z/audits/z", "artifacts/judged/z-431df8db/audits/z", False),
        ("audit", "artifacts/tables/a/paper", "artifacts/tables/a/paper", True),
        ("audit", "artifacts/tables/a/paper", "artifacts/tables/b/paper", False),
        ("audit", "artifacts/tables/a/paper", "artifacts/tables/a/paper#-431df8db", False),
    ],
)  # fmt: skip
def test_siblings_lie_in_one_result_of_one_sweep(
    stage: str, machine: str, expert: str, linked: bool
) -> None:
    choice = "use" if stage == "risk" else "ruler"

    def show(value: str, place: str) -> tuple[SimpleNamespace, RunRecord]:
        """A run as MLflow has it, of a result that lies in a place, `SWEEP:FOLDER#ENDING`."""
        path, _, ending = place.partition("#")
        sweep, _, _ = path.rpartition(":")
        tags = {"dataset": "toy", "regime": "mix", choice: value} | (
            {"sweep": sweep} if sweep else {}
        )
        shown = {**tags, "folder": f"{path.replace(':', '/')}/{value}{ending}"}
        run = SimpleNamespace(
            info=SimpleNamespace(start_time=len(value)), data=SimpleNamespace(tags=shown, params={})
        )
        return run, RunRecord(stage, value, "What.", tags, sibling_tag=choice)

    (first, record), (second, _) = show("machine", machine), show("expert", expert)
    together = [set(family) for family in find_families([first, second], record)]
    assert ({"machine", "expert"} in together) is linked


def test_judged_results_of_one_name_are_linked_within_each(store: Path) -> None:
    runs = {}
    for result in ("z", "z-431df8db"):
        for ruler in ("expert", "machine"):
            folder = store / "artifacts" / "judged" / result / "audits" / "z" / ruler
            folder.mkdir(parents=True)
            tags = {"dataset": "z", "regime": "z", "ruler": ruler}
            (folder / "risk.md").write_text(f"{result} {ruler}")
            write_record(RunRecord("audit", ruler, "What.", tags, sibling_tag="ruler"), folder)
            runs[result, ruler] = publish(folder, store, SETTINGS)
    client, _ = connect(store, SETTINGS)
    for (result, ruler), run in runs.items():
        tags = client.get_run(run).data.tags
        other = "machine" if ruler == "expert" else "expert"
        assert tags[f"ruler_{other}"] == runs[result, other]
        assert f"ruler_{ruler}" not in tags


def test_the_experiment_says_how_to_read_it_and_keeps_what_a_person_wrote(store: Path) -> None:
    client, experiment = connect(store, SETTINGS)
    found = client.get_experiment(experiment)
    assert "two rulers side by side" in found.tags["mlflow.note.content"]
    client.set_experiment_tag(experiment, "mlflow.note.content", "Mine.")
    connect(store, SETTINGS)
    assert client.get_experiment(experiment).tags["mlflow.note.content"] == "Mine."


def test_the_answer_is_published_last_and_so_stands_on_top(tmp_path: Path) -> None:
    stages = ("report", "annotate", "audit", "judge", "compare", "cohort")
    for stage in stages:
        (tmp_path / stage).mkdir()
        write_record(RunRecord(stage, stage, "."), tmp_path / stage)
    order = [folder.name for folder in sort_results(tmp_path / stage for stage in stages)]
    assert order == ["cohort", "annotate", "judge", "audit", "compare", "report"]
