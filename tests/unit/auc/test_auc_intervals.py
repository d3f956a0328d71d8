"""DeLong's covariance against brute force, resampling, and the coverage of its intervals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tworulers.auc.bootstrap import bootstrap_matrices
from tworulers.auc.covariance import compute_covariance
from tworulers.auc.intervals import (
    estimate_auc,
    estimate_difference,
    estimate_overall,
    estimate_ratio,
)
from tworulers.auc.matrix import compute_matrix, stratify_scores
from tworulers.auc.score_type import AucEvidence, compare_pair

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "auc.json").read_text())["matrix_cases"]


def make_table(seed: int, n: int = 300, groups: str = "abc"):
    rng = np.random.default_rng(seed)
    outcome = (rng.random(n) < 0.4).astype(int)
    group = np.array(list(groups))[rng.integers(0, len(groups), n)]
    return np.round(rng.normal(outcome, 1), 1), outcome, group


def contrasts(matrix):
    of = matrix.coefficients
    return {
        "within_difference": (of(0, 0), of(1, 1)),
        "cross_difference": (of(0, 1), of(1, 0)),
        "xauc1_difference": (of(0, None), of(1, None)),
        "xauc0_difference": (of(None, 0), of(None, 1)),
        "overall": (of(), None),
    }


def compare_own(uncertain):
    of = uncertain.matrix.coefficients
    return estimate_difference(uncertain, of(0, 0), of(1, 1), level=0.95)


@pytest.mark.parametrize("name", GOLDEN)
def test_standard_errors_equal_brute_force(name):
    case = GOLDEN[name]
    sample = stratify_scores(case["score"], case["y"], case["group"])
    matrix = compute_matrix(sample)
    uncertain = compute_covariance(sample, matrix)
    errors = uncertain.cell_errors()
    for key, expected in case["expected"]["delong_se_cells"].items():
        g, h = (matrix.groups.index(part) for part in key.split("|"))
        if min(matrix.n_events[g], matrix.n_non_events[h]) < 2:
            assert np.isnan(errors[g, h]), "one event or non-event has no variance"
        else:
            assert errors[g, h] == pytest.approx(expected, abs=1e-9)
    if len(matrix.groups) == 2 and min(*matrix.n_events, *matrix.n_non_events) >= 2:
        for metric, (first, second) in contrasts(matrix).items():
            if metric == "overall":
                found = estimate_auc(uncertain, first, level=0.95)
            else:
                found = estimate_difference(uncertain, first, second, level=0.95)
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


def test_single_row_clusters_give_the_covariance_of_rows():
    score, outcome, group = make_table(4)
    sample = stratify_scores(score, outcome, group)
    rows = compute_covariance(sample)
    clusters = compute_covariance(sample, cluster=np.arange(score.size).astype(str))
    np.testing.assert_allclose(clusters.covariance, rows.covariance, atol=1e-12)


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


def test_a_perfect_auc_gets_a_wide_interval_that_ends_at_1():
    sample = stratify_scores([5, 6, 7, 8, 1, 2, 3], [1, 1, 1, 1, 0, 0, 0], ["a"] * 7)
    estimate = estimate_auc(compute_covariance(sample), [[1.0]], level=0.95)
    assert estimate.degenerate
    assert 0.3 < estimate.low < 0.8
    assert estimate.high == 1.0
    assert np.isnan(estimate.delong_low)


def test_one_event_has_an_interval_but_no_standard_error():
    one_event = compute_covariance(
        stratify_scores([1, 2, 3, 2, 1, 2, 3], [0, 1, 0, 1, 0, 1, 0], list("aaaabbb"))
    )
    alone = estimate_auc(one_event, one_event.matrix.coefficients(1, 1), level=0.95)
    assert 0 < alone.low < 0.1 < alone.value == 0.5 < 0.9 < alone.high < 1
    estimate = compare_own(one_event)
    assert estimate.low < estimate.value < estimate.high
    assert 0 < estimate.p <= 1
    assert np.isnan([estimate.se, estimate.delong_p, estimate.delong_low]).all()
    assert (estimate.undefined_because, estimate.without_delong) == ("", "one_event in b")


def test_two_perfect_groups_do_not_differ_and_opposite_ones_need_rows():
    score = [3, 4, 1, 2]
    perfect = compare_own(
        compute_covariance(stratify_scores(score * 2, [1, 1, 0, 0] * 2, list("aaaabbbb")))
    )
    assert (perfect.value, perfect.p) == (0.0, 1.0)
    assert perfect.low < -0.3 < 0.3 < perfect.high
    opposite = [1, 1, 0, 0, 0, 0, 1, 1]
    few = compare_own(compute_covariance(stratify_scores(score * 2, opposite, list("aaaabbbb"))))
    many = stratify_scores(score * 20, opposite * 10, list("aaaabbbb") * 10)
    assert few.value == 1.0
    assert few.low < 0.9
    assert compare_own(compute_covariance(many)).p < 1e-6 < few.p


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
        gap = compare_own(uncertain)
        covered_zero += gap.low <= 0 <= gap.high
    assert 0.92 <= covered / 400 <= 0.985
    assert 0.91 <= covered_zero / 400 <= 0.98


@pytest.mark.parametrize("seed", range(6))
def test_p_is_one_minus_the_level_at_which_the_interval_touches_no_difference(seed):
    uncertain = compute_covariance(stratify_scores(*make_table(seed, n=60, groups="ab")))
    pair = [uncertain.matrix.coefficients(g, None) for g in (0, 1)]
    p = estimate_difference(uncertain, *pair, level=0.95).p
    touching = estimate_difference(uncertain, *pair, level=1 - p)
    assert min(abs(touching.low), abs(touching.high)) < 1e-8
    ratio = estimate_ratio(uncertain, *pair, level=1 - p)
    assert min(abs(ratio.low - 1), abs(ratio.high - 1)) < 1e-8
    assert ratio.p == p


def test_mirrored_scores_mirror_every_interval():
    score, outcome, group = make_table(8, n=80, groups="ab")
    plain, mirrored = (
        compute_covariance(stratify_scores(sign * score, outcome, group)) for sign in (1, -1)
    )
    for g in (0, 1):
        of = plain.matrix.coefficients(g, g)
        one, other = (estimate_auc(u, of, level=0.95) for u in (plain, mirrored))
        assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-10)
    assert compare_own(plain).p == pytest.approx(compare_own(mirrored).p, abs=1e-9)


def test_many_rows_give_the_interval_of_delong():
    uncertain = compute_covariance(stratify_scores(*make_table(9, n=40_000, groups="ab")))
    one = estimate_auc(uncertain, uncertain.matrix.coefficients(0, 0), level=0.95)
    assert (one.low, one.high) == pytest.approx((one.delong_low, one.delong_high), abs=2e-4)
    gap = compare_own(uncertain)
    assert (gap.low, gap.high) == pytest.approx((gap.delong_low, gap.delong_high), abs=2e-4)
    assert gap.p == pytest.approx(gap.delong_p, rel=0.05)


def test_few_degrees_of_freedom_leave_a_p_within_the_range_of_numbers():
    one, other = (
        AucEvidence(np.asarray(value), 3, 163, np.asarray(1.0), np.asarray(1.0), np.asarray(1.0), np.asarray(freedom))
        for value, freedom in ((0.92, 1.0), (0.775, 2.0))
    )  # fmt: skip
    with np.errstate(over="raise", invalid="raise"):
        assert 0 < compare_pair(one, other, 0.0) < 1


@settings(max_examples=30)
@given(st.integers(0, 9_999), st.integers(1, 4), st.booleans())
def test_patients_are_summed_by_strata_as_all_cells_at_once(seed, groups, weighted):
    """Against a table of every cell by every patient, which many groups and rows have no memory for."""
    rng = np.random.default_rng(seed)
    n = 12 * groups
    outcome = np.tile([0, 1], n // 2)
    group = np.array(list("abcd"))[rng.integers(0, groups, n)]
    people = rng.integers(0, n // 2, n)
    weight = rng.uniform(0.5, 2, n) if weighted else None
    sample = stratify_scores(rng.normal(size=n).round(1), outcome, group, weight=weight)
    found = compute_covariance(sample, cluster=people)
    matrix, side = found.matrix, len(found.matrix.groups)
    influence = np.zeros((side, side, n))
    for g in range(side):
        for h in range(side):
            events, others = sample.event_rows[g], sample.non_event_rows[h]
            wins = np.sign(sample.score[events][:, None] - sample.score[others]) / 2 + 0.5
            masses = [np.ones(n) if weight is None else weight for _ in range(2)]
            of, against = masses[0][events], masses[1][others]
            placed = wins @ against / against.sum(), of @ wins / of.sum()
            for rows, mass, place in ((events, of, placed[0]), (others, against, placed[1])):
                m = len(np.unique(people[rows]))
                if m < 2:
                    influence[g, h, people[rows]] = np.nan
                    continue
                add = mass / mass.sum() * (place - matrix.cells[g, h]) * np.sqrt(m / (m - 1))
                np.add.at(influence[g, h], people[rows], add)
    flat = influence.reshape(side**2, n)
    known = np.isfinite(flat).all(axis=1)
    dense = flat[known] @ flat[known].T
    np.testing.assert_allclose(
        found.covariance[np.ix_(known, known)], dense, atol=1e-12, equal_nan=True
    )
