"""What tests are given in the Python door, and the tables and the card that tell of it."""

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tworulers as tr

N = 120
SEX = np.tile(["F", "M"], N // 2)
MARGIN = {"dice": 2, "failures": 10}


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    """Dice that hang on the site alone, and sites that hang on sex."""
    rng = np.random.default_rng(7)
    site = np.where(rng.random(N) < np.where(SEX == "F", 0.8, 0.2), "A", "B")
    dice = 0.8 + 0.05 * (site == "A") + rng.normal(0, 0.01, N)
    return pd.DataFrame({"dice": dice, "sex": SEX, "site": site, "owner": np.arange(N) // 4})


def audit(data: pd.DataFrame, **others: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        return tr.audit("dice", ["sex"], data=data, provenance="gold", success=0.7, **others)


def test_a_difference_that_the_site_makes_is_gone_given_the_site(data: pd.DataFrame) -> None:
    found = audit(data, given=["site"])
    assert found.tests["p"].item() < 0.001
    (row,) = found.adjusted.to_dict("records")
    assert (row["given"], row["strata"], row["n_compared"]) == ("site", 2, N)
    assert row["p"] > 0.01
    assert found.metadata["given"] == ["site"]
    by_array = audit(data, given={"site": data["site"].to_numpy()})
    pd.testing.assert_frame_equal(by_array.adjusted, found.adjusted)
    assert audit(data).adjusted.empty
    assert audit(data, given=[]).adjusted.empty


def test_tables_beside_the_tests_are_reached_as_the_others_are(data: pd.DataFrame) -> None:
    found = audit(data, given="site", margin=MARGIN)
    for name in ("equivalence", "adjusted", "shifts"):
        assert len(found.to_frame(name)), name
        assert json.loads(found.to_json())[name]
    assert ">adjusted<" in found.to_html()


def test_two_rulers_are_each_asked_given_the_site(data: pd.DataFrame) -> None:
    rulers = {"expert": data["dice"], "machine": (1 + data["dice"]) / 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.AuditWarning)
        found = tr.compare(
            rulers, data["sex"], data=data, given=["site"], metric="dice", margin=MARGIN, success=0.7,
            provenance={"expert": "gold", "machine": "silver"},
        )  # fmt: skip
    assert found.adjusted[["ruler", "given"]].to_numpy().tolist() == [
        ["expert", "site"],
        ["machine", "site"],
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["scanner"], "given: no column 'scanner'"),
        ({"sex": np.repeat(["F", "M"], N // 2)}, "given: 'sex' is a sensitive feature"),
        ({"patient_id": np.arange(N)}, "subject_id= says"),
        ({"site": ["A", "B"]}, "given: expected one row for each of 120"),
    ],
)
def test_what_cannot_be_given_is_refused(data: pd.DataFrame, given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        audit(data, given=given)


def test_intervals_say_how_they_were_made_where_patients_repeat(data: pd.DataFrame) -> None:
    def methods(found: Any) -> dict[str, str]:
        signed = found.intervals[found.intervals["contrast"] == "difference"]
        return dict(zip(signed["of"], signed["interval"], strict=True))

    assert methods(audit(data))["rate"] == "Newcombe"
    repeated = methods(audit(data, subject_id="owner"))
    assert repeated["rate"] == "Newcombe, effective numbers of exams"
    assert repeated["mean"] == repeated["median"] == "bootstrap percentile, patients drawn whole"


def test_a_card_carries_the_answers_where_margins_were_asked(data: pd.DataFrame) -> None:
    alike = data.assign(dice=np.random.default_rng(3).normal(0.85, 0.02, N))
    card = audit(alike, margin=MARGIN).to_model_card()
    assert "| sex | within the margin; all Dice " in card
    narrow = audit(alike, margin={"dice": 0.5, "failures": 10})
    needed = narrow.tests["n_needed"].item()
    assert needed > N
    assert "| sex | cannot say; all Dice " in narrow.to_model_card()
    assert f"about {needed:,.0f} exams would settle" in narrow.to_model_card()
