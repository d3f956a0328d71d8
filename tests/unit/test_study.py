"""A study answers for itself: audits, comparisons of rulers and of models, over what both sides have."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tworulers.battery.audit import audit_scores
from tworulers.diagnosis.comparison import Audited, compare_rulers
from tworulers.metrics.registry import METRICS
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping
from tworulers.study import OWN_PREDICTIONS, Reference, Study

EXAMS = [f"e{i:02}" for i in range(40)]
SEX = Grouping("Sex", "levels", "sex", {"F": ["F"], "M": ["M"]}, group_order=["F", "M"])
ATTRIBUTES = Attributes("sexes", resampling_unit="patient", groupings={"sex": SEX})
SETTINGS = Audit(
    "test", metrics=["dice"], thresholds={"dice": 0.8}, bootstrap_draws=200, permutations=50,
    power_draws=0, linear=False,
)  # fmt: skip
PEOPLE = pd.DataFrame({"exam_id": EXAMS, "patient_id": EXAMS, "sex": ["F", "M"] * 20})
REFERENCES = {
    "expert": Reference("expert", "the experts' labels", "gold"),
    "machine": Reference("machine", "another model's labels", "silver", model="v1"),
}


def make_scores(model: str, reference: str, values: np.ndarray, exams=EXAMS) -> pd.DataFrame:
    table = pd.DataFrame({"exam_id": exams, "regime": model, "ruler": reference})
    table["provenance"] = REFERENCES[reference].provenance
    table["structure"], table["metric"], table["value"] = "disc", "dice", values
    return table.assign(undefined_because=pd.array([None], "str")[0])


def draw(seed: int, centre: float = 0.85) -> np.ndarray:
    return np.clip(centre + 0.05 * np.random.default_rng(seed).normal(size=40), 0, 1)


def make_study(*tables: pd.DataFrame, people: pd.DataFrame = PEOPLE) -> Study:
    scores = pd.concat(tables, ignore_index=True)
    models = {"v1": "The first", "v2": "The second"}
    return Study(scores, people, ATTRIBUTES, SETTINGS, REFERENCES, models, METRICS)


@pytest.fixture
def study() -> Study:
    return make_study(
        make_scores("v1", "expert", draw(1)),
        make_scores("v1", "machine", draw(2, 0.95)),
        make_scores("v2", "expert", draw(1) + 0.02 * draw(3)),
    )


def test_two_rulers_agreement_is_told_of_scores_and_label_volumes(study: Study) -> None:
    volumes = [
        make_scores("v1", reference, 1e4 * (1 + draw(seed))).assign(metric="reference_mm3")
        for seed, reference in ((5, "expert"), (6, "machine"))
    ]
    volumes[1] = volumes[1].iloc[:30]
    found = make_study(study.scores, *volumes).compare("expert", "machine", "v1")
    table = found.agreement.set_index("metric")
    assert table["n"].to_dict() == {"dice": 40, "reference_mm3": 30}
    assert table.loc["dice", "bias"] == pytest.approx(found.inflation["mean"].iloc[0])
    assert list(found.inflation["metric"]) == ["dice"]


def test_an_audit_is_that_of_the_battery_and_made_once(study: Study) -> None:
    groups, _ = study.group(("v1", "expert"))
    scores = make_scores("v1", "expert", draw(1))
    patients = PEOPLE.set_index("exam_id")["patient_id"]
    wanted = audit_scores(scores, groups, patients, SETTINGS, ATTRIBUTES)
    pd.testing.assert_frame_equal(study.audit().tests, wanted.tests)
    assert study.audit("expert", "v1") is study.audit()
    assert replace(study, settings=SETTINGS).known.audits == {}


def test_rulers_are_compared_over_the_exams_that_both_judged(study: Study) -> None:
    few = make_scores("v1", "machine", draw(2, 0.95)[:30], EXAMS[:30])
    smaller = make_study(make_scores("v1", "expert", draw(1)), few)
    found = smaller.compare()
    shared = smaller.share(("v1", "expert"), ("v1", "machine"))
    assert shared.notes == (
        "compared over the 30 exams that both judged; 10 of the 40 exams of expert left out",
    )
    assert (found.summary["n_exams"], found.summary["left_out_base"]) == (30, 10)
    people = PEOPLE.head(30).set_index("exam_id")
    groups = pd.DataFrame(
        {"sex": pd.Categorical(people["sex"], ["F", "M"], ordered=True)}, people.index
    )
    sides = []
    for table in (make_scores("v1", "expert", draw(1)).head(30), few):
        audit = audit_scores(table, groups, people["patient_id"], SETTINGS, ATTRIBUTES)
        sides.append(Audited(table, audit.tests, audit.disparities))
    wanted = compare_rulers(*sides, groups, SETTINGS, patients=people["patient_id"])
    for name in ("verdicts", "flips", "spread", "inflation"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(wanted, name))
    assert smaller.audit_common()["expert"].n_exams == 30
    assert smaller.audit().n_exams == 40


def test_two_models_differ_by_the_paired_difference_overall_and_by_group(study: Study) -> None:
    found = study.compare_models("v1", "v2", "expert")
    difference = 0.02 * draw(3)
    overall = found.differences.iloc[0]
    low, high = stats.t.interval(0.95, 39, difference.mean(), stats.sem(difference))
    assert overall[["n", "mean", "mean_low", "mean_high"]].tolist() == pytest.approx(
        [40, difference.mean(), low, high]
    )
    for place, group in enumerate(["F", "M"]):
        part = difference[place::2]
        row = found.by_group.set_index("group").loc[group]
        interval = stats.t.interval(0.95, 19, part.mean(), stats.sem(part))
        assert row[["n", "mean", "mean_low", "mean_high"]].tolist() == pytest.approx(
            [20, part.mean(), *interval]
        )
        assert row["wilcoxon_p"] == pytest.approx(stats.wilcoxon(np.round(part, 9)).pvalue)
    gaps = []
    for values in (draw(1), draw(1) + difference):
        medians = [np.median(values[place::2]) for place in (0, 1)]
        gaps.append(max(medians) - min(medians))
    row = found.gaps.iloc[0]
    assert row["gap_change"] == pytest.approx(gaps[1] - gaps[0])
    assert row["gap_change_low"] <= row["gap_change"] <= row["gap_change_high"]


def test_the_exams_of_a_patient_are_taken_together() -> None:
    people = PEOPLE.assign(patient_id=[f"p{i // 4}" for i in range(40)], sex="F")
    people.loc[people.index >= 20, "sex"] = "M"
    noise = np.repeat(draw(5), 4)[:40] - 0.85 + 0.001 * draw(6)
    tables = make_scores("v1", "expert", draw(1)), make_scores("v2", "expert", draw(1) + noise)
    found = make_study(*tables, people=people).compare_models()
    sums = pd.Series(noise - noise.mean()).groupby(np.arange(40) // 4).sum()
    error = np.sqrt(10 / 9 * (sums**2).sum()) / 40
    row = found.differences.iloc[0]
    assert (row["mean_high"] - row["mean"]) / stats.t.ppf(0.975, 9) == pytest.approx(error)
    assert error > 1.5 * stats.sem(noise)


def test_findings_are_all_there_are_in_order(study: Study) -> None:
    found = study.findings()
    assert list(found.audits) == [("v1", "expert"), ("v1", "machine"), ("v2", "expert")]
    assert list(found.rulers) == [("v1", "expert", "machine")]
    assert list(found.models) == [("expert", "v1", "v2")]
    assert found.notes == []
    apart = make_scores("v1", "machine", draw(2)[:1], EXAMS[:1])
    lonely = make_study(make_scores("v1", "expert", draw(1)), apart)
    assert "have 1 exams in common" in lonely.findings().notes[0]


def test_scores_that_only_one_side_has_are_named_and_not_compared(study: Study) -> None:
    more = make_scores("v1", "expert", draw(4)).assign(structure="cord")
    found = make_study(study.scores, more).share(("v1", "expert"), ("v1", "machine"))
    assert found.notes == ("dice of cord is in expert alone and is not compared",)
    assert set(found.study.scores["structure"]) == {"disc"}


def test_a_reference_that_is_the_model_itself_carries_no_verdict() -> None:
    assert REFERENCES["machine"].tell_no_verdict("v1") == OWN_PREDICTIONS
    assert REFERENCES["machine"].tell_no_verdict("v2") == ""


def test_what_is_not_declared_or_not_scored_is_named(study: Study) -> None:
    with pytest.raises(ValueError, match="no scores of v2 by machine; there are: v1 by expert"):
        study.audit("machine", "v2")
    with pytest.raises(ValueError, match=r"scores of 'v3' \(column 'regime'\)"):
        make_study(study.scores.assign(regime="v3"))


def test_what_is_known_of_a_reference_reaches_its_verdicts(study: Study) -> None:
    """The model errs by .05 on its own; the ruler repeats nearly all of it, as the truth shows."""
    rng = np.random.default_rng(8)
    own, apart = 0.05 * np.exp(0.4 * rng.normal(size=(2, 40)))
    truth, ruler = 1 - own, 1 - 0.1 * apart
    against = pd.DataFrame({"exam_id": EXAMS, "structure": "disc", "value": 1 - own - 0.05 * apart})
    machine = replace(REFERENCES["machine"], model="other", against={"truth": against})
    references = {**REFERENCES, "machine": machine, "truth": Reference("truth", "", "truth")}
    scores = [
        make_scores("v1", "expert", draw(1)),
        make_scores("v1", "machine", ruler),
        make_scores("v1", "expert", truth).assign(ruler="truth", provenance="truth"),
    ]

    def know(**changes: object) -> dict:
        changed = {**references, "machine": replace(machine, **changes)}
        there = [table for table in scores if table["ruler"].iloc[0] in changed]
        made = replace(study, scores=pd.concat(there, ignore_index=True), references=changed)
        return made.compare("expert", "machine", "v1").summary["known"]

    found = know()
    assert (found["basis"], found["may_be_called_false"]) == ("demonstrated_copy", True)
    assert found["testimony"]["witness"] == "truth"
    assert found["testimony"]["low"] > 0.5
    references.pop("truth")
    assert know()["basis"] == "unknown"
    assert know(relation="independent")["basis"] == "declared_independent"
    related = frozenset({"v1"})
    assert know(relation="independent", shares_training=related)["basis"] == "shares_training"
    assert know(shares_training=frozenset({"v2"}))["basis"] == "unknown"


def test_experts_who_corrected_a_machine_tell_nothing_of_it(study: Study) -> None:
    """A second expert demonstrates a copy, unless either expert began with the machine's labels."""
    rng = np.random.default_rng(8)
    model, *apart = 0.05 * np.exp(0.4 * rng.normal(size=(4, 40)))

    def score(values: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame({"exam_id": EXAMS, "structure": "disc", "value": 1 - values})

    experts = {
        "expert": REFERENCES["expert"],
        "second": Reference("second", "", "gold", against_base=score(apart[1] + apart[2])),
    }
    distances = {name: model + error for name, error in zip(experts, apart[1:], strict=True)}
    machine = replace(
        REFERENCES["machine"],
        against_base=score(distances["expert"]),
        against={"second": score(distances["second"])},
    )
    scores = [
        make_scores("v1", "expert", 1 - values).assign(ruler=name, provenance="gold")
        for name, values in distances.items()
    ]
    scores.append(make_scores("v1", "machine", 1 - 0.05 * apart[0]))

    def know(**corrected_from: str) -> dict:
        drawn = {
            name: replace(one, corrected_from=corrected_from.get(name, ""))
            for name, one in experts.items()
        }
        references = {"expert": drawn["expert"], "machine": machine, "second": drawn["second"]}
        made = replace(study, scores=pd.concat(scores, ignore_index=True), references=references)
        return made.compare("expert", "machine", "v1").summary["known"]

    assert know()["basis"] == "demonstrated_copy"
    assert know(second="machine")["basis"] == "unknown"
    found = know(expert="machine")
    assert (found["basis"], found["may_be_called_false"]) == ("corrected_into_base", False)
    assert found["corrected"] == {"base": "expert", "unchanged": 0, "exams": 40}
    assert know(expert="another")["basis"] == "demonstrated_copy"
