"""What a run costs: the published figures, what is kept of a command, and where it is shown."""

import json
import math
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from command import Project
from tworulers.io.paths import Layout
from tworulers.runner import cost
from tworulers.runner.cost import (
    KEPT,
    Spent,
    digest_record,
    estimate_emission,
    estimate_energy,
    expect_seconds,
    find_commit,
    keep_spent,
    name_costs,
    read_spent,
    sum_spent,
    timing,
)
from tworulers.runner.cost_page import BEFORE, list_costs, stamp_page, tabulate_costs
from tworulers.schema.cost_settings import Cost
from tworulers.schema.settings import Trainer

ROOT = Path(__file__).parents[3]
BOARDS = {"a100": 486.3, "l40s": 618.9}


def read_choice(name: str) -> Cost:
    return Cost(**yaml.safe_load((ROOT / "conf/cost" / f"{name}.yaml").read_text()))


def make_spent(stage: str, folder: str, kwh: float = 0.5) -> Spent:
    return Spent(stage, folder, 1000.0, 60.0, 0.25, 0.1, kwh, kwh / 10)


def test_the_published_energy_and_emissions_come_out_of_their_inputs() -> None:
    kwh = 0.0
    for name, hours in BOARDS.items():
        cost = read_choice(name)
        powers = {"board_watts": cost.board_watts, "core_watts": cost.core_watts, "pue": cost.pue}
        kwh += estimate_energy(hours, 5000.0, **powers)
    assert round(kwh) == 534
    assert round(estimate_emission(kwh, read_choice("a100").grams_per_kwh), 1) == 52.9
    assert round(estimate_emission(kwh, 138.0), 1) == 73.7


def test_cores_count_where_they_have_a_power_and_an_unknown_board_makes_it_undefined() -> None:
    given = {"core_watts": 12.0, "pue": 1.5}
    assert estimate_energy(0.0, 10.0, board_watts=None, **given) == pytest.approx(0.18)
    assert estimate_energy(2.0, 10.0, board_watts=100.0, **given) == pytest.approx(0.48)
    assert math.isnan(estimate_energy(2.0, 10.0, board_watts=None, **given))


def test_boards_are_held_by_trainers_of_accelerators_alone(tmp_path: Path) -> None:
    for name, trainer in (
        ("none", None),
        ("cpu", Trainer(accelerator="cpu", devices=2)),
        ("gpu", Trainer(accelerator="gpu", devices=2)),
    ):
        with timing(tmp_path, name, read_choice("a100"), trainer) as made:
            sum(number * number for number in range(200_000))
            made.append(f"artifacts/{name}")
    spent = {one.stage: one for one in read_spent(tmp_path)}
    assert spent["none"].board_hours == spent["cpu"].board_hours == 0
    gpu = spent["gpu"]
    assert gpu.board_hours == pytest.approx(2 * gpu.seconds / 3600)
    assert gpu.kwh == pytest.approx(gpu.board_hours * 250 * 1.58 / 1000)
    assert gpu.kg == pytest.approx(gpu.kwh * 0.099)
    assert gpu.core_hours > 0


def test_a_run_that_fails_is_costed_and_makes_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="no"), timing(tmp_path, "train", Cost(), None, "made"):
        raise ValueError("no")
    assert read_spent(tmp_path) == [], "refused at once"
    monkeypatch.setattr(cost, "REFUSED_S", 0.0)
    for home in ("", "artifacts/made"):
        with (
            pytest.raises(ValueError, match="no"),
            timing(tmp_path, "train", Cost(), None, home) as made,
        ):
            made.append("artifacts/made/models")
            raise ValueError("no")
    (kept,) = read_spent(tmp_path)
    assert (kept.folder, kept.failed, kept.runs) == ("artifacts/made", True, 1)
    home = tmp_path / "artifacts/made"
    assert [one.stage for one in list_costs(Layout(tmp_path, home, home))] == ["train", "in sum"]
    assert name_costs(tmp_path, "artifacts/made") == {}
    assert expect_seconds(tmp_path, "artifacts/made") == 0


def test_what_a_result_cost_is_that_of_the_run_that_made_it_as_it_is(tmp_path: Path) -> None:
    place = "artifacts/made/split"
    folder = tmp_path / place
    folder.mkdir(parents=True)
    for seconds, text in ((1.0, "{}"), (2.0, "[]")):
        (folder / "run.json").write_text(text)
        spent = make_spent("split", place)
        keep_spent(tmp_path, replace(spent, seconds=seconds, made=digest_record(folder)))
    assert name_costs(tmp_path, place)["cost/seconds"] == 2
    (folder / "run.json").write_text("{}")
    assert name_costs(tmp_path, place)["cost/seconds"] == 1
    (folder / "run.json").write_text("another")
    assert name_costs(tmp_path, place) == {}


def test_the_commit_is_marked_where_code_or_settings_are_changed(tmp_path: Path) -> None:
    assert find_commit(tmp_path) == ""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/a.yaml").write_text("a: 1")
    told = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "."], [*told, "commit", "-qm", "a"]):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    clean = find_commit(tmp_path)
    assert len(clean) == 40
    (tmp_path / "notes.txt").write_text("anything")
    assert find_commit(tmp_path) == clean
    (tmp_path / "conf/a.yaml").write_text("a: 2")
    assert find_commit(tmp_path) == f"{clean}-dirty"


def test_costs_add_up_by_stage_and_other_datasets_and_damaged_lines_are_left_out(
    tmp_path: Path,
) -> None:
    keep_spent(tmp_path, make_spent("train", "artifacts/made/models/gold/2d"))
    keep_spent(tmp_path, make_spent("train", "artifacts/made/models/gold/2d", 0.7))
    keep_spent(tmp_path, make_spent("audit", "artifacts/made/audits/gold/gold"))
    keep_spent(tmp_path, make_spent("audit", "artifacts/other/audits/gold/gold"))
    with (tmp_path / KEPT).open("a") as stream:
        stream.write('{"stage": "cut\n')
    home = tmp_path / "artifacts/made"
    layout = Layout(tmp_path, home, home)
    train, audit, total = list_costs(layout)
    assert (train.stage, train.runs, audit.runs, total.runs) == ("train", 2, 1, 3)
    assert train.kwh == pytest.approx(1.2)
    assert total.kwh == pytest.approx(1.7)
    assert total.kg == pytest.approx(0.17)
    # the model was made twice and counts once in what the line will take
    assert expect_seconds(tmp_path, "artifacts/made") == 120
    assert name_costs(tmp_path, "artifacts/made/models/gold/2d")["cost/kwh"] == 0.7
    assert name_costs(tmp_path, "artifacts/made/models/mix/2d") == {}
    assert stamp_page(layout, Cost()) is None
    (home / "report").mkdir(parents=True)
    page = f"<main>{BEFORE}<h2>How</h2></section></main>"
    (home / "report/index.html").write_text(page)
    copy = stamp_page(layout, Cost(title="cores"))
    assert copy == tmp_path / "mlruns/reports/made.html"
    text = copy.read_text()
    assert "What it cost" in text
    assert "1.700" in text
    assert "cores: a board not set, a core 12 W" in text
    assert (home / "report/index.html").read_text() == page


def test_an_unknown_board_is_told_as_such(tmp_path: Path) -> None:
    keep_spent(tmp_path, make_spent("train", "artifacts/made/models", math.nan))
    (read,) = read_spent(tmp_path)
    assert math.isnan(read.kwh)
    table = tabulate_costs([sum_spent([read], "in sum")], Cost())
    assert "board power not set" in table.rows[0][-1]


def test_a_command_keeps_its_cost_and_its_result_says_none(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    few = ["dataset.phantom.patients=24", "dataset.phantom.exams=27"]
    few += ["dataset.phantom.gold_patients=14", "dataset.phantom.shape=[16,32,32]"]
    few += ["dataset.phantom.spacing=[4.0,4.6,2.8]", "processes=1"]
    assert project.run("cohort", *few, "tracking=off").status == 0
    assert not (tmp_path / KEPT).exists()
    assert project.run("cohort", *few, "cost.core_watts=24").status == 0
    (one,) = read_spent(tmp_path)
    assert (one.stage, one.folder, one.board_hours) == ("cohort", "artifacts/phantom/cohort", 0)
    assert one.core_hours > 0
    assert one.kwh == pytest.approx(one.core_hours * 24 * 1.58 / 1000)
    assert "seconds" not in (tmp_path / "artifacts/phantom/cohort/run.json").read_text()
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/mlruns/mlflow.db")
    (experiment,) = [x for x in client.search_experiments() if x.name == "tworulers-phantom"]
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.data.metrics["cost/kwh"] == pytest.approx(one.kwh)
    assert run.data.metrics["cost/seconds"] == pytest.approx(one.seconds)
    assert json.loads((tmp_path / KEPT).read_text())["kg"] == one.kg
