from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tworulers.schema import METRICS, Audit
from tworulers.stats.counterfactual import kruskal_rows
from tworulers.stats.diagnosis import Evidence, Verdict, judge
from tworulers.stats.disagreement import measure_disagreement
from tworulers.stats.pairs import GroupedPair
from tworulers.stats.spread import locate_groups

SETTINGS = Audit(name="test", bootstrap_draws=400, permutations=200)

NOTHING = Evidence(
    significant_base=False,
    significant_other=True,
    vcr_low=0.7,
    vcr_high=1.4,
    hc3_slope=0.0,
    hc3_p=0.6,
    gap_ratio=1.0,
    gap_ratio_low=0.3,
    gap_ratio_high=3.0,
    growth_low=-0.01,
    shrinkage_low=-0.01,
    gap_part=1.0,
    noise_part=1.0,
    own_p_crosses=True,
    swap_p=0.01,
)
COLLAPSED = {"vcr_low": 2.0, "vcr_high": 5.0, "hc3_p": 1e-6, "hc3_slope": 0.7}
WIDENED = {"vcr_low": 0.2, "vcr_high": 0.6, "hc3_p": 1e-6, "hc3_slope": -0.7}
GREW = {"growth_low": 0.01, "gap_ratio": 2.5, "gap_part": 9.0}


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, Verdict.UNATTRIBUTED),
        (COLLAPSED, Verdict.FALSE_CONFIDENCE),
        (COLLAPSED | {"hc3_p": 0.2}, Verdict.UNATTRIBUTED),
        (COLLAPSED | {"noise_part": -1.0}, Verdict.UNATTRIBUTED),
        (COLLAPSED | {"gap_ratio": 1.3, "noise_part": 1.5}, Verdict.UNATTRIBUTED),
        (COLLAPSED | {"gap_ratio": 1.3, "noise_part": 8.0}, Verdict.FALSE_CONFIDENCE),
        (GREW, Verdict.FALSE_MAGNITUDE),
        (GREW | {"growth_low": -0.1, "gap_ratio_low": 1.2}, Verdict.FALSE_MAGNITUDE),
        (GREW | {"gap_part": 0.5}, Verdict.UNATTRIBUTED),
        (GREW | {"vcr_low": 1.1}, Verdict.UNATTRIBUTED),
        (GREW | {"hc3_p": 0.01, "hc3_slope": 0.4}, Verdict.UNATTRIBUTED),
        (GREW | {"hc3_p": 0.01, "hc3_slope": -0.4}, Verdict.FALSE_MAGNITUDE),
        (COLLAPSED | GREW, Verdict.MIXED),
        ({"significant_other": False}, Verdict.STABLE),
        ({"significant_base": True}, Verdict.STABLE),
        ({"significant_base": True, "gap_ratio_low": 1.1}, Verdict.EXAGGERATED),
        ({"significant_base": True, "gap_ratio_high": 0.9}, Verdict.UNDERSTATED),
    ],
)
def test_flips_to_significance_and_agreements(change, verdict) -> None:
    assert judge(replace(NOTHING, **change), alpha=0.05).verdict is verdict


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, Verdict.UNATTRIBUTED),
        ({"shrinkage_low": 0.02}, Verdict.REASSURANCE_BY_MAGNITUDE),
        ({"gap_ratio_high": 0.8}, Verdict.REASSURANCE_BY_MAGNITUDE),
        (WIDENED, Verdict.REASSURANCE_BY_NOISE),
        (WIDENED | {"shrinkage_low": 0.02}, Verdict.REASSURANCE_BY_NOISE),
    ],
)
def test_flips_to_no_significance(change, verdict) -> None:
    hidden = replace(NOTHING, significant_base=True, significant_other=False)
    assert judge(replace(hidden, **change), alpha=0.05).verdict is verdict


@pytest.mark.parametrize(("gap", "noise", "larger"), [(5.0, 2.0, "gap"), (2.0, 5.0, "noise")])
def test_a_mixed_verdict_names_the_larger_part(gap, noise, larger) -> None:
    evidence = replace(NOTHING, **(COLLAPSED | GREW | {"gap_part": gap, "noise_part": noise}))
    assert judge(evidence, alpha=0.05).larger_part == larger


def test_without_a_gap_under_the_base_ruler_the_gap_held_unless_it_grew() -> None:
    nothing = replace(NOTHING, **COLLAPSED, gap_ratio=np.nan, gap_ratio_low=np.nan)
    assert judge(nothing, alpha=0.05).verdict is Verdict.FALSE_CONFIDENCE
    assert judge(replace(nothing, growth_low=0.01), alpha=0.05).verdict is Verdict.MIXED


def draw_base(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Left-skewed scores of three groups that lie apart by less than can be found."""
    generator = np.random.default_rng(seed)
    codes = np.arange(75) % 3
    return 0.9 - 0.03 * np.exp(0.8 * generator.normal(size=75)) + 0.004 * codes, codes


def diagnose(base: np.ndarray, other: np.ndarray, codes: np.ndarray) -> Verdict | None:
    """Judge a flip to significance, or return None where there is no flip."""
    p = stats.chi2.sf(kruskal_rows(np.stack([base, other]), codes), 2)
    if not (p[0] >= 0.05 > p[1]):
        return None
    pair = GroupedPair(
        "age", "macro", METRICS["dice"], ["a", "b", "c"], codes, base, other, None, []
    )
    return measure_disagreement(pair, SETTINGS).judge(False, True, 0.05).verdict


def test_every_flip_by_pure_collapse_is_false_confidence() -> None:
    found = []
    for seed in range(40):
        base, codes = draw_base(seed)
        medians = locate_groups(base, codes, "median")[codes]
        found.append(diagnose(base, medians + 0.25 * (base - medians), codes))
    flips = [verdict for verdict in found if verdict is not None]
    assert len(flips) > 15
    assert set(flips) == {Verdict.FALSE_CONFIDENCE}


def test_every_flip_by_a_wider_gap_alone_is_false_magnitude() -> None:
    found = []
    for seed in range(40):
        base, codes = draw_base(seed)
        order = locate_groups(base, codes, "median").argsort().argsort()
        found.append(diagnose(base, base + 0.02 * order[codes], codes))
    flips = [verdict for verdict in found if verdict is not None]
    assert len(flips) > 15
    assert set(flips) == {Verdict.FALSE_MAGNITUDE}


@pytest.mark.parametrize(
    "change",
    [
        {"own_p_crosses": False},
        {"swap_p": 0.2},
        {"swap_p": np.nan},
        {"own_p_crosses": False, "swap_p": 0.2},
    ],
)
@pytest.mark.parametrize("figures", [COLLAPSED, GREW, COLLAPSED | GREW, {}])
def test_a_flip_by_the_correction_or_by_chance_gets_no_mechanism(change, figures) -> None:
    found = judge(replace(NOTHING, **(figures | change)), alpha=0.05)
    assert found.verdict is Verdict.NOT_SHOWN
    shown = judge(replace(NOTHING, **figures), alpha=0.05)
    assert found.consistent_with == shown.verdict != Verdict.NOT_SHOWN
    assert found.made_by_correction == (change.get("own_p_crosses") is False)
    assert found.within_chance == ("swap_p" in change)
    hidden = {"significant_base": True, "significant_other": False}
    reassured = judge(replace(NOTHING, **(WIDENED | hidden | change)), alpha=0.05)
    assert reassured.verdict is Verdict.NOT_SHOWN
    for both in (False, True):
        agreed = {"significant_base": both, "significant_other": both}
        stable = judge(replace(NOTHING, **(agreed | change)), alpha=0.05)
        assert (stable.verdict, stable.consistent_with) == (Verdict.STABLE, "")


@pytest.mark.parametrize(
    ("gap", "noise", "least", "most"),
    [(0.25, 0.25, 0.0, 0.15), (0.5, 0.5, 0.0, 0.15), (1, 0.25, 0.65, 1)],
)
def test_a_ruler_that_rescales_everything_is_seldom_named_and_one_that_shrinks_noise_is(
    gap: float, noise: float, least: float, most: float
) -> None:
    """Of the flips that a rescaling made, 61 to 98 % were named before the exchange was asked."""
    generator = np.random.default_rng(17)
    codes = np.repeat(np.arange(3), (21, 29, 26))
    at = np.array([0.0, 0.25, 0.5])[codes]
    named = []
    while len(named) < 60:
        first, own = generator.normal(size=(2, 76))
        other = gap * at + noise * (0.8 * first + 0.6 * own)
        p = stats.chi2.sf(kruskal_rows(np.stack([at + first, other]), codes), 2)
        if p[0] >= 0.05 > p[1]:
            pair = GroupedPair(
                "age", "macro", METRICS["dice"], ["a", "b", "c"], codes, at + first, other, None, []
            )
            verdict = measure_disagreement(pair, SETTINGS).judge(False, True, 0.05).verdict
            named.append(verdict not in (Verdict.NOT_SHOWN, Verdict.UNATTRIBUTED))
    assert least <= np.mean(named) <= most
