"""What a sweep asks for, in the order in which Hydra numbers its runs, and the accelerators that runs take."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from tworulers.runner.sweeps import devices
from tworulers.runner.sweeps.asked import list_asked, name_choices, place_beside
from tworulers.runner.sweeps.devices import list_devices, take_devices

GRID = {
    "regimes": ["gold", "mix"],
    "rulers": ["gold", "silver"],
    "configurations": ["2d"],
    "dataset": "phantom",
    "folds": [0, 1, 2, 3, 4],
}


@pytest.mark.parametrize(
    "arguments",
    [
        ["-m", "seed=0,1", "ruler=gold", "++audit.thresholds.dice=0.7,0.8"],
        ["-m", "audit.seed=range(0,3)", "attributes=choice(sex,age)"],
        ["-m", "audit.metrics=[dice],[dice,hd95]"],
        ["-m", "seed=3"],
    ],
)
def test_runs_are_numbered_as_hydra_does(arguments: list[str]) -> None:
    read = OverridesParser.create().parse_overrides(arguments[1:])
    ((*runs,),) = BasicSweeper.split_arguments(read, None)
    asked = list_asked(arguments)
    assert len(asked.runs) == len(runs)
    for mine, theirs in zip(asked.runs, runs, strict=True):
        plain = [one.lstrip("+") for one in theirs]
        assert [one for one in plain if one.partition("=")[0] in asked.keys] == list(mine)
    assert asked.tell(0) == " ".join(asked.runs[0])


def test_a_run_is_named_by_what_its_result_does_not_say() -> None:
    given = ["regime=mix", "++audit.thresholds.dice=0.7", "seed=1"]
    keys = ("regime", "audit.thresholds.dice")
    assert name_choices(given, keys) == "audit.thresholds.dice=0.7"
    assert name_choices(given, ("regime",)) == ""


@pytest.mark.parametrize(
    ("arguments", "added"),
    [
        (["-m", "audit.alpha=0.1,0.2"], True),
        (["--multirun", "regime=gold,silver"], True),
        (["-m", "regime=gold,mix", "audit.alpha=0.1"], False),
        (["-m", "paths=repro", "audit.alpha=0.1,0.2"], False),
        (["-m", "paths.outputs=a,b", "seed=1,2"], False),
        (["regime=gold"], False),
    ],
)
def test_a_sweep_beyond_the_grid_writes_beside_it(arguments: list[str], added: bool) -> None:
    placed = place_beside(arguments, GRID)
    assert placed == ([arguments[0], "paths=sweep", *arguments[1:]] if added else arguments)


@pytest.fixture
def nothing_taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    taken: list[devices.FileLock] = []
    monkeypatch.setattr(devices, "_TAKEN", taken)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    yield
    for lock in taken:
        lock.release()


def test_accelerators_are_those_named_or_those_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-1a")
    assert list_devices() == ["3", "GPU-1a"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert list_devices() == []
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(devices, "BOARDS", tmp_path)
    for name in ("nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert list_devices() == ["2", "10"]


def test_a_process_keeps_what_it_took(tmp_path: Path, nothing_taken: None) -> None:
    for number in (1, 2):
        take_devices(["4", "5", "6"], tmp_path, number, 1)
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "5"


def test_more_are_taken_together_and_too_few_leave_all(tmp_path: Path, nothing_taken: None) -> None:
    take_devices(["4"], tmp_path, 0, 2)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
    take_devices(["4", "5", "6"], tmp_path, 3, 2)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "4,5"


def test_processes_share_in_turn_only_what_none_is_left_of(tmp_path: Path) -> None:
    code = (
        "import os, sys, time\nfrom pathlib import Path\n"
        "from tworulers.runner.sweeps.devices import take_devices\n"
        "take_devices(['4', '5'], Path(sys.argv[1]), int(sys.argv[2]), 1)\n"
        "print(os.environ['CUDA_VISIBLE_DEVICES'], flush=True)\ntime.sleep(30)\n"
    )
    running = []
    try:
        seen = []
        # The first two ask for the same one; the second is given what is free.
        for number in ("0", "2", "3"):
            command = [sys.executable, "-c", code, str(tmp_path), number]
            running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            assert running[-1].stdout is not None
            seen.append(running[-1].stdout.readline().strip())
        assert seen == ["4", "5", "5"]
    finally:
        for process in running:
            process.kill()
            process.communicate()
