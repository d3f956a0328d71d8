"""What the page says of primary questions: they come first, with hash and day, and with what does not fit."""

from dataclasses import replace

import pandas as pd
import pytest

from conftest import run_audit
from tworulers.report.findings import Findings, ShownAudit
from tworulers.report.lay_out import write_report
from tworulers.report.words.primary import list_mismatches, tag_lock, tell_lock
from tworulers.schema.settings import Audit, Locked
from tworulers.schema.sources import Attributes

LOCKED = Locked([["dice", "macro", "sex"], ["dice", "macro", "age_3bin"]], "ab" * 32, "2026-02-03")


@pytest.fixture(scope="module")
def audited(
    few_scores: dict[str, pd.DataFrame],
    e2_table: pd.DataFrame,
    exam_groups: pd.DataFrame,
    quick: Audit,
    attributes: Attributes,
) -> ShownAudit:
    asked = replace(quick, family="primary", locked=LOCKED)
    result = run_audit(few_scores["gold"], e2_table, exam_groups, asked, attributes)
    return ShownAudit(result, "expert labels", few_scores["gold"])


def test_the_page_names_primary_questions_first(audited: ShownAudit) -> None:
    headline, sections = write_report(Findings("exams", "", {("mix", "gold"): audited}))
    remarks = " ".join(headline.remarks)
    assert "none of 2 primary questions finds a difference, none of 4 other tests" in remarks
    assert headline.patients.startswith(
        "On the 2 primary questions locked on 2026-02-03, by the experts'"
    )
    assert headline.patients.endswith("none of 4 secondary tests differs.")
    first, gain = headline.remarks[:2]
    assert first.startswith(
        "2 primary questions (dice/macro by sex, age_3bin), locked on 2026-02-03, SHA-256 abababababab."
    )
    assert "at 0.05/2" in gain
    assert "at 0.05/6" in gain
    titles = [row.title for row in headline.rows]
    assert [title.endswith("(primary)") for title in titles] == [True, True, False, False]
    assert "in 1 score" in headline.rows[0].base
    assert "in 2 scores" in headline.rows[2].base
    assert sections


def test_a_mismatch_is_a_sentence_of_the_page_and_a_tag(audited: ShownAudit) -> None:
    changed = replace(LOCKED, changed="alpha was 0.05, now 0.1", earlier=["", "cd" * 32])
    settings = replace(audited.result.settings, locked=changed)
    one = replace(audited, result=replace(audited.result, settings=settings))
    headline, _ = write_report(Findings("exams", "", {("mix", "gold"): one}))
    for text in ("changed since they were locked on 2026-02-03", "alpha was 0.05, now 0.1"):
        assert text in headline.remarks[0]
    assert "with none, with those of SHA-256 cdcdcdcdcdcd" in headline.remarks[0]
    assert tag_lock(changed)["primary_mismatch"] == "; ".join(list_mismatches(changed))


def test_nothing_is_said_where_nothing_is_primary() -> None:
    assert (tell_lock(Locked()), list_mismatches(Locked()), tag_lock(Locked())) == ("", [], {})
