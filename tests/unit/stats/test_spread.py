"""Golden: 76 simulated exams (tests/golden/e2_rulers.json), by SciPy and statsmodels."""

import json
import tracemalloc
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tworulers.stats import draw
from tworulers.stats.dispersion import (
    bootstrap_gaps,
    bootstrap_spread,
    measure_spread,
    permute_spread,
    row_medians,
)
from tworulers.stats.draw import draw_exchanges, draw_within_groups
from tworulers.stats.groups import GroupedSample, group_means, pair_sample
from tworulers.stats.paired_spread import compare_paired_spreads


@pytest.fixture(scope="module")
def e2(root: Path) -> dict:
    return json.loads((root / "tests" / "golden" / "e2_rulers.json").read_text())


@pytest.fixture(scope="module")
def macro(e2: dict) -> GroupedSample:
    codes = np.array([["<40", "40-60", "60+"].index(age) for age in e2["age_3bin"]])
    gold, silver = (np.array(e2[ruler]["dice_macro"]) for ruler in ("gold", "silver"))
    return pair_sample(gold, silver, codes)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_spread_gap_and_ratios_are_the_golden_ones(e2, macro) -> None:
    expected = e2["variance_collapse_macro_dice_age_3bin"]
    found = measure_spread(macro)
    for name, key in {
        "vcr_sd": "vcr_sd",
        "vcr_mad": "vcr_mad",
        "vcr_iqr": "vcr_iqr",
        "gap_base_median": "gap_gold",
        "gap_other_median": "gap_silver",
        "gap_ratio_median": "gap_ratio",
        "snr_ratio_mad": "snr_ratio_mad",
    }.items():
        assert getattr(found, name) == pytest.approx(expected[key], abs=1e-8), name
    # The page's SD form pairs the gap of medians with the SD; ours pairs means with it.
    assert found.gap_ratio_median * found.vcr_sd == pytest.approx(
        expected["snr_ratio_sd"], abs=1e-8
    )
    assert found.undefined_because is None


def test_paired_tests_are_the_golden_ones(e2, macro) -> None:
    expected = e2["variance_collapse_macro_dice_age_3bin"]
    found = compare_paired_spreads(macro, draws=99, rng=rng())
    assert found.pitman_morgan_r == pytest.approx(expected["pitman_morgan"]["r"], abs=1e-8)
    assert found.pitman_morgan_t == pytest.approx(expected["pitman_morgan"]["t"], abs=1e-8)
    assert found.pitman_morgan_df == expected["pitman_morgan"]["df"]
    assert found.pitman_morgan_p == pytest.approx(expected["pitman_morgan"]["p"], rel=1e-6)
    assert found.hc3_slope == pytest.approx(expected["pitman_morgan_hc3"]["slope"], abs=1e-8)
    assert found.hc3_t == pytest.approx(expected["pitman_morgan_hc3"]["t"], abs=1e-8)
    assert found.hc3_p == pytest.approx(expected["pitman_morgan_hc3"]["p"], rel=1e-6)
    assert found.spearman_rho == pytest.approx(expected["pitman_morgan_spearman"]["rho"], abs=1e-8)
    # Two ties of the golden file exist in floats only, so its p differs in the third digit.
    assert found.wilcoxon_p == pytest.approx(expected["abs_deviation_wilcoxon"]["p"], rel=0.03)
    assert found.share_base_wider == pytest.approx(
        expected["abs_deviation_wilcoxon"]["share_gold_larger"]
    )


def test_bootstrap_bounds_are_within_six_percent_of_the_golden_ones(e2, macro) -> None:
    expected = e2["variance_collapse_macro_dice_age_3bin"]["bootstrap"]
    found = bootstrap_spread(macro, draws=10_000, rng=rng())
    for name, key in (
        ("vcr_sd", "sd_ratio_ci"),
        ("vcr_mad", "mad_ratio_ci"),
        ("gap_ratio", "gap_ratio_ci"),
    ):
        bounds = [getattr(found, f"{name}_low"), getattr(found, f"{name}_high")]
        assert bounds == pytest.approx(expected[key], rel=0.06), name


def test_gaps_alone_have_the_bounds_of_the_whole_bootstrap(macro) -> None:
    whole = bootstrap_spread(macro, draws=500, rng=rng())
    alone = bootstrap_gaps(macro, draws=500, rng=rng())
    for name, value in asdict(alone).items():
        assert getattr(whole, name) == value, name


def test_exchange_of_residuals_finds_the_golden_p(e2, macro) -> None:
    expected = e2["variance_collapse_macro_dice_age_3bin"]["swap_permutation"]
    found = permute_spread(macro, draws=9_999, rng=rng())
    assert found.statistic == pytest.approx(expected["log_sd_ratio"], abs=1e-8)
    assert found.p == pytest.approx(expected["p"], abs=0.01)


def test_hc3_agrees_with_statsmodels() -> None:
    generator = rng()
    base = generator.standard_t(3, size=60)
    other = 0.4 * base + generator.normal(size=60)
    codes = generator.integers(0, 3, size=60)
    sample = pair_sample(base, other, codes)
    residual = sample.values - group_means(sample)[:, codes]
    model = sm.OLS(residual[0] - residual[1], sm.add_constant(residual[0] + residual[1]))
    fitted = model.fit(cov_type="HC3", use_t=True)
    found = compare_paired_spreads(pair_sample(base, other, codes), draws=99, rng=rng())
    assert found.hc3_slope == pytest.approx(fitted.params[1])
    assert found.hc3_t == pytest.approx(fitted.tvalues[1])
    assert found.hc3_p == pytest.approx(fitted.pvalues[1])


def test_pitman_morgan_is_the_correlation_of_difference_and_sum() -> None:
    base, other = rng().normal(size=(2, 40))
    found = compare_paired_spreads(
        pair_sample(base, other, np.zeros(40, dtype=int)), draws=99, rng=rng()
    )
    expected = stats.pearsonr(base - other, base + other)
    assert found.pitman_morgan_r == pytest.approx(expected.statistic)
    assert found.pitman_morgan_p == pytest.approx(expected.pvalue)


def test_identical_rulers_have_ratio_one_and_no_test() -> None:
    scores, codes = rng().normal(size=30), np.arange(30) % 3
    spread, tested = (
        measure_spread(pair_sample(scores, scores, codes)),
        compare_paired_spreads(pair_sample(scores, scores, codes), draws=99, rng=rng()),
    )
    assert (spread.vcr_sd, spread.vcr_mad, spread.gap_ratio_median) == (1, 1, 1)
    assert tested.undefined_because == "no_difference"
    assert np.isnan(tested.hc3_p)
    assert np.isnan(tested.pitman_morgan_r)


def test_a_ruler_without_spread_has_no_ratio_and_says_so() -> None:
    scores, codes = rng().normal(size=30), np.arange(30) % 3
    found = measure_spread(pair_sample(scores, np.ones(30), codes))
    assert np.isnan(found.vcr_mad)
    assert "no_spread_other" in found.undefined_because
    drawn = bootstrap_spread(pair_sample(scores, np.ones(30), codes), draws=50, rng=rng())
    assert drawn.draws_without_other_spread == 50
    assert drawn.vcr_mad_low == np.inf


@given(
    scores=st.lists(st.floats(0, 1), min_size=12, max_size=30),
    shift=st.floats(-5, 5),
    seed=st.integers(0, 9),
)
@settings(max_examples=30, deadline=None)
def test_shifting_all_other_scores_changes_no_spread(scores, shift, seed) -> None:
    base = np.random.default_rng(seed).normal(size=len(scores))
    other, codes = np.round(scores, 3), np.arange(len(scores)) % 3
    before, after = (
        measure_spread(pair_sample(base, other, codes)),
        measure_spread(pair_sample(base, other + shift, codes)),
    )
    for name in ("sd_other", "mad_other", "iqr_other", "gap_other_median", "gap_other_mean"):
        assert getattr(after, name) == pytest.approx(getattr(before, name), abs=1e-9)


def test_draws_stay_within_groups_and_keep_patients_whole() -> None:
    codes = np.repeat([0, 1], [7, 9])
    patients = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10])
    for code, sample in enumerate(
        draw_within_groups(
            pair_sample(np.zeros(16), np.zeros(16), codes, units=patients), draws=40, rng=rng()
        )
    ):
        for drawn in sample:
            drawn = drawn[drawn >= 0]
            assert set(codes[drawn]) == {code}
            counts = pd.Series(np.bincount(drawn, minlength=16))[codes == code]
            per_patient = counts.groupby(patients[codes == code])
            assert (per_patient.max() == per_patient.min()).all()
    coins = draw_exchanges(patients, draws=400, rng=rng())
    assert (coins[:, 0] == coins[:, 1]).all()
    assert coins.mean() == pytest.approx(0.5, abs=0.05)


def test_every_patient_with_one_exam_gives_the_draws_of_exams() -> None:
    base, other = rng().normal(size=(2, 30))
    codes = np.arange(30) % 3
    exams = bootstrap_spread(pair_sample(base, other, codes), draws=200, rng=rng())
    assert exams == bootstrap_spread(
        pair_sample(base, other, codes, units=np.arange(30) + 5), draws=200, rng=rng()
    )


def test_row_medians_leave_out_nan() -> None:
    values = rng().normal(size=(50, 9))
    values[rng().random((50, 9)) < 0.3] = np.nan
    values[:, 0] = 0.1
    assert row_medians(values) == pytest.approx(np.nanmedian(values, axis=1))


@pytest.mark.needs_shared
def test_real_scores_of_one_group_are_the_golden_ones(shared: Path) -> None:
    expected = json.loads((shared / "reference" / "golden" / "e2_real_ungrouped.json").read_text())
    tables = [
        pd.read_csv(shared / "data" / "cspineseg_scores" / f"eval_ruler_{ruler}.csv")
        for ruler in ("gold", "silver")
    ]
    for table in tables:
        table["dice_macro"] = table[["dice_vb", "dice_disc"]].mean(axis=1)
        table["ndsc_macro"] = table[["ndsc_vb", "ndsc_disc"]].mean(axis=1)
    for score, values in expected.items():
        if score in ("n", "note"):
            continue
        base, other = (table[score].to_numpy() for table in tables)
        codes = np.zeros(len(base), dtype=int)
        spread, tested = (
            measure_spread(pair_sample(base, other, codes)),
            compare_paired_spreads(pair_sample(base, other, codes), draws=99, rng=rng()),
        )
        for name in ("vcr_sd", "vcr_mad", "vcr_iqr"):
            assert getattr(spread, name) == pytest.approx(values[name], abs=1e-8)
        assert spread.mad_base == pytest.approx(values["gold"]["mad"], abs=1e-8)
        assert tested.pitman_morgan_t == pytest.approx(values["pitman_morgan"]["t"], abs=1e-7)
        assert tested.hc3_p == pytest.approx(values["pitman_morgan_hc3"]["p"], abs=1e-8)
        assert tested.spearman_rho == pytest.approx(
            values["pitman_morgan_spearman"]["rho"], abs=1e-8
        )
        drawn = bootstrap_spread(pair_sample(base, other, codes), draws=10_000, rng=rng())
        assert [drawn.vcr_mad_low, drawn.vcr_mad_high] == pytest.approx(
            values["mad_ratio_ci"], rel=0.06
        )
        assert [drawn.vcr_sd_low, drawn.vcr_sd_high] == pytest.approx(
            values["sd_ratio_ci"], rel=0.06
        )


def test_spread_of_repeated_patients_is_tested_by_patients() -> None:
    chance = np.random.default_rng(11)
    codes = np.repeat([0, 1, 2], 6)
    noise = chance.normal(size=(2, 18))
    base, other = noise[0], 0.5 * noise[0] + 0.3 * noise[1]
    alone = compare_paired_spreads(pair_sample(base, other, codes), draws=99, rng=rng())
    assert (alone.spread_by, alone.spread_p) == ("exam", alone.hc3_p)
    found = []
    for copies in (2, 4):
        sample = pair_sample(
            np.repeat(base, copies),
            np.repeat(other, copies),
            np.repeat(codes, copies),
            units=np.repeat(np.arange(18), copies),
        )
        found.append(compare_paired_spreads(sample, draws=999, rng=rng()))
    assert found[0].spread_by == "patient"
    # copies make the p of exams smaller and leave that of patients
    assert found[1].hc3_p < found[0].hc3_p < alone.hc3_p
    assert found[1].spread_p == found[0].spread_p > alone.hc3_p / 3


def test_blocks_of_draws_need_little_memory_and_change_no_answer() -> None:
    base = rng().normal(size=4000)
    sample = pair_sample(base, 0.5 * base + 0.3 * rng().normal(size=4000), np.arange(4000) % 3)
    tracemalloc.start()
    drawn = bootstrap_spread(sample, draws=2000, rng=rng())
    swapped = permute_spread(sample, draws=2000, rng=rng())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120e6
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "BLOCK", 10**9)
        whole = bootstrap_spread(sample, draws=2000, rng=rng())
        assert permute_spread(sample, draws=2000, rng=rng()).p == swapped.p
    for bound in ("vcr_sd_low", "vcr_sd_high", "vcr_mad_low", "vcr_mad_high"):
        assert getattr(drawn, bound) == pytest.approx(getattr(whole, bound), rel=0.01)
    third = draw.BLOCK // 3
    assert [draw.split_draws(n, third) for n in (0, 5, 7)] == [[0], [3, 2], [3, 3, 1]]
    assert np.isnan(permute_spread(sample, draws=0, rng=rng()).p)
