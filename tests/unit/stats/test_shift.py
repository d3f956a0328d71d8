"""The shift between two groups: by brute force, with infinite scores, and by patients."""

import numpy as np
import pytest
from scipy import stats

from tworulers.stats.shift import measure_shift


@pytest.mark.parametrize("seed", range(8))
def test_the_shift_is_the_median_of_all_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (np.round(rng.normal(0.9, 0.03, n), 2 + seed % 3) for n in (9 + seed, 14))
    found = measure_shift(first, second, 0.02)
    assert found.value == pytest.approx(np.median(np.subtract.outer(second, first)), abs=1e-8)
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize("seed", range(6))
def test_p_is_the_larger_of_brunner_munzel_and_mann_whitney(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0, 1 + seed, 8 + seed), rng.normal(0.3, 1, 20)
    margin = 0.5
    brunner = stats.brunnermunzel(first + margin, second, alternative="greater").pvalue
    ranks = stats.mannwhitneyu(
        first + margin, second, alternative="greater", method="asymptotic", use_continuity=False
    ).pvalue
    found = measure_shift(first, second, margin)
    assert found.p_below == pytest.approx(max(brunner, ranks), abs=1e-9)
    mirrored = measure_shift(-first, -second, margin)
    assert mirrored.p_above == pytest.approx(found.p_below, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_lies_inside_the_margin_where_p_is_below_its_level(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0.9, 0.03, 30), rng.normal(0.905, 0.02, 25)
    for margin in (0.005, 0.01, 0.015, 0.02, 0.03):
        found = measure_shift(first, second, margin)
        inside = -margin < found.low and found.high < margin
        assert inside == (found.p_inside < 0.05)


def test_scores_that_never_vary_are_alike_and_a_few_exams_are_not_enough() -> None:
    ones = np.ones(5)
    assert measure_shift(ones, ones, 0.02).p_inside < 0.01
    assert measure_shift(ones[:2], ones[:2], 0.02).p_inside > 0.05
    with pytest.raises(ValueError, match="two exams a group, found 1 and 5"):
        measure_shift(ones[:1], ones, 0.02)


def test_infinite_scores_rank_last_and_leave_a_bound_open() -> None:
    near = np.linspace(1.0, 2.0, 12)
    few = measure_shift(near, np.append(near, np.inf), 1.0)
    assert np.isfinite([few.low, few.high]).all()
    most = measure_shift(near, np.append(near[:4], [np.inf] * 8), 1.0)
    assert most.high == np.inf
    assert most.p_below > 0.5
    assert measure_shift(near, np.full(6, np.inf), 1.0).value == np.inf
    assert np.isnan(measure_shift(np.full(6, np.inf), np.full(6, np.inf), 1.0).value)


def test_exams_of_one_patient_tell_less_than_as_many_patients() -> None:
    rng = np.random.default_rng(3)
    people = rng.normal(0.9, 0.03, 24)
    first, second = np.repeat(people[:12], 3), np.repeat(people[12:], 3)
    of = np.repeat(np.arange(12), 3), np.repeat(np.arange(12, 24), 3)
    together = measure_shift(first, second, 0.05, patients=of)
    alone = measure_shift(first, second, 0.05)
    once = measure_shift(people[:12], people[12:], 0.05)
    assert together.value == pytest.approx(once.value)
    # Three copies of an exam tell what one does.
    assert together.high - together.low == pytest.approx(once.high - once.low, rel=0.1)
    assert alone.high - alone.low < 0.7 * (together.high - together.low)


def test_a_patient_in_both_groups_is_compared_with_itself() -> None:
    rng = np.random.default_rng(5)
    people = rng.normal(0.9, 0.05, 30)
    first, second = people + rng.normal(0, 0.01, 30), people + rng.normal(0, 0.01, 30)
    of = np.arange(30)
    crossed = measure_shift(first, second, 0.02, patients=(of, of))
    apart = measure_shift(first, second, 0.02, patients=(of, of + 30))
    assert crossed.p_inside >= crossed.p_below
    assert crossed.high - crossed.low <= apart.high - apart.low
