"""Intervals of DIR, drawn and enumerated, against recorded values and SciPy's bootstrap."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from tworulers.stats.draw import named_stream
from tworulers.stats.interval import Interval
from tworulers.stats.rates import impact_ratio
from tworulers.stats.resample import (
    UnitPatterns,
    _list_extremes,
    _list_tables,
    bootstrap_interval,
    draw_tables,
    exact_interval,
    find_patterns,
)


def spell_out(counts: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Group and success of every exam of a success table."""
    codes = np.repeat(np.arange(len(counts)), [n for _, n in counts])
    success = np.concatenate([np.arange(n) < s for s, n in counts])
    return codes, success


def exams(counts: list[tuple[int, int]]) -> UnitPatterns:
    codes, success = spell_out(counts)
    return find_patterns(codes, success, np.arange(len(codes)), len(counts))


def interval(counts: list[tuple[int, int]], seed: int = 0, draws: int = 10_000) -> Interval:
    patterns = exams(counts)
    tables = draw_tables(patterns, draws, named_stream(seed, "test"))
    return bootstrap_interval(patterns, impact_ratio, tables)


def test_enumerated_intervals(battery_golden: dict[str, Any]) -> None:
    for name, case in battery_golden["dir_cases"].items():
        found = exact_interval(*np.array(case["successes_n"]).T)
        assert (found.method in ("degenerate", "none")) == case["degenerate"], name
        assert found.low == pytest.approx(float(case["low"]), abs=1e-9, nan_ok=True), name
        assert found.high == pytest.approx(float(case["high"]), abs=1e-9, nan_ok=True), name
        if "z0" in case:
            assert found.bias == pytest.approx(case["z0"], abs=1e-8), name
            assert found.acceleration == pytest.approx(case["acceleration"], abs=1e-8), name
            assert found.percentile_low == pytest.approx(case["percentile_low"], abs=1e-9), name
            assert found.percentile_high == pytest.approx(case["percentile_high"], abs=1e-9), name


def test_published_intervals(battery_golden: dict[str, Any]) -> None:
    for name, (counts, (low, high), _, percentile, z0, a) in battery_golden[
        "published_dir"
    ].items():
        found = interval(counts)
        step = 1 / min(n for _, n in counts)
        assert abs(found.low - low) <= max(step, 0.06 * low), name
        assert found.high == pytest.approx(high)
        assert abs(found.percentile_low - percentile) <= step, name
        assert found.bias == pytest.approx(z0, abs=0.1), name
        assert found.acceleration == pytest.approx(a, abs=1e-9), name
        assert found.method == "bca"


def test_acceleration_and_bounds_agree_with_scipy() -> None:
    counts = [(30, 40), (12, 25)]
    codes, success = spell_out(counts)

    def ratio(index: np.ndarray, axis: int = -1) -> np.ndarray:
        member = codes[index]
        n = np.stack([(member == g).sum(axis) for g in (0, 1)], -1)
        s = np.stack([((member == g) & success[index]).sum(axis) for g in (0, 1)], -1)
        return impact_ratio(s, n)

    expected = stats.bootstrap(
        (np.arange(len(codes)),),
        ratio,
        n_resamples=10_000,
        vectorized=True,
        method="BCa",
        rng=np.random.default_rng(0),
    ).confidence_interval
    found = interval(counts)
    assert found.low == pytest.approx(expected.low, abs=0.015)
    assert found.high == pytest.approx(expected.high, abs=0.015)


def test_no_failure_is_degenerate_and_says_so() -> None:
    found = interval([(12, 12), (10, 10)])
    assert (found.low, found.high, found.degenerate) == (1.0, 1.0, True)
    assert found.note is not None
    assert "exact bound" in found.note


def test_nobody_succeeds_has_no_interval() -> None:
    found = interval([(0, 12), (0, 9)])
    assert np.isnan(found.low)
    assert found.note == "the estimate is undefined"


def test_draws_that_lose_a_group_are_left_out() -> None:
    found = interval([(2, 2), (50, 60)], draws=2000)
    assert 1500 < found.draws < 2000


def test_patients_are_drawn_whole() -> None:
    """Exams that agree within patients vary as that many patients would: five exams each, root
    five.
    """
    codes = np.repeat([0, 1], 50)
    success = np.repeat(np.arange(20) % 4 > 0, 5)
    patients = np.repeat(np.arange(20), 5)
    wide = find_patterns(codes, success, patients, 2)
    assert wide.count.sum() == 20
    narrow = find_patterns(codes, success, np.arange(100), 2)
    spread = []
    for patterns in (wide, narrow):
        s, n = draw_tables(patterns, 4000, named_stream(1, "patients"))
        spread.append((s[:, 1] / n[:, 1] - s[:, 0] / n[:, 0]).std())
    assert spread[0] == pytest.approx(np.sqrt(5) * spread[1], rel=0.1)


def test_streams_are_named_and_independent_of_each_other() -> None:
    first = named_stream(3, "bootstrap", "sex").random(4)
    assert (named_stream(3, "bootstrap", "sex").random(4) == first).all()
    assert (named_stream(3, "bootstrap", "race").random(4) != first).all()
    assert (named_stream(4, "bootstrap", "sex").random(4) != first).all()


def test_many_exams_are_still_enumerated_near_full_success() -> None:
    found = exact_interval(np.array([236, 480, 520]), np.array([241, 486, 527]))
    assert found.method == "bca"
    assert 0.9 < found.low < found.high <= 1


@pytest.mark.parametrize(
    "counts",
    [
        [(30, 40), (12, 25), (40, 41)],
        [(5, 9), (8, 8), (3, 12), (0, 7)],
        [(20, 20), (20, 20), (19, 20)],
        [(0, 30), (0, 4), (1, 30)],
    ],
)
def test_pairs_of_rates_weigh_as_all_tables_do(counts: list[tuple[int, int]]) -> None:
    supports = [
        (np.arange(n + 1) / n, stats.binom.pmf(np.arange(n + 1), n, s / n)) for s, n in counts
    ]
    by_pair: list[dict[tuple[float, float], float]] = [{}, {}]
    for found, listed in zip(by_pair, (_list_tables, _list_extremes), strict=True):
        for worst, best, weight in zip(*listed(supports), strict=True):
            found[worst, best] = found.get((worst, best), 0.0) + weight
    tables, pairs = by_pair
    assert {key for key, weight in pairs.items() if weight} <= set(tables)
    assert pairs == pytest.approx(dict.fromkeys(pairs, 0.0) | tables, abs=1e-14)


def test_groups_whose_tables_are_too_many_have_an_exact_interval() -> None:
    successes, n = np.array([300, 280, 310, 305, 290]), np.array([400, 390, 410, 400, 405])
    found = exact_interval(successes, n)
    rng = np.random.default_rng(0)
    drawn = rng.binomial(n, successes / n, size=(200_000, 5)) / n
    expected = np.quantile(drawn.min(axis=1) / drawn.max(axis=1), [0.025, 0.975])
    assert [found.percentile_low, found.percentile_high] == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("row", [0, 1, 2, 3])
def test_true_coverage_of_the_enumerated_intervals(
    battery_golden: dict[str, Any], row: int
) -> None:
    case = battery_golden["coverage"][row]
    n, truth = np.array(case["n"]), case["true_dir"]
    mass = [stats.binom.pmf(np.arange(m + 1), m, p) for m, p in zip(n, case["p"], strict=True)]
    covered = np.zeros(2)
    for a, b in np.argwhere(np.multiply.outer(*mass) > 1e-7):
        found = exact_interval(np.array([a, b]), n)
        bca = found.low - 1e-12 <= truth <= found.high + 1e-12
        percentile = found.percentile_low - 1e-12 <= truth <= found.percentile_high + 1e-12
        covered += mass[0][a] * mass[1][b] * np.array([bca, percentile])
    assert covered[0] == pytest.approx(case["coverage_bca"], abs=0.002)
    assert covered[1] == pytest.approx(case["coverage_percentile"], abs=0.002)
