"""Differences of who is selected at a threshold, against fairlearn, and how often their intervals hold the truth."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import equal_opportunity_difference, equalized_odds_difference
from statsmodels.stats.proportion import confint_proportions_2indep

from tworulers.auc.odds import compare_odds


def draw(seed: int, n: int = 150, shift: float = 0.0):
    rng = np.random.default_rng(seed)
    event = rng.random(n) < 0.4
    names = rng.choice(["a", "b", "c"], n)
    score = event + rng.normal(size=n) + shift * (names == "c")
    return score, event, pd.Series(pd.Categorical(names, ordered=True))


def compare(score, event, groups, units=None, thresholds=None) -> pd.DataFrame:
    whose = np.arange(len(score)) if units is None else units
    limits = dict.fromkeys("abc", 0.5) | (thresholds or {})
    return compare_odds(score, event, groups, limits, whose)


def test_the_largest_over_all_pairs_are_those_of_fairlearn() -> None:
    score, event, groups = draw(1)
    found = compare(score, event, groups)
    largest = found["value"].abs().groupby(found["metric"]).max()
    given = {"y_true": event, "y_pred": score >= 0.5, "sensitive_features": groups}
    assert largest["equal_opportunity_difference"] == pytest.approx(
        equal_opportunity_difference(**given)
    )
    assert largest["equalized_odds_difference"] == pytest.approx(equalized_odds_difference(**given))


def test_a_signed_difference_has_newcombes_interval() -> None:
    score, event, groups = draw(2)
    row = compare(score, event, groups).iloc[0]
    assert (row["metric"], row["group"], row["against"]) == (
        "equal_opportunity_difference",
        "a",
        "b",
    )
    counts = [
        (int((score[m] >= 0.5).sum()), int(m.sum()))
        for m in ((event & (groups == name).to_numpy()) for name in "ba")
    ]
    bounds = confint_proportions_2indep(*counts[1], *counts[0], method="newcomb")
    assert (row["low"], row["high"]) == pytest.approx(bounds)


def test_the_odds_difference_reaches_zero_unless_one_of_the_two_excludes_it() -> None:
    near, far = (compare(*draw(3, n=900, shift=shift)) for shift in (0.0, 3.0))
    for found, is_zero in ((near, True), (far, False)):
        last = found[found["metric"] == "equalized_odds_difference"].iloc[1]
        assert (last["low"] == 0) == is_zero
        assert last["low"] <= last["value"] <= last["high"]


def test_intervals_hold_the_truth_and_exclude_no_zero_under_the_null() -> None:
    inside = []
    for seed in range(300):
        found = compare(*draw(seed, n=120)).set_index(["metric", "group", "against"])
        inside.append((found["low"] <= 0) & (found["high"] >= 0))
    held = pd.concat(inside, axis=1).mean(axis=1)
    assert held.min() > 0.92
    assert held.loc["equalized_odds_difference"].min() > 0.93


def test_copies_of_a_row_tell_no_more_than_the_row() -> None:
    score, event, groups = draw(5, n=90)
    once = compare(score, event, groups)
    repeated = (np.repeat(part, 3) for part in (score, event))
    thrice = compare(*repeated, groups.repeat(3), np.repeat(np.arange(90), 3))
    assert thrice["value"].tolist() == pytest.approx(once["value"].tolist())
    widths = [(one["high"] - one["low"]).mean() for one in (once, thrice)]
    assert widths[1] == pytest.approx(widths[0], rel=0.05)


def test_a_group_without_events_or_threshold_is_named() -> None:
    score, event, groups = draw(6)
    none = event & (groups != "c").to_numpy()
    found = compare(score, none, groups).set_index(["metric", "group", "against"])
    row = found.loc[("equal_opportunity_difference", "a", "c")]
    assert np.isnan(row["value"])
    assert row["undefined_because"] == "no events in c"
    assert found.loc[("false_positive_rate_difference", "a", "c"), "undefined_because"] == ""
    assert (
        found.loc[("equalized_odds_difference", "b", "c"), "undefined_because"] == "no events in c"
    )
    unset = compare(score, event, groups, thresholds={"b": np.nan})
    assert set(unset["undefined_because"]) == {"no threshold for b", ""}
