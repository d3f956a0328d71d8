"""Risk scores through the Python door, against scikit-learn and fairlearn."""

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame
from sklearn.metrics import roc_auc_score

import tworulers as tr


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    died = (rng.random(240) < 0.4).astype(int)
    risk = died + rng.normal(size=240)
    sex, age = rng.choice(["F", "M"], 240), rng.uniform(20, 90, 240)
    return pd.DataFrame({"died": died, "risk": risk, "sex": sex, "age": age})


@pytest.fixture(scope="module")
def result(table: pd.DataFrame) -> Any:
    return tr.audit_risk("died", "risk", ["sex", "age"], data=table, bins={"age": [50]})


def test_auc_by_group_and_their_difference_are_those_of_fairlearn(
    table: pd.DataFrame, result: Any
) -> None:
    told = MetricFrame(
        metrics=roc_auc_score,
        y_true=table["died"],
        y_pred=table["risk"],
        sensitive_features=table["sex"],
    )
    own = result.by_group[result.by_group["grouping"] == "sex"].set_index("group")["auc"]
    assert own["F"] == pytest.approx(told.by_group["F"])
    assert result.difference()["difference"].iloc[0] == pytest.approx(told.difference())
    assert result.ratio()["ratio"].iloc[0] == pytest.approx(told.ratio())
    row = result.difference().iloc[0]
    assert row["low"] < row["difference"] < row["high"]
    assert result.overall["value"].iloc[0] == pytest.approx(
        roc_auc_score(table["died"], table["risk"])
    )


def test_a_cell_is_the_chance_that_an_event_outscores_a_non_event(table: pd.DataFrame) -> None:
    cells = tr.auc_matrix(table["died"], table["risk"], table["sex"])
    events = table.query("died == 1 and sex == 'F'")["risk"].to_numpy()
    others = table.query("died == 0 and sex == 'M'")["risk"].to_numpy()
    assert cells.loc["F", "M"] == pytest.approx((events[:, None] > others).mean())


def test_an_auc_below_one_half_is_told(table: pd.DataFrame) -> None:
    with pytest.warns(tr.AuditWarning, match="the AUC of F is 0.* below one half"):
        tr.auc_matrix(1 - table["died"], table["risk"], table["sex"])
    turned = tr.audit_risk(1 - table["died"], table["risk"], table["sex"])
    assert turned.by_group["below_half"].all()
    assert set(turned.by_group["method"]) == {"score"}
    assert set(turned.intervals["interval"]) == {"mover"}
    assert any("below one half" in sentence for sentence in turned.sentences)


def test_arrays_series_and_names_of_columns_give_the_same(table: pd.DataFrame, result: Any) -> None:
    features = {"sex": table["sex"].to_numpy(), "age": table["age"].to_numpy()}
    arrays = tr.audit_risk(table["died"].tolist(), table["risk"].to_numpy(), features, bins=[50])
    pd.testing.assert_frame_equal(arrays.by_group, result.by_group)
    shuffled = table.set_axis([f"r{n}" for n in range(240)]).sample(frac=1, random_state=0)
    sides = shuffled["died"].sort_index(), shuffled["risk"], shuffled[["sex", "age"]].sort_index()
    series = tr.audit_risk(*sides, bins=[50])
    columns = ["grouping", "group", "n", "auc"]
    pd.testing.assert_frame_equal(series.by_group[columns], result.by_group[columns])


def test_a_result_prints_one_screen_and_tells_itself(result: Any) -> None:
    said = str(result)
    assert len(said.splitlines()) < 30
    assert "fair" not in said
    assert max(map(len, said.splitlines())) <= 100
    told = json.loads(result.to_json())
    assert told["schema_version"] == 3
    assert {"summary", "by_group", "tests", "intervals", "power", "sentences"} <= set(told)
    assert "<table>" in result.to_html()
    assert result.plot().get_axes()
    assert result.to_frame("tests").equals(result.tests)


def test_what_is_left_out_is_warned_of_and_kept(table: pd.DataFrame) -> None:
    risk = table["risk"].mask(table.index < 3, -9.0).mask(table.index == 5)
    lone = table["sex"].mask(table["died"] == 0, table["sex"]).where(table.index != 7, "X")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = tr.audit_risk(table["died"], risk, lone, sentinels=[-9.0])
    own = [str(w.message) for w in caught if issubclass(w.category, tr.AuditWarning)]
    assert own == result.warnings
    assert all(w.filename == __file__ for w in caught if w.category is tr.AuditWarning)
    assert any("3 rows have a code for no score" in text for text in own)
    assert any("sex: X has" in text for text in own)
    with pytest.warns(tr.AuditWarning, match="no finite value in X"):
        assert np.isnan(result.difference()["difference"].iloc[0])
    assert result.difference(skip_undefined=True)["difference"].iloc[0] > 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"y_true": ["yes", "no"] * 120}, "name the event by pos_label="),
        ({"y_true": ["yes", "no"] * 120, "pos_label": "y"}, "expected 'y' and one other level"),
        ({"y_score": ["high"] * 240}, "y_score: expected numbers, found 'high'"),
        ({"sensitive_features": ["age"]}, "no bins are given"),
        ({"sensitive_features": ["place"]}, "sensitive_features: no column 'place'; data has"),
        ({"use": "ranks"}, "use='ranks' is unknown"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    table: pd.DataFrame, change: dict[str, Any], said: str
) -> None:
    given = {"y_true": "died", "y_score": "risk", "sensitive_features": ["sex"]} | change
    with pytest.raises(ValueError, match=said):
        tr.audit_risk(data=table, **given)
