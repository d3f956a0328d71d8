"""What a second expert, or the truth, tells of a ruler that three label maps cannot."""

import numpy as np
import pandas as pd
import pytest

from tworulers.diagnosis.hearing import Witness, find_confirmed, hear_witnesses
from tworulers.diagnosis.known import Basis, Corrected, RulerKnowledge
from tworulers.diagnosis.witness import Witnessed, count_exams_needed, hear_expert, hear_truth
from tworulers.stats.interval import ratio_of_means

EXAMS = pd.Index([f"e{i}" for i in range(40)])


def draw_errors(shared: float) -> dict[str, np.ndarray]:
    """Dice of every pair of maps: model and ruler share part of the model's error, experts err on their own."""
    rng = np.random.default_rng(3)
    model, ruler, common, first, second = 0.05 * np.exp(0.5 * rng.normal(size=(5, 40)))
    common = common * shared
    return {
        "a": 1 - (model + ruler),
        "c": np.stack([1 - (model + common + one) for one in (first, second)]),
        "b": np.stack([1 - (ruler + common + one) for one in (first, second)]),
        "d": 1 - (first + second),
        "model_truth": 1 - (model + common),
        "ruler_truth": 1 - (ruler + common),
        "share": float(common.sum() / (model + common).sum()),
    }


@pytest.mark.parametrize(
    ("shared", "finding"), [(0.0, "sharper"), (6.0, "copied"), (1.0, "undecided")]
)
def test_truth_and_second_expert_estimate_the_share_of_the_error_that_is_repeated(
    shared: float, finding: str
) -> None:
    made = draw_errors(shared)
    by_truth = hear_truth("truth", made["a"], made["model_truth"], made["ruler_truth"])
    by_expert = hear_expert("second", made["a"], made["d"], made["c"], made["b"])
    for found in (by_truth, by_expert):
        assert found.shared_share == pytest.approx(made["share"], abs=1e-9)
        assert found.low <= found.shared_share <= found.high
        assert found.finding == finding


def test_without_the_ruler_held_against_the_truth_only_a_copy_can_be_shown() -> None:
    sharper, copied = draw_errors(0.0), draw_errors(6.0)
    assert hear_truth("t", sharper["a"], sharper["model_truth"], None).finding == "undecided"
    found = hear_truth("t", copied["a"], copied["model_truth"], None)
    assert found.finding == "copied"
    # a bound from below
    assert found.shared_share < copied["share"]


def test_more_exams_are_asked_for_where_less_looks_like_noise_and_none_where_nothing_does() -> None:
    rng = np.random.default_rng(2)
    model, expert = 0.05 * np.exp(0.5 * rng.normal(size=(2, 60)))
    much, little = (
        count_exams_needed(1 - share * model, 1 - (model + expert), None, 0.95)
        for share in (0.2, 1.5)
    )
    assert much is not None
    assert little is not None
    assert 2 <= much < little
    assert count_exams_needed(1 - 2 * (model + expert), 1 - (model + expert), None, 0.95) is None


def test_exams_of_a_patient_count_together() -> None:
    rng = np.random.default_rng(4)
    own = np.repeat(np.exp(rng.normal(size=20)), 4)
    twice = own * (1 + 0.5 * np.repeat(rng.normal(size=20), 4))
    alone = ratio_of_means(twice, own, 0.95)
    together = ratio_of_means(twice, own, 0.95, np.repeat(np.arange(20), 4))
    assert alone[0] == together[0] == pytest.approx(twice.mean() / own.mean())
    assert together[2] - together[1] > 1.8 * (alone[2] - alone[1])
    assert np.isnan(ratio_of_means(twice, 0 * own, 0.95)).all()


def by_exam(values: np.ndarray) -> pd.Series:
    return pd.Series(values, EXAMS)


def test_the_truth_is_heard_before_a_second_expert_and_machines_are_not() -> None:
    made = draw_errors(6.0)
    machine = Witness("other", "silver", by_exam(made["a"]), by_exam(made["a"]), None)
    expert = Witness(
        "second", "gold", by_exam(made["c"][1]), by_exam(made["b"][1]), by_exam(made["d"])
    )
    truth = Witness("truth", "truth", by_exam(made["model_truth"]), None, None)
    asked = (by_exam(made["a"]), by_exam(made["c"][0]), by_exam(made["b"][0]))
    for witnesses, heard in (
        ([machine], None),
        ([machine, expert], "second"),
        ([expert, truth], "truth"),
    ):
        found = hear_witnesses(*asked, witnesses, None, 0.95)
        assert (found.witness if found else None) == heard
    lacking = Witness("second", "gold", by_exam(made["c"][1]), None, by_exam(made["d"]))
    assert hear_witnesses(*asked, [lacking], None, 0.95) is None


def test_what_is_demonstrated_stands_before_what_is_declared_but_not_before_experts() -> None:
    copied, sharper = (Witnessed("t", 9, 0.5, 0.4, 0.6, x) for x in ("copied", "sharper"))
    basis = {
        ("silver", "unknown", None): Basis.UNKNOWN,
        ("silver", "independent", None): Basis.INDEPENDENT,
        ("silver", "shares_training", None): Basis.SHARES_TRAINING,
        ("silver", "shares_training", sharper): Basis.SHARPER,
        ("silver", "independent", copied): Basis.COPIED,
        ("mixed", "unknown", None): Basis.UNKNOWN,
        ("gold", "shares_training", copied): Basis.EXPERTS,
        ("truth", "unknown", copied): Basis.TRUTH,
        ("biased", "independent", sharper): Basis.BIASED,
    }
    for known, wanted in basis.items():
        assert RulerKnowledge(*known).basis is wanted
        standing = wanted in (Basis.UNKNOWN, Basis.INDEPENDENT)
        corrected = RulerKnowledge(*known, Corrected("expert", 3, 9))
        assert corrected.basis is (Basis.CORRECTED if standing else wanted)
    for status, found, settled in (
        ("too_close", sharper, "distinct"),
        ("distinct", copied, "too_close"),
        ("identical", sharper, "identical"),
        ("too_close", None, "too_close"),
    ):
        assert RulerKnowledge("silver", "unknown", found).settle_status(status) == settled
    may = {
        b for b in Basis if any(RulerKnowledge(*k).may_be_false for k, w in basis.items() if w is b)
    }
    assert may == {Basis.BIASED, Basis.COPIED, Basis.SHARES_TRAINING}


def test_a_test_is_confirmed_where_the_truth_finds_the_same_group_worst() -> None:
    tests = pd.DataFrame(
        {
            "grouping": "sex",
            "structure": ["a", "b", "c"],
            "metric": "dice",
            "significant": [True, True, False],
            "worst_group": ["F", "F", "F"],
        }
    )
    truth = tests.assign(significant=True, worst_group=["F", "M", "F"])
    assert find_confirmed(tests, {"truth": truth}) == {("sex", "a", "dice")}
    assert find_confirmed(tests, {}) == set()
