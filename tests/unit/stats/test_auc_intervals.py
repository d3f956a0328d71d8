"""DeLong's covariance against brute force, resampling, and the coverage of its intervals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tworulers.stats.auc import compute_matrix, stratify_scores
from tworulers.stats.auc_intervals import (
    bootstrap_matrices,
    compute_covariance,
    estimate_auc,
    estimate_difference,
    estimate_overall,
    percentile_interval,
)

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "auc.json").read_text())["matrix_cases"]


def make_table(seed: int, n: int = 300, groups: str = "abc"):
    rng = np.random.default_rng(seed)
    outcome = (rng.random(n) < 0.4).astype(int)
    group = np.array(list(groups))[rng.integers(0, len(groups), n)]
    return np.round(rng.normal(outcome, 1), 1), outcome, group


def contrasts(matrix):
    within, cross = np.diag([1.0, -1.0]), np.array([[0.0, 1.0], [-1.0, 0.0]])
    xauc1 = np.stack([matrix.non_event_shares, -matrix.non_event_shares])
    xauc0 = np.stack([matrix.event_shares, -matrix.event_shares], axis=1)
    return {
        "within_difference": within,
        "cross_difference": cross,
        "xauc1_difference": xauc1,
        "xauc0_difference": xauc0,
        "overall": matrix.pair_weights,
    }


@pytest.mark.parametrize("name", GOLDEN)
def test_standard_errors_equal_brute_force(name):
    case = GOLDEN[name]
    sample = stratify_scores(case["score"], case["y"], case["group"])
    matrix = compute_matrix(sample)
    uncertain = compute_covariance(sample, matrix)
    errors = uncertain.cell_errors()
    for key, expected in case["expected"]["delong_se_cells"].items():
        g, h = (matrix.position(part) for part in key.split("|"))
        if min(matrix.n_events[g], matrix.n_non_events[h]) < 2:
            assert np.isnan(errors[g, h]), "one event or non-event has no variance"
        else:
            assert errors[g, h] == pytest.approx(expected, abs=1e-9)
    if len(matrix.groups) == 2 and min(*matrix.n_events, *matrix.n_non_events) >= 2:
        for metric, coefficients in contrasts(matrix).items():
            found = estimate_difference(uncertain, coefficients, level=0.95)
            expected = case["expected"]["delong_se"][metric]
            assert found.se == pytest.approx(expected, abs=1e-9)


def test_bootstrap_agrees_with_delong_in_every_cell():
    sample = stratify_scores(*make_table(3, n=600))
    uncertain = compute_covariance(sample)
    cells = bootstrap_matrices(sample, draws=2000, seed=5)
    np.testing.assert_allclose(cells.mean(axis=0), uncertain.matrix.cells, atol=0.01)
    np.testing.assert_allclose(cells.std(axis=0), uncertain.cell_errors(), rtol=0.1)
    flat = cells.reshape(2000, -1)
    drawn = np.corrcoef(flat.T)
    errors = uncertain.cell_errors().ravel()
    delong = uncertain.covariance / np.outer(errors, errors)
    np.testing.assert_allclose(drawn, delong, atol=0.1)


def test_bootstrap_repeats_with_its_seed_and_moves_with_another():
    sample = stratify_scores(*make_table(1))
    first, again = (bootstrap_matrices(sample, draws=50, seed=2) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (bootstrap_matrices(sample, draws=50, seed=3) != first).any()
    low, high = percentile_interval(first, np.eye(3) / 3, level=0.9)
    assert low < np.trace(compute_matrix(sample).cells) / 3 < high


def test_single_row_clusters_give_the_covariance_of_rows():
    score, outcome, group = make_table(4)
    sample = stratify_scores(score, outcome, group)
    rows = compute_covariance(sample)
    clusters = compute_covariance(sample, cluster=np.arange(score.size).astype(str))
    np.testing.assert_allclose(clusters.covariance, rows.covariance, atol=1e-12)
    assert (rows.resampling_unit, clusters.resampling_unit) == ("row", "cluster")


def test_doubling_every_row_as_a_cluster_keeps_the_standard_error():
    score, outcome, group = make_table(5)
    alone = compute_covariance(stratify_scores(score, outcome, group)).cell_errors()
    twice = stratify_scores(np.tile(score, 2), np.tile(outcome, 2), np.tile(group, 2))
    cluster = np.tile(np.arange(score.size), 2)
    np.testing.assert_allclose(compute_covariance(twice, cluster=cluster).cell_errors(), alone)
    assert (compute_covariance(twice).cell_errors() < 0.8 * alone).all()


def test_equal_weights_change_nothing_and_unequal_ones_do():
    score, outcome, group = make_table(6)
    plain = compute_covariance(stratify_scores(score, outcome, group)).covariance
    same = stratify_scores(score, outcome, group, weight=np.full(score.size, 2.5))
    np.testing.assert_allclose(compute_covariance(same).covariance, plain, atol=1e-12)
    uneven = np.random.default_rng(0).uniform(0.01, 10, score.size)
    weighted = stratify_scores(score, outcome, group, weight=uneven)
    assert np.diag(compute_covariance(weighted).covariance).sum() > np.diag(plain).sum()
    with pytest.raises(ValueError, match="no weights"):
        bootstrap_matrices(weighted, draws=10, seed=0)


def test_a_perfect_auc_gets_a_wide_one_sided_bound_not_a_point():
    sample = stratify_scores([5, 6, 7, 8, 1, 2, 3], [1, 1, 1, 1, 0, 0, 0], ["a"] * 7)
    estimate = estimate_auc(compute_covariance(sample), [[1.0]], level=0.95)
    assert estimate.degenerate
    assert (estimate.low, estimate.high) == pytest.approx((0.025 ** (1 / 3), 1.0))


def test_undefined_and_degenerate_differences_give_their_reason():
    one_event = compute_covariance(
        stratify_scores([1, 2, 3, 2, 1, 2, 3], [0, 1, 0, 1, 0, 1, 0], list("aaaabbb"))
    )
    estimate = estimate_difference(one_event, np.diag([1.0, -1.0]), level=0.95)
    assert np.isfinite(estimate.value)
    assert np.isnan(estimate.p)
    assert estimate.undefined_because == "one_event in b"
    perfect = compute_covariance(
        stratify_scores([3, 4, 1, 2] * 2, [1, 1, 0, 0] * 2, list("aaaabbbb"))
    )
    assert np.isnan(estimate_difference(perfect, np.diag([1.0, -1.0]), level=0.95).p)


def test_constant_scores_have_p_1():
    sample = stratify_scores([0.5] * 8, [1, 1, 0, 0] * 2, list("aaaabbbb"))
    estimate = estimate_difference(compute_covariance(sample), np.diag([1.0, -1.0]), level=0.95)
    assert (estimate.value, estimate.p) == (0.0, 1.0)


def test_overall_interval_needs_no_variance_of_a_one_event_group():
    score = [1.0, 2.0, 3.0, 2.5, 1.5, 4.0, 0.5]
    sample = stratify_scores(score, [0, 1, 1, 0, 0, 1, 0], ["a", "a", "a", "a", "b", "b", ""])
    overall = estimate_overall(sample, level=0.95)
    assert overall.value == pytest.approx(compute_matrix(sample).overall_all)
    assert 0 < overall.low < overall.value < overall.high < 1


def test_intervals_cover_the_truth_about_as_often_as_they_claim():
    # Scores normal with unit shift: AUC = Phi(1 / sqrt 2).
    truth, covered, covered_zero = 0.7602499389, 0, 0
    rng = np.random.default_rng(11)
    for _ in range(400):
        outcome = np.tile([1] * 20 + [0] * 30, 2)
        score = rng.normal(outcome, 1)
        uncertain = compute_covariance(stratify_scores(score, outcome, ["a"] * 50 + ["b"] * 50))
        one = estimate_auc(uncertain, [[1, 0], [0, 0]], level=0.95)
        covered += one.low <= truth <= one.high
        gap = estimate_difference(uncertain, np.diag([1.0, -1.0]), level=0.95)
        covered_zero += gap.low <= 0 <= gap.high
    assert 0.92 <= covered / 400 <= 0.985
    assert 0.91 <= covered_zero / 400 <= 0.98
