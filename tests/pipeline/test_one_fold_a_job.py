"""Folds that jobs of their own train meet in one model, which is the one that the graph's own step makes."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from small_line import BASE, NETWORK, command

from tworulers.io.holding import hold, holding_results

MODEL = BASE / "models" / "gold" / "3d_fullres"
ASKED = ("train", "regime=gold", *NETWORK, "grid.folds=[0,1]")


def read_bytes(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.slow
def test_jobs_of_one_fold_make_the_bytes_that_the_graph_makes(
    small_line: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = small_line / MODEL
    assert command(*ASKED) == 0
    whole = read_bytes(model)
    assert {"fold_0/final.pt", "fold_1/final.pt", "run.json", "config.yaml"} <= set(whole)

    shutil.rmtree(model)
    assert command(*ASKED, "configuration.fold=1") == 0
    assert "its model still lacks fold 0" in capsys.readouterr().out
    assert {path.name for path in model.glob("fold_*")} == {"fold_1"}
    assert command("select", *ASKED[1:]) == 1
    assert "lacks fold 0 of grid.folds=[0, 1]" in capsys.readouterr().err
    assert command(*ASKED, "configuration.fold=0", "recipe.learning_rate=0.02") == 1
    assert "recipe.learning_rate was 0.01, now 0.02" in capsys.readouterr().err
    assert command(*ASKED, "configuration.fold=0") == 0
    assert read_bytes(model) == whole
    assert command("select", *ASKED[1:]) == 0

    shutil.rmtree(model)
    assert command("train", "-m", *ASKED[1:], "configuration.fold=0,1") == 0
    assert read_bytes(model) == whole
    assert not list((small_line / BASE / "scratch" / "gold").glob("3d_fullres*"))


def test_a_fold_is_trained_by_one_run_at_a_time(
    small_line: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = read_bytes(small_line / MODEL)
    with holding_results(small_line):
        hold(small_line / MODEL / "fold_1")
        for alone in ((), ("configuration.fold=1",)):
            assert command(*ASKED, *alone) == 1
            assert "is being written by process" in capsys.readouterr().err
    assert command(*ASKED, "configuration.fold=2") == 1
    assert "configuration.fold=2 is none of grid.folds=[0, 1]" in capsys.readouterr().err
    assert read_bytes(small_line / MODEL) == before


def test_fold_all_learns_from_every_exam_and_chooses_nothing(
    small_line: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("train", "regime=gold", *NETWORK, "grid.folds=[all]")
    model = small_line / MODEL
    before = read_bytes(model)
    assert command(*asked) == 1
    assert "holds fold_0, which cannot stay beside fold all" in capsys.readouterr().err
    assert read_bytes(model) == before
    assert command("train", "regime=gold", *NETWORK, "grid.folds=[0,all]") == 1
    assert "grid.folds: expected numbers, or all alone" in capsys.readouterr().err

    shutil.rmtree(model)
    assert command(*asked) == 0
    assert "learnt from, which is no cross-validation" in capsys.readouterr().out
    assert [path.name for path in model.glob("fold_*")] == ["fold_all"]
    splits = pd.read_parquet(small_line / BASE / "split" / "splits.parquet")
    gold = splits[(splits["regime"] == "gold") & splits["split"].isin(["train", "val"])]
    rows = pd.read_parquet(model / "fold_all" / "validation.parquet")
    assert set(rows["exam_id"]) == set(gold["exam_id"])
    alone = read_bytes(model / "fold_all")
    assert command("train", "regime=gold", *NETWORK, "grid.folds=[0]") == 1
    assert "holds fold_all, which cannot stay beside fold 0" in capsys.readouterr().err

    assert command("select", *asked[1:], "recipe.select=true", "recipe.cleanup=rule") == 0
    choice = json.loads((small_line / BASE / "selection" / "gold" / "choice.json").read_text())
    assert (choice["members"], choice["cleanup"]) == (["3d_fullres"], [])
    assert "learnt from every exam leave none to decide by" in choice["cleanup_reason"]
    assert command("predict", *asked[1:]) == 0
    assert "by 1 networks of gold" in capsys.readouterr().out

    shutil.rmtree(model)
    assert command(*asked, "configuration.fold=all") == 0
    assert read_bytes(model / "fold_all") == alone
