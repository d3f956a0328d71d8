"""Golden values: 76 simulated exams (tests/golden/e2_rulers.json), computed with SciPy."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.diagnosis.inflation import measure_inflation
from tworulers.stats.selection import median_of_sums

FIGURES = ("mean", "sd", "median", "hodges_lehmann", "forgiven_share", "pearson", "spearman")


@pytest.fixture(scope="module")
def e2(root: Path) -> dict:
    return json.loads((root / "tests" / "golden" / "e2_rulers.json").read_text())


@pytest.mark.parametrize("score", ["dice_vb", "dice_disc", "dice_macro", "ndsc_vb", "ndsc_macro"])
def test_inflation_is_the_golden_one(e2, score) -> None:
    expected = e2["inflation"][score]
    found = measure_inflation(
        np.array(e2["gold"][score]), np.array(e2["silver"][score]), perfect=1.0
    )
    for name in FIGURES:
        assert getattr(found, name) == pytest.approx(expected[name], abs=1e-8), name
    assert [found.mean_low, found.mean_high] == pytest.approx(expected["ci"], abs=1e-8)
    assert found.wilcoxon_p == pytest.approx(expected["wilcoxon_p"], rel=1e-6)


@pytest.mark.needs_shared
def test_real_inflation_is_the_golden_one(shared: Path) -> None:
    expected = json.loads((shared / "reference" / "golden" / "e2_real_ungrouped.json").read_text())
    gold, silver = (
        pd.read_csv(shared / "data" / "cspineseg_scores" / f"eval_ruler_{ruler}.csv")
        for ruler in ("gold", "silver")
    )
    for score in ("dice_vb", "dice_disc", "ndsc_vb", "ndsc_disc"):
        found = measure_inflation(gold[score].to_numpy(), silver[score].to_numpy(), perfect=1.0)
        for name in FIGURES:
            assert getattr(found, name) == pytest.approx(expected[score][name], abs=1e-8)
        assert found.wilcoxon_p == pytest.approx(expected[score]["wilcoxon_p"], rel=1e-6)


def test_forgiven_share_of_a_distance_is_the_part_of_it_that_vanishes() -> None:
    gold, silver = np.array([2.0, 4.0, 6.0]), np.array([1.0, 1.0, 1.0])
    assert measure_inflation(gold, silver, perfect=0.0).forgiven_share == pytest.approx(0.75)


def test_walsh_averages_include_each_value_with_itself() -> None:
    assert median_of_sums(np.array([0.0, 1.0, 5.0])) == np.median([0, 1, 5, 0.5, 2.5, 3])


def test_identical_scores_inflate_nothing() -> None:
    scores = np.linspace(0.5, 0.9, 12)
    found = measure_inflation(scores, scores, perfect=1.0)
    assert (found.mean, found.forgiven_share, found.wilcoxon_p) == (0, 0, 1)
    assert found.pearson == pytest.approx(1)


def test_constant_scores_have_no_correlation_and_say_so() -> None:
    found = measure_inflation(np.linspace(0.5, 0.9, 12), np.ones(12), perfect=1.0)
    assert np.isnan(found.pearson)
    assert found.undefined_because == "no_variation"
    assert found.forgiven_share == pytest.approx(1)
