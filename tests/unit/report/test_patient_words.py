"""What the page says of the patients before it says anything of a ruler."""

from dataclasses import replace

import pandas as pd
import pytest

from tworulers.report.findings import OWN_PREDICTIONS, Findings, ShownAudit, Unjudged
from tworulers.report.lay_out import write_report
from tworulers.report.view import make_view
from tworulers.report.words.headline import write_headline
from tworulers.report.words.patients import tell_patients
from tworulers.report.words.read_facts import tell_best


def call(one: ShownAudit, ruler: str, provenance: str) -> ShownAudit:
    return replace(one, result=replace(one.result, ruler=ruler, provenance=provenance))


def find(one: ShownAudit, groupings: list[str]) -> ShownAudit:
    """Let an audit find a difference in some groupings and in no other."""
    significant = one.result.tests["grouping"].isin(groupings)
    answer = significant.map({True: "differs", False: "cannot_say"})
    tests = one.result.tests.assign(significant=significant, answer=answer)
    return replace(one, result=replace(one.result, tests=tests))


@pytest.fixture
def gold(audits: dict[str, ShownAudit]) -> ShownAudit:
    return find(audits["gold"], [])


@pytest.fixture
def silver(audits: dict[str, ShownAudit]) -> ShownAudit:
    return find(audits["silver"], ["age_3bin"])


@pytest.fixture
def truth(audits: dict[str, ShownAudit]) -> ShownAudit:
    return find(call(audits["silver"], "truth", "truth"), ["age_3bin"])


def test_what_experts_labels_show_is_said_first(
    findings: Findings, gold: ShownAudit, silver: ShownAudit
) -> None:
    found = find(gold, ["sex"])
    audits = {("mix", "gold"): found, ("mix", "silver"): silver}
    headline, _ = write_report(replace(findings, audits=audits))
    assert headline.patients.startswith(
        "By the experts' labels (gold, 76 exams) groups differ by Sex (3 of 3 scores, worst for"
    )
    assert tell_patients([gold, silver]) == ""
    assert tell_patients([silver, silver]) == ""


def test_a_truth_at_hand_says_who_could_tell(
    gold: ShownAudit, silver: ShownAudit, truth: ShownAudit
) -> None:
    said = tell_patients([gold, silver], [truth])
    assert said.startswith(
        "The noise-free truth (truth) shows a difference between the patients by"
    )
    assert (
        "The labels of experts (gold) do not show it by Age: with these labels and 76 exams it "
        "cannot be told, which is no sign of equality." in said
    )
    assert "which these labels of experts do not replace" in said
    assert "many exams" not in said
    assert "few exams" not in said
    assert (
        "The silver ruler shows it by Age; that it is right there is known from the truth" in said
    )
    assert "cannot be known from its own labels" in said
    both = tell_patients([find(gold, ["age_3bin"]), silver], [truth])
    assert "The labels of experts (gold) show it by Age, too." in both
    assert "cannot be told" not in both
    none = tell_patients([gold, silver], [find(truth, [])])
    assert "shows no difference between the patients, which is no proof of equality" in none
    assert "The silver ruler shows a difference by Age that the truth does not show." in none


def test_a_ruler_that_hides_what_the_truth_shows_is_not_excused_by_the_number_of_exams(
    gold: ShownAudit, silver: ShownAudit, truth: ShownAudit
) -> None:
    said = tell_patients([find(gold, ["age_3bin"]), find(silver, [])], [truth])
    assert "The labels of experts (gold) show it by Age, too." in said
    assert (
        "The silver ruler does not show by Age what the truth shows: read alone, it hides the "
        "difference." in said
    )
    assert "exams" not in said


def test_a_reference_that_is_the_predictions_is_named_where_it_leaves_one_ruler(
    gold: ShownAudit,
) -> None:
    own = Unjudged("mix", "machine", "their labels", "silver", OWN_PREDICTIONS)
    assert gold.result.regime == "mix"
    audits = {("mix", "gold"): gold}
    view = make_view(Findings("", "", audits, [own]))
    headline = write_headline(view)
    own_words = "The reference machine: their labels (provenance silver) is scored by its own"
    assert headline.ruler.startswith(own_words)
    assert "no other ruler to compare with" in " ".join(headline.remarks)
    elsewhere = replace(own, regime="gold")
    view = make_view(Findings("", "", audits, [elsewhere]))
    assert "machine" not in write_headline(view).sentence


def test_random_groups_and_further_scores_say_nothing_of_the_patients(gold: ShownAudit) -> None:
    tests: pd.DataFrame = gold.result.tests
    random = tests.assign(family="random", significant=True)
    alone = replace(gold, result=replace(gold.result, tests=random))
    assert tell_patients([alone]) == ""
    assert tell_best([alone.result]) == ""
