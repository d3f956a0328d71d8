"""What a run's page says: whose labels judged, what was found, and no verdict where there is none."""

from typing import Any

import pandas as pd
import pytest

from tworulers.battery.audit import AuditResult, audit_scores
from tworulers.cohort.grouping import assign_groups
from tworulers.report.briefs import note_audit, note_comparison
from tworulers.runner.answers import collect_metrics, name_run
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping


@pytest.fixture(scope="module")
def audited(
    e2_table: pd.DataFrame,
    e2_scores: dict[str, pd.DataFrame],
    paper_groupings: dict[str, Grouping],
) -> AuditResult:
    quick = Audit(
        "quick", metrics=["dice"], thresholds={"dice": 0.8}, bootstrap_draws=50, permutations=0,
        power_draws=0, linear=False,
    )  # fmt: skip
    chosen = {"sex": paper_groupings["sex"]}
    groups = pd.DataFrame({"sex": assign_groups(e2_table, chosen["sex"], chosen)})
    patients = e2_table.set_index("exam_id")["patient_id"]
    named = Attributes("few", "Sex", "exam", chosen)
    return audit_scores(e2_scores["gold"].assign(regime="mix"), groups, patients, quick, named)


def test_an_audit_is_told_by_grouping(audited: AuditResult) -> None:
    note = note_audit(audited, "Judged by experts.", "")
    first, *rest = note.split("\n\n")
    assert first.startswith("**By the experts' labels (gold, 76 exams)")
    assert rest[0] == "Judged by experts. 76 exams of 76 patients."
    assert rest[1].startswith("Answers of 3 tests")
    assert "| Sex | Female (n 38), Male (n 38) |" in note
    assert "may be there" in note


def test_the_model_judged_by_itself_gets_no_verdict(audited: AuditResult) -> None:
    note = note_audit(audited, "Judged by itself.", "these are its own predictions")
    assert note.endswith("No verdict: these are its own predictions.")
    assert "|" not in note


def test_the_numbers_of_the_verdict_come_first(audited: AuditResult) -> None:
    names = list(collect_metrics(audited))
    answers = ("differs", "differs_within_margin", "within_margin", "cannot_say")
    assert names[:4] == [f"answers/{answer}" for answer in answers]
    assert names[4] == "family/main/significant"
    places = {
        kind: [i for i, n in enumerate(names) if f"/{kind}/" in n] for kind in ("macro", "vb")
    }
    assert max(places["macro"]) < min(places["vb"])


def test_a_comparison_is_named_by_what_changes() -> None:
    rulers: dict[str, Any] = {
        "regime": "mix", "base_ruler": "gold", "other_ruler": "silver", "base_provenance": "gold",
        "other_provenance": "silver", "status": "too_close", "flips": {"main": {"other_only": 2}},
    }  # fmt: skip
    regimes = {
        "base_regime": "gold", "other_regime": "mix", "ruler": "truth", "provenance": "truth",
        "gap_changes": {"main": {"wider": 1}},
    }  # fmt: skip
    assert name_run(rulers, "mix", "gold_silver") == "rulers · mix: gold, silver"
    assert name_run(regimes, "truth", "gold_mix") == "regimes · gold, mix by truth"
    note = note_comparison(rulers)
    assert "too close to the model" in note
    assert "- Conclusions, adjusted p, main tests: other only 2" in note
    assert "not the patients" not in note
    assert note.endswith("what holds for the patients is what the best labels there are show.")
    assert "concerns" not in note_comparison(regimes)
