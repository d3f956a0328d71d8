"""The section that stands beside the tests: tables and sentences of what is given, spreads, order, pairs and labels."""

from dataclasses import replace

import pandas as pd
import pytest

from tworulers.report.adjusted_tables import (
    tabulate_given,
    tabulate_labels,
    tabulate_mixed,
    tabulate_shifts,
    tabulate_trends,
    tell_of_adjustment,
)
from tworulers.report.findings import Findings, ShownAudit
from tworulers.report.score import Score
from tworulers.report.view import make_view, view_audit
from tworulers.report.withhold import hide_lone_exams, withhold_small_groups
from tworulers.report.words.adjusted import or_in_spread, say_absent, say_given, say_labels


@pytest.fixture(scope="module")
def score(findings: Findings) -> Score:
    return make_view(findings).score


def given(one: ShownAudit, score: Score, p: float, verdict: float) -> ShownAudit:
    """The audit with one comparison given age beside one test, both p as wanted."""
    tests = one.result.tests.copy()
    here = (tests["structure"] == score.structure) & (tests["metric"] == score.metric.name)
    tests.loc[here & (tests["grouping"] == "sex"), "p_verdict"] = verdict
    key = {"grouping": "sex", "structure": score.structure, "metric": score.metric.name}
    row = key | {"given": "age", "p": p, "p_fdr": p, "undefined_because": None}
    adjusted = pd.DataFrame([row])
    return replace(one, result=replace(one.result, tests=tests, adjusted=adjusted))


def test_what_is_given_stands_beside_each_p(audits: dict[str, ShownAudit], score: Score) -> None:
    table = tabulate_given(given(audits["gold"], score, 0.2, 0.01), score)
    assert table.columns[-1] == "p given age (adjusted)"
    sex, age = table.rows
    assert (sex[1], sex[-1]) == ("0.010", "0.20 (0.20)")
    assert age[-1] == "—"


@pytest.mark.parametrize(
    ("p", "verdict", "said"),
    [(0.2, 0.01, "is not seen given age"), (0.01, 0.2, "shows given age"), (0.01, 0.01, "")],
)
def test_a_changed_answer_is_said(
    audits: dict[str, ShownAudit], score: Score, p: float, verdict: float, said: str
) -> None:
    lines = say_given(given(audits["gold"], score, p, verdict), score)
    assert len(lines) == bool(said)
    assert said in " ".join(lines)


def test_labels_are_counted_in_words_and_hidden_where_few(audits: dict[str, ShownAudit]) -> None:
    one = audits["gold"]
    assert say_labels(one, "sex") == ""
    shares = pd.DataFrame(
        [("sex", "Female", 38, 3, 3 / 38), ("sex", "Male", 38, 20, 20 / 38),
         ("age_3bin", "<40", 21, 10, 10 / 21)],
        columns=["grouping", "group", "n", "n_machine", "share_machine"],
    )  # fmt: skip
    mixed = replace(one, result=replace(one.result, label_shares=shares))
    assert "3 of 38 in Female, 20 of 38 in Male" in say_labels(mixed, "sex")
    assert "show no equality" in say_labels(mixed, "sex")
    assert tabulate_labels(mixed).rows[0][2] == "3/38 (8 %)"
    findings = Findings("", "", {("mix", "gold"): mixed}, suppress_below=5)
    (kept,) = withhold_small_groups(findings).audits.values()
    assert kept.result.label_shares["grouping"].tolist() == ["age_3bin"]
    alone = shares.assign(n=[1, 38, 21])
    lone = replace(one, result=replace(one.result, label_shares=alone))
    (hidden,) = hide_lone_exams(Findings("", "", {("mix", "gold"): lone})).audits.values()
    assert hidden.result.label_shares["n_machine"].isna().tolist() == [True, False, False]


def test_shifts_trends_and_models_show_what_the_audit_found(
    audits: dict[str, ShownAudit], score: Score
) -> None:
    one = audits["gold"]
    shifts = tabulate_shifts(one, score)
    assert [row[1] for row in shifts.rows] == [
        "Male − Female", "40-60 − <40", "60+ − <40", "60+ − 40-60",
    ]  # fmt: skip
    found = score.of(one.result.shifts).iloc[0]
    assert shifts.rows[0][3].startswith(score.metric.write_difference(found["shift"]))
    assert "95 %" in shifts.columns[3]
    (trend,) = tabulate_trends(one, score).rows
    assert trend[1] == "<40 → 40-60 → 60+"
    assert trend[4] == ("rises" if score.of(one.result.trends).iloc[0]["tau"] > 0 else "falls")
    models = tabulate_mixed(one, score)
    assert [row[1] for row in models.rows] == ["Male - Female", "40-60 - <40", "60+ - <40"]
    unfitted = one.result.mixed.assign(undefined_because="18 patients, fewer than 20")
    few = replace(one, result=replace(one.result, mixed=unfitted))
    assert tabulate_mixed(few, score).rows[0][1] == "18 patients, fewer than 20"


def test_the_section_names_what_is_absent(audits: dict[str, ShownAudit]) -> None:
    one = audits["gold"]
    assert say_absent(one) == "Not in the table of exams: age, manufacturer."
    section = tell_of_adjustment(view_audit(one))
    assert section.paragraphs[-1] == say_absent(one)
    assert [table.caption.split(":")[0].split(" of ")[0] for table in section.tables] == [
        "Given something else", "Shifts", "Trends",
    ]  # fmt: skip


def test_a_difference_may_be_one_of_spread() -> None:
    assert or_in_spread(True) == ", in level or in spread"
    assert or_in_spread(False) == ""
