"""Rank tests within strata, held to the textbook's formula and to every arrangement of small tables."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tworulers.stats.relabel import draw_labels
from tworulers.stats.stratified import compare_within_strata, cut_strata, join_levels


def sample(rng: np.random.Generator, n: int = 60) -> tuple[np.ndarray, ...]:
    """Coarse scores, so that many tie, of two groups in three strata."""
    strata = rng.integers(0, 3, n)
    codes = rng.integers(0, 2, n)
    return (rng.normal(size=n) + 0.5 * codes + strata).round(1), codes, strata, np.arange(n)


def van_elteren(values: np.ndarray, codes: np.ndarray, strata: np.ndarray) -> float:
    """Chi squared of two groups by the textbook: weighted rank sums, tie corrected variances."""
    total = expected = variance = 0.0
    for stratum in np.unique(strata):
        here = strata == stratum
        n, m = int(here.sum()), int((codes[here] == 1).sum())
        ranks = stats.rankdata(values[here])
        _, ties = np.unique(values[here], return_counts=True)
        correction = 1 - (ties**3 - ties).sum() / (n**3 - n)
        total += ranks[codes[here] == 1].sum() / (n + 1)
        expected += m / 2
        variance += m * (n - m) * (n + 1) / 12 * correction / (n + 1) ** 2
    return (total - expected) ** 2 / variance


def test_two_groups_are_van_elterens() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        values, codes, strata, patients = sample(rng)
        found = compare_within_strata(values, codes, strata, patients)
        wanted = van_elteren(values, codes, strata)
        assert found.statistic == pytest.approx(wanted, rel=1e-9)
        assert found.p == pytest.approx(stats.chi2.sf(wanted, 1), rel=1e-9)


def test_one_stratum_is_kruskal_and_wallis() -> None:
    rng = np.random.default_rng(1)
    values, codes = rng.normal(size=40).round(1), np.arange(40) % 3
    found = compare_within_strata(values, codes, np.zeros(40, dtype=int), np.arange(40))
    wanted = stats.kruskal(*(values[codes == g] for g in range(3)))
    assert (found.statistic, found.p) == pytest.approx((wanted.statistic, wanted.pvalue))
    assert (found.df, found.strata, found.n_compared) == (2, 1, 40)


@pytest.mark.parametrize("exams", [1, 2])
def test_covariance_is_that_of_all_arrangements(exams: int) -> None:
    rng = np.random.default_rng(2)
    of_patient, stratum = np.array([0, 1, 2, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 1])
    patients = np.repeat(np.arange(6), exams)
    values = rng.normal(size=6 * exams).round(1)
    codes, strata = of_patient[patients], stratum[patients]
    scores = np.zeros(len(values))
    for s in (0, 1):
        part = strata == s
        scores[part] = stats.rankdata(values[part]) / (part.sum() + 1) - 0.5

    def sums(labels: np.ndarray) -> np.ndarray:
        return np.array([scores[labels[patients] == g].sum() for g in range(3)])

    everything = [
        sums(np.array([*first, *second]))
        for first, second in product(permutations([0, 1, 2]), permutations([0, 1, 1]))
    ]
    covariance = np.cov(np.array(everything).T, ddof=0)
    observed = sums(of_patient)
    wanted = observed @ np.linalg.pinv(covariance) @ observed
    found = compare_within_strata(values, codes, strata, patients)
    assert found.statistic == pytest.approx(wanted, rel=1e-9)
    reached = [x @ np.linalg.pinv(covariance) @ x >= wanted - 1e-9 for x in everything]
    drawn = compare_within_strata(
        values, codes, strata, patients, draws=4_000, rng=np.random.default_rng(3)
    )
    assert drawn.p_permutation == pytest.approx(np.mean(reached), abs=0.025)


def test_exams_of_a_patient_are_not_independent() -> None:
    """Every exam twice, as the same patient's, says no more than once."""
    rng = np.random.default_rng(4)
    values, codes, strata, patients = sample(rng, 40)
    once = compare_within_strata(values, codes, strata, patients)
    twice = compare_within_strata(
        np.tile(values, 2), np.tile(codes, 2), np.tile(strata, 2), np.tile(patients, 2)
    )
    ignored = compare_within_strata(
        np.tile(values, 2), np.tile(codes, 2), np.tile(strata, 2), np.arange(80)
    )
    assert twice.p == pytest.approx(once.p, rel=0.1)
    assert ignored.statistic > 1.8 * once.statistic


def test_age_that_drives_scores_and_groups_is_taken_out() -> None:
    rng = np.random.default_rng(5)
    codes = np.repeat([0, 1], 100)
    age = rng.normal(50, 12, 200) + 12 * codes
    values = -0.1 * age + rng.normal(size=200)
    strata = cut_strata(age, np.arange(200), 5)
    assert stats.mannwhitneyu(values[codes == 0], values[codes == 1]).pvalue < 1e-4
    assert compare_within_strata(values, codes, strata, np.arange(200)).p > 0.05


def test_strata_that_compare_nothing_say_so() -> None:
    codes = np.array([0, 0, 1, 1])
    apart = compare_within_strata(np.arange(4.0), codes, codes, np.arange(4))
    assert apart.undefined_because == "no stratum holds two groups"
    assert np.isnan(apart.p)
    flat = compare_within_strata(np.ones(4), codes, np.zeros(4, dtype=int), np.arange(4))
    assert flat.undefined_because == "no score varies within a stratum"


def test_strata_of_numbers_and_of_levels_keep_a_patient_whole() -> None:
    patients = np.array([0, 0, 1, 2, 3, 4])
    assert cut_strata(np.array([1.0, 9, 2, 3, 4, 8]), patients, 2).tolist() == [1, 1, 0, 0, 1, 1]
    joined = join_levels(pd.Series(["GE", "Siemens", "GE", "GE", "Siemens", "GE"]), patients)
    assert len(set(joined)) == 3
    assert joined[0] == joined[1]
    assert joined[2] == joined[3] == joined[5] != joined[4]


def test_labels_move_with_their_patients_within_strata() -> None:
    rng = np.random.default_rng(6)
    patients = np.array([0, 0, 1, 1, 2, 3, 3])
    strata = np.array([0, 0, 0, 0, 1, 1, 1])
    codes = np.array([0, 0, 1, 1, 0, 1, 1])
    moved = draw_labels(codes, patients, 400, rng, strata)
    assert (moved[:, 0] == moved[:, 1]).all()
    assert (moved[:, 0] + moved[:, 2] == 1).all()
    assert (moved[:, 4] + moved[:, 5] == 1).all()
    assert 0.4 < moved[:, 0].mean() < 0.6
    varying = draw_labels(np.array([0, 1, 1, 1, 0, 1, 0]), patients, 400, rng)
    assert {tuple(row) for row in varying[:, :2]} <= {(0, 1), (1, 1), (1, 0)}
    assert (varying[:, 4] == 0).all()
