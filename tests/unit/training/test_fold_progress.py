"""Training shows about ten plain lines a fold where there is no terminal."""

from dataclasses import replace
from pathlib import Path

import pytest

from tworulers.recipe.task import FoldTask
from tworulers.schema.settings import Recipe, Trainer
from tworulers.training.fold_progress import FoldProgress, tell_duration


def make_task(epochs: int) -> FoldTask:
    nowhere = Path("nowhere").as_posix()
    return FoldTask(
        name="gold 2d fold 0", plans=nowhere, dataset=nowhere, configuration="2d",
        recipe=Recipe(epochs=epochs), trainer=Trainer(), train=("a",), val=("b",), images=nowhere,
        labels=nowhere, scratch=nowhere, output=nowhere,
    )  # fmt: skip


@pytest.mark.parametrize(("epochs", "lines"), [(1, 1), (7, 7), (10, 10), (1000, 10)])
def test_lines_a_fold(capsys: pytest.CaptureFixture[str], epochs: int, lines: int) -> None:
    task = make_task(epochs)
    epoch = {
        "train_loss": -0.5, "smoothed_pseudo_dice": 0.8, "learning_rate": 0.01, "seconds": 2.0,
    }  # fmt: skip
    with FoldProgress([task]) as progress:
        for index in range(epochs):
            progress.report(task, {"epoch": index, **epoch})
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == lines
    last = f"epoch {epochs} of {epochs}, loss -0.500, smoothed Dice 0.800, rate 1.0e-02, 0 s left"
    assert shown[-1] == f"gold 2d fold 0: {last}"


def report_epochs(progress: FoldProgress, task: FoldTask, seconds: list[float]) -> None:
    for index, took in enumerate(seconds):
        epoch = {"train_loss": 0.0, "smoothed_pseudo_dice": 0.0, "learning_rate": 0.01}
        progress.report(task, {"epoch": index, "seconds": took, **epoch})


def test_time_left_is_by_the_mean_of_epochs_without_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    task = make_task(10)
    with FoldProgress([task]) as progress:
        report_epochs(progress, task, [90.0, 20.0, 40.0, 6.0])
    # 22 s an epoch, 6 to go
    assert capsys.readouterr().err.splitlines()[-1].endswith(", 2 min left")


def test_time_left_of_all_folds_counts_those_that_wait(capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [replace(make_task(10), name=f"fold {fold}") for fold in range(3)]
    with FoldProgress(tasks) as progress:
        report_epochs(progress, tasks[0], [10.0] * 4)
        report_epochs(progress, tasks[1], [10.0] * 2)
    # two at a time: 6 + 8 + 10 epochs of 10 s by two processes
    assert capsys.readouterr().err.splitlines()[-1].endswith("80 s left, 2 min of all folds")


@pytest.mark.parametrize(
    ("seconds", "told"), [(7, "7 s"), (119, "119 s"), (1800, "30 min"), (90_000, "25.0 h")]
)
def test_durations(seconds: float, told: str) -> None:
    assert tell_duration(seconds) == told
