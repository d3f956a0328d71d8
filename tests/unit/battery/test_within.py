"""The four answers: what is asked, what proves equality, what cannot be said, and with how many exams it could."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tworulers.battery.audit import AuditError, AuditResult, audit_scores
from tworulers.battery.overview import count_answers
from tworulers.battery.summary import summarise
from tworulers.battery.within import ANSWERS
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes
from tworulers.schema.tables import unpack_names

MARGINS = {"dice": 2.0, "failures": 10.0}
SETTINGS = Audit(
    name="test",
    metrics=["dice"],
    thresholds={"dice": 0.7, "hd95": 5.0},
    margin=MARGINS,
    bootstrap_draws=50,
    permutations=200,
    power_draws=0,
)


def audit(
    values: np.ndarray,
    labels: list[str],
    settings: Audit = SETTINGS,
    *,
    metric: str = "dice",
    provenance: str = "gold",
    patients: np.ndarray | None = None,
) -> AuditResult:
    exams = [f"e{i:03}" for i in range(len(values))]
    scores = pd.DataFrame({"exam_id": exams, "value": values, "structure": "vb", "metric": metric})
    scores = scores.assign(regime="r", ruler="x", provenance=provenance, undefined_because=None)
    order = list(dict.fromkeys(labels))
    groups = pd.DataFrame({"g": pd.Categorical(labels, order, ordered=True)}, index=exams)
    owners = exams if patients is None else [f"p{p}" for p in patients]
    settings = replace(settings, metrics=[metric])
    return audit_scores(scores, groups, pd.Series(owners, exams), settings, Attributes("a"))


def draw(n: int, mean: float, seed: int = 1, sd: float = 0.02) -> np.ndarray:
    """Scores of a shape that no seed can bend: normal quantiles, in random order."""
    rng = np.random.default_rng(seed)
    from scipy import stats

    return rng.permutation(mean + sd * stats.norm.ppf((np.arange(n) + 0.5) / n))


def two(gap: float, n: int = 60, sd: float = 0.02) -> tuple[np.ndarray, list[str]]:
    values = np.concatenate([draw(n, 0.85, 1, sd), draw(n, 0.85 - gap, 2, sd)])
    return values, ["A"] * n + ["B"] * n


@pytest.mark.parametrize(
    ("gap", "sd", "answer"),
    [
        (0.0, 0.02, "within_margin"),
        (0.012, 0.01, "differs_within_margin"),
        (0.04, 0.02, "differs"),
        (0.01, 0.05, "cannot_say"),
    ],
)
def test_each_of_the_four_answers_is_given(gap: float, sd: float, answer: str) -> None:
    found = audit(*two(gap, sd=sd))
    test = found.tests.iloc[0]
    assert test["answer"] == answer
    assert count_answers(found.tests) == {name: int(name == answer) for name in ANSWERS}
    assert summarise(found)["answers"][answer] == 1
    assert found.families[answer].tolist() == found.groupings[answer].tolist() == [1]
    pair = found.equivalence.iloc[0]
    assert (pair["margin"], pair["failure_margin"]) == (0.02, 0.1)
    assert pair["shift"] == pytest.approx(-gap, abs=1e-3)
    inside = pair["shift_low"] > -0.02 and pair["shift_high"] < 0.02
    assert inside == ("within" in answer)


def test_failures_count_beside_the_shift() -> None:
    """Equal medians, and a group of which one exam in ten fails badly: nothing is proved."""
    values, labels = two(0.0)
    values[-6:] = 0.2
    found = audit(values, labels)
    test = found.tests.iloc[0]
    assert test["answer"] == "cannot_say"
    assert test["answer_because"] == "interval beyond the margin: failures of A and B"
    pair = found.equivalence.iloc[0]
    assert (pair["failures_a"], pair["failures_b"]) == (0, 6)
    assert pair["p_shift"] < 0.05 < pair["p_failures"]


def test_every_pair_has_to_be_inside() -> None:
    values = np.concatenate([draw(60, 0.9, 1), draw(60, 0.9, 2), draw(60, 0.915, 3)])
    found = audit(values, ["A"] * 60 + ["B"] * 60 + ["C"] * 60)
    assert len(found.equivalence) == 3
    assert found.equivalence["inside"].tolist() == [True, False, False]
    assert found.tests["p_within"].iloc[0] == found.equivalence["p_within"].max()


@pytest.mark.parametrize(
    ("margin", "thresholds", "reason"),
    [
        ({}, {"dice": 0.7}, "not asked: no margin of the metric, no margin of failures"),
        ({"dice": 2}, {"dice": 0.7}, "not asked: no margin of failures"),
        ({"failures": 5}, {"dice": 0.7}, "not asked: no margin of the metric"),
        (MARGINS, {}, "not asked: no threshold of success"),
    ],
)
def test_without_a_margin_within_is_not_asked(
    margin: dict[str, float], thresholds: dict[str, float], reason: str
) -> None:
    settings = replace(SETTINGS, margin=margin, thresholds=thresholds)
    found = audit(*two(0.0), settings)
    test = found.tests.iloc[0]
    assert (test["answer"], test["within_undefined_because"]) == ("cannot_say", reason)
    assert found.equivalence.empty
    assert audit(*two(0.04), settings).tests["answer"].tolist() == ["differs"]


def test_a_reason_of_one_score_is_none_of_another() -> None:
    """A score with both margins and one with none share a table; neither takes the other's blank for a text."""
    values, labels = two(0.01, n=12)
    exams = [f"e{i:03}" for i in range(len(values))]
    sides = {"dice": values, "hd95": 10 * (1 - values)}
    scores = pd.concat(
        pd.DataFrame({"exam_id": exams, "value": x, "metric": name}) for name, x in sides.items()
    ).assign(structure="vb", regime="r", ruler="x", provenance="gold", undefined_because=None)
    groups = pd.DataFrame({"g": pd.Categorical(labels, ["A", "B"], ordered=True)}, index=exams)
    asked = replace(SETTINGS, metrics=["dice", "hd95"])
    found = audit_scores(scores, groups, pd.Series(exams, exams), asked, Attributes("a"))
    tests = found.tests.set_index("metric")
    assert "not asked" in tests.loc["hd95", "within_undefined_because"]
    assert pd.isna(tests.loc["dice", "within_undefined_because"])
    assert tests.loc["dice", "answer"] == "cannot_say"
    assert "nan" not in set(map(str, tests["answer_because"].dropna()))


@pytest.mark.parametrize("provenance", ["silver", "mixed", "biased"])
def test_labels_that_prove_nothing_prove_no_equality(provenance: str) -> None:
    found = audit(*two(0.0), provenance=provenance)
    test = found.tests.iloc[0]
    assert test["answer"] == "cannot_say"
    assert test["answer_because"] == f"{provenance} labels prove no equality"
    assert np.isnan(test["p_within"])
    assert audit(*two(0.0), provenance="truth").tests["answer"].tolist() == ["within_margin"]


def test_a_group_under_five_exams_or_patients_proves_nothing() -> None:
    values = np.concatenate([draw(60, 0.9, 1), draw(60, 0.9, 2), draw(4, 0.9, 3, 0.001)])
    found = audit(values, ["A"] * 60 + ["B"] * 60 + ["C"] * 4)
    test = found.tests.iloc[0]
    assert (test["answer"], test["answer_because"]) == (
        "cannot_say",
        "group under 5 exams: C (n 4)",
    )
    few = audit(draw(16, 0.9, 1, 0.001), ["A"] * 8 + ["B"] * 8, patients=np.arange(16) // 4)
    assert few.tests["within_undefined_because"].iloc[0] == "group under 5 patients: A"
    small = audit(np.array([0.9, 0.91, 0.92, 0.1, 0.2, 0.3, 0.15]), ["A"] * 3 + ["B"] * 4)
    assert small.tests["answer"].tolist() == ["cannot_say"]
    assert small.tests["answer_because"].iloc[0] == "fewer than two groups with 5 exams"


def test_infinite_distances_leave_it_open() -> None:
    settings = replace(SETTINGS, margin={"hd95": 1.0, "failures": 50.0})
    values = np.concatenate([draw(20, 2.0, 1, 0.1), draw(8, 2.0, 2, 0.1), np.full(12, np.inf)])
    found = audit(values, ["A"] * 20 + ["B"] * 20, settings, metric="hd95")
    assert found.equivalence["shift_high"].tolist() == [np.inf]
    reason = found.tests["within_undefined_because"].iloc[0]
    assert reason == "infinite scores leave the shift unbounded"


def test_patients_with_several_exams_make_the_proof_harder() -> None:
    values, labels = two(0.0, n=45)
    alone = audit(values, labels)
    together = audit(values, labels, patients=np.arange(90) // 3)
    assert alone.tests["answer"].tolist() == ["within_margin"]
    assert together.tests["answer"].tolist() == ["cannot_say"]
    assert together.equivalence[["patients_a", "independent_a"]].iloc[0].tolist() == [15, 15]


def test_exams_needed_answer_when_they_are_there() -> None:
    """As many exams as are asked for, of the same shape, give an answer."""
    values, labels = two(0.004, n=20, sd=0.03)
    test = audit(values, labels).tests.iloc[0]
    assert test["answer"] == "cannot_say"
    n = [int(x) for x in unpack_names(test["n_needed_groups"])]
    assert n[0] == n[1]
    assert test["n_needed"] == sum(n)
    found = [
        audit(*two(0.004, n=scaled, sd=0.03)).tests["p_within"].iloc[0] for scaled in (20, n[0])
    ]
    # 80 % of studies: the study that is exactly as expected is well inside.
    assert found[1] < 0.05 < found[0]
    assert found[1] > 1e-4


def test_exams_needed_say_why_there_is_no_number() -> None:
    values, labels = two(0.0)
    test = audit(values, labels, replace(SETTINGS, margin={})).tests.iloc[0]
    assert np.isnan(test["n_needed"])
    assert "not asked" in test["n_needed_because"]
    lone = audit(np.append(draw(30, 0.9), 0.9), ["A"] * 30 + ["B"]).tests.iloc[0]
    assert lone["n_needed_because"] == "the spread is not known"


def test_holm_goes_over_the_family() -> None:
    exams = [f"e{i:03}" for i in range(120)]
    values, labels = two(0.0)
    parts = [
        pd.DataFrame({"exam_id": exams, "value": values, "structure": name, "metric": "dice"})
        for name in ("a", "b", "c")
    ]
    scores = pd.concat(parts).assign(
        regime="r", ruler="x", provenance="gold", undefined_because=None
    )
    groups = pd.DataFrame({"g": pd.Categorical(labels, ["A", "B"], ordered=True)}, index=exams)
    found = audit_scores(scores, groups, pd.Series(exams, exams), SETTINGS, Attributes("a"))
    p = found.tests["p_within"]
    assert found.tests["p_within_holm"].tolist() == pytest.approx((3 * p).clip(upper=1).tolist())


def test_unknown_names_and_sizes_that_are_none_are_refused() -> None:
    settings = replace(SETTINGS, margin={"dise": 2.0, "failures": 5.0}, thresholds={"hd96": 1.0})
    with pytest.raises(AuditError, match=r"(?s)audit.thresholds.*hd96.*audit.margin.*'dise'") as e:
        audit(*two(0.0), settings)
    assert "did you mean 'dice'" in str(e.value)
    for margin in ({"dice": 0.0}, {"dice": -1.0}, {"failures": 100.0}, {"dice": float("nan")}):
        with pytest.raises(ValueError, match=r"audit.margin: expected a number above 0"):
            replace(SETTINGS, margin=margin)
