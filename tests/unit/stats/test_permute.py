"""Permutation tests, against recorded values, enumeration and the chi-squared limit."""

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tworulers.stats.draw import named_stream
from tworulers.stats.groups import GroupedSample, group_sample
from tworulers.stats.permute import (
    Shuffled,
    count_arrangements,
    enumerate_tables,
    p_of_impact_ratio,
    p_of_parity_difference,
    p_of_ranks,
    permute_successes,
    permute_sums,
)


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
        assert (drawn.sizes == n).all()
        found = p_of_impact_ratio(np.array(counts)[:, 0], n, drawn)
        assert found == pytest.approx(published, abs=0.015), name


def permute_counts(counts: list[tuple[int, int]], seed: int) -> tuple[Any, Any, Shuffled]:
    s, n = np.array(counts).T
    success = np.concatenate([np.arange(size) < some for some, size in counts])
    sample = sample_of(np.repeat(np.arange(len(n)), n), success)
    return s, n, permute_successes(sample, success, 500, named_stream(seed, "counts"))


@pytest.mark.parametrize(
    ("counts", "exact"),
    [
        ([(63, 65), (19, 19), (144, 144)], 0.6383),
        ([(37, 38), (37, 38)], 1.0),
        ([(112, 114), (114, 114)], 0.4978),
    ],
)
def test_p_of_dir_and_dpd_do_not_depend_on_the_seed(
    counts: list[tuple[int, int]], exact: float
) -> None:
    found = [permute_counts(counts, seed) for seed in range(3)]
    assert {round(p_of_impact_ratio(*one), 4) for one in found} == {exact}
    (dpd,) = {p_of_parity_difference(*one) for one in found}
    s, n, null = found[0]
    rate = s / n
    as_large = null.sums @ np.diag(1 / n)
    reached = np.ptp(as_large, axis=1) >= np.ptp(rate) - 1e-12
    expected = stats.multivariate_hypergeom.pmf(null.sums[reached].astype(int), n, s.sum()).sum()
    assert dpd == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("n", "total"), [((3, 5), 4), ((2, 0, 4), 6), ((4, 1, 3, 2), 5), ((6,), 2)]
)
def test_every_table_is_listed_once(n: tuple[int, ...], total: int) -> None:
    tables = enumerate_tables(np.array(n), total)
    assert tables is not None
    every = [t for t in np.ndindex(*(size + 1 for size in n)) if sum(t) == total]
    assert sorted(map(tuple, tables.tolist())) == every


def test_beyond_so_many_tables_permutations_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [(30, 40), (33, 35), (20, 30)]
    exact = p_of_impact_ratio(*permute_counts(counts, 0))
    assert enumerate_tables(np.full(12, 30), 180) is None
    monkeypatch.setattr("tworulers.stats.permute.MOST_TABLES", 10)
    s, n, null = permute_counts(counts, 0)
    assert (null.chance, null.sums.shape) == (None, (500, 3))
    assert p_of_impact_ratio(s, n, null) == pytest.approx(exact, abs=0.06)


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
    assert count_arrangements(sample) == 2 * 6
    drawn = permute_sums(sample, values, 2000, named_stream(0, "clusters")).sums
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


def test_one_label_a_patient_moves_among_all_patients_whatever_their_numbers_of_exams() -> None:
    patients = np.repeat(np.arange(6), np.arange(1, 7))
    codes = np.repeat([0, 1, 0, 1, 0, 1], np.arange(1, 7))
    sample = sample_of(codes, np.arange(21.0), patients)
    assert count_arrangements(sample) == 20
    drawn = permute_sums(sample, np.ones(21), 3000, named_stream(0, "free"))
    assert (drawn.sums == drawn.sizes).all()
    # three of six patients are in the first group: every sum of three different numbers of exams
    assert set(drawn.sizes[:, 0]) == set(range(6, 16))
    assert (drawn.sizes.sum(axis=1) == 21).all()


@pytest.mark.parametrize("varying", [0.0, 0.3])
def test_unequal_numbers_of_exams_keep_the_level(varying: float) -> None:
    """30 patients with one to six exams, no difference; labels vary within some patients or none.

    Over 1,000 studies of 299 permutations .049 and .048 are rejected at .05.
    """
    rng = np.random.default_rng(11)
    rejected = 0
    for trial in range(300):
        patient = np.repeat(np.arange(30), rng.integers(1, 7, 30))
        codes = rng.permutation(np.arange(30) % 2)[patient]
        for who in np.flatnonzero(rng.random(30) < varying):
            rows = np.flatnonzero(patient == who)
            codes[rows[rng.integers(0, len(rows) + 1) :]] ^= 1
        value = np.sqrt(0.6) * rng.normal(size=30)[patient]
        value += np.sqrt(0.4) * rng.normal(size=len(patient))
        stream = named_stream(trial, "unequal")
        rejected += p_of_ranks(sample_of(codes, value, patient), 199, stream) < 0.05
    assert 0.02 <= rejected / 300 <= 0.085


@pytest.mark.slow
@pytest.mark.parametrize(("people", "exams", "icc"), [(40, 3, 0.6), (40, 2, 0.5), (16, 4, 0.6)])
def test_equal_numbers_of_exams_keep_the_level(people: int, exams: int, icc: float) -> None:
    rng = np.random.default_rng(12)
    patient = np.repeat(np.arange(people), exams)
    rejected = 0
    for trial in range(1000):
        codes = rng.permutation(np.arange(people) % 3)[patient]
        value = np.sqrt(icc) * rng.normal(size=people)[patient]
        value += np.sqrt(1 - icc) * rng.normal(size=len(patient))
        stream = named_stream(trial, "equal")
        rejected += p_of_ranks(sample_of(codes, value, patient), 299, stream) < 0.05
    assert 0.03 <= rejected / 1000 <= 0.07
