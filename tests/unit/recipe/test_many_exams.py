"""A fold with more exams than a process may hold files open, trained by its own command."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from recipe_toy import RECIPE, make_task

from tworulers.recipe.store import StoredExam

TRAINED, LIMIT, PATIENCE_S = 731, 256, 240
SHORT = replace(
    RECIPE,
    plan=replace(RECIPE.plan, stages=2, base_features=2),
    epochs=1,
    iterations=90,
    validation_iterations=1,
    augmentation="none",
    select=False,
)


@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_a_fold_holds_no_exam_open(tmp_path: Path, workers: int) -> None:
    task = make_task(tmp_path, "2d", SHORT)
    exams = tuple(f"many_{i:03d}" for i in range(TRAINED))
    for folder in (Path(task.images), Path(task.labels)):
        for number, exam in enumerate(exams):
            for ending in ("npy", "npz"):
                (folder / f"{exam}.{ending}").symlink_to(f"toy_0{number % 5}.{ending}")
    trainer = replace(task.trainer, workers=workers)
    task = replace(task, train=exams, val=task.val[:1], trainer=trainer)
    file = tmp_path / "task.json"
    file.write_text(json.dumps(asdict(task)))
    limited = ["bash", "-c", f'ulimit -n {LIMIT} && exec "$@"', "limited"]
    command = [*limited, sys.executable, "-m", "tworulers.recipe.train", str(file)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        text=True,
        start_new_session=True,
    ) as process:
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            pytest.fail(f"still not done after {PATIENCE_S} s")
        assert process.stdout is not None
        said = process.stdout.read()
    assert process.returncode == 0, said[-3000:]
    assert json.loads(said.splitlines()[-1])["epoch"] == 0


def test_an_exam_is_closed_when_let_go(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    exam = StoredExam(task.train[0], Path(task.images), Path(task.labels))
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    shapes = exam.image.shape, exam.label.shape, exam.locations.keys()
    assert shapes[0][1:] == shapes[1]
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before
