"""A page that is passed on tells nothing of a group small enough to know its people."""

from dataclasses import replace

import pandas as pd
import pytest

from tworulers.report.findings import CohortTables, Findings
from tworulers.report.lay_out import write_report
from tworulers.report.withhold import NothingToShowError, hide_people, withhold_small_groups


def test_a_grouping_with_a_small_group_goes_as_a_whole(findings: Findings) -> None:
    sizes = findings.groups["age_3bin"].value_counts()
    assert findings.groups["sex"].value_counts().min() > sizes.min()
    shared = withhold_small_groups(replace(findings, suppress_below=int(sizes.min()) + 1))
    assert list(shared.withheld) == ["Age"]
    for one in shared.audits.values():
        for table in (one.result.tests, one.result.groups, one.result.rates, one.result.power):
            assert "age_3bin" not in set(table["grouping"])
    for change in shared.changes:
        assert set(change.comparison.verdicts["grouping"]) == {"sex"}
    assert "age_3bin" not in shared.groups
    text = str([section.tables for section in write_report(shared)[1]])
    assert not any(f"{group} " in text for group in sizes.index)


def test_a_page_of_nothing_is_refused(findings: Findings) -> None:
    with pytest.raises(NothingToShowError, match="fewer than 70 exams; merge levels"):
        withhold_small_groups(replace(findings, suppress_below=70))


def test_a_hidden_level_cannot_be_subtracted_back() -> None:
    counts = pd.DataFrame(
        {
            "variable": ["race"] * 3 + ["sex"] * 2,
            "level": ["White", "Black", "Asian", "F", "M"],
            "exams": [50, 20, 2, 40, 32],
            "share": 0.1,
            "patients": 1,
        }
    )
    hidden = hide_people(CohortTables(counts=counts), set(), 5).counts
    assert hidden is not None
    told = hidden.set_index("level")["exams"].dropna().to_dict()
    assert told == {"White": 50, "F": 40, "M": 32}


def test_single_exams_and_ages_are_not_told(findings: Findings) -> None:
    ages = pd.DataFrame(
        {"pool": ["all"], "minimum": [2.0], "maximum": [88.0], "over_89": [1], "unknown": [0]}
    )
    tables = CohortTables(ages=ages, exclusions=pd.DataFrame({"exam_id": ["a"], "reason": ["b"]}))
    hidden = hide_people(tables, set(), 5)
    assert hidden.exclusions is None
    assert hidden.ages is not None
    assert hidden.ages.iloc[0][["over_89", "unknown"]].tolist() == ["< 5", 0]
    assert hidden.ages[["minimum", "maximum"]].isna().all(axis=None)
