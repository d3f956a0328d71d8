"""Validation Dice is told apart by who drew the labels, with how many exams define it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.io.paths import Layout
from tworulers.io.records import write_table
from tworulers.recipe.task import CROSS_VALIDATION, CURVE
from tworulers.schema.settings import Configuration, Paths, Regime, Settings
from tworulers.schema.sources import Dataset
from tworulers.schema.table_models import Cohort
from tworulers.stages.train import summarise_folds
from tworulers.training.validation import average_validation


def make(provenances: str) -> pd.DataFrame:
    """Make two folds of exams with two structures, the second absent from the first exam."""
    rows = [
        (f"e{place}", name, np.nan if (name, place) == ("disc", 0) else dice, place % 2, kind)
        for place, kind in enumerate(provenances)
        for name, dice in (("vb", 0.8 if kind == "g" else 0.9), ("disc", 0.6))
    ]
    frame = pd.DataFrame(rows, columns=["exam_id", "structure", "dice", "fold", "provenance"])
    return frame.replace({"provenance": {"g": "gold", "s": "silver"}})


def test_gold_and_silver_are_averaged_apart_and_together() -> None:
    means = average_validation(make("ggss")).set_index(["labels", "structure"])
    assert list(dict.fromkeys(means.index.get_level_values("labels"))) == [
        "gold",
        "silver",
        "mixed",
    ]
    assert means.loc[("gold", "vb"), [0, 1]].tolist() == pytest.approx([0.8, 0.8])
    assert means.loc[("silver", "vb"), [0, 1]].tolist() == pytest.approx([0.9, 0.9])
    assert means.loc[("mixed", "vb"), [0, 1]].tolist() == pytest.approx([0.85, 0.85])
    assert np.isnan(means.loc[("gold", "disc"), 0])
    assert means.loc[("gold", "disc"), ["defined", "exams"]].tolist() == [1, 2]
    assert means.loc[("mixed", "disc"), ["defined", "exams"]].tolist() == [3, 4]
    assert means.loc[("silver", "macro"), 0] == pytest.approx(0.75)


def test_one_kind_of_labels_is_no_mixture() -> None:
    assert set(average_validation(make("gg"))["labels"]) == {"gold"}


def test_a_training_shows_them_and_says_that_they_are_mixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(
        dataset=Dataset("d"),
        regime=Regime("mix", "all labels"),
        configuration=Configuration("2d"),
        paths=Paths("repro"),
    )
    layout = Layout.of(settings, tmp_path)
    validation = make("ggss")
    exams = validation[["exam_id", "provenance"]].drop_duplicates()
    filled = {name: "" for name in Cohort.to_schema().columns if name not in exams}
    numbers = {"age": 1.0, "age_over_89": False, "field_strength_t": 1.5}
    numbers["patient_id"] = exams["exam_id"]
    write_table(exams.assign(**(filled | numbers)), layout.cohort / "cohort.parquet")
    curve = {"train_loss": [1.0], "val_loss": [1.0], "pseudo_dice": [0.5], "learning_rate": [0.1]}
    for fold, rows in validation.groupby("fold"):
        folder = layout.model("mix", "2d") / f"fold_{fold}"
        write_table(rows[["exam_id", "structure", "dice"]], folder / CROSS_VALIDATION)
        write_table(pd.DataFrame(curve), folder / CURVE)
    record = summarise_folds(settings, layout)
    assert record.metrics["validation/dice/vb"] == pytest.approx(0.85)
    assert record.metrics["validation/dice/vb/gold"] == pytest.approx(0.8)
    assert "by gold and silver labels, mixed" in record.description
    said = capsys.readouterr().out
    assert "1 of 2" in said
    assert "mixed" in said
