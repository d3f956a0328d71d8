"""Intervals of group differences, against SciPy's bootstrap and simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from tworulers.battery.differences import (
    compare_groups,
    draw_locations,
    expand_level,
    gap_interval,
)
from tworulers.stats.draw import named_stream
from tworulers.stats.groups import GroupedSample, group_medians, group_sample
from tworulers.stats.rates import count_effective


def sample_of(*groups: np.ndarray, patients: np.ndarray | None = None) -> GroupedSample:
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    names = [f"g{i}" for i in range(len(groups))]
    labels = pd.Series(pd.Categorical.from_codes(codes, names, ordered=True))
    return group_sample(np.concatenate(groups), labels, patients)


def first_of(sample: GroupedSample, *successes: int) -> np.ndarray:
    """Mark so many exams of each group as successes, the first ones."""
    place = np.concatenate([np.arange(size) for size in sample.sizes])
    return place < np.array(successes)[sample.codes]


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_medians_are_drawn_as_by_drawing_exams(n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.normal(size=n).round(9)
    drawn = draw_locations(sample_of(values), 40_000, named_stream(0, "medians"))[0][:, 0]
    plain = np.median(values[rng.integers(0, n, size=(40_000, n))], axis=1)
    for point in np.unique(plain)[:40]:
        difference = (drawn <= point + 1e-12).mean() - (plain <= point + 1e-12).mean()
        assert abs(difference) < 0.015


def test_intervals_agree_with_scipy() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.gamma(2, 1, size=31), rng.gamma(3, 1, size=24)
    sample = sample_of(a, b)
    medians, means = draw_locations(sample, 10_000, named_stream(0, "scipy"))
    row = compare_groups(sample, first_of(sample, 20, 21), medians, means)[0]
    for name, location in (("median_difference", np.median), ("mean_difference", np.mean)):
        expected = stats.bootstrap(
            (b, a),
            lambda x, y, axis, location=location: location(x, axis) - location(y, axis),
            method="percentile",
            rng=rng,
        ).confidence_interval
        assert row[name] == pytest.approx(location(b) - location(a))
        assert row[f"{name}_low"] == pytest.approx(expected.low, abs=0.06)
        assert row[f"{name}_high"] == pytest.approx(expected.high, abs=0.06)
    assert row["rate_difference"] == pytest.approx(21 / 24 - 20 / 31)


def test_gap_is_largest_minus_smallest() -> None:
    rng = np.random.default_rng(4)
    sample = sample_of(*(rng.normal(m, 0.1, size=30) for m in (0, 1, 0.5)))
    medians, _ = draw_locations(sample, 2000, named_stream(0, "gap"))
    low, high = gap_interval(medians)
    assert low < np.ptp(group_medians(sample)) < high
    assert (low, high) == pytest.approx((0.95, 1.05), abs=0.1)


def test_infinite_locations_have_no_difference() -> None:
    sample = sample_of(np.array([1.0, 2, 3]), np.full(3, np.inf))
    drawn = draw_locations(sample, 200, named_stream(0, "inf"))
    row = compare_groups(sample, first_of(sample, 3, 0), *drawn)[0]
    assert np.isnan(row["median_difference"])
    assert np.isnan(row["median_difference_low"])
    assert row["rate_difference"] == -1


def test_pair_with_a_single_exam_has_no_interval() -> None:
    sample = sample_of(np.array([1.0]), np.array([2.0, 3.0, 4.0]))
    drawn = draw_locations(sample, 200, named_stream(0, "one"))
    row = compare_groups(sample, first_of(sample, 1, 1), *drawn)[0]
    assert row["median_difference"] == 2.0
    assert np.isnan([row["median_difference_low"], row["rate_difference_high"]]).all()


def test_whole_patients_widen_the_interval() -> None:
    rng = np.random.default_rng(6)
    values = [np.repeat(rng.normal(size=12), 4) for _ in range(2)]
    patients = np.repeat(np.arange(24), 4)
    widths = []
    for who in (patients, None):
        sample = sample_of(*values, patients=who)
        drawn = draw_locations(sample, 3000, named_stream(0, "clusters"))
        row = compare_groups(sample, first_of(sample, 24, 24), *drawn)[0]
        widths.append(row["mean_difference_high"] - row["mean_difference_low"])
        for location in drawn:
            assert np.isfinite(location).all()
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.15)


def test_cluster_medians_agree_with_repeated_values() -> None:
    sample = sample_of(np.array([1.0, 2, 4, 8]), patients=np.array([0, 0, 1, 1]))
    medians, means = draw_locations(sample, 500, named_stream(0, "two patients"))
    assert set(np.round(medians[:, 0], 9)) == {1.5, 3.0, 6.0}
    assert set(np.round(means[:, 0], 9)) == {1.5, 3.75, 6.0}


@pytest.mark.parametrize("repeated", [False, True])
def test_pairs_together_are_bounded_as_one_by_one(repeated: bool) -> None:
    rng = np.random.default_rng(8)
    values = [rng.normal(size=size) for size in (1, 2, 5, 9, 14, 30)]
    values[3][:4] = np.inf  # whose median is infinite in some draws and not in others
    n = sum(map(len, values))
    sample = sample_of(*values, patients=rng.integers(0, 20, n) if repeated else None)
    success = sample.values > 0
    medians, means = draw_locations(sample, 400, named_stream(0, "pairs"))
    rows = iter(compare_groups(sample, success, medians, means, 0.9))
    hits, counted = count_effective(sample, success)
    for a in range(6):
        for b in range(a + 1, 6):
            row, level = next(rows), 0.9
            assert (row["group_a"], row["group_b"]) == (f"g{a}", f"g{b}")
            if repeated:
                people = sample.patients[np.isin(sample.codes, (a, b))]
                level = expand_level(0.9, len(np.unique(people)), 2)
            tails = (1 - level) / 2, (1 + level) / 2
            for name, drawn in (("median_difference", medians), ("mean_difference", means)):
                moved = (drawn[:, b] - drawn[:, a])[np.isfinite(drawn[:, [a, b]]).all(axis=1)]
                expected = np.quantile(moved, tails) if a else (np.nan, np.nan)
                found = row[f"{name}_low"], row[f"{name}_high"]
                assert found == pytest.approx(tuple(expected), abs=1e-12, nan_ok=True)
            bounds = (np.nan, np.nan)
            if a:
                bounds = confint_proportions_2indep(
                    *(hits[b], counted[b], hits[a], counted[a]), method="newcomb", alpha=0.1
                )
            found = row["rate_difference_low"], row["rate_difference_high"]
            assert found == pytest.approx(bounds, abs=1e-12, nan_ok=True)
    assert next(rows, None) is None
