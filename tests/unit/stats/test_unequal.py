"""The rank test for unequal spreads, held to SciPy and to a second formulation."""

import numpy as np
import pytest
from scipy import stats

from tworulers.stats.unequal import NO_OVERLAP, compare_unequal, permute_unequal


def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return (rng.normal(size=len(codes)) * (1 + codes)).round(1), codes


def test_two_groups_are_brunner_and_munzel() -> None:
    rng = np.random.default_rng(0)
    for sizes in ((8, 12), (20, 5), (30, 30)):
        values, codes = draw(rng, sizes)
        wanted = stats.brunnermunzel(values[codes == 0], values[codes == 1])
        found = compare_unequal(values, codes, np.arange(len(codes)))
        assert found.statistic == pytest.approx(wanted.statistic**2, rel=1e-9)
        assert found.p == pytest.approx(wanted.pvalue, rel=1e-9)


def test_effects_are_shares_of_pairs_and_the_variance_that_of_what_one_exam_moves() -> None:
    rng = np.random.default_rng(1)
    values, codes = draw(rng, (9, 14, 11))
    k, parts = 3, [values[codes == g] for g in range(3)]
    above = np.array(
        [[np.mean(x[:, None] > y) + 0.5 * np.mean(x[:, None] == y) for y in parts] for x in parts]
    )
    # With weights of exams the effects are a function of each group's distribution: the derivative
    # in the weight of one exam is what it adds.
    step, moved = 1e-6, np.zeros((len(values), k))
    for i, g in enumerate(codes):
        weights = [np.full(len(part), 1 / len(part)) for part in parts]
        place = i - int(np.flatnonzero(codes == g)[0])
        weights[g] = (1 - step) * weights[g]
        weights[g][place] += step
        for a in range(k):
            shares = [
                weights[a] @ ((parts[a][:, None] > y) + 0.5 * (parts[a][:, None] == y)) @ w
                for y, w in zip(parts, weights, strict=True)
            ]
            moved[i, a] = (np.mean(shares) - above[a].mean()) / step
    sizes = np.bincount(codes)
    scaled = moved / np.sqrt(sizes * (sizes - 1))[codes][:, None]
    covariance = scaled.T @ scaled
    contrast = np.eye(k) - 1 / k
    effects = above.mean(axis=1)
    found = compare_unequal(values, codes, np.arange(len(codes)))
    assert found.effects == pytest.approx(effects)
    wanted = effects @ contrast @ effects / np.trace(contrast @ covariance)
    assert found.statistic == pytest.approx(wanted, rel=1e-4)
    squared = contrast @ covariance
    assert found.df[0] == pytest.approx(np.trace(squared) ** 2 / np.trace(squared @ squared), 1e-4)
    kinds = [np.trace(contrast @ scaled[codes == g].T @ scaled[codes == g]) for g in range(k)]
    satterthwaite = sum(kinds) ** 2 / sum(x**2 / (n - 1) for x, n in zip(kinds, sizes, strict=True))
    assert found.df[1] == pytest.approx(satterthwaite, rel=1e-4)


def test_order_alone_counts() -> None:
    values, codes = draw(np.random.default_rng(2), (10, 10, 10))
    who = np.arange(30)
    assert compare_unequal(np.exp(values), codes, who).p == pytest.approx(
        compare_unequal(values, codes, who).p
    )
    raised = np.where(values == values.max(), np.inf, values)
    assert compare_unequal(raised, codes, who).p == compare_unequal(values, codes, who).p


def test_a_patients_exams_count_once() -> None:
    values, codes = draw(np.random.default_rng(3), (12, 15, 13))
    who = np.arange(40)
    once = compare_unequal(values, codes, who)
    thrice = compare_unequal(np.tile(values, 3), np.tile(codes, 3), np.tile(who, 3))
    assert thrice.p == pytest.approx(once.p, rel=1e-9)
    assert thrice.df == pytest.approx(once.df)


def test_permutation_agrees_where_exams_are_alike() -> None:
    rng = np.random.default_rng(4)
    codes = np.repeat([0, 1], 20)
    values = rng.normal(size=40) + 0.6 * codes
    found = compare_unequal(values, codes, np.arange(40))
    p = permute_unequal(values, codes, np.arange(40), 4_000, np.random.default_rng(5))
    assert p == pytest.approx(found.p, abs=0.02)


def test_limits() -> None:
    codes = np.repeat([0, 1], 5)
    apart = compare_unequal(np.arange(10.0), codes, np.arange(10))
    assert apart.undefined_because == NO_OVERLAP
    flat = compare_unequal(np.ones(10), codes, np.arange(10))
    assert (flat.p, flat.undefined_because) == (1.0, None)
