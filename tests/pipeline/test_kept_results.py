"""Results that a person names are never replaced by others of that name, and no two runs write one at once."""

import contextvars
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nibabel
import numpy as np
import pandas as pd
import pytest
import yaml
from small_line import BASE, ROOT, command

from tworulers.io.holding import HeldError, hold, holding_results
from tworulers.io.paths import Layout
from tworulers.runner.keyed import list_places, place_result, write_stamp

pytestmark = pytest.mark.usefixtures("unrendered")

QUICK = (
    "audit.bootstrap_draws=20",
    "audit.permutations=20",
    "audit.power_draws=0",
    "audit.linear=false",
)
RISK = (
    "risk=table",
    "risk.score=risk",
    "risk.outcome=died",
    "risk.event=yes",
    "+risk.groups.sex=sex",
    "use.bootstrap_draws=0",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, as the working folder."""
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "conf", folder / "conf")
    shutil.copy(ROOT / "dvc.yaml", folder)
    monkeypatch.chdir(folder)
    return folder


def write_table(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dice = rng.uniform(0.7, 0.95, 16).round(4)
    table = pd.DataFrame({"exam_id": [f"e{n}" for n in range(16)], "sex": ["F", "M"] * 8})
    path.parent.mkdir(parents=True, exist_ok=True)
    died = ["yes" if one else "no" for one in rng.permutation([1, 0] * 8)]
    table.assign(dice_disc=dice, risk=dice, died=died).to_csv(path, index=False)


def read_results(folder: Path) -> dict[str, bytes]:
    """Read every table of a folder of results; figures and records say the same again."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.parquet"))
    }


@pytest.mark.slow
def test_tables_of_one_file_name_are_kept_apart(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(project / "one" / "scores.csv", 1)
    write_table(project / "two" / "scores.csv", 2)
    asked = ("scores.provenance=gold", "attributes=sex", "audit.metrics=[dice]", *QUICK)
    first = ("audit", "scores.file=one/scores.csv", *asked)
    assert command(*first) == 0
    home = project / "artifacts" / "tables" / "scores" / "sex"
    before = read_results(home)
    assert {path.name for path in home.iterdir()} == {"gold"}
    assert "holds another result" not in capsys.readouterr().out

    assert command("audit", "scores.file=two/scores.csv", *asked) == 0
    said = " ".join(capsys.readouterr().out.split())
    (other,) = {path.name for path in home.iterdir()} - {"gold"}
    assert "tables/scores/sex/gold holds another result of this name and is kept" in said
    assert "other scores.file" in said
    assert f"written to artifacts/tables/scores/sex/{other}" in said
    assert command(*first, "audit.alpha=0.1") == 0
    assert "audit.alpha was 0.05, now 0.1" in " ".join(capsys.readouterr().out.split())
    names = {path.name for path in home.iterdir()}
    assert len(names) == 3

    kept = read_results(home)
    assert {name: kept[name] for name in before} == before
    assert command(*first) == 0
    assert command(*first, "audit.alpha=0.1") == 0
    assert read_results(home) == kept
    alphas = {
        name: yaml.safe_load((home / name / "config.yaml").read_text())["audit"]["alpha"]
        for name in names
    }
    assert sorted(alphas.values()) == [0.05, 0.05, 0.1]


def test_risks_of_one_name_are_kept_apart(project: Path) -> None:
    write_table(project / "one.csv", 1)
    write_table(project / "two.csv", 2)
    home = project / "artifacts" / "risk" / "mine"
    for number, more in enumerate((["one.csv"], ["two.csv"], ["one.csv", "use.level=0.9"]), 1):
        file, *rest = more
        assert command("risk", "risk.name=mine", f"risk.file={file}", *RISK, *rest) == 0
        assert len(list(home.iterdir())) == number
    kept = read_results(home)
    assert command("risk", "risk.name=mine", "risk.file=two.csv", *RISK) == 0
    assert read_results(home) == kept


def write_maps(folder: Path, shift: int) -> None:
    folder.mkdir()
    for exam in range(3):
        array = np.zeros((6, 8, 8), np.uint8)
        array[1:4, 2 : 5 + exam, 1 + shift : 6] = 1
        nibabel.save(nibabel.Nifti1Image(array, np.eye(4)), folder / f"e{exam}.nii.gz")


JUDGE = (
    "judge",
    "predictions.name=mine",
    "predictions.folder=made",
    "predictions.structures={a: 1}",
    "predictions.references={expert: {folder: expert, provenance: gold}}",
    "attributes=none",
    "audit.metrics=[dice]",
    *QUICK,
)


@pytest.fixture
def maps(project: Path) -> Path:
    write_maps(project / "expert", 0)
    write_maps(project / "made", 1)
    return project


def test_predictions_of_one_name_are_kept_apart(
    maps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*JUDGE) == 0
    home = maps / "artifacts" / "judged"
    before = read_results(home)
    shutil.rmtree(maps / "made")
    write_maps(maps / "made", 2)
    capsys.readouterr()
    assert command(*JUDGE) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "judged/mine holds another result of this name and is kept (other label maps)" in said
    kept = read_results(home)
    assert {name: kept[name] for name in before} == before
    assert len(list(home.iterdir())) == 2
    assert list_places(home / "mine") == sorted(home.iterdir(), key=lambda path: len(path.name))
    assert command(*JUDGE) == 0
    assert read_results(home) == kept


def test_a_second_run_says_who_writes_the_result(
    maps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with holding_results(maps):
        hold(maps / "artifacts" / "judged" / "mine")
        assert contextvars.Context().run(command, *JUDGE) == 1
    assert f"is being written by process {os.getpid()} on " in capsys.readouterr().err
    assert command(*JUDGE) == 0


@pytest.mark.slow
def test_three_runs_at_once_end_well_or_say_who_was_first(maps: Path) -> None:
    run = [sys.executable, "-m", "tworulers.stages.judge", *JUDGE[1:], "tracking=off"]
    running = [
        subprocess.Popen(run, cwd=maps, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    ended = [(*one.communicate(timeout=300), one.returncode) for one in running]
    assert 0 in {status for *_, status in ended}
    for _, said, status in ended:
        assert status == 0 or "is being written by" in said
    (result,) = (maps / "artifacts" / "judged").iterdir()
    assert (result / "summary.json").is_file()
    assert (result / "run.json").is_file()


def test_a_result_that_is_replaced_says_in_what_it_differs(
    small_line: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("split", "split.folds=2", "split.test=0.3", "split.strata=[]")
    assert command(*asked) == 0
    assert "replaced" not in capsys.readouterr().out
    assert command(*asked, "split.seed=5") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"{BASE}/split replaced a result of other settings: split.seed was " in said
    assert "now 5" in said
    assert "paths=sweep keeps both" in said
    monkeypatch.setenv("DVC_STAGE", "split")
    assert command(*asked) == 0
    assert "replaced" not in capsys.readouterr().out


def test_an_unfinished_result_is_no_reason_to_go_elsewhere(tmp_path: Path) -> None:
    layout = Layout(tmp_path, tmp_path, tmp_path)
    named = tmp_path / "mine"
    named.mkdir()
    write_stamp({"file": "a"}, named)
    assert place_result(named, {"file": "b"}, layout) == named
    (named / "run.json").write_text("{}")
    beside = place_result(named, {"file": "b"}, layout)
    assert beside != named
    assert place_result(named, {"file": "b"}, layout) == beside
    assert place_result(named, {"file": "a"}, layout) == named


def test_what_a_run_holds_is_free_when_it_ends(tmp_path: Path) -> None:
    result = tmp_path / "artifacts" / "a"

    def try_to_hold() -> None:
        with holding_results(tmp_path):
            hold(result)
            hold(result)

    with holding_results(tmp_path):
        hold(result)
        with pytest.raises(HeldError, match="artifacts/a is being written by process"):
            contextvars.Context().run(try_to_hold)
        contextvars.Context().run(hold, result)
    try_to_hold()
    assert list(tmp_path.iterdir()) == []


def test_of_many_at_once_only_one_holds_a_result(tmp_path: Path) -> None:
    inside: list[int] = []

    def take(number: int) -> bool:
        try:
            with holding_results(tmp_path):
                hold(tmp_path / "result")
                inside.append(number)
                assert inside == [number]
                inside.remove(number)
                return True
        except HeldError:
            return False

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda n: contextvars.Context().run(take, n), range(400)))
    assert any(taken)
    assert list(tmp_path.iterdir()) == []
