"""Folds that jobs of their own train meet in one model, which is the one that the graph's own step makes."""

import shutil
from pathlib import Path

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
