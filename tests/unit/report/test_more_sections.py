"""The sections on anchored means and on confidence as a warning: what they say, and when they are absent."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

from tworulers.diagnosis.anchored import Anchored, anchor_scores
from tworulers.diagnosis.comparison import Comparison
from tworulers.diagnosis.failure_detection import FailureRule, audit_warning
from tworulers.diagnosis.warning import Warned
from tworulers.metrics.registry import METRICS
from tworulers.report.anchored_section import tell_of_anchoring
from tworulers.report.findings import Findings, RulerChange, ShownAudit
from tworulers.report.lay_out import write_report
from tworulers.report.page import Section
from tworulers.report.view import make_view, view_audit
from tworulers.report.warning_section import tabulate_overall, tell_of_warning
from tworulers.report.withhold import hide_anchored, withhold_small_groups
from tworulers.report.words.anchored import say_exchangeable, say_gain, say_withheld
from tworulers.report.words.warning import Answer, answer, say_whether_rulers_agree
from tworulers.schema.settings import Audit


@pytest.fixture(scope="module")
def anchored(exam_groups: pd.DataFrame) -> Anchored:
    """Half of the exams have an expert label."""
    rng = np.random.default_rng(3)
    silver = pd.Series(rng.uniform(0.8, 0.95, len(exam_groups)), exam_groups.index)
    gold = (silver - 0.1).where(np.arange(len(silver)) % 4 < 2)
    people = pd.DataFrame({"exam_id": silver.index, "patient_id": silver.index})
    settings = Audit("made", thresholds={"dice": 0.75}, permutations=50, bootstrap_draws=200)
    return anchor_scores(gold.dropna(), silver, exam_groups, people, settings, METRICS["dice"])


def warn(scores: pd.DataFrame, groups: pd.DataFrame, provenance: str, noise: float) -> Warned:
    macro = scores[(scores["structure"] == "macro") & (scores["metric"] == "dice")]
    dice = macro.set_index("exam_id")["value"].reindex(groups.index)
    suspect = -dice + noise * np.random.default_rng(1).normal(size=len(dice))
    rule = FailureRule(METRICS["dice"], "macro", 0.8, 0.25, 5, provenance)
    columns = {str(name): groups[name] for name in groups}
    parts = {"confidence": suspect, "entropy": -suspect}
    found = {
        name: audit_warning(part.to_numpy(), dice.to_numpy(), columns, rule, level=0.95)
        for name, part in parts.items()
    }
    tables = {
        table: pd.concat([getattr(one, table).assign(uncertainty=n) for n, one in found.items()])
        for table in ("cells", "metrics", "tests", "concordance")
    }
    return Warned(**tables, overall={name: one.overall.value for name, one in found.items()})


@pytest.fixture(scope="module")
def warnings(
    few_scores: dict[str, pd.DataFrame], exam_groups: pd.DataFrame
) -> dict[tuple[str, str], Warned]:
    """Confidence follows the score by silver, and has nothing to do with the score by gold."""
    return {
        ("mix", "gold"): warn(few_scores["gold"], exam_groups, "gold", 100.0),
        ("mix", "silver"): warn(few_scores["silver"], exam_groups, "silver", 0.005),
    }


@pytest.fixture(scope="module")
def judged(audits: dict[str, ShownAudit]) -> list[ShownAudit]:
    return [audits["gold"], audits["silver"]]


def text_of(section: Section) -> str:
    tables = [
        unescape(re.sub(r"<[^>]+>", " ", table.to_html()))
        for table in (*section.tables, *section.details)
    ]
    return "\n".join([*section.paragraphs, *tables])


def test_anchored_means_stand_beside_those_of_expert_labels_alone(
    findings: Findings, comparison: Comparison, anchored: Anchored
) -> None:
    change = RulerChange("mix", "gold", "silver", comparison, anchored=anchored)
    section = tell_of_anchoring(
        replace(make_view(replace(findings, changes=[change])), grouping="sex")
    )
    assert section is not None
    failures, means, gaps = section.tables
    judge = "anchored in gold: expert labels (provenance gold)"
    assert failures.caption == f"Sex: share of exams with macro Dice not > 0.75, {judge}"
    assert means.caption == f"Sex: mean macro Dice of exams that do not fail, {judge}"
    rate = anchored.failures.iloc[0]
    assert 0 < rate["failed"] < rate["n_gold"]
    assert failures.rows[0][1].startswith(f"{rate['failed']}/{rate['n_gold']} (")
    assert failures.rows[0][2].startswith(f"{rate['gold_rate']:.3f} [{rate['gold_low']:.3f}")
    assert [row[0] for row in means.rows] == ["Female", "Male"]
    first = anchored.means.iloc[0]
    cells = means.rows[0]
    assert cells[1:3] == (str(first["n_rest"]), str(first["n_silver"]))
    assert first["n_rest"] == rate["n_gold"] - rate["failed"]
    assert cells[8].startswith(f"{first['all_mean']:.4f} [{first['all_low']:.4f}")
    assert first["all_low"] < first["gold_low"]
    assert (
        cells[3] == f"{first['gold_mean']:.4f} [{first['gold_low']:.4f}, {first['gold_high']:.4f}]"
    )
    assert cells[4].startswith(f"{first['mean']:.4f} [")
    assert [row[0] for row in gaps.rows] == ["Male − Female"]
    assert any(table.caption.startswith("Age") for table in section.details)
    said = section.paragraphs[2]
    assert "Gold-anchored means rest on" in said
    assert "of exams that do not fail by the expert's label (macro Dice > 0.75)" in said
    assert not re.search(r"\bnan\b", text_of(section))


def test_a_group_without_an_interval_says_why(anchored: Anchored) -> None:
    empty = anchored.means.head(1).assign(
        gold_low=np.nan, gold_high=np.nan, low=np.nan, high=np.nan, effective_n=np.nan
    )
    assert "no group has enough expert labels" in say_gain(empty)
    means = anchored.means.head(2).assign(
        low=0.8, high=[0.9, 1.0], gold_low=0.8, gold_high=0.95, n_rest=10, effective_n=[15.0, 8.0]
    )
    said = say_gain(means)
    assert "in 1 of 2 groups" in said
    assert "-2.0 to +5.0" in said
    assert "in Male the expert labels alone" in said


def test_a_class_that_no_expert_looked_at_is_said_to_withhold_the_rate(anchored: Anchored) -> None:
    one = anchored.failures.head(2)
    assert say_withheld(one.assign(undefined_because=None)) == ""
    because = [None, "no gold exam among those failed by silver"]
    assert say_withheld(one.assign(undefined_because=because)) == (
        "No anchored failure rate for Male, where no exam that the second ruler calls failed has an expert label."
    )


def test_without_a_threshold_the_bound_is_told_of_alone(
    findings: Findings, comparison: Comparison, anchored: Anchored
) -> None:
    none = replace(anchored, threshold=None, failures=anchored.failures.head(0))
    change = RulerChange("mix", "gold", "silver", comparison, anchored=none)
    section = tell_of_anchoring(make_view(replace(findings, changes=[change])))
    assert section is not None
    assert "whatever the tail" in section.paragraphs[0]
    assert "No failure threshold was fixed" in section.paragraphs[1]
    assert len(section.paragraphs) == len(section.tables) == 2


def test_few_failures_are_not_told_on_a_page_to_be_shared(anchored: Anchored) -> None:
    rare = anchored.failures["grouping"] == "sex"
    failures = anchored.failures.assign(failed=10, silver_failed=10, n_gold=20, n_silver=20)
    failures["failed"] = failures["failed"].mask(rare, 2)
    shown = hide_anchored(
        replace(
            anchored,
            failures=failures,
            means=anchored.means.assign(n_gold=20, n_silver=20, n_rest=18),
        ),
        set(),
        5,
    )
    assert shown is not None
    assert "sex" not in set(shown.failures["grouping"]) | set(shown.failure_gaps["grouping"])
    hidden = shown.means["grouping"] == "sex"
    assert hidden.any()
    assert shown.means.loc[hidden, "n_rest"].isna().all()
    assert shown.means.loc[~hidden, "n_rest"].notna().all()


def test_exams_that_are_drawn_otherwise_are_warned_of() -> None:
    table = pd.DataFrame(
        {"attribute": ["age", "sex"], "p": [0.001, 0.4], "p_holm": [0.002, 0.4]}
    ).assign(test="mann_whitney", warning=[True, False])
    assert say_exchangeable(table).startswith("They are not drawn alike in ")
    assert "age (adjusted p 0.002)" in say_exchangeable(table)
    alike = say_exchangeable(table.assign(warning=False, p_holm=0.4))
    assert "does not show that there is none" in alike
    assert "could not be tested" in say_exchangeable(table.assign(warning=False, p_holm=np.nan))


def test_the_warning_depends_on_the_ruler(
    findings: Findings, warnings: dict[tuple[str, str], Warned]
) -> None:
    section = tell_of_warning(
        replace(make_view(replace(findings, warnings=warnings)), grouping="sex")
    )
    assert section is not None
    said = " ".join(section.paragraphs)
    assert "Judged by gold: expert labels (provenance gold), an exam fails" in said
    assert "confidence is not shown to warn of worse exams" in said
    assert "confidence warns of worse exams (concordance 0." in said
    assert "The answer depends on the ruler" in said
    assert "not the patients" not in said
    assert "Their difference is about the rulers." in said
    captions = [table.caption for table in section.tables]
    assert captions[1].startswith("Sex: AUC of confidence for failure, judged by gold")
    assert captions[2].startswith("Sex: AUC of confidence for failure, judged by silver")
    assert all("rovenance" in caption for caption in captions)
    assert any("AUC of entropy" in table.caption for table in section.details)
    assert any(table.caption.startswith("Age") for table in section.details)
    assert not re.search(r"\bnan\b", text_of(section))


def test_failed_exams_are_counted_once(
    judged: list[ShownAudit], warnings: dict[tuple[str, str], Warned], exam_groups: pd.DataFrame
) -> None:
    shown = [(one, warnings["mix", one.ruler]) for one in judged]
    table = tabulate_overall(shown, "age_3bin", "confidence")
    exams = exam_groups["age_3bin"].notna().sum()
    assert [row[1].split("/")[1] for row in table.rows] == [str(exams)] * 2


def test_a_difference_between_groups_is_named_with_what_weakens_it(
    judged: list[ShownAudit], warnings: dict[tuple[str, str], Warned]
) -> None:
    tests = warnings["mix", "gold"].tests.copy()
    pair = (tests["grouping"] == "sex") & (tests["family"] == "pairs")
    tests.loc[pair, ["p_fdr", "remarks"]] = [0.01, "few_events in Male (4)"]
    found = answer(judged[0], replace(warnings["mix", "gold"], tests=tests), "sex", "confidence")
    assert found.differs
    assert "Female and Male (adjusted p 0.010; few events in Male (4))" in found.said


def test_agreement_claims_no_more_than_was_found() -> None:
    both = [Answer(name, True, False, c, "") for name, c in (("gold", 0.59), ("silver", 0.73))]
    said = say_whether_rulers_agree(both, made_of_predictions=True)
    assert said.startswith("Both rulers come to the same answer; a difference between groups")
    assert "concordance 0.59 by gold, concordance 0.73 by silver" in said
    unknown = [both[0], replace(both[1], warns=None)]
    assert "cannot be said" in say_whether_rulers_agree(unknown, made_of_predictions=False)
    untested = [both[0], replace(both[1], differs=None)]
    assert "as far as" in say_whether_rulers_agree(untested, made_of_predictions=False)
    assert say_whether_rulers_agree(both[:1], made_of_predictions=False) == ""


def test_the_page_has_the_sections_only_where_there_is_something_to_tell(
    findings: Findings,
    judged: list[ShownAudit],
    warnings: dict[tuple[str, str], Warned],
) -> None:
    view = make_view(findings)
    assert tell_of_anchoring(view) is None
    assert tell_of_anchoring(view_audit(judged[0])) is None
    assert tell_of_warning(view) is None
    only_other = {("gold", "gold"): warnings["mix", "gold"]}
    assert tell_of_warning(make_view(replace(findings, warnings=only_other))) is None


def test_a_shared_page_leaves_out_small_groups_here_too(
    findings: Findings,
    comparison: Comparison,
    anchored: Anchored,
    warnings: dict[tuple[str, str], Warned],
) -> None:
    change = RulerChange("mix", "gold", "silver", comparison, anchored=anchored)
    everything = replace(findings, changes=[change], warnings=warnings)
    least = int(findings.groups["age_3bin"].value_counts().min()) + 1
    shared = withhold_small_groups(replace(everything, suppress_below=least))
    assert not shared.warnings, "its tables count the failures of each group"
    (left,) = shared.changes
    assert left.anchored is not None
    fewest = anchored.means.query("grouping == 'sex'")[["n_gold", "n_silver"]].min().min()
    kept = {"sex"} if fewest >= least else set()
    assert set(left.anchored.means["grouping"]) == set(left.anchored.gaps["grouping"]) == kept
    anchors = [section.anchor for section in write_report(shared)[1]]
    assert "warning" not in anchors
    assert ("anchored" in anchors) == bool(kept)
