"""The sections on anchored means and on confidence as a warning: what they say, and when they are absent."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tworulers.report.anchored_section import say_exchangeable, say_gain, tell_of_anchoring
from tworulers.report.gallery import ShownAudit
from tworulers.report.page import Anchored, Findings, RulerChange, Section, Warned
from tworulers.report.sections import write_report
from tworulers.report.warning_section import (
    Answer,
    answer,
    say_whether_rulers_agree,
    tabulate_overall,
    tell_of_warning,
)
from tworulers.report.withhold import withhold_small_groups
from tworulers.rulers import Comparison
from tworulers.stats.anchored import anchor_gaps, anchor_groups, assess_exchangeability
from tworulers.stats.failure_warning import FailureRule, audit_warning


@pytest.fixture(scope="module")
def anchored(exam_groups: pd.DataFrame) -> Anchored:
    """Half of the exams have an expert label."""
    rng = np.random.default_rng(3)
    silver = pd.Series(rng.uniform(0.8, 0.95, len(exam_groups)), exam_groups.index)
    gold = (silver - 0.1).where(np.arange(len(silver)) % 4 < 2)
    means, gaps = [], []
    for name in exam_groups:
        found = anchor_groups(gold, silver, exam_groups[name])
        means.append(found.assign(grouping=name))
        gaps.append(anchor_gaps(found).assign(grouping=name))
    differ = assess_exchangeability(
        gold.notna(), pd.DataFrame({"silver_score": silver}), alpha=0.05, draws=50, seed=0
    )
    return Anchored(pd.concat(means), pd.concat(gaps), differ, ["They rest on few exams."])


def warn(scores: pd.DataFrame, groups: pd.DataFrame, provenance: str, noise: float) -> Warned:
    macro = scores[(scores["structure"] == "macro") & (scores["metric"] == "dice")]
    dice = macro.set_index("exam_id")["value"].reindex(groups.index)
    suspect = -dice + noise * np.random.default_rng(1).normal(size=len(dice))
    rule = FailureRule("macro Dice", True, 0.8, 0.25, 5, provenance)
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
    tables = [table.to_text() for table in (*section.tables, *section.details)]
    return "\n".join([*section.paragraphs, *tables])


def test_anchored_means_stand_beside_those_of_expert_labels_alone(
    judged: list[ShownAudit], comparison: Comparison, anchored: Anchored
) -> None:
    change = RulerChange("mix", "gold", "silver", comparison, anchored=anchored)
    (section,) = tell_of_anchoring(judged, change, "sex")
    means, gaps = section.tables
    assert means.caption == "Sex: mean macro Dice anchored in gold: expert labels (provenance gold)"
    assert [row[0] for row in means.rows] == ["Female", "Male"]
    first = anchored.means.iloc[0]
    cells = means.rows[0]
    assert cells[1:3] == (str(first["n_gold"]), str(first["n_silver"]))
    assert (
        cells[3] == f"{first['gold_mean']:.4f} [{first['gold_low']:.4f}, {first['gold_high']:.4f}]"
    )
    assert cells[4].startswith(f"{first['mean']:.4f} [")
    assert [row[0] for row in gaps.rows] == ["Male − Female"]
    assert any(table.caption.startswith("Age") for table in section.details)
    assert "They rest on few exams." in section.paragraphs[1]
    assert not re.search(r"\bnan\b", text_of(section))


def test_a_group_without_an_interval_says_why(anchored: Anchored) -> None:
    empty = anchored.means.head(1).assign(
        gold_low=np.nan, gold_high=np.nan, low=np.nan, high=np.nan, effective_n=np.nan
    )
    assert "no group has enough expert labels" in say_gain(empty)
    means = anchored.means.head(2).assign(
        low=0.8, high=[0.9, 1.0], gold_low=0.8, gold_high=0.95, n_gold=10, effective_n=[15.0, 8.0]
    )
    said = say_gain(means)
    assert "in 1 of 2 groups" in said
    assert "-2.0 to +5.0" in said
    assert "in Male the expert labels alone" in said


def test_exams_that_are_drawn_otherwise_are_warned_of() -> None:
    table = pd.DataFrame(
        {"attribute": ["age", "sex"], "p": [0.001, 0.4], "p_holm": [0.002, 0.4]}
    ).assign(test="mann_whitney", warning=[True, False])
    assert say_exchangeable(table).startswith("Warning: ")
    assert "age (adjusted p 0.002)" in say_exchangeable(table)
    alike = say_exchangeable(table.assign(warning=False, p_holm=0.4))
    assert "does not show that there is none" in alike
    assert "could not be tested" in say_exchangeable(table.assign(warning=False, p_holm=np.nan))


def test_the_warning_depends_on_the_ruler(
    findings: Findings, judged: list[ShownAudit], warnings: dict[tuple[str, str], Warned]
) -> None:
    (section,) = tell_of_warning(replace(findings, warnings=warnings), judged, "sex")
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
    table = tabulate_overall(shown, "age_3bin", "Age", "confidence")
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
    comparison: Comparison,
    anchored: Anchored,
    warnings: dict[tuple[str, str], Warned],
) -> None:
    change = RulerChange("mix", "gold", "silver", comparison)
    assert tell_of_anchoring(judged, change, "sex") == []
    assert tell_of_anchoring(judged[:1], None, "sex") == []
    assert tell_of_warning(findings, judged, "sex") == []
    only_other = {("gold", "gold"): warnings["mix", "gold"]}
    assert tell_of_warning(replace(findings, warnings=only_other), judged, "sex") == []


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
