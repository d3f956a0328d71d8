"""Margins in the Python door: what is answered, what is asked, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import tworulers as tr

SEX = {"sex": np.tile(["F", "M"], 60)}
MARGIN = {"dice": 2, "failures": 10}


@pytest.fixture
def dice() -> np.ndarray:
    return np.random.default_rng(3).normal(0.85, 0.02, 120)


def test_an_audit_is_answered_within_a_margin(dice: np.ndarray) -> None:
    asked = {"provenance": "gold", "metric": "dice", "success": 0.7}
    found = tr.audit(dice, SEX, margin=MARGIN, **asked)
    assert found.tests["answer"].tolist() == ["within_margin"]
    assert found.summary["within_margin"].tolist() == [1]
    assert "groups are within the margin by sex" in found.sentences[0]
    assert "within the margin 1" in found.sentences[1]
    assert "Dice 2 points, failures 10 %" in found.sentences[1]
    silent = tr.audit(dice, SEX, **asked)
    assert silent.tests["answer"].tolist() == ["cannot_say"]
    assert "not asked" in silent.sentences[1]


def test_two_rulers_are_answered_each_and_a_machine_proves_nothing(dice: np.ndarray) -> None:
    noise = np.random.default_rng(4).normal(0, 0.01, 120)
    found = tr.compare(
        {"expert": dice, "machine": dice + noise}, SEX, metric="dice", success=0.7, margin=MARGIN,
        provenance={"expert": "gold", "machine": "silver"},
    )  # fmt: skip
    answers = found.tests.set_index("ruler")["answer"].to_dict()
    assert answers == {"expert": "within_margin", "machine": "cannot_say"}
    assert "Labels of provenance silver prove no equality" in " ".join(found.sentences)


def test_masks_are_answered_within_a_margin() -> None:
    rng = np.random.default_rng(0)
    true = rng.random((40, 8, 8, 8)) < 0.5
    found = tr.audit_masks(
        true ^ (rng.random(true.shape) < 0.1), true, {"sex": np.tile(["F", "M"], 20)},
        provenance="gold", metrics=["dice"], success=0.5, margin={"dice": 2, "failures": 20},
    )  # fmt: skip
    assert found.tests["answer"].tolist() == ["within_margin"]


@pytest.mark.parametrize("margin", [{"dise": 2}, {"hd95": 1}, 2])
def test_a_margin_of_what_is_not_scored_is_refused(dice: np.ndarray, margin: object) -> None:
    with pytest.raises(ValueError, match=r"margin=.*expected points.*\['dice', 'failures'\]"):
        tr.audit(dice, SEX, provenance="gold", metric="dice", margin=margin)
    with pytest.raises(ValueError, match=r"audit.margin: expected a number above 0"):
        tr.audit(dice, SEX, provenance="gold", metric="dice", margin={"dice": 0})


def test_no_group_is_said_to_be_fair(dice: np.ndarray) -> None:
    data = pd.DataFrame({"dice": dice, **SEX})
    found = tr.audit("dice", ["sex"], data=data, provenance="gold", success=0.7, margin=MARGIN)
    assert "fair" not in str(found)
