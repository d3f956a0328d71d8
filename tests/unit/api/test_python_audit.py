"""Scores through the Python door: forms of input, against fairlearn, and the same as through the command's loader."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame

import tworulers as tr
from tworulers.ingest.study_tables import load_tables
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping, ScoreTable


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Forty exams of thirty patients, two structures, one score undefined."""
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(
        {
            "exam_id": [f"e{n:02}" for n in range(40)],
            "who": [f"p{n % 30}" for n in range(40)],
            "sex": ["F", "M"] * 20,
            "age": rng.uniform(20, 90, 40).round(),
            "dice_vb": rng.uniform(0.7, 0.95, 40).round(3),
            "dice_disc": rng.uniform(0.6, 0.9, 40).round(3),
        }
    )
    frame.loc[3, "dice_disc"] = np.nan
    return frame.set_index("exam_id")


@pytest.fixture(scope="module")
def result(table: pd.DataFrame) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        return tr.audit(table, ["sex", "age"], provenance="gold", bins=[50], success={"dice": 0.8})


def test_means_rates_and_differences_are_those_of_fairlearn(
    table: pd.DataFrame, result: Any
) -> None:
    told = MetricFrame(
        metrics={"mean": lambda _, y: np.mean(y), "rate": lambda _, y: np.mean(y > 0.8)},
        y_true=table["dice_vb"],
        y_pred=table["dice_vb"],
        sensitive_features=table["sex"],
    )
    own = result.by_group.query("grouping == 'sex' and structure == 'vb'").set_index("group")
    for name in ("mean", "rate"):
        assert own[name].to_dict() == pytest.approx(told.by_group[name].to_dict())
        difference = result.difference(of=name).loc[("sex", "vb", "dice")]
        assert difference["difference"] == pytest.approx(told.difference()[name])
        assert result.ratio(of=name).loc[("sex", "vb", "dice"), "ratio"] == pytest.approx(
            told.ratio()[name]
        )
        assert difference["low"] < difference["difference"] < difference["high"]
    ratio = result.ratio(of="rate").loc[("sex", "vb", "dice")]
    (row,) = (
        result.study.audit()
        .disparities.query("grouping == 'sex' and structure == 'vb'")
        .to_dict("records")
    )
    assert (ratio["low"], ratio["high"]) == (row["dir_low"], row["dir_high"])


def test_all_forms_of_input_give_the_same(table: pd.DataFrame, result: Any) -> None:
    wide = table[["dice_vb", "dice_disc"]]
    long = wide.reset_index().melt("exam_id", var_name="structure")
    long = long.assign(structure=long["structure"].str.removeprefix("dice_"), metric="dice")
    features = table[["sex", "age"]].sample(frac=1, random_state=1)
    asked: dict[str, Any] = {"provenance": "gold", "bins": {"age": [50]}, "success": 0.8}
    keys = ["grouping", "structure", "metric", "group"]
    for scores, groups, data in (
        (wide, features, None),
        (long.sample(frac=1, random_state=2), features, None),
        (["dice_vb", "dice_disc"], ["sex", "age"], table.reset_index()),
        (wide, {name: table[name].to_numpy() for name in features}, None),
    ):
        with pytest.warns(tr.AuditWarning, match="disc Dice is undefined in 1 of 40 exams"):
            found = tr.audit(scores, groups, data=data, **asked)
        for name, by in (("by_group", keys), ("tests", keys[:3])):
            one, other = (
                getattr(side, name).sort_values(by, ignore_index=True) for side in (found, result)
            )
            pd.testing.assert_frame_equal(one, other)
    alone = tr.audit("dice_vb", ["sex"], data=table, metric="dice", provenance="gold")
    sides = table["dice_vb"].to_numpy(), {"sex": table["sex"].to_numpy()}
    array = tr.audit(*sides, metric="dice", provenance="gold")
    told = ["structure", "p", "effect", "median_gap", "best_group"]
    pd.testing.assert_frame_equal(alone.tests[told], array.tests[told])
    assert alone.tests["structure"].tolist() == ["all"]


def test_it_is_what_the_command_finds_in_the_same_table(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    table.rename(columns={"who": "patient_id"}).reset_index().to_csv(
        tmp_path / "t.csv", index=False
    )
    sex = Grouping("sex", "levels", "sex", {"F": ["F"], "M": ["M"]})
    settings = Audit("python", metrics=["dice"], thresholds={"dice": 0.8}, linear=False)
    spec = ScoreTable(file=str(tmp_path / "t.csv"), provenance="gold")
    study = load_tables([spec], settings, Attributes("sex", groupings={"sex": sex}))
    with pytest.warns(tr.AuditWarning):
        found = tr.audit(
            table, ["sex"], provenance="gold", success={"dice": 0.8}, subject_id=table["who"]
        )
    ours, theirs = found.study.audit(), study.audit()
    for name in ("tests", "rates", "disparities", "differences"):
        one, other = (getattr(side, name) for side in (ours, theirs))
        drop = [column for column in ("ruler",) if column in one]
        pd.testing.assert_frame_equal(one.drop(columns=drop), other.drop(columns=drop))
    assert found.metadata["patients"] == 30
    assert set(found.tests["verdict_by"]) == {"patient"}


def test_what_it_says_names_the_provenance_and_never_says_fair(result: Any) -> None:
    said = str(result)
    assert said.count("gold: drawn by experts") == 2
    assert "fair" not in said
    assert len(said.splitlines()) < 30
    assert result.summary["verdict"].tolist() == ["not shown", "not shown"]
    assert len(result.power)
    assert result.plot().get_axes()
    assert result.warnings == ["disc Dice is undefined in 1 of 40 exams"]


def test_each_group_against_a_reference_and_crossed_groups(table: pd.DataFrame) -> None:
    younger = f"<{min(age for age in table['age'] if age >= table['age'].median()):g}"
    found = tr.audit(
        table[["dice_vb"]], table[["sex", "age"]], provenance="gold", bins="median",
        intersectional=True, reference={"sex": "M", "age": younger},
    )  # fmt: skip
    told = found.difference().reset_index().set_index("grouping")
    assert told.loc["sex", ["group", "against"]].tolist() == ["F", "M"]
    assert told.loc["sex", "low"] < told.loc["sex", "difference"] < told.loc["sex", "high"]
    assert found.summary["grouping"].tolist() == ["sex", "age", "sex_x_age"]
    assert len(found.by_group.query("grouping == 'sex_x_age'")) == 4


def test_a_metric_of_ones_own_is_told_in_its_unit(table: pd.DataFrame) -> None:
    own = tr.Metric("offset", "Offset", higher_is_better=False, unit="mm")
    found = tr.audit(
        np.r_[np.linspace(-3, 3, 20), np.linspace(9, 20, 20)], {"site": ["a"] * 20 + ["b"] * 20},
        provenance="silver", metric=own, success=5,
    )  # fmt: skip
    assert re.search(r"best a, worst b, medians 14\.50? mm apart", found.sentences[2])
    assert found.by_group.set_index("group").loc["a", "rate"] == 1.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"provenance": "experts"}, "provenance of 'ruler' is 'experts'; without it no verdict"),
        ({"scores": "dice_vbx"}, "scores: no column 'dice_vbx'; data has"),
        ({"scores": pd.Series(range(40), name="x")}, "no column of .* says what it holds"),
        ({"sensitive_features": ["age"]}, r"no bins are given; .*age: \[40, 60\]"),
        ({"sensitive_features": pd.Series(["F"] * 40, name="sex")}, "expected one row for each"),
        ({"success": {"hd95": 5}}, r"success is given for \['hd95'\], which is not scored"),
        ({"scores": ["who"], "metric": "dice"}, "expected numbers, found 'p0' for exam 'e00'"),
        ({"scores": ["age"], "metric": "dice"}, "expected values from 0 to 1, found .* for exam"),
        ({"bins": [50]}, "say of which feature"),
        ({"reference": {"sex": "f"}}, r"reference: no group 'f' of 'sex'; there are \['F', 'M'\]"),
        ({"reference": {"site": "F"}}, r"no group 'F' of 'site'; .*groupings: sex"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    table: pd.DataFrame, change: dict[str, Any], said: str
) -> None:
    given = {"scores": ["dice_vb"], "sensitive_features": ["sex"], "provenance": "gold"} | change
    with pytest.raises(ValueError, match=said):
        tr.audit(data=table, **given)
