"""Differences and ratios of groups: undefined with a group, bounds of signed pairs alone, never over nothing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tworulers.api.contrasts import contrast_groups

NOTHING = pd.DataFrame(
    columns=["grouping", "metric", "of", "contrast", "group", "against", "low", "high"]
)


def by_group(**values: float) -> pd.DataFrame:
    frame = pd.DataFrame({"group": list(values), "mean": list(values.values())})
    return frame.assign(grouping="sex", metric="dice")


def pair(contrast: str, group: str, against: str, low: float, high: float) -> pd.DataFrame:
    row = {"of": "mean", "contrast": contrast, "group": group, "against": against}
    return pd.DataFrame([{"grouping": "sex", "metric": "dice", **row, "low": low, "high": high}])


def contrast(table: pd.DataFrame, kind: str = "difference", **more: Any) -> dict[str, Any]:
    intervals = more.pop("intervals", NOTHING)
    found, faults = contrast_groups(
        table, intervals, "mean", kind, more.pop("reference", {}), **more
    )
    return found.iloc[0].to_dict() | {"faults": faults, "rows": len(found)}


def test_extremes_are_named_and_a_kept_pair_is_turned() -> None:
    kept = pair("difference", "F", "M", -0.3, 0.1)
    found = contrast(by_group(F=0.7, M=0.8), intervals=kept)
    assert (found["group"], found["against"]) == ("M", "F")
    assert found["difference"] == pytest.approx(0.1)
    assert (found["low"], found["high"]) == (-0.1, 0.3)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_one_undefined_group_makes_it_undefined_and_is_named(value: float) -> None:
    table = by_group(A=0.7, B=0.9, C=value)
    for kind in ("difference", "ratio"):
        found = contrast(table, kind)
        assert np.isnan(found[kind])
        assert "no finite value in C" in found["faults"][0]
        told = contrast(table, kind, skip_undefined=True)
        assert told["faults"] == []
        assert {told["group"], told["against"]} == {"A", "B"}
    assert len(contrast(by_group(A=value, B=value), skip_undefined=True)["faults"]) == 1


def test_extremes_of_several_groups_have_no_bounds_but_those_of_the_choice() -> None:
    table = by_group(A=0.6, B=0.8, C=0.7)
    kept = pd.concat([pair("difference", "B", "A", 0.1, 0.3), pair("ratio", "A", "B", 0.5, 0.9)])
    assert np.isnan(contrast(table, intervals=kept)["low"])
    assert np.isnan(contrast(table, "ratio", intervals=kept)["low"])
    chosen = pd.concat([kept, pair("lowest over highest", "A", "B", 0.6, 0.95)])
    found = contrast(table, "ratio", intervals=chosen)
    assert (found["low"], found["high"]) == (0.6, 0.95)


def test_each_group_is_set_against_the_reference_that_was_given() -> None:
    kept = pair("difference", "B", "A", 0.1, 0.3)
    found, _ = contrast_groups(
        by_group(A=0.6, B=0.8, C=0.5), kept, "mean", "difference", {"sex": "A"}
    )
    assert found["group"].tolist() == ["B", "C"]
    assert found["difference"].tolist() == pytest.approx([0.2, -0.1])
    assert found["low"].tolist()[0] == 0.1


def test_nothing_is_divided_by_nothing() -> None:
    assert np.isnan(contrast(by_group(A=0.0, B=0.0), "ratio")["ratio"])
    assert np.isnan(contrast(by_group(A=-0.1, B=0.5), "ratio")["ratio"])
    assert contrast(by_group(A=0.0, B=0.5), "ratio")["ratio"] == 0.0


def test_every_pair_has_its_own_bounds_where_asked_for() -> None:
    table = by_group(A=0.6, B=0.8, C=0.7)
    kept = pd.concat(
        [pair("difference", "B", "A", 0.1, 0.3), pair("difference", "C", "B", -0.2, 0)]
    )
    found, faults = contrast_groups(table, kept, "mean", "difference", {}, pairs=True)
    assert found[["group", "against"]].to_numpy().tolist() == [["B", "A"], ["C", "A"], ["C", "B"]]
    assert found["difference"].tolist() == pytest.approx([0.2, 0.1, -0.1])
    assert found["low"].tolist() == pytest.approx([0.1, np.nan, -0.2], nan_ok=True)
    assert faults == []
    lacking = by_group(A=0.6, B=np.nan, C=0.7)
    found, faults = contrast_groups(lacking, kept, "mean", "difference", {}, pairs=True)
    assert found["difference"].isna().all()
    assert "no finite value in B" in faults[0]
    found, _ = contrast_groups(
        lacking, kept, "mean", "difference", {}, pairs=True, skip_undefined=True
    )
    assert found[["group", "against"]].to_numpy().tolist() == [["C", "A"]]
