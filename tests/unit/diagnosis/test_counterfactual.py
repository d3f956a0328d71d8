"""Golden values: 76 simulated exams (tests/golden/e2_rulers.json), computed with SciPy."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from tworulers.diagnosis.counterfactual import (
    decompose_h,
    find_equivalent_gap,
    kruskal_of_values,
    swap_rulers,
)
from tworulers.stats.draw import draw_exchanges
from tworulers.stats.groups import GroupedSample, group_medians, pair_sample

AGES = {"age_3bin": ["<40", "40-60", "60+"], "age_median": ["younger", "older"]}


@pytest.fixture(scope="module")
def e2(root: Path) -> dict:
    return json.loads((root / "tests" / "golden" / "e2_rulers.json").read_text())


def pick(e2: dict, key: str) -> GroupedSample:
    grouping, score = key.split("/")
    used = [i for i, group in enumerate(e2[grouping]) if group is not None]
    codes = np.array([AGES[grouping].index(e2[grouping][i]) for i in used])
    gold, silver = (np.array(e2[ruler][score])[used] for ruler in ("gold", "silver"))
    return pair_sample(gold, silver, codes)


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("location", ["median", "mean"])
def test_the_four_tables_are_the_golden_ones(e2, location) -> None:
    expected = e2["decomposition_macro_dice_age_3bin"][location]
    found = decompose_h(pick(e2, "age_3bin/dice_macro"), location=location)
    for ours, theirs in (
        ("base_base", "gap_gold_noise_gold"),
        ("other_base", "gap_silver_noise_gold"),
        ("base_other", "gap_gold_noise_silver"),
        ("other_other", "gap_silver_noise_silver"),
    ):
        assert getattr(found, f"h_{ours}") == pytest.approx(expected["H"][theirs], abs=1e-8)
        assert getattr(found, f"p_{ours}") == pytest.approx(expected["p"][theirs], abs=1e-8)
    for name in ("delta_h", "gap_part", "noise_part"):
        golden = expected["delta_H" if name == "delta_h" else name]
        assert getattr(found, name) == pytest.approx(golden, abs=1e-8)


def test_the_parts_of_every_flip_are_the_golden_ones(e2) -> None:
    assert len(e2["decomposition_by_flip"]) == 11
    for key, expected in e2["decomposition_by_flip"].items():
        found = decompose_h(pick(e2, key))
        assert found.delta_h == pytest.approx(expected["delta_H"], abs=1e-8)
        assert found.gap_part == pytest.approx(expected["gap_part"], abs=1e-8)
        assert found.noise_part == pytest.approx(expected["noise_part"], abs=1e-8)


def test_equivalent_gap_is_the_golden_one(e2) -> None:
    assert find_equivalent_gap(pick(e2, "age_3bin/dice_macro")) == pytest.approx(1.30)


def test_equivalent_gap_out_of_reach_is_undefined() -> None:
    codes = np.repeat([0, 1], 20)
    base = rng().normal(size=40)
    base[codes == 1] += np.median(base[codes == 0]) - np.median(base[codes == 1])
    assert np.isnan(find_equivalent_gap(pair_sample(base, codes + 0.01 * base, codes)))


def test_exchanging_rulers_finds_the_golden_p_of_every_flip(e2) -> None:
    for key, expected in e2["verdicts"].items():
        found = swap_rulers(pick(e2, key), draws=10_000, rng=rng())
        assert found.p == pytest.approx(expected["swap_p"], abs=0.015), key
    expected = e2["decomposition_macro_dice_age_3bin"]["ruler_swap"]
    found = swap_rulers(pick(e2, "age_3bin/dice_macro"), draws=10_000, rng=rng())
    assert found.statistic == pytest.approx(expected["delta_H"], abs=1e-8)
    assert found.p == pytest.approx(expected["p"], abs=0.01)
    assert found.null_sd == pytest.approx(expected["null_sd"], rel=0.05)


def test_counting_ranks_equals_a_plain_loop_over_scipy() -> None:
    generator = rng()
    base, other = np.round(generator.normal(size=(2, 25)), 1)  # ties
    codes = np.arange(25) % 3
    found = swap_rulers(pair_sample(base, other, codes), draws=60, rng=rng(3))
    coins = draw_exchanges(np.arange(25), draws=60, rng=rng(3))
    ranks = [stats.rankdata(base), stats.rankdata(other)]

    def change(first: np.ndarray, second: np.ndarray) -> float:
        h = [stats.kruskal(*[y[codes == g] for g in range(3)]).statistic for y in (first, second)]
        return h[1] - h[0]

    null = np.array(
        [change(np.where(c, ranks[1], ranks[0]), np.where(c, ranks[0], ranks[1])) for c in coins]
    )
    observed = change(base, other)
    assert found.statistic == pytest.approx(observed)
    assert found.p == (1 + np.sum(np.abs(null) >= abs(observed) - 1e-9)) / 61
    assert found.null_sd == pytest.approx(null.std())


def test_kruskal_of_values_agree_with_scipy_and_constant_rows_are_zero() -> None:
    values = np.round(rng().normal(size=(6, 30)), 1)
    values[3] = 0.5
    codes = rng(1).integers(0, 4, size=30)
    found = kruskal_of_values(values, codes)
    for row, h in zip(values, found, strict=True):
        parts = [row[codes == g] for g in range(4)]
        assert h == pytest.approx(stats.kruskal(*parts).statistic if np.ptp(row) else 0)


@st.composite
def scores(draw) -> tuple[np.ndarray, np.ndarray]:
    values = draw(st.lists(st.integers(0, 1000), min_size=12, max_size=40))
    codes = np.arange(len(values)) % draw(st.integers(2, 4))
    return np.array(values) / 1000, codes


@given(scores(), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_the_parts_always_sum_to_the_change(data, seed) -> None:
    base, codes = data
    other = rng(seed).normal(size=len(base))
    found = decompose_h(pair_sample(base, other, codes))
    assert found.gap_part + found.noise_part == pytest.approx(found.delta_h, abs=1e-9)


@given(scores(), st.floats(-3, 3), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_shift_of_all_other_scores_changes_nothing(data, shift, seed) -> None:
    base, codes = data
    other = np.round(rng(seed).normal(size=len(base)), 3)
    before, after = (
        decompose_h(pair_sample(base, other, codes)),
        decompose_h(pair_sample(base, other + shift, codes)),
    )
    assert after.gap_part == pytest.approx(before.gap_part, abs=1e-6)
    assert after.noise_part == pytest.approx(before.noise_part, abs=1e-6)


@given(scores())
@settings(max_examples=30, deadline=None)
def test_identical_rulers_change_nothing(data) -> None:
    base, codes = data
    found = decompose_h(pair_sample(base, base, codes))
    assert (found.gap_part, found.noise_part) == (0, 0)
    assert swap_rulers(pair_sample(base, base, codes), draws=20, rng=rng()).p == 1


@given(scores(), st.floats(0.05, 0.9))
@settings(max_examples=40, deadline=None)
def test_pure_collapse_has_a_noise_part_only(data, factor) -> None:
    base, codes = data
    medians = group_medians(pair_sample(base, base, codes))[0][codes]
    assume(np.ptp(medians) > 0)
    found = decompose_h(pair_sample(base, medians + factor * (base - medians), codes))
    assert found.gap_part == pytest.approx(0, abs=1e-9)
    assert found.noise_part == pytest.approx(found.delta_h, abs=1e-9)


@given(scores(), st.integers(1, 900))
@settings(max_examples=40, deadline=None)
def test_a_wider_gap_alone_has_a_gap_part_only(data, offset) -> None:
    base, codes = data
    medians = group_medians(pair_sample(base, base, codes))[0]
    widened = base + np.where(codes == medians.argmax(), offset / 1000, 0.0)
    found = decompose_h(pair_sample(base, widened, codes))
    assert found.noise_part == pytest.approx(0, abs=1e-9)
    assert found.gap_part == pytest.approx(found.delta_h, abs=1e-9)
