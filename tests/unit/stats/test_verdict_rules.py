"""What a changed conclusion is called depends on whose labels changed it."""

from typing import Any

import numpy as np
import pytest

from tworulers.schema import METRICS, Audit
from tworulers.stats.disagreement import measure_disagreement
from tworulers.stats.pairs import GroupedPair
from tworulers.stats.verdicts import MeasuredTest, count_changed, settle_verdicts

SETTINGS = Audit(name="test", bootstrap_draws=300, permutations=300)


def measure(provenance: str, significant: tuple[bool, bool] = (False, True)) -> MeasuredTest:
    """Measure a ruler that leaves the gap and takes most of the noise away."""
    generator = np.random.default_rng(4)
    codes = np.arange(75) % 3
    base = 0.9 - 0.03 * np.exp(0.8 * generator.normal(size=75)) + 0.008 * codes
    other = 0.9 + 0.008 * codes + 0.1 * (base - 0.9)
    pair = GroupedPair(
        "age", "macro", METRICS["dice"], ["a", "b", "c"], codes, base, other, None, []
    )
    row: dict[str, Any] = {
        "family": "main",
        "verdict_by": "exam",
        "verdict_undefined_because": None,
    }
    row |= {"base_ruler": "gold", "base_provenance": "gold", "other_ruler": "second"}
    row |= {"other_provenance": provenance, "p_fdr_own_exchanged": 0.001}
    row |= {"p_verdict_fdr_base": 0.2, "p_verdict_fdr_other": 0.001}
    row |= dict(zip(("significant_base", "significant_other"), significant, strict=True))
    return MeasuredTest(row, pair, measure_disagreement(pair, SETTINGS))


@pytest.mark.parametrize("provenance", ["gold", "truth"])
def test_labels_of_experts_and_the_truth_are_never_called_false(provenance: str) -> None:
    named, declared = measure("silver"), measure(provenance)
    (row,) = settle_verdicts([named], "distinct", SETTINGS)
    assert row["verdict"] == "false_confidence"
    assert row["not_shown_because"] == ""
    assert "by shrinking the noise" in row["sentence"]
    (row,) = settle_verdicts([declared], "distinct", SETTINGS)
    assert row["verdict"] == "not_shown"
    assert row["consistent_with"] == "false_confidence"
    assert "which may be sharper, and nothing false is shown" in row["sentence"]
    assert "(second) show" in row["sentence"]


def test_the_exchange_is_adjusted_within_each_family() -> None:
    tests = [measure("silver") for _ in range(3)]
    tests[2].row["family"] = "random"
    rows = settle_verdicts(tests, "distinct", SETTINGS)
    assert all(row["swap_p"] == row["swap_p_fdr"] for row in rows)
    assert count_changed(tests, SETTINGS) == {
        "main": {"changed": 2, "tested": 2},
        "random": {"changed": 1, "tested": 1},
    }
