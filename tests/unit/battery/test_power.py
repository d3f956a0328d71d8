"""Power and verdict probability, against recorded values and SciPy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tworulers.battery import detectable
from tworulers.battery.detectable import find_detectable_gap
from tworulers.battery.power import (
    rank_p_of_draws,
    trace_verdicts,
)
from tworulers.stats.draw import named_stream
from tworulers.stats.groups import GroupedSample, group_sample
from tworulers.stats.ranks import kruskal_rows


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
            rng = named_stream(0, ruler, sd)
            noise = rng.normal(0, case["sd"], size=(4000, len(sample.codes)))
            h = kruskal_rows(stats.rankdata(places[sample.codes] + noise, axis=1), sample.codes)
            share = (stats.chi2.sf(h, 2) < 0.05).mean()
            assert share == pytest.approx(case["simulated_alpha05_2000"], abs=0.03)


def test_detectable_gap_has_the_stated_power() -> None:
    rng = np.random.default_rng(0)
    sample = sample_of(*(rng.normal(0.9, 0.03, size=n) for n in (21, 29, 26)))
    plain, strict = find_detectable_gap(sample, [0.05, 0.05 / 63], 2000, named_stream(0, "gap"))
    assert plain.detectable_gap < strict.detectable_gap
    parts = []
    for g, n in enumerate(sample.sizes):
        own = np.sqrt(n / (n - 1)) * (sample.of(g) - np.median(sample.of(g)))
        parts.append(own)
    everyone = np.concatenate(parts)
    parts = [part - np.median(np.subtract.outer(part, everyone)) for part in parts]
    for found in (plain, strict):
        assert found.detectable_gap_low < found.detectable_gap < found.detectable_gap_high
        reached = []
        for sign in (1, -1):
            places = sign * np.linspace(-0.5, 0.5, 3) * found.detectable_gap
            drawn = [rng.choice(part, size=(4000, len(part))) for part in parts]
            shifted = np.hstack([part + at for part, at in zip(drawn, places, strict=True)])
            h = kruskal_rows(stats.rankdata(shifted.round(9), axis=1), sample.codes)
            reached.append((stats.chi2.sf(h, 2) < found.alpha).mean())
        assert np.mean(reached) == pytest.approx(0.8, abs=0.03)


def test_many_exams_are_answered_without_draws_and_alike() -> None:
    rng = np.random.default_rng(1)
    sample = sample_of(*(rng.gamma(4, 0.01, size=n) for n in (200, 300)))
    simulated = find_detectable_gap(sample, [0.05, 0.001], 4000, named_stream(0, "many"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detectable, "MOST_SIMULATED", 499)
        asymptotic = find_detectable_gap(sample, [0.05, 0.001], 4000, named_stream(0, "many"))
    assert ([found.draws for found in simulated], asymptotic[0].draws) == ([4000, 4000], 0)
    for one, other in zip(simulated, asymptotic, strict=True):
        assert other.detectable_gap == pytest.approx(one.detectable_gap, rel=0.03)
        assert other.power_at_observed == pytest.approx(one.power_at_observed, abs=0.03)


def test_exams_of_one_patient_count_less_than_as_many_patients() -> None:
    rng = np.random.default_rng(4)
    of_patient = np.repeat(np.arange(40), 3)
    scores = rng.normal(size=40)[of_patient] * 0.8 + rng.normal(size=120) * 0.6
    names = pd.Categorical.from_codes(of_patient % 2, ["a", "b"], ordered=True)
    alone = group_sample(scores, pd.Series(names))
    together = group_sample(scores, pd.Series(names), of_patient)
    plain, kept = (
        find_detectable_gap(sample, [0.05], 2000, named_stream(0, "kept"))[0]
        for sample in (alone, together)
    )
    # means of three exams spread by sqrt(.64 + .36 / 3), those of single exams by 1 / sqrt(3)
    assert kept.detectable_gap / plain.detectable_gap == pytest.approx(1.51, rel=0.15)
    assert kept.power_at_observed <= plain.power_at_observed


def test_scores_of_one_grouping_share_their_draws() -> None:
    rng = np.random.default_rng(5)
    first = sample_of(rng.normal(size=12), rng.normal(size=20))
    scaled = replace(first, values=np.round(3 * first.values, 9))
    one, other = (
        find_detectable_gap(sample, [0.05], 500, named_stream(0, "power", "sex"))[0]
        for sample in (first, scaled)
    )
    assert other.detectable_gap == pytest.approx(3 * one.detectable_gap, rel=1e-6)


def test_too_few_exams_detect_nothing() -> None:
    sample = sample_of(np.array([0.9, 0.91]), np.array([0.92, 0.93, 0.95]))
    found = find_detectable_gap(sample, [0.05], 500, named_stream(0, "few"))[0]
    assert np.isnan(found.detectable_gap)
    assert found.undefined_because == "no gap reaches a power of 80% at these group sizes"


def test_what_has_no_power_says_why() -> None:
    flat = sample_of(np.ones(5), np.ones(5))
    assert find_detectable_gap(flat, [0.05], 99, named_stream(0, "flat"))[0].undefined_because == (
        "scores do not vary within groups"
    )
    twice = group_sample(
        np.arange(6.0), pd.Series(pd.Categorical(list("aabbbb"))), np.array([0, 0, 1, 2, 3, 4])
    )
    found = find_detectable_gap(twice, [0.05], 99, named_stream(0, "twice"))[0]
    assert found.undefined_because == "a group under two patients"
    missed = sample_of(np.full(5, np.inf), np.arange(5.0))
    found = find_detectable_gap(missed, [0.05], 99, named_stream(0, "inf"))[0]
    assert found.undefined_because == "a group's median is infinite"


def test_one_infinite_score_is_only_the_worst() -> None:
    rng = np.random.default_rng(2)
    sample = sample_of(np.append(rng.normal(1, 0.2, 19), np.inf), rng.normal(1, 0.2, 20))
    found = find_detectable_gap(sample, [0.05], 1000, named_stream(0, "one"))[0]
    assert 0.1 < found.detectable_gap < 0.5


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
