"""Records are strict, whole and checked."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.io.owned import MARK
from tworulers.io.records import (
    MissingInputError,
    folder_written_beside,
    read_json,
    read_table,
    write_json,
    write_table,
)
from tworulers.schema.atomic import written_beside
from tworulers.schema.table_models import Exclusions, TableError


def test_json_is_strict_at_any_depth(tmp_path: Path) -> None:
    content = {
        "a": [float("nan"), np.float64("inf"), np.int64(3)],
        "b": {"c": np.bool_(True)},
        "d": tmp_path,
    }
    write_json(content, tmp_path / "a.json")

    def refuse(word: str) -> None:
        raise AssertionError(word)

    back = json.loads((tmp_path / "a.json").read_text(), parse_constant=refuse)
    assert back == {"a": [None, None, 3], "b": {"c": True}, "d": tmp_path.as_posix()}


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(RuntimeError), written_beside(tmp_path / "a.txt") as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a.txt": "old"}


def test_a_failed_folder_leaves_the_old_one(tmp_path: Path) -> None:
    with folder_written_beside(tmp_path / "out") as temporary:
        (temporary / "old").touch()
    with pytest.raises(RuntimeError), folder_written_beside(tmp_path / "out") as temporary:
        (temporary / "new").touch()
        raise RuntimeError
    assert {p.name for p in tmp_path.rglob("*")} == {"out", "old", MARK}
    with folder_written_beside(tmp_path / "out") as temporary:
        (temporary / "new").touch()
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"new", MARK}


def test_what_killed_runs_left_beside_a_folder_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = [f".{ended.pid}.out", f".{ended.pid}.out.before", f".{os.getpid()}.out"]
    others = [f".{os.getppid()}.out", f".{ended.pid}.other", ".out", "1.out"]
    for name in (*left, *others):
        (tmp_path / name).mkdir()
    with folder_written_beside(tmp_path / "out") as temporary:
        (temporary / "new").touch()
    assert {p.name for p in tmp_path.iterdir()} == {"out", *others}


def test_a_folder_whose_place_cannot_be_taken_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with folder_written_beside(tmp_path / "out") as temporary:
        (temporary / "old").touch()
    rename, place = Path.rename, tmp_path / f".{os.getpid()}.out"

    def interrupted(self: Path, target: Path) -> Path:
        if self == place:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), folder_written_beside(tmp_path / "out") as temporary:
        (temporary / "new").touch()
    assert {p.name for p in tmp_path.rglob("*")} == {"out", "old", MARK}


def test_a_missing_input_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(
        MissingInputError, match=r"splits\.parquet is missing; `python -m tworulers\.stages\.split`"
    ):
        read_table(tmp_path / "splits.parquet", "split")
    with pytest.raises(MissingInputError, match="stages.audit"):
        read_json(tmp_path / "summary.json", "audit")


def test_a_table_that_breaks_its_contract_lists_every_fault(tmp_path: Path) -> None:
    write_table(pd.DataFrame({"exam_id": ["a", None]}), tmp_path / "x.parquet")
    with pytest.raises(TableError) as caught:
        read_table(tmp_path / "x.parquet", "cohort", Exclusions)
    message = str(caught.value)
    assert "'reason' is missing" in message
    assert "'exam_id'" in message
