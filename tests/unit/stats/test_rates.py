"""Success rates, their intervals and disparities, against fairlearn, statsmodels and worked cases."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import demographic_parity_difference, demographic_parity_ratio
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tworulers.metrics.registry import METRICS
from tworulers.stats.groups import group_sample
from tworulers.stats.rates import (
    compare_rates,
    count_effective,
    count_successes,
    newcombe_intervals,
    rate_interval,
    tabulate_rates,
)


def sample_of(groups: dict[str, list[float]]) -> Any:
    labels = [name for name, values in groups.items() for _ in values]
    order = pd.Series(pd.Categorical(labels, list(groups), ordered=True))
    return group_sample(np.concatenate([np.array(v, float) for v in groups.values()]), order)


def test_success_is_strict_and_infinite_distance_fails() -> None:
    sample = sample_of({"a": [0.8, 0.81, np.nan], "b": [0.5]})
    assert count_successes(sample, 0.8, METRICS["dice"]).tolist() == [1, 0]
    distances = sample_of({"a": [5.0, 4.9], "b": [np.inf]})
    assert count_successes(distances, 5.0, METRICS["hd95"]).tolist() == [1, 0]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=5))
def test_intervals_agree_with_scipy(pairs: list[tuple[int, int]]) -> None:
    n = np.array([max(a, b, 1) for a, b in pairs])
    s = np.array([min(a, b) for a, b in pairs])
    for ours, method in (("wilson", "wilson"), ("beta", "exact")):
        found = np.array(rate_interval(s, n, method=ours))  # type: ignore[arg-type]
        expected = [
            stats.binomtest(*map(int, x)).proportion_ci(method=method)
            for x in zip(s, n, strict=True)
        ]
        assert np.allclose(found.T, expected, atol=1e-9)
        assert found.min() >= 0
        assert found.max() <= 1


def test_a_rate_without_exams_has_no_interval() -> None:
    low, high = rate_interval(np.array([0, 0, 9]), np.array([0, 9, 9]))
    assert (np.isnan(low[0]), low[1], high[2]) == (True, 0.0, 1.0)


def test_newcombe_gives_the_published_examples() -> None:
    """Newcombe 1998, table II, method 10, and no exam on one side."""
    for s, n, expected in (
        ((48, 56), (80, 70), (0.0524, 0.3339)),
        ((3, 9), (10, 10), (0.1705, 0.8090)),
        ((0, 10), (20, 10), (0.6791, 1.0)),
    ):
        found = newcombe_intervals(np.array(s), np.array(n), np.array([0]), np.array([1]))
        assert np.allclose(found[:, 0], expected, atol=5e-5)
    empty = newcombe_intervals(np.array([0, 1]), np.array([0, 4]), np.array([0]), np.array([1]))
    assert np.isnan(empty).all()


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), min_size=2, max_size=4))
def test_disparities_agree_with_fairlearn(pairs: list[tuple[int, int]]) -> None:
    s = np.array([min(a, b) for a, b in pairs])
    n = np.array([b for _, b in pairs])
    success = np.concatenate([np.arange(b) < a for a, b in zip(s, n, strict=True)]).astype(int)
    group = np.repeat(np.arange(len(n)), n)
    found = compare_rates(s, n)
    of = {"y_true": success, "y_pred": success, "sensitive_features": group}
    assert found.dpd == pytest.approx(demographic_parity_difference(**of))
    if s.any():
        assert found.dir == pytest.approx(demographic_parity_ratio(**of))
    else:  # fairlearn has a convention for 0/0, ours is undefined with its reason
        assert np.isnan(found.dir)
        assert found.undefined_because == "no exam of any group succeeds (0/0)"


def test_golden_dir_cases(battery_golden: dict[str, Any]) -> None:
    for case in battery_golden["dir_cases"].values():
        s, n = np.array(case["successes_n"]).T
        found = compare_rates(s, n)
        assert found.dpd == pytest.approx(case["dpd"], abs=1e-11)
        assert found.dir == pytest.approx(float(case["dir"]), abs=1e-11, nan_ok=True)
        assert found.below_four_fifths == case["four_fifths_flag"]
        assert found.saturated == case["saturated"]


def test_zero_success_rates() -> None:
    one, both, full = (
        compare_rates(np.array(s), np.array([4, 4])) for s in ([0, 3], [0, 0], [4, 4])
    )
    assert (one.dir, one.dpd, one.below_four_fifths) == (0.0, 0.75, True)
    assert np.isnan(both.dir)
    assert (both.dpd, both.below_four_fifths) == (0.0, False)
    assert (full.dir, full.saturated) == (1.0, True)


def test_four_fifths_is_exact_on_the_lattice() -> None:
    # 4/5 over 5/5 is .8 exactly in theory, and a hair below it in floats for 12/20 over 15/20
    assert not compare_rates(np.array([12, 15]), np.array([20, 20])).below_four_fifths


def test_absent_group_takes_no_part() -> None:
    found = compare_rates(np.array([3, 0, 4]), np.array([4, 0, 4]))
    assert found.dir == 0.75
    alone = compare_rates(np.array([3, 0]), np.array([4, 0]))
    assert alone.undefined_because == "fewer than two groups have exams"


def test_missing_group_values_are_counted() -> None:
    labels = ["White"] * 4 + ["Black"] * 3 + ["Not Reported"] * 2 + [None]
    order = pd.Categorical(labels, ["White", "Black", "Not Reported"], ordered=True)
    values = np.array([0.9, 0.7, 0.95, 0.85, 0.6, 0.9, 0.88, 0.5, 0.92, 0.4])
    sample = group_sample(values, pd.Series(order))
    rows = tabulate_rates(sample, 0.8, METRICS["dice"])
    assert [row["n"] for row in rows] == [4, 3, 2]
    assert [round(row["rate"], 6) for row in rows] == [0.75, 0.666667, 0.5]
    assert sample.n_left_out == 1
    pair = sample.keep([0, 1])
    found = compare_rates(count_successes(pair, 0.8, METRICS["dice"]), pair.sizes)
    assert found.dir == pytest.approx(0.888889, abs=1e-6)


def test_repeated_patients_count_as_fewer_exams() -> None:
    rng = np.random.default_rng(0)
    one = rng.random(20) < 0.7
    before = np.empty(0)
    groups = pd.Series(pd.Categorical(["a"] * 12 + ["b"] * 8, ["a", "b"], ordered=True))
    for copies in (1, 2, 3):
        success = np.repeat(one, copies)
        sample = group_sample(
            success.astype(float),
            groups.repeat(copies).reset_index(drop=True),
            np.repeat(np.arange(20), copies),
        )
        hits, n = count_effective(sample, success)
        plain = np.array([one[:12].sum(), one[12:].sum()]) / [12, 8]
        assert hits / n == pytest.approx(plain)
        if copies == 1:
            assert (n == [12, 8]).all()
            continue
        # copies of an exam add nothing
        assert n == pytest.approx([12, 8], rel=0.05)
        before = n if copies == 2 else before
        assert (n <= before + 1e-9).all()
    saturated = count_effective(sample, np.ones(60, dtype=bool))
    assert saturated[1] == pytest.approx([12, 8])
