"""Training shows about ten plain lines a fold where there is no terminal."""

from pathlib import Path

import pytest

from tworulers.recipe.task import FoldTask
from tworulers.schema import Recipe, Trainer
from tworulers.stages._fold_progress import FoldProgress


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
