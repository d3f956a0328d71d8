"""Work shared out to processes: results in order, errors as they were raised, and nobody left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import nibabel
import numpy as np
import pandas as pd
import pooled_work
import pytest

from tworulers.ingest.scoring import ScoreTask, score_exam
from tworulers.io import pool
from tworulers.io.cluster import ClusterError
from tworulers.io.pool import iterate_in_pool, map_in_pool, working_with
from tworulers.schema.running import Workers
from tworulers.schema.settings import Audit

HERE = Path(__file__).parent
LOKY, DASK = Workers(name="loky"), Workers(name="dask", backend="dask")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have even the shortest work shared out to workers that find the module of this test."""
    monkeypatch.setattr(pool, "WORTH_S", 0.0)
    monkeypatch.setenv("PYTHONPATH", f"{HERE}:{os.environ.get('PYTHONPATH', '')}")


def test_results_come_in_order_whoever_works(shared: None) -> None:
    for processes in (1, 2):
        assert map_in_pool(pooled_work.square, range(100), processes, "squares") == [
            number * number for number in range(100)
        ]
    assert map_in_pool(pooled_work.square, [], 2, "nothing") == []


def test_short_work_is_done_without_other_processes() -> None:
    work: Callable[[int], int] = lambda number: os.getpid()  # noqa: E731 - cannot be sent anywhere
    assert set(iterate_in_pool(work, range(50), 2)) == {os.getpid()}


def test_an_item_that_fails_ends_the_work_with_its_own_error(shared: None) -> None:
    done = []
    with pytest.raises(ValueError, match="seven is broken") as raised:
        for number in iterate_in_pool(pooled_work.fail_at_seven, range(100), 2):
            done.append(number)
    assert done == list(range(7))
    assert "fail_at_seven" in "".join(raised.value.__notes__)


def test_workers_know_what_the_command_knows(
    shared: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "one.py").write_text(
        "from tworulers.metrics.registry import METRICS\nMETRICS['own_one'] = None\n"
    )
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o027)
    try:
        for told in ("first", "second"):
            monkeypatch.setenv("TWORULERS_TEST", told)
            with working_with(LOKY, tmp_path):
                seen = list(iterate_in_pool(pooled_work.look, range(20), 2))[2:]
            assert {one[1:] for one in seen} == {(str(tmp_path), told, 0o640, True)}
            assert os.getpid() not in {one[0] for one in seen}
    finally:
        os.umask(before)


def test_a_worker_that_is_ended_is_told_of(shared: None) -> None:
    with pytest.raises(BrokenProcessPool):
        list(iterate_in_pool(pooled_work.end_at_seven, range(50), 2))
    assert list(iterate_in_pool(pooled_work.square, range(4), 2)) == [0, 1, 4, 9]


def test_workers_end_with_a_command_that_is_killed(shared: None, tmp_path: Path) -> None:
    script = (
        "import pooled_work; from tworulers.io import pool; pool.WORTH_S = 0\n"
        "list(pool.iterate_in_pool(pooled_work.say_who, range(60000), 2))"
    )
    command = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path)

    def list_workers() -> set[int]:
        found = {int(path.name.partition("_")[2]) for path in tmp_path.glob("worker_*")}
        return found - {command.pid}

    wait_for(lambda: len(list_workers()) == 2)
    command.kill()
    command.wait()
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in list_workers()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_is_for_the_command_alone(
    shared: None, tmp_path: Path, number: signal.Signals
) -> None:
    script = (
        "import pooled_work, signal, sys; from tworulers.io import pool; pool.WORTH_S = 0\n"
        "def end(*_): raise KeyboardInterrupt\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "try: list(pool.iterate_in_pool(pooled_work.say_who, range(60000), 2))\n"
        "except KeyboardInterrupt: sys.exit(7)"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # What runs in the background ignores Ctrl-C, and so does all that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: len(list(tmp_path.glob("worker_*"))) == 3)
    workers = {int(path.name.partition("_")[2]) for path in tmp_path.glob("worker_*")}
    if number == signal.SIGINT:
        os.killpg(command.pid, number)
    else:
        os.kill(command.pid, number)
    assert command.stderr is not None
    said = command.stderr.read().decode()
    assert (command.wait(), said) == (7, "")
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("tworulers.io.cluster.PATIENCE_S", 1)
    workers = Workers(name="dask", backend="dask", scheduler="tcp://127.0.0.1:1")
    with (
        working_with(workers, HERE),
        pytest.raises(
            ClusterError, match=r"workers.scheduler=tcp://127.0.0.1:1: no Dask scheduler"
        ),
    ):
        list(iterate_in_pool(pooled_work.square, range(4), 2))


@pytest.mark.slow
def test_a_dask_worker_that_is_killed_loses_nothing(shared: None, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    work = partial(pooled_work.square_once, folder=str(tmp_path), ending=50)
    with working_with(DASK, HERE):
        results = list(iterate_in_pool(work, range(100), 2))
        assert (tmp_path / "killed").exists()
        assert results == [number * number for number in range(100)]
        with pytest.raises(ValueError, match="seven is broken"):
            list(iterate_in_pool(pooled_work.fail_at_seven, range(50), 2))
        with pytest.raises(ClusterError, match="lost again and again at the same exam"):
            list(iterate_in_pool(pooled_work.end_at_seven, range(8), 2))


@pytest.mark.slow
def test_500_exams_are_scored_once_each_whoever_is_killed(shared: None, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    tasks = write_exams(tmp_path, 500)
    alone = [score_exam(task) for task in tasks]
    together = []
    with working_with(DASK, HERE):
        for frame in iterate_in_pool(score_exam, tasks, 2):
            together.append(frame)
            if len(together) == 200:
                crew = pool._CREW.get()
                assert crew is not None
                workers = set(crew.backend.client.run(os.getpid).values())
                assert len(workers) == 2
                os.kill(workers.pop(), signal.SIGKILL)
    rows = pd.concat(together)
    assert not rows.duplicated(["exam_id", "structure", "metric"]).any()
    pd.testing.assert_frame_equal(rows, pd.concat(alone))


def write_exams(folder: Path, exams: int) -> list[ScoreTask]:
    random = np.random.default_rng(0)
    tasks = []
    for number in range(exams):
        files = [folder / name / f"e{number}.nii.gz" for name in ("prediction", "reference")]
        for path in files:
            path.parent.mkdir(exist_ok=True)
            label = random.integers(0, 3, (6, 6, 6)).astype(np.uint8)
            nibabel.save(nibabel.Nifti1Image(label, np.eye(4)), path)
        audit = Audit(metrics=["dice"])
        tasks.append(ScoreTask(f"e{number}", "gold", *files, None, {"vb": 1, "disc": 2}, audit))
    return tasks


def wait_for(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < seconds
        time.sleep(0.1)
