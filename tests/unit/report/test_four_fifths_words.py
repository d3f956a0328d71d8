"""Success ratios below four fifths under one ruler only: what is said where that ruler repeats the model."""

from dataclasses import replace

import pytest

from tworulers.diagnosis.comparison import Comparison
from tworulers.diagnosis.flips import tabulate_four_fifths as list_flips
from tworulers.report.briefs import brief_rulers
from tworulers.report.findings import Findings, RulerChange, ShownAudit
from tworulers.report.lay_out import write_report

SAID = "1 success ratio below four fifths under one ruler only: the silver ruler is {} to the model"


@pytest.fixture
def flipped(comparison: Comparison, audits: dict[str, ShownAudit]) -> Comparison:
    """Let one ratio fall below four fifths under the experts' ruler alone."""
    gold, silver = (
        audits[ruler].result.disparities.assign(below_four_fifths=False, dir=0.9)
        for ruler in ("gold", "silver")
    )
    gold.loc[0, ["dir", "below_four_fifths"]] = [0.7, True]
    return replace(comparison, four_fifths=list_flips(gold, silver))


def judge(found: Comparison, status: str) -> Comparison:
    return replace(found, summary={**found.summary, "status": status})


def read(found: Comparison, findings: Findings) -> tuple[str, str]:
    """Return the sentences of the terminal, and the notes beside the table of the page."""
    told = " ".join(part for part in brief_rulers(found) if isinstance(part, str))
    changes = [RulerChange("mix", "gold", "silver", found)]
    tables = [
        table
        for section in write_report(replace(findings, changes=changes))[1]
        for table in section.tables
        if table.caption.startswith("Below four fifths under one ruler only")
    ]
    return told, " ".join(f"{len(table.rows)}: {table.note}" for table in tables)


@pytest.mark.parametrize(
    ("status", "close"), [("too_close", "too close"), ("identical", "identical")]
)
def test_flips_under_a_ruler_that_repeats_the_model_are_said_to_rest_on_it(
    flipped: Comparison, findings: Findings, status: str, close: str
) -> None:
    told, beside = read(judge(flipped, status), findings)
    assert SAID.format(close) in told
    assert beside.startswith(f"1: {SAID.format(close)}")
    assert "no finding on the patients" in beside


def test_flips_under_a_ruler_of_its_own_need_no_such_word(
    flipped: Comparison, comparison: Comparison, findings: Findings
) -> None:
    told, beside = read(judge(flipped, "distinct"), findings)
    assert beside == "1: "
    assert "success ratio" not in told
    none = replace(comparison, four_fifths=flipped.four_fifths.head(0))
    assert "success ratio" not in read(judge(none, "too_close"), findings)[0]
