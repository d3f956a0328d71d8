"""The AUC parity paper's three populations: quadrature, printed values, and sampling.

tests/golden/auc.json, key table3: exact values by independent quadrature, columns implied by the
printed cells, and the spread of 10,000-patient simulations.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tworulers.auc.matrix import compute_matrix, stratify_scores

SCRIPT = Path(__file__).parents[3] / "examples" / "auc_scenarios.py"
spec = importlib.util.spec_from_file_location("auc_scenarios", SCRIPT)
example = sys.modules["auc_scenarios"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)

SCENARIOS = example.SCENARIOS
GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "auc.json").read_text())["table3"]
TABLE = example.tabulate_scenarios()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_exact_values_equal_independent_quadrature(scenario):
    exact = GOLDEN[scenario.name]["exact"]
    rows = TABLE[TABLE.scenario == scenario.name]
    for row in rows.itertuples():
        assert row.exact == pytest.approx(exact[row.column], abs=2e-6)
    matrix = example.integrate_matrix(scenario)
    assert matrix.xauc0 == pytest.approx([exact["xauc0_m"], exact["xauc0_f"]], abs=2e-6)
    assert matrix.event_shares == pytest.approx([exact["w1_m"], exact["w1_f"]], abs=1e-6)
    assert matrix.non_event_shares == pytest.approx([exact["w0_m"], exact["w0_f"]], abs=1e-6)


def test_printed_columns_follow_from_the_printed_cells_but_are_not_the_exact_values():
    assert (TABLE.printed - TABLE.from_printed_cells).abs().max() < 0.006
    assert (TABLE.exact - TABLE.printed).abs().max() == pytest.approx(0.0237, abs=5e-5)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_ten_thousand_patients_cover_the_printed_cells_and_more_do_not(scenario):
    assert example.predict_sampling(scenario, patients=10_000).covered.all()
    size = example.find_implausible_size(scenario, rounding=0.0)
    assert 20_000 < size < 70_000
    assert not example.predict_sampling(scenario, patients=int(size)).covered.all()
    assert example.predict_sampling(scenario, patients=int(size) - 1).covered.all()
    assert example.find_implausible_size(scenario, rounding=0.005) > size
    assert example.find_implausible_size(scenario, rounding=0.5) == np.inf


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_exact_standard_errors_equal_those_of_simulations(scenario):
    table = example.predict_sampling(scenario, patients=10_000)
    spread = GOLDEN[scenario.name]["sd_10000"]
    expected = [spread[key] for key in ("auc_m", "xauc_mf", "xauc_fm", "auc_f")]
    np.testing.assert_allclose(table.se, expected, rtol=0.08)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_a_simulation_lands_within_four_standard_errors(scenario):
    patients = example.sample_patients(scenario, patients=10_000, seed=3)
    assert patients.score.between(0, 1).all()
    sample = stratify_scores(
        patients.score, patients.outcome, patients.group, group_order=["m", "f"]
    )
    matrix = compute_matrix(sample)
    table = example.predict_sampling(scenario, patients=10_000)
    z = (matrix.cells.ravel() - table.exact) / table.se
    assert z.abs().max() < 4
    assert matrix.n_events.tolist() == pytest.approx([160, 60], rel=0.35)


def test_the_paradox_is_told_and_only_where_there_is_one():
    first, second, third = (example.integrate_matrix(s) for s in SCENARIOS)
    words = example.describe_change(first, second)
    assert "rises in f (0.736 to 0.802)" in words
    assert "the overall AUC falls (0.836 to 0.825)" in words
    assert "no contradiction" in words
    assert "no contradiction" not in example.describe_change(second, third)
    assert "no contradiction" not in example.describe_change(first, first)


def test_the_script_prints_both_and_draws_the_paradox(tmp_path):
    command = [sys.executable, SCRIPT, "--patients", "20000", "--figure", tmp_path / "paradox.svg"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "7 of 30 entries agree to rounding" in done.stdout
    assert "m | m               │ 0.8627" in done.stdout
    assert "no contradiction" in done.stdout
    assert (tmp_path / "paradox.svg").stat().st_size > 1000
