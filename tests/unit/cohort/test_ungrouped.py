"""Values that a grouping does not know are counted, and a grouping that nobody is in is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tworulers.cohort.grouping import GroupingError
from tworulers.cohort.ungrouped import find_ungrouped, form_groups, keep_possible, require_groups
from tworulers.schema.sources import Attributes, Grouping

SEX = Grouping("Sex", "levels", "sex", {"Female": ["Female", "F"], "Male": ["Male", "M"]})


def make(sexes: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame({"exam_id": [f"e{n}" for n in range(len(sexes))], "sex": sexes})


@given(st.lists(st.sampled_from(["F", "male", "1", "weiblich", "", None]), min_size=1, max_size=20))
def test_every_exam_is_grouped_blank_or_listed(sexes: list[str | None]) -> None:
    found = find_ungrouped(make(sexes), {"sex": SEX})
    grouped = sum(sex in ("F", "male") for sex in sexes)
    if grouped == len(sexes):
        assert found == []
        return
    (one,) = found
    assert one.grouped == grouped
    assert one.grouped + one.blank + sum(one.values.values()) == len(sexes)
    assert set(one.values) == {sex for sex in sexes if sex in ("1", "weiblich")}
    if grouped:
        assert len(require_groups(make(sexes), {"sex": SEX})) == bool(one.values)
    else:
        with pytest.raises(GroupingError):
            require_groups(make(sexes), {"sex": SEX})


def test_what_is_said_names_values_counts_and_what_is_known() -> None:
    frame = make(["1", "1", "2", None, "F"])
    assert require_groups(frame, {"sex": SEX}) == [
        "grouping 'Sex': 3 exams are in no group, by value of column 'sex' '1': 2, '2': 1; it knows "
        "Female: Female, F; Male: Male, M"
    ]
    age = Grouping("Age", "bins", "age", edges=[40.0])
    frame["age"] = ["54", "fifty", None, "30", "60"]
    assert "'fifty': 1; it knows numbers" in require_groups(frame, {"age": age})[0]
    with pytest.raises(
        GroupingError, match=r"attributes.groupings.sex.levels.Female=\['<value>'\]"
    ):
        require_groups(make(["1", "2"]), {"sex": SEX})
    with pytest.raises(GroupingError, match="no exam has a value in column 'sex'"):
        require_groups(make([None, ""]), {"sex": SEX})


def test_groupings_that_can_be_made_go_on_where_that_is_asked_for() -> None:
    groupings = {
        "sex": SEX,
        "race": Grouping("Race", "levels", "race", {"White": ["White"]}),
        "both": Grouping("Both", "intersection", of=["sex", "race"]),
    }
    frame = make(["F", "M", "F"])
    asked = Attributes("set", groupings=groupings, possible=True)
    kept, told = keep_possible(frame, asked)
    assert list(kept.groupings) == ["sex"]
    assert [note.partition(",")[0] for note in told] == ["race is left out", "both is left out"]
    assert list(asked.groupings) == ["sex", "race", "both"]
    whole = Attributes("set", groupings=groupings)
    assert keep_possible(frame, whole) == (whole, [])
    with pytest.raises(GroupingError, match="column 'sex' is not in the cohort"):
        keep_possible(frame.drop(columns="sex"), asked)


def test_spellings_of_a_column_that_are_one_group_are_told() -> None:
    frame = make(["TRUE", "yes", "1", "no", "FALSE", "no"]).assign(
        site=["Ulm", "ulm", "ULM ", "K\u00f6ln", "Ko\u0308ln", "Ulm"]
    )
    groupings = {name: Grouping(name, "column", name) for name in ("sex", "site")}
    groups, _ = form_groups(frame, Attributes("a", groupings=groupings))
    assert groups["sex"].tolist() == ["TRUE", "TRUE", "TRUE", "no", "no", "no"]
    assert groups["site"].nunique() == 2
    truths, sites = require_groups(frame, groupings)
    assert "'yes' as 'TRUE' (1)" in truths
    assert "'FALSE' as 'no' (1)" in truths
    assert "'ulm' as 'Ulm' (1)" in sites
    assert "ln" not in sites
    with pytest.raises(GroupingError, match=r"(?s)'gender' is not in.*'site2' is not in"):
        require_groups(frame, {n: Grouping(n, "column", n) for n in ("gender", "site2")})


def test_ages_above_89_are_in_the_last_part_of_any_cut() -> None:
    frame = make(["F"] * 5).assign(age=[30.0, 50, 60, 76, np.nan], age_over_89=[False] * 4 + [True])
    for bins, last in (("median", "60+"), (3, "60+"), ([40, 80], "80+")):
        grouping = Grouping("age", "column", "age", bins=bins)
        groups, left_out = form_groups(frame, Attributes("a", groupings={"age": grouping}))
        assert groups["age"].iloc[-1] == last
        assert left_out.empty
