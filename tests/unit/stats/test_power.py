"""Power and verdict probability, against recorded values, SciPy and the noncentral chi squared."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tworulers.stats.groups import GroupedSample, group_sample
from tworulers.stats.power import (
    approximate_power,
    find_detectable_gap,
    rank_p_of_draws,
    simulate_power,
    trace_verdicts,
)
from tworulers.stats.resample import named_stream


def sample_of(*groups: np.ndarray) -> GroupedSample:
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    names = [f"g{i}" for i in range(len(groups))]
    labels = pd.Series(pd.Categorical.from_codes(codes, names, ordered=True))
    return group_sample(np.concatenate(groups), labels)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_draws_agree_with_scipy_on_repeated_exams(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    values, codes = rng.normal(size=15).round(1), rng.integers(0, k, size=15)
    weight = rng.integers(0, 4, size=(15, 1))
    repeated, of = np.repeat(values, weight[:, 0]), np.repeat(codes, weight[:, 0])
    parts = [repeated[of == g] for g in range(k) if (of == g).any()]
    found = rank_p_of_draws(values, codes, weight, k)[0]
    if len(parts) < 2:
        assert np.isnan(found)
    elif np.ptp(repeated) == 0:
        assert found == 1
    elif k == 2:
        assert found == pytest.approx(stats.mannwhitneyu(*parts, method="asymptotic").pvalue)
    else:
        assert found == pytest.approx(stats.kruskal(*parts).pvalue)


def test_golden_power(e2_table: pd.DataFrame, battery_golden: dict[str, Any]) -> None:
    bins = pd.cut(e2_table["age"].fillna(90), [0, 40, 60, 200], right=False)
    golden = battery_golden["power"]
    for ruler in ("gold", "silver"):
        sample = group_sample(e2_table[f"{ruler}_dice_macro"].to_numpy(), bins)
        for sd in ("sd", "mad"):
            case = golden[f"{ruler}_{sd}"]
            places = np.array([0.5, 0, -0.5]) * case["gap"]
            assert approximate_power(places, sample.sizes, case["sd"], 0.05) == pytest.approx(
                case["approx_alpha05"], abs=1e-6
            )
            assert approximate_power(places, sample.sizes, case["sd"], 0.05 / 63) == pytest.approx(
                case["approx_alpha_05_over_63"], abs=1e-6
            )
            found = simulate_power(
                sample, places, 0.05, 4000, named_stream(0, ruler, sd), "normal", case["sd"]
            )
            assert found == pytest.approx(case["simulated_alpha05_2000"], abs=0.03)


def test_detectable_gap_has_the_stated_power() -> None:
    rng = np.random.default_rng(0)
    sample = sample_of(*(rng.normal(0.9, 0.03, size=n) for n in (21, 29, 26)))
    plain, strict = find_detectable_gap(sample, [0.05, 0.05 / 63], 2000, named_stream(0, "gap"))
    assert plain.gap < strict.gap
    for found in (plain, strict):
        places = np.linspace(-0.5, 0.5, 3) * found.gap
        power = simulate_power(sample, places, found.alpha, 4000, named_stream(1, "check"))
        assert power == pytest.approx(0.8, abs=0.04)
    # and near what normal noise of the same spread promises
    places = np.linspace(-0.5, 0.5, 3) * plain.gap
    assert approximate_power(places, sample.sizes, 0.03, 0.05) == pytest.approx(0.8, abs=0.15)


def test_too_few_exams_detect_nothing() -> None:
    sample = sample_of(np.array([0.9, 0.91]), np.array([0.92, 0.93, 0.95]))
    found = find_detectable_gap(sample, [0.05], 500, named_stream(0, "few"))[0]
    assert np.isnan(found.gap)
    assert found.undefined_because == "no gap reaches a power of 80% at these group sizes"


def test_what_has_no_power_says_why() -> None:
    flat = sample_of(np.ones(5), np.ones(5))
    assert find_detectable_gap(flat, [0.05], 99, named_stream(0, "flat"))[0].undefined_because == (
        "scores do not vary within groups"
    )
    missed = sample_of(np.full(5, np.inf), np.arange(5.0))
    found = find_detectable_gap(missed, [0.05], 99, named_stream(0, "inf"))[0]
    assert found.undefined_because == "a group's median is infinite"


def test_one_infinite_score_is_only_the_worst() -> None:
    rng = np.random.default_rng(2)
    sample = sample_of(np.append(rng.normal(1, 0.2, 19), np.inf), rng.normal(1, 0.2, 20))
    found = find_detectable_gap(sample, [0.05], 1000, named_stream(0, "one"))[0]
    assert 0.1 < found.gap < 0.5


def test_verdicts_become_certain_with_n_where_groups_differ() -> None:
    rng = np.random.default_rng(7)
    index = [f"e{i}" for i in range(60)]
    group = pd.Series(pd.Categorical(["a", "b"] * 30, ["a", "b"], ordered=True), index=index)
    shift = np.tile([0.0, 0.6], 30)
    scores = pd.DataFrame(
        {"real": rng.normal(size=60) + shift, "none": np.tile(rng.normal(size=30), 2)[:60]},
        index=index,
    )
    scores.loc["e0", "real"] = np.nan
    found = trace_verdicts(
        scores, pd.DataFrame({"g": group}), [30, 120, 480], 400, named_stream(0, "n")
    )
    real = found[found["score"] == "real"]["probability_fdr"].to_numpy()
    assert (np.diff(real) > 0).all()
    assert real[-1] > 0.95
    assert (found["probability_fdr"] <= found["probability"] + 1e-12).all()
    with pytest.raises(ValueError, match="different exams"):
        trace_verdicts(scores, pd.DataFrame({"g": group[:9]}), [30], 10, named_stream(0, "n"))
