"""What a changed conclusion is called depends on whose labels changed it."""

from typing import Any

import numpy as np
import pytest

from tworulers.battery.questions import Question
from tworulers.diagnosis.disagreement import measure_disagreement
from tworulers.diagnosis.known import RulerKnowledge
from tworulers.diagnosis.verdicts import MeasuredTest, count_changed, settle_verdicts
from tworulers.diagnosis.witness import Witnessed
from tworulers.metrics.registry import METRICS
from tworulers.report.words.rulers import say_verdict
from tworulers.schema.settings import Audit
from tworulers.stats.groups import pair_sample

SETTINGS = Audit(name="test", bootstrap_draws=300, permutations=300)


def measure(provenance: str, significant: tuple[bool, bool] = (False, True)) -> MeasuredTest:
    """Measure a ruler that leaves the gap and takes most of the noise away."""
    generator = np.random.default_rng(4)
    codes = np.arange(75) % 3
    base = 0.9 - 0.03 * np.exp(0.8 * generator.normal(size=75)) + 0.008 * codes
    other = 0.9 + 0.008 * codes + 0.1 * (base - 0.9)
    pair = Question(
        "age", "macro", METRICS["dice"], pair_sample(base, other, codes, ["a", "b", "c"])
    )
    row: dict[str, Any] = {
        "family": "main",
        "verdict_by": "exam",
        "verdict_undefined_because": None,
    }
    row |= {"grouping": "age", "structure": "macro", "metric": "dice"}
    row |= {"base_ruler": "gold", "base_provenance": "gold", "other_ruler": "second"}
    row |= {"other_provenance": provenance, "p_fdr_own_exchanged": 0.001}
    row |= {"p_verdict_fdr_base": 0.2, "p_verdict_fdr_other": 0.001}
    row |= dict(zip(("significant_base", "significant_other"), significant, strict=True))
    return MeasuredTest(row, pair, measure_disagreement(pair, SETTINGS))


def settle(test: MeasuredTest, known: RulerKnowledge, status: str = "distinct", **asked: Any):
    status = known.settle_status(status)
    (row,) = settle_verdicts([test], status, SETTINGS, known, **asked)
    told = known.tabulate() | {"second_expert_exams": 12}
    return row, say_verdict(row, METRICS["dice"], status, told)


def heard(finding: str) -> Witnessed:
    return Witnessed("second", 40, 0.8, 0.7, 0.9, finding)


@pytest.mark.parametrize(
    ("provenance", "relation", "finding", "said"),
    [
        (
            "gold",
            "unknown",
            "",
            "declared to be experts', which may be sharper: nothing false is shown",
        ),
        ("gold", "shares_training", "copied", "which may be sharper: nothing false is shown"),
        ("truth", "unknown", "", "declared to be the truth: nothing false is shown"),
        ("silver", "independent", "", "declared independent of the model: nothing false is shown"),
        (
            "silver",
            "shares_training",
            "sharper",
            "does not repeat the model's own errors, as the second",
        ),
        ("silver", "unknown", "undecided", "copied or sharper cannot be told from these labels"),
        ("silver", "unknown", "", "a second expert on 12 exams would settle it"),
        ("mixed", "unknown", "", "cause unknown"),
    ],
)
def test_nothing_is_called_false_without_a_reason_in_the_ruler(
    provenance: str, relation: str, finding: str, said: str
) -> None:
    known = RulerKnowledge(provenance, relation, heard(finding) if finding else None)
    row, sentence = settle(measure(provenance), known)
    assert (row["mechanism"], row["verdict"]) == 2 * ("noise_part_shown",)
    assert "by less noise, not by a wider gap" in sentence
    assert said in sentence
    assert "false confidence" not in sentence


@pytest.mark.parametrize(
    ("provenance", "relation", "finding", "said"),
    [
        ("silver", "shares_training", "", "the second ruler shares training data with the model"),
        ("silver", "unknown", "copied", "repeats the model's own errors, as the second ruler"),
        ("silver", "independent", "copied", "repeats the model's own errors"),
        ("biased", "unknown", "", "the labels of the second ruler are biased as stated"),
    ],
)
def test_a_copy_or_a_biased_ruler_is_called_false_where_a_mechanism_is_shown(
    provenance: str, relation: str, finding: str, said: str
) -> None:
    known = RulerKnowledge(provenance, relation, heard(finding) if finding else None)
    row, sentence = settle(measure(provenance), known)
    assert (row["mechanism"], row["verdict"]) == ("noise_part_shown", "false_confidence")
    assert f"{said}" in sentence
    assert ": false confidence (" in sentence
    within = measure(provenance)
    within.row["p_fdr_own_exchanged"] = 0.2
    row, sentence = settle(within, known)
    assert row["verdict"] == "made_by_correction"
    assert "false" not in sentence


def test_what_the_truth_shows_too_is_not_false() -> None:
    known = RulerKnowledge("silver", "shares_training")
    row, sentence = settle(measure("silver"), known, confirmed={("age", "macro", "dice")})
    assert (row["verdict"], row["confirmed_by_truth"]) == ("noise_part_shown", True)
    assert "the truth comes to the same conclusion: nothing false is shown" in sentence


@pytest.mark.parametrize("both", [False, True])
def test_agreement_is_no_finding_and_a_too_close_ruler_confirms_nothing(both: bool) -> None:
    test = measure("silver", (both, both))
    name = "smaller_gap" if both else "neither_shown"
    row, sentence = settle(test, RulerKnowledge("silver"))
    assert (row["mechanism"], row["part_moved"]) == ("none", "neither")
    if not both:
        assert row["verdict"] == name
        assert "neither ruler shows a difference, which is no sign of equality" in sentence
        row, sentence = settle(test, RulerKnowledge("silver"), "too_close")
        assert row["verdict"] == "too_close"
        assert "its agreement confirms nothing" in sentence
        sharper = RulerKnowledge("silver", testimony=heard("sharper"))
        row, sentence = settle(test, sharper, "too_close")
        assert row["verdict"] == name
        assert "too close" not in sentence
    else:
        assert row["verdict"] in ("both_differ", "smaller_gap", "larger_gap")


def test_the_exchange_is_adjusted_within_each_family() -> None:
    tests = [measure("silver") for _ in range(3)]
    tests[2].row["family"] = "random"
    rows = settle_verdicts(tests, "distinct", SETTINGS, RulerKnowledge("silver"))
    assert all(row["swap_p"] == row["swap_p_fdr"] for row in rows)
    assert count_changed(tests, SETTINGS) == {
        "main": {"changed": 2, "tested": 2},
        "random": {"changed": 1, "tested": 1},
    }
