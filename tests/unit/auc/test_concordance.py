"""Concordance by group against a double loop, and failures by threshold or quantile."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tworulers.auc.concordance import BLOCK, mark_failures, measure_concordance
from tworulers.auc.matrix import compute_matrix, stratify_scores
from tworulers.metrics.known.dice import DICE
from tworulers.metrics.known.hd95 import HD95


def make(seed: int, n: int, groups: str = "ab", levels: int = 12):
    rng = np.random.default_rng(seed)
    quality = rng.integers(0, levels, n) / levels
    suspect = np.round(1 - quality + rng.normal(0, 0.4, n), 1)
    return suspect, quality, np.array(list(groups))[rng.integers(0, len(groups), n)]


def by_double_loop(suspect, quality, group, g, h):
    won = counted = 0.0
    for i in range(len(suspect)):
        for j in range(len(suspect)):
            if group[i] == g and group[j] == h and quality[i] < quality[j]:
                counted += 1
                won += 1.0 if suspect[i] > suspect[j] else 0.5 * (suspect[i] == suspect[j])
    return won / counted if counted else np.nan, counted


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_cells_equal_a_double_loop(seed):
    suspect, quality, group = make(seed, 30, "abc")
    found = measure_concordance(suspect, quality, group, metric=DICE)
    for g, first in enumerate(found.groups):
        for h, second in enumerate(found.groups):
            value, pairs = by_double_loop(suspect, quality, group, first, second)
            np.testing.assert_allclose(found.cells[g, h], value, atol=1e-12)
            assert found.n_pairs[g, h] == pairs
    total = np.nansum(found.cells * found.n_pairs) / found.n_pairs.sum()
    assert found.overall == pytest.approx(total, abs=1e-12)


def test_blocks_do_not_change_the_count():
    suspect, quality, group = make(1, 2 * BLOCK + 37)
    found = measure_concordance(suspect, quality, group, metric=DICE)
    worse = quality[:, None] < quality[None, :]
    wins = (suspect[:, None] > suspect) + 0.5 * (suspect[:, None] == suspect)
    assert found.overall == pytest.approx(float(wins[worse].mean()), abs=1e-12)


def test_two_quality_levels_give_the_auc_matrix():
    suspect, quality, group = make(3, 200, levels=2)
    found = measure_concordance(suspect, quality, group, metric=DICE)
    failed = (quality < quality.max()).astype(int)
    matrix = compute_matrix(stratify_scores(suspect, failed, group))
    np.testing.assert_allclose(found.cells, matrix.cells, atol=1e-12)


def test_direction_belongs_to_the_score_and_infinity_is_worst():
    suspect, distance = [0.9, 0.5, 0.1], [np.inf, 8.0, 1.0]
    found = measure_concordance(suspect, distance, ["a"] * 3, metric=HD95)
    assert found.cells.tolist() == [[1.0]]
    assert found.n_pairs.tolist() == [[3]]


def test_exams_without_a_score_or_a_group_take_no_part():
    found = measure_concordance(
        [0.1, 0.2, np.nan, 0.4, 0.5],
        [0.5, 0.5, 0.1, 0.9, 0.8],
        ["a", "a", "a", "b", ""],
        metric=DICE,
    )
    assert found.n_exams.tolist() == [2, 1]
    assert np.isnan(found.cells[0, 0])
    assert found.undefined_because(0, 0) == "no exam of a scores below an exam of a"
    assert found.undefined_because(0, 1) == ""


def test_standard_errors_equal_those_of_repeated_studies():
    cells, errors = [], []
    for seed in range(300):
        found = measure_concordance(*make(seed, 120), metric=DICE)
        cells.append(found.cells)
        errors.append(found.se)
    np.testing.assert_allclose(np.mean(errors, axis=0), np.std(cells, axis=0), rtol=0.15)


def test_patients_with_several_exams_widen_the_standard_error():
    suspect, quality, group = make(5, 100)
    alone = measure_concordance(suspect, quality, group, metric=DICE)
    tiled = [np.tile(x, 3) for x in (suspect, quality, group)]
    patient = np.tile(np.arange(100), 3)
    kept = measure_concordance(*tiled, metric=DICE, cluster=patient)
    np.testing.assert_allclose(kept.se, alone.se, rtol=0.02)
    assert (measure_concordance(*tiled, metric=DICE).se < 0.7 * alone.se).all()


def test_failures_by_threshold_are_strict_successes_reversed():
    found = mark_failures(
        [0.8, 0.81, 0.7, np.nan],
        ["a", "a", "b", "b"],
        metric=DICE,
        structure="vb",
        threshold=0.8,
        quantile=0.25,
        min_events=1,
    )
    np.testing.assert_array_equal(found.event, [1, 0, 1, np.nan])
    assert (found.rule, found.by_quantile) == ("vb Dice <= 0.8", False)


def test_too_few_failures_fall_back_to_the_worst_share_of_the_whole_set():
    distance = [1.0, 2.0, 3.0, np.inf, 4.0, 5.0, 6.0, 7.0]
    found = mark_failures(
        distance,
        list("aaaabbbb"),
        metric=HD95,
        structure="vb",
        threshold=10.0,
        quantile=0.25,
        min_events=1,
    )
    np.testing.assert_array_equal(found.event, [0, 0, 0, 1, 0, 0, 0, 1])
    assert found.by_quantile
    assert found.rule == "worst 25% of all exams (vb HD95 >= 7)"


def test_no_scores_at_all_give_no_failures_with_a_reason():
    found = mark_failures(
        [np.nan, np.nan],
        ["a", "b"],
        metric=DICE,
        structure="vb",
        threshold=0.8,
        quantile=0.25,
        min_events=5,
    )
    assert np.isnan(found.event).all()
    assert found.rule == "no exam has a score"
