"""Any column is a grouping: texts as levels, numbers by bins that are stated and never guessed."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tworulers.cohort.columns import groupings_by
from tworulers.cohort.grouping import GroupingError, assign_groups
from tworulers.schema.sources import Attributes, Grouping


def people(**columns: Any) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    return frame.assign(exam_id=[f"e{n}" for n in range(len(frame))])


def groups_of(frame: pd.DataFrame, column: str, bins: Any = None) -> list[str | None]:
    grouping = groupings_by([column], {} if bins is None else {column: bins}, frame)[column]
    found = assign_groups(frame, grouping)
    return [None if pd.isna(group) else group for group in found]


def test_texts_are_levels_whatever_their_case_and_blanks_are_in_none() -> None:
    frame = people(site=["north", "South", "south ", "South", None, ""])
    assert groups_of(frame, "site") == ["north", "South", "South", "South", None, None]
    truths = people(smokes=[True, False, True])
    assert groups_of(truths, "smokes") == ["True", "False", "True"]
    stages = people(stage=pd.Categorical(["late", "early"], ["early", "late", "none"]))
    assert list(groupings_by(["stage"], {}, stages)["stage"].levels) == ["early", "late", "none"]


@pytest.mark.parametrize(
    ("bins", "expected"),
    [
        ([40, 60], ["<40", "40-60", "60+", None]),
        ([0, 40, 60, 120], ["0-40", "40-60", "60-120", None]),
        ([50], ["<50", "50+", "50+", None]),
        ("median", ["<52", "52+", "52+", None]),
        (3, ["<52", "52-77", "77+", None]),
        ("levels", ["31", "52", "77", None]),
    ],
)
def test_numbers_are_grouped_as_is_said(bins: Any, expected: list[str | None]) -> None:
    assert groups_of(people(years=[31, 52, 77, np.nan]), "years", bins) == expected
    assert groups_of(people(years=["31", "52", "77", ""]), "years", bins) == expected


@pytest.mark.parametrize(
    ("columns", "bins", "said"),
    [
        (["years"], {}, r"'years' holds numbers from 31 to 77 .*years: \[40, 60\].* median, or"),
        (["years"], {"years": "tercile"}, "years: median, .*found 'tercile'"),
        (["years"], {"years": True}, "found True"),
        (["place"], {}, "'place' is not in the cohort; it has"),
        (["years"], {"age": [40]}, r"bins are given for \['age'\]"),
    ],
)
def test_what_is_not_said_is_not_guessed(
    columns: list[str], bins: dict[str, Any], said: str
) -> None:
    with pytest.raises(GroupingError, match=said):
        groupings_by(columns, bins, people(years=[31, 52, 77]))


def test_an_age_only_known_to_be_above_89_is_in_the_oldest_bin() -> None:
    frame = people(age=[31, 77, np.nan, np.nan], age_over_89=[False, False, True, False])
    assert groups_of(frame, "age", [0, 40, 60]) == ["0-40", "60+", "60+", None]
    assert groups_of(frame, "age", [40, 95])[2] is None


def test_a_column_is_grouped_when_its_exams_are_known() -> None:
    frame = people(site=["n", "s"], years=[31, 77])
    by_site = Grouping("Site", "column", "site")
    assert list(assign_groups(frame, by_site)) == ["n", "s"]
    assert list(assign_groups(frame.iloc[:1], by_site).cat.categories) == ["n"]
    crossed = Grouping("Both", "intersection", of=["site", "years"])
    both = {"site": by_site, "years": Grouping("Years", "column", "years", bins=[50])}
    assert list(assign_groups(frame, crossed, both)) == ["n x <50", "s x 50+"]


def test_attributes_are_those_asked_by_name_or_else_columns() -> None:
    sex = Grouping("Sex", "levels", "sex", {"Female": ["F"], "Male": ["M"]})
    crossed = Grouping("Crossed", "intersection", of=["sex", "age"])
    age = Grouping("Age", "bins", "age", edges=[60.0])
    given = {"sex": sex, "age": age, "crossed": crossed}
    asked = Attributes("set", "A set", "exam", given, by=["sex", "bmi"], bins={"bmi": [25]})
    assert asked.groupings == {"sex": sex, "bmi": Grouping("bmi", "column", "bmi", bins=[25])}
    assert (asked.name, asked.title, asked.resampling_unit) == ("sex+bmi", "sex, bmi", "exam")
    assert list(Attributes("set", groupings=given, by=["crossed"]).groupings) == [*given]
    assert "/" not in Attributes("set", by=["a/b"]).name
    with pytest.raises(ValueError, match=r"bins are given for \['age'\], but the columns .* \[\]"):
        Attributes("set", groupings=given, by=["age"], bins={"age": [40]})
