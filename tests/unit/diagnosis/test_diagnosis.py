from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tworulers.battery.questions import Question
from tworulers.diagnosis.counterfactual import kruskal_of_values
from tworulers.diagnosis.disagreement import measure_disagreement
from tworulers.diagnosis.mechanism import SHOWN, Evidence, Mechanism, judge
from tworulers.diagnosis.verdicts import name_verdict
from tworulers.metrics.registry import METRICS
from tworulers.schema.settings import Audit
from tworulers.stats.groups import group_medians, pair_sample

SETTINGS = Audit(name="test", bootstrap_draws=400, permutations=200)

NOTHING = Evidence(
    significant_base=False,
    significant_other=True,
    vcr_mad_low=0.7,
    vcr_mad_high=1.4,
    spread_slope=0.0,
    spread_p=0.6,
    gap_ratio=1.0,
    gap_change_low=-0.01,
    gap_change_high=0.01,
    growth_low=-0.01,
    shrinkage_low=-0.01,
    gap_over_noise=1.5,
    gap_part=1.0,
    noise_part=1.0,
    own_p_crosses=True,
    swap_p_fdr=0.01,
)
COLLAPSED = {"vcr_mad_low": 2.0, "vcr_mad_high": 5.0, "spread_p": 1e-6, "spread_slope": 0.7}
WIDENED = {"vcr_mad_low": 0.2, "vcr_mad_high": 0.6, "spread_p": 1e-6, "spread_slope": -0.7}
GREW = {"growth_low": 0.01, "gap_change_low": 0.01, "gap_ratio": 2.5, "gap_part": 9.0}
SHRANK = {"shrinkage_low": 0.02, "gap_change_high": -0.01}
HIDDEN = {
    "significant_base": True,
    "significant_other": False,
    "gap_over_noise": 0.5,
    "gap_part": -1.0,
    "noise_part": -1.0,
}


@pytest.mark.parametrize(
    ("change", "mechanism"),
    [
        ({}, Mechanism.UNATTRIBUTED),
        (COLLAPSED, Mechanism.NOISE_SHOWN),
        (COLLAPSED | {"gap_over_noise": 0.95}, Mechanism.UNATTRIBUTED),
        (COLLAPSED | {"gap_over_noise": np.nan}, Mechanism.NOISE_SHOWN),
        (COLLAPSED | {"spread_p": 0.2}, Mechanism.UNATTRIBUTED),
        (COLLAPSED | {"noise_part": -1.0}, Mechanism.UNATTRIBUTED),
        (COLLAPSED | {"gap_ratio": 1.3, "noise_part": 1.5}, Mechanism.UNATTRIBUTED),
        (COLLAPSED | {"gap_ratio": 1.3, "noise_part": 8.0}, Mechanism.NOISE_SHOWN),
        (GREW, Mechanism.GAP_SHOWN),
        # the pair alone, and the gap alone, take the noise of a maximum for growth
        (GREW | {"growth_low": -0.1}, Mechanism.UNATTRIBUTED),
        (GREW | {"gap_change_low": -0.1}, Mechanism.UNATTRIBUTED),
        (GREW | {"gap_part": 0.5}, Mechanism.UNATTRIBUTED),
        (GREW | {"vcr_mad_low": 1.1}, Mechanism.UNATTRIBUTED),
        (GREW | {"spread_p": 0.01, "spread_slope": 0.4}, Mechanism.UNATTRIBUTED),
        (GREW | {"spread_p": 0.01, "spread_slope": -0.4}, Mechanism.GAP_SHOWN),
        (COLLAPSED | GREW, Mechanism.BOTH_SHOWN),
        ({"significant_other": False}, Mechanism.NONE),
        ({"significant_base": True}, Mechanism.NONE),
        (HIDDEN, Mechanism.UNATTRIBUTED),
        (HIDDEN | SHRANK, Mechanism.GAP_SHOWN),
        (HIDDEN | SHRANK | {"gap_part": 1.0}, Mechanism.UNATTRIBUTED),
        (HIDDEN | WIDENED, Mechanism.NOISE_SHOWN),
        (HIDDEN | WIDENED | {"gap_over_noise": 1.2}, Mechanism.UNATTRIBUTED),
        (HIDDEN | WIDENED | SHRANK, Mechanism.BOTH_SHOWN),
    ],
)
def test_what_made_a_conclusion_change(change, mechanism) -> None:
    assert judge(replace(NOTHING, **change), alpha=0.05).mechanism is mechanism


@pytest.mark.parametrize(
    ("change", "honest", "false"),
    [
        (COLLAPSED, "noise_part_shown", "false_confidence"),
        (GREW, "gap_part_shown", "false_magnitude"),
        (COLLAPSED | GREW, "both_parts_shown", "mixed"),
        (HIDDEN | WIDENED, "noise_part_shown", "false_reassurance_by_noise"),
        (HIDDEN | SHRANK, "gap_part_shown", "false_reassurance_by_magnitude"),
        (HIDDEN | WIDENED | SHRANK, "both_parts_shown", "false_reassurance_by_both"),
        ({"significant_base": True} | GREW, "larger_gap", "exaggerated"),
        ({"significant_base": True} | SHRANK, "smaller_gap", "understated"),
        # nothing shown is nothing false, whatever the ruler
        (COLLAPSED | {"own_p_crosses": False}, "made_by_correction", "made_by_correction"),
        (COLLAPSED | {"swap_p_fdr": 0.2}, *2 * ["consistent_with_noise_part"]),
        ({}, "unattributed", "unattributed"),
        ({"significant_base": True}, "both_differ", "both_differ"),
        ({"significant_other": False}, "neither_shown", "neither_shown"),
    ],
)
def test_false_needs_a_shown_mechanism_and_a_ruler_known_to_be_false(change, honest, false) -> None:
    evidence = replace(NOTHING, **change)
    found = judge(evidence, alpha=0.05)
    for may_be_false, verdict in ((False, honest), (True, false)):
        sides = evidence.significant_base, evidence.significant_other
        assert name_verdict(found, *sides, may_be_false=may_be_false) == verdict


@pytest.mark.parametrize(("gap", "noise", "larger"), [(5.0, 2.0, "gap"), (2.0, 5.0, "noise")])
def test_where_both_parts_moved_the_larger_one_is_named(gap, noise, larger) -> None:
    evidence = replace(NOTHING, **(COLLAPSED | GREW | {"gap_part": gap, "noise_part": noise}))
    assert judge(evidence, alpha=0.05).larger_part == larger


def test_without_a_gap_under_the_base_ruler_the_gap_held_unless_it_grew() -> None:
    nothing = replace(NOTHING, **COLLAPSED, gap_ratio=np.nan)
    assert judge(nothing, alpha=0.05).mechanism is Mechanism.NOISE_SHOWN
    grown = replace(nothing, growth_low=0.01, gap_change_low=0.01)
    assert judge(grown, alpha=0.05).mechanism is Mechanism.BOTH_SHOWN


def draw_base(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Left-skewed scores of three groups that lie apart by less than can be found."""
    generator = np.random.default_rng(seed)
    codes = np.arange(75) % 3
    return 0.9 - 0.03 * np.exp(0.8 * generator.normal(size=75)) + 0.004 * codes, codes


def ask(base: np.ndarray, other: np.ndarray, codes: np.ndarray) -> Question:
    return Question("age", "macro", METRICS["dice"], pair_sample(base, other, codes))


def diagnose(base: np.ndarray, other: np.ndarray, codes: np.ndarray) -> Mechanism | None:
    """Judge a flip to significance, or return None where there is no flip."""
    p = stats.chi2.sf(kruskal_of_values(np.stack([base, other]), codes), 2)
    if not (p[0] >= 0.05 > p[1]):
        return None
    pair = ask(base, other, codes)
    return measure_disagreement(pair, SETTINGS).judge(False, True, 0.05).mechanism


def test_every_flip_by_pure_collapse_shows_the_noise_part() -> None:
    found = []
    for seed in range(40):
        base, codes = draw_base(seed)
        medians = group_medians(pair_sample(base, base, codes))[0][codes]
        found.append(diagnose(base, medians + 0.25 * (base - medians), codes))
    flips = [mechanism for mechanism in found if mechanism is not None]
    assert len(flips) > 15
    assert set(flips) == {Mechanism.NOISE_SHOWN}


def test_flips_by_a_wider_gap_alone_show_the_gap_part_or_nothing() -> None:
    found = []
    for seed in range(40):
        base, codes = draw_base(seed)
        order = group_medians(pair_sample(base, base, codes))[0].argsort().argsort()
        found.append(diagnose(base, base + 0.02 * order[codes], codes))
    flips = [mechanism for mechanism in found if mechanism is not None]
    assert len(flips) > 15
    assert set(flips) <= {Mechanism.GAP_SHOWN, Mechanism.UNATTRIBUTED}
    assert flips.count(Mechanism.GAP_SHOWN) > 0.9 * len(flips)


@pytest.mark.parametrize(
    "change",
    [
        {"own_p_crosses": False},
        {"swap_p_fdr": 0.2},
        {"swap_p_fdr": np.nan},
        {"own_p_crosses": False, "swap_p_fdr": 0.2},
    ],
)
@pytest.mark.parametrize("figures", [COLLAPSED, GREW, COLLAPSED | GREW, {}])
def test_a_flip_by_the_correction_or_by_chance_shows_no_mechanism(change, figures) -> None:
    found = judge(replace(NOTHING, **(figures | change)), alpha=0.05)
    by_correction = change.get("own_p_crosses") is False
    assert found.mechanism not in SHOWN
    assert (found.mechanism is Mechanism.BY_CORRECTION) == by_correction
    assert found.part_moved == judge(replace(NOTHING, **figures), alpha=0.05).part_moved
    assert (found.made_by_correction, found.own_p_crosses) == (by_correction, not by_correction)
    assert found.within_chance == ("swap_p_fdr" in change) != found.change_shown
    reassured = judge(replace(NOTHING, **(HIDDEN | WIDENED | change)), alpha=0.05)
    assert reassured.mechanism not in SHOWN
    for both in (False, True):
        agreed = {"significant_base": both, "significant_other": both}
        same = judge(replace(NOTHING, **(agreed | change)), alpha=0.05)
        assert (same.mechanism, same.part_moved) == (Mechanism.NONE, "neither")


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
        p = stats.chi2.sf(kruskal_of_values(np.stack([at + first, other]), codes), 2)
        if p[0] >= 0.05 > p[1]:
            pair = ask(at + first, other, codes)
            judged = measure_disagreement(pair, SETTINGS).judge(False, True, 0.05)
            named.append(judged.mechanism in SHOWN)
    assert least <= np.mean(named) <= most
