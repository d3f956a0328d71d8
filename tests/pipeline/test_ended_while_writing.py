"""Stages that are ended by a real signal while they write: what was there stands as it was, and a line says so."""

import os
import signal
import subprocess
from itertools import cycle
from pathlib import Path

import pytest
from finished_line import BEFORE, READERS
from small_line import BASE, command
from test_ended_by_signal import list_group, start, wait_for

pytestmark = pytest.mark.slow

RESULTS = {
    "score": (("score", *BEFORE[1][1:]), BASE / "scores/gold/gold"),
    "audit": (READERS["audit"], BASE / "audits/gold/truth"),
    "compare": (READERS["compare"], BASE / "comparisons"),
    "report": (READERS["report"], BASE / "report"),
    "risk": (READERS["risk"], Path("artifacts/risk/made")),
    "judge": (READERS["judge"], Path("artifacts/judged/theirs/comparisons")),
}
"""The command of each stage, and a folder that it writes."""

AT_WORK = "at_work"
SLOW = f"""
import time
from pathlib import Path
from tworulers import Metric
from tworulers.metrics.registry import register_metric

def compute(counts, settings):
    Path("{AT_WORK}").touch()
    time.sleep(60)
    return 0.0

register_metric(Metric("slow", "Slow", higher_is_better=False, unit="µl", perfect=0.0, both_empty=0.0, compute=compute))
"""
"""A metric that says when it is computed, and takes its time: scores are written in a moment, after all the work."""


def list_beside(result: Path, process: int) -> list[Path]:
    """List the folders that a process has begun to write beside a result, or below it."""
    return [*result.parent.glob(f".{process}.*"), *result.glob(f".{process}.*")]


def end_at_work(project: Path, stage: str, number: int) -> tuple[subprocess.Popen[str], str]:
    """Start a stage over a finished result and end it while it writes; return it and what it said."""
    (name, *overrides), result = RESULTS[stage]
    if stage == "score":
        (project / "own").mkdir()
        (project / "own" / "slow.py").write_text(SLOW, encoding="utf-8")
        overrides.append("audit.extra_metrics=[slow]")
    running = start(project, name, *overrides, "processes=2")
    wait_for(
        lambda: (
            list_beside(result, running.pid)
            or (project / AT_WORK).exists()
            or running.poll() is not None
        )
    )
    os.killpg(running.pid, number)
    _, said = running.communicate(timeout=120)
    return running, said


def read_folder(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


@pytest.mark.parametrize(
    ("stage", "number"), list(zip(RESULTS, cycle([signal.SIGINT, signal.SIGTERM]), strict=False))
)
def test_what_was_there_stands_and_the_way_on_is_told(
    stage: str, number: signal.Signals, finished_line: Path
) -> None:
    result = RESULTS[stage][1]
    before = read_folder(result)
    running, said = end_at_work(finished_line, stage, number)
    assert running.returncode == 128 + number, said
    assert "Traceback" not in said
    told = "results that were there stand as they were; the same command begins again"
    assert said.count("interrupted: ") == said.count(told) == 1
    assert read_folder(result) == before
    assert not list_beside(result, running.pid)
    wait_for(lambda: not list_group(running.pid), 20)


@pytest.mark.parametrize("stage", ["compare", "risk"])
def test_what_a_kill_left_is_removed_by_the_next_run(stage: str, finished_line: Path) -> None:
    (name, *overrides), result = RESULTS[stage]
    before = read_folder(result)
    running, _ = end_at_work(finished_line, stage, signal.SIGKILL)
    assert list_beside(result, running.pid)
    assert read_folder(result) == before
    assert command(name, *overrides) == 0
    assert not list_beside(result, running.pid)
    whole = read_folder(result)
    assert whole.keys() == before.keys()
    assert [one for one in whole if whole[one] != before[one]] == []
