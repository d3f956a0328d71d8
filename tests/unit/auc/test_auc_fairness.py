"""Every AUC fairness metric against brute force; its interval, family and appraisal."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tworulers.auc.bootstrap import bootstrap_matrices
from tworulers.auc.covariance import compute_covariance
from tworulers.auc.fairness import compare_within_groups, measure_fairness, tabulate_cells
from tworulers.auc.matrix import stratify_scores
from tworulers.auc.uses import (
    APPRAISALS,
    USES,
    Appraisal,
    AucMetric,
    Use,
    choose_metrics,
)
from tworulers.report.words.risk import OF_USE, TITLES, WHY

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "auc.json").read_text())["matrix_cases"]


def covariance_of(score, outcome, group):
    return compute_covariance(stratify_scores(score, outcome, group))


def random_covariance(seed: int, n: int = 400, groups: str = "ab"):
    rng = np.random.default_rng(seed)
    outcome = (rng.random(n) < 0.4).astype(int)
    group = np.array(list(groups))[rng.integers(0, len(groups), n)]
    return covariance_of(rng.normal(outcome, 1), outcome, group)


def pick(frame, metric, a, b=""):
    rows = frame[(frame.metric == metric) & (frame.group_a == a) & (frame.group_b == b)]
    assert len(rows) == 1
    return rows.iloc[0]


@pytest.mark.parametrize("name", GOLDEN)
def test_every_metric_equals_brute_force(name):
    case = GOLDEN[name]
    expected = case["expected"]
    frame = measure_fairness(covariance_of(case["score"], case["y"], case["group"]), level=0.95)
    for metric, pairs in expected["parity"].items():
        for pair, value in pairs.items():
            row = pick(frame, metric, *pair.split("|"))
            np.testing.assert_allclose(row.value, float(value), atol=1e-10, err_msg=str(row))
            assert np.isnan(row.value) == (row.undefined_because != "" and np.isnan(row.signed))
    summary = expected["summary"]
    for metric in ("within", "cross", "xauc1", "xauc0"):
        row = pick(frame, f"{metric}_difference", "max")
        np.testing.assert_allclose(
            row.value, float(summary[f"max_{metric}_difference"]), atol=1e-10
        )
    for group, value in summary["gap_to_overall"].items():
        np.testing.assert_allclose(
            pick(frame, "gap_to_overall", group).value, float(value), atol=1e-10
        )
    for metric, key in (
        ("minimum", "min_within_auc"),
        ("equity_scaled_gaps", "es_auc_luo"),
        ("equity_scaled_parity", "es_auc_parity"),
    ):
        row = pick(frame, metric, "all")
        np.testing.assert_allclose(row.value, float(summary[key]), atol=1e-10)
        assert np.isnan(row.value) == bool(row.undefined_because)


def test_parities_that_touch_an_undefined_cell_are_undefined_with_the_reason():
    uncertain = covariance_of(
        [0.8, 0.35, 0.3, 0.5, 0.1, 0.2, 0.6, 0.4], [1, 1, 0, 0, 0, 0, 0, 0], list("AAAAABBB")
    )
    frame = measure_fairness(uncertain, level=0.95)
    for metric in ("within_difference", "within_ratio", "cross_difference", "xauc1_difference"):
        row = pick(frame, metric, "A", "B")
        assert np.isnan(row.value)
        assert "no_events in B" in row.undefined_because
    assert pick(frame, "xauc0_difference", "A", "B").value == pytest.approx(1 / 6)
    cells = tabulate_cells(uncertain, level=0.95)
    assert cells.n_pairs.tolist() == [6, 6, 0, 0]
    assert cells.undefined_because.tolist() == ["", "", "no_events in B", "no_events in B"]
    assert "few_events in A (2)" in cells.remarks[0]


@pytest.mark.parametrize("outcome", [[0] * 6, [1] * 6])
def test_one_class_leaves_every_metric_undefined_with_a_reason(outcome):
    uncertain = covariance_of([1, 2, 3, 4, 5, 6], outcome, list("aaabbb"))
    frame = measure_fairness(uncertain, level=0.95)
    assert frame.value.isna().all()
    assert frame.undefined_because.ne("").all()
    assert compare_within_groups({"g": uncertain}, level=0.95).p.isna().all()


def test_signed_differences_follow_the_order_of_the_groups_and_name_the_better_one():
    score, outcome = [3, 1, 2, 4, 2, 1, 3, 0], [1, 1, 0, 0, 1, 1, 0, 0]
    sample = stratify_scores(score, outcome, list("aaaabbbb"), group_order=["b", "a"])
    row = pick(
        measure_fairness(compute_covariance(sample), level=0.95), "within_difference", "b", "a"
    )
    assert row.signed == pytest.approx(0.5 - 0.25)
    assert row.better == "b"


def test_log_ratio_interval_agrees_with_the_bootstrap():
    rng = np.random.default_rng(2)
    outcome = np.tile([1] * 60 + [0] * 80, 2)
    group = np.repeat(["a", "b"], 140)
    sample = stratify_scores(rng.normal(outcome * np.where(group == "a", 1.2, 0.5)), outcome, group)
    row = pick(measure_fairness(compute_covariance(sample), level=0.95), "within_ratio", "a", "b")
    drawn = bootstrap_matrices(sample, draws=4000, seed=1)
    ratio = drawn[:, 0, 0] / drawn[:, 1, 1]
    np.testing.assert_allclose([row.low, row.high], np.quantile(ratio, [0.025, 0.975]), rtol=0.03)
    assert row.value == pytest.approx(1 / row.signed)


def test_two_groups_omnibus_agrees_with_the_test_of_the_pair():
    uncertain = random_covariance(1)
    table = compare_within_groups({"sex": uncertain}, level=0.95)
    pair, whole = table[table.family == "pairs"].iloc[0], table[table.family == "groupings"].iloc[0]
    auc, se = uncertain.matrix.within, np.diag(uncertain.cell_errors())
    assert whole.p == pytest.approx(pair.p, rel=0.05)
    assert whole.p == pytest.approx(stats.chi2.sf(whole.statistic, 1))
    assert pair.delong_p == pytest.approx(2 * stats.norm.sf(abs(auc[0] - auc[1]) / np.hypot(*se)))


def test_a_group_of_one_event_is_compared_with_a_remark_and_is_in_the_omnibus_test():
    rng = np.random.default_rng(8)
    outcome = np.array([1] * 30 + [0] * 30 + [1] * 30 + [0] * 30 + [1] + [0] * 30 + [0] * 9)
    group = np.array(["a"] * 60 + ["b"] * 60 + ["c"] * 31 + ["d"] * 9)
    table = compare_within_groups(
        {"g": covariance_of(rng.normal(outcome), outcome, group)}, level=0.95
    )
    whole = table[table.family == "groupings"].iloc[0]
    assert whole.n_groups == 3
    assert whole.remarks == "without d (0 events, 9 non-events)"
    lone = table[(table.group_a == "a") & (table.group_b == "c")].iloc[0]
    assert lone.remarks == "few_events in c (1); no standard error: one_event in c"
    assert lone.low < lone.difference < lone.high
    assert np.isnan(lone.delong_p)


def test_families_are_adjusted_over_groupings_without_the_tests_that_failed():
    tables = {
        name: random_covariance(k, groups=g)
        for k, (name, g) in enumerate([("sex", "ab"), ("race", "abc"), ("site", "abcd")])
    }
    tables["broken"] = covariance_of([1, 2, 3, 4], [0, 1, 0, 0], list("aabb"))
    table = compare_within_groups(tables, level=0.95)
    pairs = table[table.family == "pairs"]
    assert (pairs.family_size == 1 + 3 + 6).all()
    valid = pairs.p.notna()
    assert not valid[pairs.grouping == "broken"].any()
    expected = multipletests(pairs.p[valid], method="fdr_bh")[1]
    np.testing.assert_allclose(pairs.p_fdr[valid], expected)
    assert pairs.p_fdr[~valid].isna().all()
    assert pairs.undefined_because[~valid].ne("").all()
    assert (table[table.family == "groupings"].family_size == 3).all()


def test_omnibus_test_keeps_its_level_under_the_null():
    p = [
        compare_within_groups({"g": random_covariance(s, groups="abc")}, level=0.95).p.iloc[-1]
        for s in range(200)
    ]
    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.10


def test_every_metric_has_an_appraisal_and_the_poor_ones_wait_to_be_asked():
    assert set(APPRAISALS) == set(TITLES) == set(WHY) == set(AucMetric)
    assert set(OF_USE) == set(Use)
    poor = {m for m, a in APPRAISALS.items() if a == Appraisal.NOT_RECOMMENDED}
    assert {str(metric) for metric in poor} == {
        "gap_to_overall", "equity_scaled_parity", "equity_scaled_gaps", "minimum",
    }  # fmt: skip
    for use in Use:
        shown = choose_metrics(use, all_metrics=False)
        assert not poor & set(shown)
        assert shown[AucMetric.OVERALL] == "primary"
        assert shown[AucMetric.CELL] == "primary"
        assert AucMetric.WITHIN_DIFFERENCE in shown
        assert set(choose_metrics(use, all_metrics=True)) == set(AucMetric)
    assert choose_metrics(Use.RANKING, all_metrics=False)[AucMetric.XAUC1] == "primary"
    assert AucMetric.CROSS_DIFFERENCE in USES[Use.SINGLE_THRESHOLD].primary
    assert AucMetric.CROSS_DIFFERENCE not in choose_metrics(Use.GROUP_THRESHOLDS, all_metrics=False)
