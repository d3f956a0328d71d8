"""Mean scores, calibration and rates by group against hand-made counts and libraries."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
from scipy import stats
from sklearn.calibration import calibration_curve
from statsmodels.stats.proportion import proportion_confint

from tworulers.auc.calibration import (
    choose_bin_edges,
    find_group_thresholds,
    tabulate_calibration,
    tabulate_mean_scores,
    tabulate_rates,
)
from tworulers.auc.matrix import stratify_scores

RNG = np.random.default_rng(4)
SCORE = RNG.random(400)
OUTCOME = (RNG.random(400) < SCORE).astype(int)
GROUP = np.array(["a", "b"])[RNG.integers(0, 2, 400)]
SAMPLE = stratify_scores(SCORE, OUTCOME, GROUP)


def test_mean_scores_carry_a_t_interval_and_the_prevalence():
    table = tabulate_mean_scores(SAMPLE, level=0.95)
    row = table[(table.group == "a") & (table.outcome == "event")].iloc[0]
    values = SCORE[(GROUP == "a") & (OUTCOME == 1)]
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    assert (row.n, row["mean"], row.low, row.high) == pytest.approx(
        (len(values), values.mean(), low, high)
    )
    assert row.prevalence == pytest.approx(OUTCOME[GROUP == "a"].mean())


def test_a_group_without_events_keeps_its_row_with_a_reason():
    table = tabulate_mean_scores(stratify_scores([0.1, 0.2], [0, 0], ["a", "a"]), level=0.95)
    row = table[table.outcome == "event"].iloc[0]
    assert (row.n, row.undefined_because) == (0, "no_rows")
    assert np.isnan(row["mean"])


def test_calibration_bins_equal_scikit_learn():
    table = tabulate_calibration(SAMPLE, edges=np.linspace(0, 1, 6), level=0.95)
    for name in "ab":
        own = table[(table.group == name) & (table.bin != "all")]
        observed, expected = calibration_curve(
            OUTCOME[name == GROUP], SCORE[name == GROUP], n_bins=5
        )
        np.testing.assert_allclose(own.observed, observed)
        np.testing.assert_allclose(own.expected, expected)
        assert own.n.sum() == (name == GROUP).sum()
        first = own.iloc[0]
        low, high = proportion_confint(first.n_events, first.n, method="wilson")
        assert (first.low, first.high) == pytest.approx((low, high))


def test_observed_over_expected_of_the_whole_group():
    table = tabulate_calibration(
        stratify_scores([0.1] * 50, [1] * 10 + [0] * 40, ["a"] * 50), edges=[0, 1], level=0.95
    )
    row = table[table.bin == "all"].iloc[0]
    assert row.observed_over_expected == pytest.approx(2.0)
    # Exact Poisson limits of 10 observed events are 4.795 and 18.390.
    assert (row.ratio_low, row.ratio_high) == pytest.approx((0.959, 3.678), abs=1e-3)


def test_scores_that_are_no_probabilities_are_refused():
    with pytest.raises(ValueError, match="probabilities in"):
        tabulate_calibration(
            stratify_scores([1.5, 0.2], [1, 0], ["a", "a"]), edges=[0, 1], level=0.95
        )


def test_quantile_edges_cover_zero_to_one_even_with_ties():
    edges = choose_bin_edges([0.2] * 9 + [0.9], bins=5)
    assert edges[0] == 0
    assert edges[-1] == 1
    assert (np.diff(edges) > 0).all()


def test_rates_at_a_threshold_equal_fairlearn():
    table = tabulate_rates(SAMPLE, thresholds=0.6, level=0.95)
    frame = MetricFrame(
        metrics={
            "selected": selection_rate,
            "sensitivity": true_positive_rate,
            "false_positive": false_positive_rate,
        },
        y_true=OUTCOME,
        y_pred=(SCORE >= 0.6).astype(int),
        sensitive_features=GROUP,
    ).by_group
    for name in "ab":
        own = table[table.group == name].set_index("rate").value
        for rate in frame.columns:
            assert own[rate] == pytest.approx(frame.loc[name, rate])


def test_a_rate_over_nobody_is_undefined_with_its_reason():
    table = tabulate_rates(
        stratify_scores([0.1, 0.2], [0, 0], ["a", "a"]), thresholds=0.5, level=0.95
    )
    own = table.set_index("rate")
    assert own.undefined_because.to_dict() == {
        "selected": "",
        "sensitivity": "no_events",
        "false_positive": "",
        "ppv": "none_selected",
    }
    assert np.isnan(own.value["sensitivity"])


def test_group_thresholds_reach_the_wanted_sensitivity_and_no_lower_one_is_needed():
    chosen = find_group_thresholds(SAMPLE, sensitivity=0.9)
    table = tabulate_rates(SAMPLE, thresholds=chosen, level=0.95)
    for row in table[table.rate == "sensitivity"].itertuples():
        assert row.value >= 0.9
        assert (row.successes - 1) / row.n < 0.9
    assert find_group_thresholds(
        stratify_scores([10 - i for i in range(10)], [1] * 10, ["a"] * 10), sensitivity=0.9
    ) == {"a": 2.0}


def test_a_group_without_events_has_no_threshold_and_no_rates():
    sample = stratify_scores([0.1, 0.9, 0.3], [0, 1, 0], ["a", "a", "b"])
    chosen = find_group_thresholds(sample, sensitivity=0.9)
    assert np.isnan(chosen["b"])
    own = tabulate_rates(sample, thresholds=chosen, level=0.95)
    own = own[own.group == "b"]
    assert own.value.isna().all()
    assert set(own.undefined_because) == {"no_threshold"}
