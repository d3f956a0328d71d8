"""The battery where patients have several exams: it draws and permutes patients, or says that it cannot."""

import json

import numpy as np
import pandas as pd

from tworulers.battery.audit import audit_scores
from tworulers.battery.summary import summarise
from tworulers.report.words.groupings import verdict_sentences
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes


def test_resampling_draws_patients_where_they_have_several_exams() -> None:
    rng = np.random.default_rng(0)
    exams = [f"e{i:02d}" for i in range(40)]
    patients = pd.Series([f"p{i // 2}" for i in range(40)], exams)
    scores = pd.DataFrame(
        {
            "exam_id": exams,
            "regime": "r",
            "ruler": "gold",
            "provenance": "gold",
            "structure": "vb",
            "metric": "dice",
            "value": np.repeat(rng.uniform(0.7, 0.9, 20), 2),
            "undefined_because": None,
        }
    )
    labels = pd.Categorical(["a"] * 20 + ["b"] * 20, ["a", "b"], ordered=True)
    groups = pd.DataFrame({"group": labels}, index=exams)
    settings = Audit(thresholds={"dice": 0.8}, permutations=500, bootstrap_draws=500)
    by_patient, by_exam = (
        audit_scores(scores, groups, patients, settings, Attributes("x", resampling_unit=unit))
        for unit in ("patient", "exam")
    )
    assert (by_patient.resampling_unit, by_patient.n_patients) == ("patient", 20)
    drawn, counted = by_patient.disparities.iloc[0], by_exam.disparities.iloc[0]
    width = [row["dir_percentile_high"] - row["dir_percentile_low"] for row in (drawn, counted)]
    assert width[0] > 1.15 * width[1]
    # what is shown goes by patients, however the published interval is drawn
    for name in ("dir", "dpd", "dpd_percentile"):
        assert drawn[f"{name}_low"] == counted[f"{name}_low"]
    assert (drawn["dir_method"], counted["dir_method"]) == ("percentile", "percentile")
    assert drawn["dir_low"] == drawn["dir_percentile_low"]
    assert (drawn["p_dpd"], by_patient.rates["rate_low"].tolist()) == (
        counted["p_dpd"],
        by_exam.rates["rate_low"].tolist(),
    )


def test_too_few_ways_to_lay_labels_over_patients_cannot_say() -> None:
    exams = [f"e{i:02d}" for i in range(21)]
    patients = pd.Series(np.repeat(np.arange(6), np.arange(1, 7)).astype(str), exams)
    scores = pd.DataFrame({"exam_id": exams, "structure": "vb", "metric": "dice"})
    scores = scores.assign(regime="r", ruler="gold", provenance="gold", undefined_because=None)
    codes = np.repeat([0, 1, 0, 1, 0, 1], np.arange(1, 7))
    scores["value"] = 0.8 + 0.1 * codes + np.linspace(0, 0.01, 21)
    labels = pd.Categorical.from_codes(codes, ["a", "b"], ordered=True)
    groups = pd.DataFrame({"group": labels}, index=exams)
    settings = Audit(metrics=["dice"], permutations=200, bootstrap_draws=50, power_draws=0)
    for unit in ("patient", "exam"):
        attributes = Attributes("x", resampling_unit=unit)
        found = audit_scores(scores, groups, patients, settings, attributes)
        test = found.tests.iloc[0]
        assert test["p"] < 0.001
        assert np.isnan(test["p_verdict"])
        assert not test["significant"]
        assert "labels can lie in 20 ways only" in test["verdict_undefined_because"]
        assert "20 ways only" in found.families["missing"].iloc[0]
        said = verdict_sentences(found, "the experts", "gold").iloc[0]
        assert said["verdict"] == "too few"
        assert "cannot say: with patients kept together" in said["sentence"]
        assert "(a (n 9), b (n 12))." in said["sentence"]
        json.dumps(summarise(found), allow_nan=False)


def test_pairs_of_groups_are_compared_by_patients_where_they_repeat() -> None:
    rng = np.random.default_rng(1)
    codes, exams = np.repeat([0, 1, 2], 20), [f"e{i:02d}" for i in range(60)]
    scores = pd.DataFrame({"exam_id": exams, "structure": "vb", "metric": "dice"})
    scores = scores.assign(regime="r", ruler="gold", provenance="gold", undefined_because=None)
    scores["value"] = 0.7 + 0.05 * codes + 0.01 * rng.normal(size=60)
    labels = pd.Categorical.from_codes(codes, ["a", "b", "c"], ordered=True)
    groups = pd.DataFrame({"group": labels}, index=exams)
    settings = Audit(metrics=["dice"], permutations=200, bootstrap_draws=50, power_draws=0)
    patients = pd.Series([f"p{i // 2}" for i in range(60)], exams)
    repeated, single = (
        audit_scores(scores, groups, who, settings, Attributes("x"))
        for who in (patients, pd.Series(exams, exams))
    )
    assert (len(repeated.posthoc), len(single.posthoc)) == (3, 3)
    assert (repeated.posthoc["verdict_by"] == "patient").all()
    assert (repeated.posthoc["p_adjusted"] < 0.07).all()
    assert (repeated.posthoc["z"] < 0).all()
    assert (repeated.posthoc["z"].abs() < single.posthoc["z"].abs()).all()
    test = repeated.tests.iloc[0]
    assert (repeated.posthoc["test_p"] == test["p_permutation"]).all()
    assert (repeated.posthoc["test_p_fdr"] == test["p_permutation_fdr"]).all()
    assert (single.posthoc["p_adjusted"] < 0.05).all()
    assert single.posthoc["undefined_because"].isna().all()
