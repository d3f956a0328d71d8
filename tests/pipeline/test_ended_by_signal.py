"""Commands that are ended by Ctrl-C, by a scheduler or by force: one line says how to go on, and nothing is lost."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from small_line import BASE, COHORT, NETWORK, ROOT, command

from tworulers.training import ensemble

PREDICT = ("predict", "regime=gold", *NETWORK)


def start(project: Path, stage: str, *overrides: str) -> subprocess.Popen[str]:
    """Start a stage as a person does, with all its processes in a group of their own."""
    return subprocess.Popen(
        [sys.executable, "-m", f"tworulers.stages.{stage}", *overrides, "tracking=off"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interruptions,
    )


def heed_interruptions() -> None:
    """Take Ctrl-C as a command on a terminal does, also where the tests run in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(holds: Callable[[], object], seconds: float = 120.0) -> None:
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < seconds
        time.sleep(0.02)


def list_group(leader: int) -> set[int]:
    """The processes of a group that still run."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(group) == leader and state != "Z":
            found.add(int(path.parent.name))
    return found


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt, 130), (SystemExit(3), 3)])
def test_an_interruption_says_where_the_work_is_kept(
    error: BaseException,
    status: int,
    small_line: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    work, done = ensemble._predict_chunk, []

    def interrupted(*given: object) -> int:
        if len(done) == 2:
            raise error
        done.append(1)
        return work(*given)

    with monkeypatch.context() as patch:
        patch.setattr(ensemble, "_predict_chunk", interrupted)
        assert command(*PREDICT) == status
    said = capsys.readouterr().err
    assert "Traceback" not in said
    if status == 130:
        kept = small_line / BASE / "scratch" / "predict" / "gold"
        assert f"interrupted: what is done is kept in {kept}, and the same command goes on" in said
    assert command(*PREDICT) == 0
    assert len(done) == 2


STAGES: dict[str, tuple[tuple[str, ...], str]] = {
    "cohort": (
        (*COHORT[2:], "dataset.phantom.patients=300", "dataset.phantom.exams=330", "processes=2"),
        "artifacts/phantom/source/images/*.nii.gz",
    ),
    "train": (
        ("regime=gold", *NETWORK, "recipe.iterations=400", "grid.folds=[0,1]", "seed=5"),
        "artifacts/phantom/scratch/gold/3d_fullres/fold_*/task.json",
    ),
    "predict": (("regime=gold", *NETWORK, "processes=2"), "artifacts/phantom/scratch/predict/gold"),
}
"""Stages with processes of their own, and what is there as soon as they are at work."""


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_at_work_is_ended_in_a_line(stage: str, small_line: Path) -> None:
    overrides, sign = STAGES[stage]
    before = set(small_line.glob(sign))
    running = start(small_line, stage, *overrides)
    wait_for(lambda: set(small_line.glob(sign)) - before or running.poll() is not None)
    time.sleep(0.5)
    if stage == "cohort":
        os.kill(running.pid, signal.SIGTERM)
    else:
        os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == (143 if stage == "cohort" else 130), said
    assert "Traceback" not in said
    assert said.count("interrupted: ") == 1
    assert "same command" in said
    wait_for(lambda: not list_group(running.pid), 20)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.3, 1.5])
def test_a_stage_that_is_loading_is_ended_in_a_line(seconds: float, small_line: Path) -> None:
    running = start(small_line, "audit", "regime=gold", "ruler=gold")
    time.sleep(seconds)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in said or seconds < 1
    assert said.count("interrupted") <= 1


SMALL = ("audit.bootstrap_draws=20", "audit.permutations=20", "audit.power_draws=0")
LINE: tuple[tuple[str, ...], ...] = (
    ("split", "split.folds=2", "split.test=0.3", "split.strata=[]"),
    ("plan", *NETWORK),
    ("preprocess", *NETWORK),
    ("train", "regime=gold", *NETWORK, "grid.folds=[0,1]"),
    ("annotate", "regime=gold", *NETWORK, "grid.folds=[0,1]"),
    ("select", "regime=gold", *NETWORK, "grid.folds=[0,1]"),
    ("predict", "regime=gold", *NETWORK, "grid.folds=[0,1]"),
    ("score", "regime=gold", "ruler=gold"),
    ("score", "regime=gold", "ruler=truth"),
    ("audit", "regime=gold", "ruler=gold", *SMALL),
    ("audit", "regime=gold", "ruler=truth", *SMALL),
)
KEPT_APART = ("scratch", "timings")
LEFT_BESIDE = re.compile(r"\.\d+\.")
"""How a folder begins that was still being written beside its place."""


def read_outputs(project: Path) -> dict[str, bytes]:
    """Every file of the results, without what is quick, what says when it was, and what a kill left beside."""
    results = project / BASE
    return {
        path.relative_to(results).as_posix(): path.read_bytes()
        for path in sorted(results.rglob("*"))
        if path.is_file()
        and path.relative_to(results).parts[0] not in KEPT_APART
        and not any(LEFT_BESIDE.match(part) for part in path.relative_to(results).parts)
    }


def run_line(project: Path, killed: dict[int, float], running: Callable[..., int]) -> None:
    """Run every step of the line; those in `killed` are ended by force first, after so many seconds."""
    for place, (stage, *overrides) in enumerate(LINE):
        if place in killed:
            begun = start(project, stage, *overrides, "processes=2")
            time.sleep(killed[place])
            os.killpg(begun.pid, signal.SIGKILL)
            begun.communicate()
            wait_for(lambda leader=begun.pid: not list_group(leader), 20)
        assert running(stage, *overrides) == 0


def draw_kills(seed: int, count: int) -> dict[int, float]:
    """Draw which steps of the line are killed, and when: from their start to about their end."""
    draws = random.Random(seed)
    heavy = [place for place, (stage, *_) in enumerate(LINE) if stage not in ("split", "select")]
    return {place: draws.uniform(1.5, 6.0) for place in draws.sample(heavy, count)}


ROUNDS = int(os.environ.get("TWORULERS_KILL_ROUNDS", "1"))
"""How many lines are killed three times each; `./scripts/campaign kills` asks for more."""


@pytest.mark.slow
def test_two_clean_lines_are_equal_and_so_is_one_that_was_killed(
    small_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = []
    for killed in ({}, {}, *(draw_kills(seed, 3) for seed in range(ROUNDS))):
        for path in (small_line / BASE).iterdir():
            if path.name not in ("cohort", "source", "inventory.json", "files", "links"):
                subprocess.run(["rm", "-rf", str(path)], check=True)
        run_line(small_line, killed, command)
        outputs.append(read_outputs(small_line))
    first, *others = outputs
    assert len(first) > 100
    for other in others:
        assert first.keys() == other.keys()
        assert [name for name in first if first[name] != other[name]] == []
