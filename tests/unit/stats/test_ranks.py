"""Rank tests and effects, against SciPy, pingouin, scikit-posthocs and worked cases."""

import time
from typing import Any

import numpy as np
import pandas as pd
import pingouin
import pytest
import scikit_posthocs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tworulers.stats.groups import GroupedSample, group_sample
from tworulers.stats.permute import p_of_ranks
from tworulers.stats.ranks import compare_pairs, compare_ranks, compare_spreads

SCORES = st.lists(st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9, np.inf]), min_size=2, max_size=12)


def sample_of(*groups: list[float]) -> GroupedSample:
    names = [f"g{i}" for i in range(len(groups))]
    labels = [name for name, group in zip(names, groups, strict=True) for _ in group]
    values = np.concatenate([np.array(group, float) for group in groups])
    return group_sample(values, pd.Series(pd.Categorical(labels, names, ordered=True)))


def test_ties_and_direction() -> None:
    women = [0.80, 0.82, 0.82, 0.85, 0.85, 0.85, 0.88, 0.90]
    men = [0.82, 0.85, 0.88, 0.88, 0.90, 0.91, 0.91, 0.93, 0.95]
    found = compare_ranks(sample_of(women, men))
    expected = stats.mannwhitneyu(women, men, method="asymptotic")
    assert (found.statistic, found.method) == (expected.statistic, "normal")
    assert found.p == pytest.approx(expected.pvalue)
    assert found.p == pytest.approx(0.028373, abs=1e-6)
    assert found.effect == pytest.approx(0.638889, abs=1e-6)
    assert (found.lowest, found.highest) == (0, 1)
    # pingouin's sign has changed between versions; its size has not
    table = pingouin.mwu(women, men)
    rbc = next(float(table[name].iloc[0]) for name in ("RBC", "rbc") if name in table)
    assert abs(found.effect) == pytest.approx(abs(rbc))
    turned = compare_ranks(sample_of(men, women))
    assert turned.effect == pytest.approx(-found.effect)
    assert turned.p == pytest.approx(found.p)


def test_small_groups_without_ties_are_exact() -> None:
    found = compare_ranks(sample_of([1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]))
    assert (found.method, found.p) == ("exact", pytest.approx(2 / 35))


def test_one_small_group_beside_a_large_one_is_quick() -> None:
    rng = np.random.default_rng(0)
    small, large = rng.normal(size=8), rng.normal(size=20_000)
    start = time.process_time()
    found = compare_ranks(sample_of(list(small), list(large)))
    assert time.process_time() - start < 1
    expected = stats.mannwhitneyu(small.round(9), large.round(9), method="asymptotic")
    assert (found.method, found.p) == ("normal", expected.pvalue)


def test_scores_that_differ_by_rounding_alone_tie() -> None:
    sums, plain = [0.1 + 0.2] * 5, [0.3] * 5
    assert sums[0] != plain[0]
    sample = sample_of(sums, plain)
    found = compare_ranks(sample)
    assert (found.p, found.effect, found.highest) == (1.0, 0.0, None)
    assert p_of_ranks(sample, 99, np.random.default_rng(0)) == 1.0
    infinite = sample_of([np.inf, *sums], [np.inf, *plain])
    assert compare_ranks(infinite).effect == 0.0
    assert np.isinf(infinite.values).sum() == 2


def test_no_variation_is_no_evidence() -> None:
    two = compare_ranks(sample_of([1.0] * 6, [1.0] * 5))
    assert (two.statistic, two.p, two.effect, two.method) == (15.0, 1.0, 0.0, "no variation")
    assert two.highest is None
    three = compare_ranks(sample_of([1.0] * 6, [1.0] * 5, [1.0] * 2))
    assert (three.statistic, three.p, three.effect) == (0.0, 1.0, 0.0)
    normal = compare_ranks(
        sample_of([0.90, 0.88, 0.93, 0.85, 0.91, 0.87], [0.89, 0.86, 0.92, 0.84, 0.90])
    )
    assert (normal.statistic, normal.p) == (17.5, pytest.approx(0.714379, abs=1e-4))


def test_group_of_one_is_not_tested() -> None:
    found = compare_ranks(sample_of([0.61], [0.90, 0.88, 0.93, 0.85, 0.91, 0.87]))
    assert np.isnan(found.p)
    assert found.undefined_because == "group under two exams: g0 (n 1)"


def test_one_group_is_not_tested() -> None:
    assert compare_ranks(sample_of([0.1, 0.2])).undefined_because == "fewer than two groups (g0)"


@settings(deadline=None)
@given(SCORES, SCORES, SCORES)
def test_kruskal_agrees_with_scipy(a: list[float], b: list[float], c: list[float]) -> None:
    found = compare_ranks(sample_of(a, b, c))
    if len({*a, *b, *c}) == 1:
        assert found.p == 1
        return
    ranks = np.split(stats.rankdata([*a, *b, *c]), [len(a), len(a) + len(b)])
    expected = stats.kruskal(*ranks)
    n = len(a) + len(b) + len(c)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-9)
    assert found.effect == pytest.approx((expected.statistic - 2) / (n - 3))
    assert found.effect_textbook == pytest.approx(expected.statistic / (n - 1))


@settings(deadline=None)
@given(SCORES, SCORES)
def test_increasing_transforms_change_nothing(a: list[float], b: list[float]) -> None:
    first = compare_ranks(sample_of(a, b))
    second = compare_ranks(sample_of([3 * x + 1 for x in a], [3 * x + 1 for x in b]))
    assert first.statistic == second.statistic
    assert first.p == second.p


def test_two_group_kruskal_is_the_square_of_z() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=14).round(1), rng.normal(0.5, 1, size=11).round(1)
    plain = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=False)
    assert stats.kruskal(a, b).statistic == pytest.approx(stats.norm.isf(plain.pvalue / 2) ** 2)


def test_dunn_agrees_with_scikit_posthocs() -> None:
    rng = np.random.default_rng(2)
    groups = [list(rng.normal(m, 1, size=n).round(1)) for m, n in ((0, 9), (1, 12), (0.3, 7))]
    sample = sample_of(*groups)
    for method in ("bonferroni", "holm"):
        ours = compare_pairs(sample, method)  # type: ignore[arg-type]
        expected = scikit_posthocs.posthoc_dunn(groups, p_adjust=method).to_numpy()
        pairs = expected[[0, 0, 1], [1, 2, 2]]
        assert np.allclose(ours["p_adjusted"], pairs, atol=1e-9)
        # a pair of groups reads in their order: positive where the first ranks higher
        assert ours["z"].iloc[0] < 0


def test_golden_dunn_and_spread(e2_table: pd.DataFrame, battery_golden: dict[str, Any]) -> None:
    for ruler, golden in battery_golden["rulers"].items():
        scores = e2_table[f"{ruler}_dice_macro"]
        bins = pd.cut(e2_table["age"].fillna(90), [0, 40, 60, 200], right=False)
        sample = group_sample(scores.to_numpy(), bins)
        found = compare_pairs(sample)
        for row, expected in zip(found.itertuples(), golden["dunn"], strict=True):
            assert row.z == pytest.approx(expected["z"], abs=1e-8)
            assert row.p == pytest.approx(expected["p"], abs=1e-8)
            assert row.p_adjusted == pytest.approx(expected["p_bonferroni"], abs=1e-8)
        f, p = compare_spreads(sample)
        assert f == pytest.approx(golden["brown_forsythe"]["F"], abs=1e-8)
        assert p == pytest.approx(golden["brown_forsythe"]["p"], abs=1e-8)


def test_spread_without_variation_is_undefined() -> None:
    assert np.isnan(compare_spreads(sample_of([1.0, 1.0], [2.0, 2.0]))).all()
    assert np.isnan(compare_spreads(sample_of([1.0, 2.0], [np.inf, np.inf]))).all()
