"""Permutation tests, against recorded values, enumeration and the chi-squared limit."""

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tworulers.stats.groups import GroupedSample, group_sample
from tworulers.stats.permute import (
    p_of_impact_ratio,
    p_of_parity_difference,
    p_of_ranks,
    permute_successes,
    permute_sums,
)
from tworulers.stats.resample import named_stream


def sample_of(codes: np.ndarray, values: np.ndarray, patients: Any = None) -> GroupedSample:
    names = [f"g{i}" for i in range(codes.max() + 1)]
    groups = pd.Series(pd.Categorical.from_codes(codes, names, ordered=True))
    return group_sample(values.astype(float), groups, patients)


def test_published_permutation_p(battery_golden: dict[str, Any]) -> None:
    for name, (counts, _, published, *_) in battery_golden["published_dir"].items():
        n = np.array(counts)[:, 1]
        codes = np.repeat(np.arange(len(n)), n)
        success = np.concatenate([np.arange(size) < s for s, size in counts])
        drawn = permute_successes(sample_of(codes, success), success, 10_000, named_stream(0, name))
        found = p_of_impact_ratio(np.array(counts)[:, 0], n, drawn)
        assert found == pytest.approx(published, abs=0.015), name


def test_golden_p_of_ranks(e2_table: pd.DataFrame, battery_golden: dict[str, Any]) -> None:
    bins = pd.cut(e2_table["age"].fillna(90), [0, 40, 60, 200], right=False)
    for ruler, golden in battery_golden["rulers"].items():
        sample = group_sample(e2_table[f"{ruler}_dice_macro"].to_numpy(), bins)
        found = p_of_ranks(sample, 10_000, named_stream(0, ruler))
        assert found == pytest.approx(golden["permutation"]["p_H"], abs=0.01)
        success = sample.values > 0.8
        s = np.bincount(sample.codes[success])
        drawn = permute_successes(sample, success, 10_000, named_stream(1, ruler))
        assert p_of_parity_difference(s, sample.sizes, drawn) == pytest.approx(
            golden["permutation"]["p_dpd"], abs=0.02
        )


def test_agrees_with_full_enumeration() -> None:
    values = np.array([0.6, 0.7, 0.7, 0.8, 0.9, 0.9, 0.95])
    codes = np.array([0, 1, 0, 1, 1, 0, 1])
    ranks = stats.rankdata(values) - 4
    observed = abs(ranks[codes == 0].sum())
    every = [abs(sum(order[:3])) for order in permutations(ranks)]
    exact = np.mean(np.array(every) >= observed - 1e-9)
    found = p_of_ranks(sample_of(codes, values), 20_000, named_stream(0, "enumeration"))
    assert found == pytest.approx(exact, abs=0.01)


def test_infinite_scores_are_ranked() -> None:
    codes = np.repeat([0, 1], 6)
    values = np.array([1, 2, 3, 4, 5, 6, np.inf, np.inf, 7, 8, 9, 10.0])
    found = p_of_ranks(sample_of(codes, values), 5000, named_stream(0, "inf"))
    assert found < 0.01


def test_no_variation_gives_one() -> None:
    assert p_of_ranks(sample_of(np.array([0, 0, 1, 1]), np.ones(4)), 99, named_stream(0, "n")) == 1


def test_patients_change_places_whole() -> None:
    patients = np.array([0, 0, 1, 1, 2, 3, 4, 4])
    codes = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    values = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
    sample = sample_of(codes, values, patients)
    drawn = permute_sums(sample, values, 2000, named_stream(0, "clusters"))
    assert (drawn.sum(axis=1) == values.sum()).all()
    # single-exam patients trade with each other only: 16 and 32 are never on one side
    single = drawn.astype(int) & 48
    assert set(map(tuple, single)) == {(16, 32), (32, 16)}
    # of three patients with two exams each, whole pairs move: six arrangements
    pairs = {tuple(row) for row in drawn.astype(int) & ~48}
    assert len(pairs) == 6
    assert (3, 12) in {(a & 15, b & 15) for a, b in pairs}


def test_cluster_null_keeps_its_level() -> None:
    """With exams repeated within patients the whole-patient test holds 5 %, the exam-wise one does
    not.
    """
    rng = np.random.default_rng(5)
    rejected = np.zeros(2)
    for trial in range(150):
        value = np.repeat(rng.normal(size=16), 4) + 0.05 * rng.normal(size=64)
        codes = np.repeat(rng.permutation(np.repeat([0, 1], 8)), 4)
        for column, patients in enumerate((np.repeat(np.arange(16), 4), None)):
            stream = named_stream(trial, "level")
            rejected[column] += p_of_ranks(sample_of(codes, value, patients), 200, stream) < 0.05
    assert rejected[0] / 150 < 0.11
    assert rejected[1] / 150 > 0.2
