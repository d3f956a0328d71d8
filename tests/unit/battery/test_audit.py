"""The battery over the simulated audit of 76 exams, and over small tables that broke other tools."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tworulers.battery.audit import AuditError, AuditResult, audit_scores
from tworulers.battery.summary import summarise
from tworulers.cohort.grouping import assign_groups
from tworulers.diagnosis.comparison import Audited, compare_rulers
from tworulers.diagnosis.mechanism import SHOWN
from tworulers.report.words.groupings import verdict_sentences
from tworulers.report.words.rulers import put_into_words
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping
from tworulers.schema.tables import unpack_names

CROSSED = ("sex_x_race_wb", "sex_x_age_median")


@pytest.fixture(scope="module")
def audits(
    e2_table: pd.DataFrame,
    e2_scores: dict[str, pd.DataFrame],
    paper_groupings: dict[str, Grouping],
    paper_audit: Audit,
) -> dict[str, AuditResult]:
    attributes = Attributes("paper", resampling_unit="exam", groupings=paper_groupings)
    groups = pd.DataFrame(
        {
            name: assign_groups(e2_table, grouping, paper_groupings)
            for name, grouping in paper_groupings.items()
        }
    )
    exams = e2_table.set_index("exam_id")
    settings = replace(paper_audit, bootstrap_draws=1000, permutations=200, power_draws=200)
    return {
        ruler: audit_scores(
            scores, groups, exams["patient_id"], settings, attributes, exams[["age"]]
        )
        for ruler, scores in e2_scores.items()
    }


def small_audit(
    values: list[float],
    labels: list[str | None],
    order: list[str],
    settings: Audit | None = None,
    metric: str = "dice",
) -> AuditResult:
    """Audit one score by one grouping."""
    exams = [f"e{i:02d}" for i in range(len(values))]
    scores = pd.DataFrame(
        {
            "exam_id": exams,
            "regime": "r",
            "ruler": "gold",
            "provenance": "gold",
            "structure": "vb",
            "metric": metric,
            "value": values,
            "undefined_because": None,
        }
    )
    groups = pd.DataFrame({"group": pd.Categorical(labels, order, ordered=True)}, index=exams)
    settings = settings or Audit(
        thresholds={"dice": 0.8, "hd95": 5.0},
        metrics=[metric],
        bootstrap_draws=500,
        permutations=200,
        power_draws=200,
    )
    return audit_scores(scores, groups, pd.Series(exams, exams), settings, Attributes("small"))


@pytest.mark.parametrize("ruler", ["gold", "silver"])
def test_golden_family(
    audits: dict[str, AuditResult], battery_golden: dict[str, Any], ruler: str
) -> None:
    golden = battery_golden["rulers"][ruler]
    main = audits[ruler].tests[audits[ruler].tests["family"] == "main"]
    assert len(main) == 63
    for row in main.to_dict("records"):
        expected = golden["family"][f"{row['grouping']}/{row['metric']}_{row['structure']}"]
        for name, value in zip(golden["family_columns"], expected, strict=True):
            assert row[name] == pytest.approx(value, abs=1e-8), (row["grouping"], name)
    found = audits[ruler].families.set_index("family").loc["main"]
    assert (found["configured"], found["size"], found["missing"]) == (63, 63, "")
    assert found["significant"] == golden["summary"]["n_significant"]
    assert found["smallest_p_fdr"] == pytest.approx(golden["summary"]["smallest_p_fdr"], abs=1e-8)
    significant = main[main["significant"]]
    named = significant["grouping"] + "/" + significant["metric"] + "_" + significant["structure"]
    assert set(named) == set(golden["summary"]["significant"])


@pytest.mark.parametrize("ruler", ["gold", "silver"])
def test_golden_disparities(
    audits: dict[str, AuditResult], battery_golden: dict[str, Any], ruler: str
) -> None:
    golden = battery_golden["rulers"][ruler]
    table = audits[ruler].disparities
    primary = table[table["primary"] & ~table["grouping"].isin(CROSSED)]
    assert len(primary) == 63
    for row in primary.to_dict("records"):
        key = f"{row['grouping']}/{row['metric']}_{row['structure']}"
        dpd, ratio, flagged, saturated = golden["disparity"][key]
        assert row["dpd"] == pytest.approx(dpd, abs=1e-8)
        assert row["dir"] == pytest.approx(ratio, abs=1e-8)
        assert (row["below_four_fifths"], row["saturated"]) == (flagged, saturated)
    swept = table[(table["grouping"] == "age_3bin") & (table["structure"] == "macro")]
    for row in swept.to_dict("records"):
        dpd, ratio = golden["sweep"][f"{row['metric']}_macro"][f"{row['threshold']:g}"]
        assert row["dpd"] == pytest.approx(dpd, abs=1e-8)
        assert row["dir"] == pytest.approx(ratio, abs=1e-8)
    assert len(swept) == 13
    macro = primary[(primary["structure"] == "macro") & (primary["metric"] == "dice")]
    for row in macro.to_dict("records"):
        expected = golden["dir"][row["grouping"]]
        step = 1 / min(n for _, n in expected["counts"])
        pooled, exact = expected["pooled"], expected["exact"]
        assert abs(row["dir_bca_low"] - pooled["low"]) <= max(step, 0.06 * pooled["low"])
        assert row["dir_exact_low"] == pytest.approx(exact["low"], abs=1e-8)
        assert row["dir_low"] == pytest.approx(exact.get("percentile_low", exact["low"]), abs=1e-8)
        assert row["dir_high"] == pytest.approx(
            exact.get("percentile_high", exact["high"]), abs=1e-8
        )
        assert row["dir_method"] == "exact_percentile"
        assert row["degenerate"] == exact["degenerate"]
        assert row["lowest_exact_bound"] == pytest.approx(min(expected["clopper"]), abs=1e-8)
        counts = [f"{s}/{n}" for s, n in expected["counts"]]
        assert unpack_names(row["counts"]) == counts


def test_no_flip_of_the_golden_table_is_named_since_no_test_is_shown_to_have_changed(
    audits: dict[str, AuditResult],
    e2_table: pd.DataFrame,
    e2_scores: dict[str, pd.DataFrame],
    paper_groupings: dict[str, Grouping],
    paper_audit: Audit,
) -> None:
    plain = [name for name in paper_groupings if name not in CROSSED]
    groups = pd.DataFrame(
        {name: assign_groups(e2_table, paper_groupings[name], paper_groupings) for name in plain}
    )
    base, other = (
        Audited(e2_scores[ruler], found.tests[found.tests["family"] == "main"], found.disparities)
        for ruler, found in audits.items()
    )
    settings = replace(paper_audit, bootstrap_draws=100, permutations=1000)
    found = put_into_words(compare_rulers(base, other, groups, settings))
    assert found.summary["flips"]["main"]["other_only"] == 11
    assert found.summary["flips_unadjusted"]["main"]["both"] >= 7
    assert found.summary["tests_changed"] == {"main": {"changed": 0, "tested": 63}}
    flips = found.verdicts[found.verdicts["flip"] == "other_only"]
    # 7 of 11 are significant before correction under gold already; 1 flips by its own p
    assert (flips["flip_unadjusted"] == "both").sum() == 7
    assert flips["own_p_crosses"].sum() == 1
    assert (flips["verdict"] == "made_by_correction").sum() == 10
    assert not flips["verdict"].isin(SHOWN).any()
    assert not flips["sentence"].str.contains("shrinking|widening").any()
    json.dumps(found.summary, allow_nan=False)


def test_intersections_are_a_family_of_their_own(
    audits: dict[str, AuditResult], battery_golden: dict[str, Any]
) -> None:
    for ruler, result in audits.items():
        crossed = result.tests[result.tests["family"] == "intersections"]
        assert set(crossed["grouping"]) == set(CROSSED)
        assert len(crossed) == 18
        macro = crossed[(crossed["structure"] == "macro") & (crossed["metric"] == "dice")]
        for row in macro.to_dict("records"):
            expected = battery_golden["rulers"][ruler]["crossed"][f"{row['grouping']}/dice_macro"]
            found = [row["statistic"], row["p"], row["effect"]]
            assert found == pytest.approx(expected, abs=1e-8)


def test_posthoc_follows_a_significant_kruskal_wallis(
    audits: dict[str, AuditResult], battery_golden: dict[str, Any]
) -> None:
    table = audits["silver"].posthoc
    rows = table[
        (table["grouping"] == "age_3bin")
        & (table["structure"] == "macro")
        & (table["metric"] == "dice")
    ]
    expected = [pair["p_bonferroni"] for pair in battery_golden["rulers"]["silver"]["dunn"]]
    assert rows["p_adjusted"].tolist() == pytest.approx(expected, abs=1e-8)
    assert rows["significant"].all()
    assert not audits["gold"].posthoc["significant"].any()


def test_linear_model_of_the_paper(
    audits: dict[str, AuditResult], battery_golden: dict[str, Any]
) -> None:
    for ruler, result in audits.items():
        expected = battery_golden["rulers"][ruler]["ols"]
        assert result.linear["r2"].iloc[0] == pytest.approx(expected["r2"], abs=1e-8)
        assert result.linear["model_p"].iloc[0] == pytest.approx(expected["p"], abs=1e-8)
        assert result.linear["references"].iloc[0] == "sex: Female; race_wb: Black"


def test_every_group_and_exam_is_accounted_for(audits: dict[str, AuditResult]) -> None:
    groups = audits["gold"].groups
    total = groups.groupby(["grouping", "structure", "metric"])["n"].sum()
    assert (total == 76).all()
    ethnicity = groups[groups["grouping"] == "ethnicity"].head(3)
    assert ethnicity["group"].tolist() == ["Hispanic", "Non-Hispanic", "in no group"]
    assert ethnicity["n"].tolist() == [8, 66, 2]


def test_order_of_rows_changes_nothing(
    e2_table: pd.DataFrame,
    e2_scores: dict[str, pd.DataFrame],
    paper_groupings: dict[str, Grouping],
) -> None:
    settings = Audit(thresholds={"dice": 0.8}, bootstrap_draws=50, permutations=50, power_draws=0)
    attributes = Attributes("sex", groupings=paper_groupings)
    groups = assign_groups(e2_table, paper_groupings["age_3bin"], paper_groupings).to_frame("age")
    patients = e2_table.set_index("exam_id")["patient_id"]
    first = audit_scores(e2_scores["gold"], groups, patients, settings, attributes)
    shuffled = e2_scores["gold"].sample(frac=1, random_state=3)
    shuffled = shuffled.sort_values("metric", kind="stable")
    second = audit_scores(shuffled, groups[::-1], patients, settings, attributes)
    key = ["grouping", "structure", "metric"]
    for name in ("tests", "disparities"):
        a, b = (getattr(result, name).sort_values(key) for result in (first, second))
        pd.testing.assert_frame_equal(
            a.reset_index(drop=True), b.reset_index(drop=True), check_like=True
        )
    other = audit_scores(e2_scores["gold"], groups, patients, replace(settings, seed=1), attributes)
    drawn = [c for c in first.tests if c.startswith("p_perm") or c.endswith(("_low", "_high"))]
    same = first.tests.drop(columns=drawn)
    pd.testing.assert_frame_equal(same, other.tests.drop(columns=drawn))
    assert not first.tests[drawn].equals(other.tests[drawn])


def test_group_of_one_is_listed_and_not_tested() -> None:
    values = [0.61, 0.90, 0.88, 0.93, 0.85, 0.91, 0.87]
    result = small_audit(values, ["Islander"] + ["White"] * 6, ["Islander", "White"])
    row = result.tests.iloc[0]
    assert np.isnan(row["p"])
    assert row["not_assessed"] == "Islander (n 1)"
    assert "Islander (n 1)" in row["undefined_because"]
    assert not row["significant"]
    family = result.families.iloc[0]
    assert (family["configured"], family["size"]) == (1, 0)
    assert "group/vb/dice" in family["missing"]
    assert result.groups["status"].tolist() == ["not tested", "tested"]
    assert result.groups["n"].tolist() == [1, 6]
    bounds = result.disparities.iloc[0]
    assert np.isnan(bounds["dir_low"])
    assert bounds["interval_note"] == "group under two exams: Islander (n 1)"
    said = verdict_sentences(result, "the experts", "gold").iloc[0]
    assert said["verdict"] == "too few"
    assert "at least 5 exams (Islander (n 1), White (n 6))." in said["sentence"]
    json.dumps(summarise(result), allow_nan=False)


def test_failing_case_in_a_small_group_does_not_vanish() -> None:
    labels = ["A"] * 12 + ["B"] * 10 + ["C"]
    result = small_audit([0.9] * 22 + [0.3], labels, ["A", "B", "C"])
    row = result.disparities.iloc[0]
    assert (row["dpd"], row["dir"]) == (1.0, 0.0)
    assert (row["dpd_eligible"], row["dir_eligible"]) == (0.0, 1.0)
    assert row["not_assessed"] == "C (n 1)"
    assert result.rates["rate"].tolist() == [1.0, 1.0, 0.0]
    test = result.tests.iloc[0]
    assert (test["test"], unpack_names(test["groups"])) == ("mann_whitney", ["A", "B"])
    sentence = verdict_sentences(result, "the experts", "gold")["sentence"].iloc[0]
    assert "Not assessed: C (n 1)" in sentence
    assert "C 0/1" in sentence
    assert "fair" not in sentence.replace("four-fifths", "")


def test_no_failures_is_no_proof() -> None:
    labels = ["F"] * 12 + ["M"] * 10
    result = small_audit(list(np.linspace(0.88, 0.97, 22)), labels, ["F", "M"])
    row = result.disparities.iloc[0]
    assert (row["dir"], row["dpd"], row["saturated"], row["degenerate"]) == (1.0, 0.0, True, True)
    assert (row["dir_low"], row["dir_high"]) == (1.0, 1.0)
    assert row["lowest_exact_bound"] == pytest.approx(0.025 ** (1 / 10))
    sentence = verdict_sentences(result, "the experts", "gold")["sentence"].iloc[0]
    assert "say nothing" in sentence


def test_identical_scores_stay_in_the_family() -> None:
    result = small_audit([1.0] * 11, ["F"] * 6 + ["M"] * 5, ["F", "M"])
    row = result.tests.iloc[0]
    assert (row["p"], row["p_fdr"], row["effect"]) == (1.0, 1.0, 0.0)
    assert result.families["size"].tolist() == [1]


def test_missed_structure_is_worst_and_counted() -> None:
    values = [1.0, 1.1, 1.2, 1.3, 1.4, np.inf, 0.9, 0.8, 0.7, 0.6, 0.5, np.nan]
    result = small_audit(values, ["a"] * 6 + ["b"] * 6, ["a", "b"], metric="hd95")
    test = result.tests.iloc[0]
    assert (test["n"], test["n_infinite"], test["n_undefined"]) == (11, 1, 1)
    assert (test["best_group"], test["worst_group"]) == ("b", "a")
    assert result.rates["successes"].tolist() == [5, 5]
    assert result.rates["n"].tolist() == [6, 5]
    assert result.overall["mean"].iloc[0] == pytest.approx(0.95)


def test_scores_that_do_not_fit_are_all_listed() -> None:
    scores = pd.DataFrame(
        {
            "exam_id": ["e0", "e0", "e9"],
            "regime": ["r", "r", "s"],
            "ruler": "gold",
            "provenance": ["gold", None, "gold"],
            "structure": "vb",
            "metric": ["dice", "dice", "dise"],
            "value": 0.9,
        }
    )
    groups = pd.DataFrame({"g": pd.Categorical(["a"], ["a"], ordered=True)}, index=["e0"])
    with pytest.raises(AuditError) as caught:
        audit_scores(scores, groups, pd.Series(["p"], ["e0"]), Audit(), Attributes("x"))
    text = str(caught.value)
    for part in (
        "column 'regime': expected one, found r, s",
        "without it a verdict cannot be made",
        "found dise",
        "exam e0: dice of vb is given more than once",
        "groups: scored exams that are not there: e9",
    ):
        assert part in text


def test_summary_is_strict_json_and_names_what_is_undefined(
    audits: dict[str, AuditResult],
) -> None:
    summary = summarise(audits["silver"])
    text = json.dumps(summary, allow_nan=False)
    assert summary["provenance"] == "silver"
    assert summary["metrics"]["dice/macro/age_3bin/p_fdr"] == pytest.approx(0.02674, abs=1e-4)
    assert summary["families"][0]["size"] == 63
    assert json.loads(text)["n_exams"] == 76
    assert set(summary["undefined"]) == {k for k, v in summary["metrics"].items() if v is None}


def test_sentences_name_the_ruler_and_never_say_fair(audits: dict[str, AuditResult]) -> None:
    said = verdict_sentences(audits["gold"], "expert labels", "gold").set_index("grouping")
    assert set(said["verdict"]) == {"not shown"}
    assert said["sentence"].str.contains("expert labels \\(gold: drawn by experts\\)").all()
    assert said["sentence"].str.contains("would have been found in 80 % of studies").all()
    assert not said["sentence"].str.contains(r"\bfair\b").any()
    silver = verdict_sentences(audits["silver"], "machine labels", "silver").set_index("grouping")
    assert silver.loc["age_3bin", "verdict"] == "difference"
    assert "best <40, worst 60+" in silver.loc["age_3bin", "sentence"]


def test_a_verdict_without_provenance_cannot_be_made(audits: dict[str, AuditResult]) -> None:
    with pytest.raises(ValueError, match="expected one of gold, silver"):
        verdict_sentences(audits["gold"], "labels", "")
    with pytest.raises(ValueError, match="made with gold references, not silver"):
        verdict_sentences(audits["gold"], "labels", "silver")


def test_scores_that_are_all_undefined_are_listed_and_nothing_is_computed_from_them() -> None:
    result = small_audit([np.nan] * 6, ["a", "a", "a", "b", "b", "b"], ["a", "b"])
    test = result.tests.iloc[0]
    assert np.isnan(test["p"])
    assert test["undefined_because"]
    assert result.families.iloc[0]["size"] == 0
    assert result.groups.query("group == 'a'")["n_undefined"].iloc[0] == 3
