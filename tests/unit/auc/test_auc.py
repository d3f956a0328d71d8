"""The AUC matrix against brute force, scikit-learn and hand-made cases.

tests/golden/auc.json: small data sets with 2 to 4 groups, ties and missing events, every number
counted over all pairs by a double loop; open acceptance cases are copied by value.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from tworulers.auc.matrix import assemble_matrix, compute_matrix, encode_groups, stratify_scores
from tworulers.report.words.risk import describe_overall

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "auc.json").read_text())["matrix_cases"]


def as_floats(values: object) -> np.ndarray:
    return np.array(values, dtype=object).astype(float)


def matrix_of(score, outcome, group, **options):
    return compute_matrix(stratify_scores(score, outcome, group, **options))


@pytest.mark.parametrize("name", GOLDEN)
def test_cells_weights_and_sums_equal_brute_force(name):
    case = GOLDEN[name]
    expected = case["expected"]
    matrix = matrix_of(case["score"], case["y"], case["group"])
    assert list(matrix.groups) == expected["groups"]
    assert matrix.n_events.tolist() == expected["n1"]
    assert matrix.n_non_events.tolist() == expected["n0"]
    np.testing.assert_allclose(matrix.cells, as_floats(expected["matrix"]), atol=1e-10)
    np.testing.assert_allclose(matrix.pair_weights, as_floats(expected["weights"]), atol=1e-10)
    np.testing.assert_allclose(matrix.overall, expected["auc"], atol=1e-10)
    for k, group in enumerate(matrix.groups):
        np.testing.assert_allclose(matrix.xauc1[k], float(expected["xauc1"][group]), atol=1e-10)
        np.testing.assert_allclose(matrix.xauc0[k], float(expected["xauc0"][group]), atol=1e-10)


def test_group_without_events_keeps_every_other_number():
    matrix = matrix_of(
        [0.8, 0.35, 0.3, 0.5, 0.1, 0.2, 0.6, 0.4], [1, 1, 0, 0, 0, 0, 0, 0], list("AAAAABBB")
    )
    np.testing.assert_allclose(matrix.cells, [[5 / 6, 2 / 3], [np.nan, np.nan]])
    assert matrix.undefined_because(1, 0) == "no_events in B"
    assert matrix.undefined_because(0, 1) == ""
    assert matrix.overall == pytest.approx(0.75)
    np.testing.assert_allclose(matrix.xauc1, [0.75, np.nan])
    np.testing.assert_allclose(matrix.xauc0, [5 / 6, 2 / 3])


def test_ties_count_one_half_wherever_the_rows_stand():
    score = np.array([0.5, 0.5, 0.9, 0.1, 0.5, 0.3, 0.3, 0.3, 0.3])
    outcome = np.array([1, 0, 1, 0, 0, 1, 0, 0, 1])
    group = np.array(list("AAAAABBBB"))
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(9)
        matrix = matrix_of(score[order], outcome[order], group[order])
        np.testing.assert_allclose(matrix.cells, [[5 / 6, 1.0], [1 / 3, 0.5]])
        assert matrix.overall == pytest.approx(0.65)
        assert matrix.no_variation.tolist() == [[False, False], [False, True]]


def test_overall_below_both_groups_is_explained():
    matrix = matrix_of(
        [0.55, 0.6, 0.7, 0.5, 0.45, 0.58, 0.2, 0.3, 0.1, 0.15, 0.05, 0.25, 0.12, 0.08],
        [1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0],
        list("FFFFFFMMMMMMMM"),
    )
    np.testing.assert_allclose(matrix.cells, [[8 / 9, 1.0], [0.0, 11 / 12]])
    assert matrix.overall == pytest.approx(0.822222, abs=1e-6)
    np.testing.assert_allclose(matrix.pair_weights * 45, [[9, 18], [6, 12]])
    words = describe_overall(matrix)
    assert "below the within-group values" in words
    assert "53.3% of the event/non-event pairs join different groups" in words


def test_blank_group_counts_in_the_overall_value_only():
    score = [0.02, 0.31, 0.12, 0.40, 0.05, 0.35, 0.45]
    outcome = [0, 1, 0, 1, 0, 0, 0]
    group = ["Female", "Male", "Male", "Female", None, "Male", "Female"]
    matrix = matrix_of(score, outcome, group)
    assert matrix.groups == ("Female", "Male")
    assert matrix.n_without_group == 1
    assert matrix.overall == pytest.approx(0.625)
    assert matrix.overall_all == pytest.approx(0.7)
    np.testing.assert_allclose(matrix.cells, [[0.5, 1.0], [0.5, 0.5]])


def test_missing_scores_and_outcomes_are_left_out():
    matrix = matrix_of([0.1, np.nan, 0.9, 0.5], [0, 1, 1, np.nan], ["a", "a", "a", "a"])
    assert (matrix.n_events.tolist(), matrix.n_non_events.tolist()) == ([1], [1])
    assert matrix.cells.tolist() == [[1.0]]


@pytest.mark.parametrize("outcome", [[0, 0, 0], [1, 1, 1]])
def test_one_class_gives_nan_everywhere(outcome):
    matrix = matrix_of([0.1, 0.2, 0.3], outcome, ["a", "a", "b"])
    assert np.isnan(matrix.cells).all()
    assert np.isnan(matrix.overall)
    assert "undefined" in describe_overall(matrix)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"score": [1.0, 2.0], "outcome": [0, 1], "group": ["a"]}, "one length"),
        ({"score": [1.0, 2.0], "outcome": [0, 2], "group": ["a", "b"]}, "0, 1 or missing; found"),
        (
            {"score": [1.0, 2.0], "outcome": [0, 1], "group": ["a", "b"], "weight": [1, 0]},
            "positive",
        ),
        (
            {"score": [1.0, 2.0], "outcome": [0, 1], "group": ["a", "b"], "group_order": ["a"]},
            "misses the groups",
        ),
    ],
)
def test_bad_arrays_are_refused_in_words(arguments, words):
    with pytest.raises(ValueError, match=words):
        stratify_scores(**arguments)


def test_groups_follow_the_given_order_and_an_absent_one_stays():
    codes, groups = encode_groups(["b", "a", "", None, "b"], ["c", "b", "a"])
    assert groups == ("c", "b", "a")
    assert codes.tolist() == [1, 2, -1, -1, 1]


tables = st.integers(0, 2**32 - 1)


def random_table(seed: int):
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(4, 80)), int(rng.integers(1, 5))
    score = rng.integers(0, int(rng.integers(2, 40)), n).astype(float)
    outcome = np.concatenate([[0, 1], rng.integers(0, 2, n - 2)])
    return rng, score, outcome, np.array(list("abcd"))[rng.integers(0, groups, n)]


@given(tables)
@settings(max_examples=60, deadline=None)
def test_weighted_cells_add_up_to_the_overall_auc(seed):
    rng, score, outcome, group = random_table(seed)
    weight = rng.uniform(0.1, 3, score.size)
    for option in (None, weight):
        matrix = matrix_of(score, outcome, group, weight=option)
        reference = roc_auc_score(outcome, score, sample_weight=option)
        assert abs(matrix.overall - reference) < 1e-12
        cells = np.nansum(matrix.pair_weights * matrix.cells)
        assert abs(cells - reference) < 1e-12
        assert abs(np.nansum(matrix.event_shares * matrix.xauc1) - reference) < 1e-12
        assert abs(np.nansum(matrix.non_event_shares * matrix.xauc0) - reference) < 1e-12


@given(tables)
@settings(max_examples=40, deadline=None)
def test_swapping_outcome_and_sign_transposes_the_matrix(seed):
    _, score, outcome, group = random_table(seed)
    cells = matrix_of(score, outcome, group).cells
    np.testing.assert_allclose(matrix_of(-score, 1 - outcome, group).cells, cells.T, atol=1e-12)
    np.testing.assert_array_equal(matrix_of(np.exp(score / 7), outcome, group).cells, cells)


@given(tables)
@settings(max_examples=40, deadline=None)
def test_integer_weights_equal_repeated_rows(seed):
    rng, score, outcome, group = random_table(seed)
    times = rng.integers(1, 4, score.size)
    weighted = matrix_of(score, outcome, group, weight=times.astype(float))
    repeated = matrix_of(
        np.repeat(score, times), np.repeat(outcome, times), np.repeat(group, times)
    )
    np.testing.assert_allclose(weighted.cells, repeated.cells, atol=1e-12)


def test_a_group_without_events_leaves_the_other_cells_alone():
    _, score, outcome, group = random_table(7)
    before = matrix_of(score, outcome, group).cells
    after = matrix_of(
        np.append(score, [3.0, 9.0]), np.append(outcome, [0, 0]), np.append(group, ["z", "z"])
    )
    np.testing.assert_array_equal(after.cells[: len(before), : len(before)], before)


def test_directions_are_never_flipped_for_a_group():
    matrix = matrix_of([0.9, 0.1, 0.1, 0.9], [1, 0, 1, 0], ["a", "a", "b", "b"])
    assert matrix.within.tolist() == [1.0, 0.0]


def test_known_cells_assemble_with_pair_weights_not_group_sizes():
    matrix = assemble_matrix(
        ("m", "f"),
        [[0.88, 0.67], [0.92, 0.73]],
        mass_events=[0.016, 0.006],
        mass_non_events=[0.784, 0.194],
    )
    assert matrix.overall == pytest.approx(0.8503, abs=5e-5)
    assert matrix.xauc1 == pytest.approx([0.8383, 0.8823], abs=5e-5)


@pytest.mark.slow
def test_ten_million_scores_and_eight_groups_fit_three_gibibytes():
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, str(root / "benchmarks" / "auc.py"), "--no-loop", "--repeats", "1"],
        env={**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"peak ([\d.]+) GiB", done.stdout)
    assert found, done.stdout
    assert float(found.group(1)) < 3
