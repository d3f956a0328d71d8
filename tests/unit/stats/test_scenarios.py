"""The AUC parity paper's three populations: quadrature, printed values, and sampling.

tests/golden/auc.json, key table3: exact values by independent quadrature, columns implied by the
printed cells, and the spread of 10,000-patient simulations.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tworulers.stats.auc import compute_matrix, stratify_scores
from tworulers.stats.scenarios import (
    SCENARIOS,
    describe_change,
    find_implausible_size,
    integrate_matrix,
    predict_sampling,
    sample_patients,
    tabulate_densities,
    tabulate_scenarios,
)

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "auc.json").read_text())["table3"]
TABLE = tabulate_scenarios()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_exact_values_equal_independent_quadrature(scenario):
    exact = GOLDEN[scenario.name]["exact"]
    rows = TABLE[TABLE.scenario == scenario.name]
    for row in rows.itertuples():
        assert row.exact == pytest.approx(exact[row.column], abs=2e-6)
    matrix = integrate_matrix(scenario)
    assert matrix.xauc0 == pytest.approx([exact["xauc0_m"], exact["xauc0_f"]], abs=2e-6)
    assert matrix.event_shares == pytest.approx([exact["w1_m"], exact["w1_f"]], abs=1e-6)
    assert matrix.non_event_shares == pytest.approx([exact["w0_m"], exact["w0_f"]], abs=1e-6)


def test_printed_columns_follow_from_the_printed_cells_but_are_not_the_exact_values():
    assert (TABLE.printed - TABLE.from_printed_cells).abs().max() < 0.006
    assert TABLE.printed_agrees.sum() == 7
    assert TABLE.exact_minus_printed.abs().max() == pytest.approx(0.0237, abs=5e-5)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_ten_thousand_patients_cover_the_printed_cells_and_more_do_not(scenario):
    assert predict_sampling(scenario, patients=10_000, level=0.95).covered.all()
    size = find_implausible_size(scenario, level=0.95, rounding=0.0)
    assert 20_000 < size < 70_000
    assert not predict_sampling(scenario, patients=int(size), level=0.95).covered.all()
    assert predict_sampling(scenario, patients=int(size) - 1, level=0.95).covered.all()
    assert find_implausible_size(scenario, level=0.95, rounding=0.005) > size
    assert find_implausible_size(scenario, level=0.95, rounding=0.5) == np.inf


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_exact_standard_errors_equal_those_of_simulations(scenario):
    table = predict_sampling(scenario, patients=10_000, level=0.95)
    spread = GOLDEN[scenario.name]["sd_10000"]
    expected = [spread[key] for key in ("auc_m", "xauc_mf", "xauc_fm", "auc_f")]
    np.testing.assert_allclose(table.se, expected, rtol=0.08)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_a_simulation_lands_within_four_standard_errors(scenario):
    patients = sample_patients(scenario, patients=10_000, seed=3)
    assert patients.score.between(0, 1).all()
    sample = stratify_scores(
        patients.score, patients.outcome, patients.group, group_order=["m", "f"]
    )
    matrix = compute_matrix(sample)
    table = predict_sampling(scenario, patients=10_000, level=0.95)
    z = (matrix.cells.ravel() - table.exact) / table.se
    assert z.abs().max() < 4
    assert matrix.n_events.tolist() == pytest.approx([160, 60], rel=0.35)


def test_the_paradox_is_told_and_only_where_there_is_one():
    first, second, third = (integrate_matrix(s) for s in SCENARIOS)
    words = describe_change(first, second)
    assert "rises in f (0.736 to 0.802)" in words
    assert "the overall AUC falls (0.836 to 0.825)" in words
    assert "no contradiction" in words
    assert "no contradiction" not in describe_change(second, third)
    assert "no contradiction" not in describe_change(first, first)


def test_densities_integrate_to_one():
    frame = tabulate_densities(SCENARIOS[0], points=2000)
    for _, part in frame.groupby(["group", "outcome"]):
        assert np.trapezoid(part.density, part.risk) == pytest.approx(1, abs=1e-3)
