"""Confidence as a warning of failure: read for the scored exams, by every uncertainty there is, or not at all."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.io.paths import Layout
from tworulers.io.records import read_json, write_table
from tworulers.schema import Audit
from tworulers.stages._warning import UNCERTAINTIES, write_warning

N = 40
EXAMS = [f"e{i:02}" for i in range(N)]
DICE = pd.Series(np.linspace(0.6, 0.99, N), EXAMS)
PATIENTS = pd.Series(EXAMS, EXAMS)
SETTINGS = Audit("made", thresholds={"dice": 0.8}, min_group=5)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path, tmp_path / "in", tmp_path / "out")


@pytest.fixture
def scores() -> pd.DataFrame:
    macro = pd.DataFrame({"exam_id": EXAMS, "regime": "mix", "value": DICE.to_numpy()})
    parts = [
        macro.assign(structure="macro", metric="dice"),
        # Neither another structure nor another metric may call an exam failed.
        macro.assign(structure="disc", metric="dice", value=1.0),
        macro.assign(structure="macro", metric="hd95", value=0.0),
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def groups() -> pd.DataFrame:
    sexes = pd.Categorical(["F", "M"] * (N // 2), ["F", "M"], ordered=True)
    return pd.DataFrame({"sex": sexes}, index=pd.Index(EXAMS, name="exam_id"))


def keep_confidence(layout: Layout, top: pd.Series, **columns: object) -> None:
    """Keep a confidence for every exam, in another order and with one that nobody scored."""
    table = pd.DataFrame({"exam_id": top.index, "mean_top_probability": top.to_numpy()})
    table = table.assign(mean_entropy=1 - top.to_numpy(), disagreement=np.nan, **columns)
    extra = table.head(1).assign(exam_id="unscored", mean_top_probability=0.0)
    write_table(pd.concat([table.iloc[::-1], extra]), layout.confidence("mix"))


def write(
    scores: pd.DataFrame, groups: pd.DataFrame, layout: Layout, settings: Audit = SETTINGS
) -> dict[str, float]:
    return write_warning(scores, groups, PATIENTS, "silver", settings, layout, layout.root)


def test_confidence_that_follows_the_score_warns_of_every_failure(
    scores: pd.DataFrame, groups: pd.DataFrame, layout: Layout
) -> None:
    keep_confidence(layout, DICE)
    numbers = write(scores, groups, layout)
    assert numbers["warning/confidence/auc"] == 1
    assert numbers["warning/confidence/concordance"] == 1
    cells = pd.read_parquet(layout.root / "warning_cells.parquet")
    own = cells[
        (cells["uncertainty"] == "confidence") & (cells["events_of"] == cells["non_events_of"])
    ]
    failed = DICE <= 0.8
    expected = [int(failed[groups["sex"] == sex].sum()) for sex in ("F", "M")]
    assert own["n_events"].tolist() == expected
    assert not own["by_quantile"].any()


def test_confidence_that_is_sure_of_its_failures_warns_of_none(
    scores: pd.DataFrame, groups: pd.DataFrame, layout: Layout
) -> None:
    keep_confidence(layout, 1 - DICE)
    assert write(scores, groups, layout)["warning/confidence/auc"] == 0


def test_an_uncertainty_without_a_value_is_told_and_left_out(
    scores: pd.DataFrame, groups: pd.DataFrame, layout: Layout
) -> None:
    keep_confidence(layout, DICE)
    numbers = write(scores, groups, layout)
    said = read_json(layout.root / "warning.json", "audit")
    assert said["provenance"] == "silver"
    assert said["sentences"]["disagreement"] == ["disagreement is undefined for every exam"]
    assert not any("disagreement" in name for name in numbers)
    for name in ("cells", "metrics", "tests", "concordance"):
        table = pd.read_parquet(layout.root / f"warning_{name}.parquet")
        assert set(table["uncertainty"]) == set(UNCERTAINTIES) - {"disagreement"}


def test_where_the_threshold_leaves_too_few_failures_the_worst_exams_fail(
    scores: pd.DataFrame, groups: pd.DataFrame, layout: Layout
) -> None:
    keep_confidence(layout, DICE)
    write(scores, groups, layout, replace(SETTINGS, thresholds={"dice": 0.62}))
    cells = pd.read_parquet(layout.root / "warning_cells.parquet")
    assert cells["by_quantile"].all()
    assert cells["rule"].str.startswith("worst 25% of all exams").all()
    sentence = read_json(layout.root / "warning.json", "audit")["sentences"]["confidence"][0]
    assert "failed by silver labels" in sentence


def test_nothing_is_written_without_confidences_groups_or_dice(
    scores: pd.DataFrame, groups: pd.DataFrame, layout: Layout
) -> None:
    assert write(scores, groups, layout) == {}
    keep_confidence(layout, DICE)
    assert write(scores, groups[[]], layout) == {}
    assert write(scores[scores["metric"] == "hd95"], groups, layout) == {}
    assert not list(layout.root.glob("warning*"))
