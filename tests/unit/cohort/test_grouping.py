"""Groups of the published protocol, crossed and random groups; what is left out is listed."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tworulers.cohort.grouping import GroupingError, assign_groups, list_left_out
from tworulers.cohort.spelling import merge_spellings
from tworulers.schema.sources import Grouping

CONF = Path(__file__).parents[3] / "conf" / "attributes"


def read_groupings(name: str) -> dict[str, Grouping]:
    groupings = yaml.safe_load((CONF / f"{name}.yaml").read_text())["groupings"]
    return {key: Grouping(**fields) for key, fields in groupings.items()}


OF_A_DOWNLOAD = {
    "menopause": ["pre", "post", "peri", None, "post", "pre"],
    "breast_density": ["a", "b", "c", "d", None, "a"],
    "dataset": ["DUKE", "ISPY1", "ISPY2", "NACT", "DUKE", "DUKE"],
    "automatic_rating": ["both Good", "both Poor", "both Missed", None, "both Good", "both Good"],
}
"""Further columns, of which MAMA-MIA's groupings are made."""


@pytest.fixture
def cohort() -> pd.DataFrame:
    rows = [
        ("e1", "p1", "Female", "White", 39.9, False, "Not Hispanic or Latino"),
        ("e2", "p1", "female ", "White", 40.0, False, "Not Hispanic or Latino"),
        ("e3", "p2", "Male", "Black or African American", 59.9, False, "Hispanic or Latino"),
        ("e4", "p3", "M", "Asian", 60.0, False, "Not Reported"),
        ("e5", "p4", "Not Reported", "Not Reported", np.nan, True, "Not Hispanic or Latino"),
        ("e6", "p5", None, None, np.nan, False, None),
    ]
    columns = ["exam_id", "patient_id", "sex", "race", "age", "age_over_89", "ethnicity"]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sex", ["Female", "Female", "Male", "Male", None, None]),
        ("race_wb", ["White", "White", "Black", None, None, None]),
        ("race_wbo", ["White", "White", "Black", "Other", "Other", None]),
        ("race_wn", ["White", "White", "Non-White", "Non-White", "Non-White", None]),
        ("age_3bin", ["<40", "40-60", "40-60", "60+", "60+", None]),
        ("age_median", ["< median", "< median", ">= median", ">= median", None, None]),
        ("ethnicity", ["Non-Hispanic", "Non-Hispanic", "Hispanic", None, "Non-Hispanic", None]),
    ],
)
def test_published_groupings(cohort: pd.DataFrame, name: str, expected: list[str | None]) -> None:
    groupings = read_groupings("paper")
    groups = assign_groups(cohort, groupings[name], groupings)
    assert [None if pd.isna(group) else group for group in groups] == expected
    assert groups.cat.ordered
    assert list(groups.index) == list(cohort["exam_id"])


def test_the_median_itself_belongs_to_the_upper_half() -> None:
    ages = pd.DataFrame({"exam_id": list("abc"), "age": [30, 50, 70]})
    groups = assign_groups(ages, Grouping(kind="quantiles", column="age", quantiles=2))
    assert list(groups) == ["<50", "50+", "50+"]
    tied = assign_groups(ages.assign(age=50), Grouping(kind="quantiles", column="age", quantiles=3))
    assert list(tied.cat.categories) == ["part 1 of 3", "part 2 of 3", "part 3 of 3"]


def test_what_is_left_out_is_listed_with_its_value(cohort: pd.DataFrame) -> None:
    out = list_left_out(cohort, read_groupings("paper")["sex"])
    found = set(out[["exam_ids", "reason", "exams"]].itertuples(index=False, name=None))
    assert found == {("e5", "in no group", 1), ("e6", "no value", 1)}
    assert "Not Reported" in set(out["value"])
    ages = list_left_out(cohort, read_groupings("paper")["age_median"])
    assert dict(zip(ages["exam_ids"], ages["reason"], strict=True)) == {
        "e5": "age only known to be above 89",
        "e6": "no value",
    }


def test_every_shipped_set_names_its_groups(cohort: pd.DataFrame) -> None:
    for file in sorted(CONF.glob("*.yaml")):
        content = yaml.safe_load(file.read_text())
        if "groupings" not in content:
            continue
        groupings = read_groupings(file.stem)
        exams = cohort.assign(expert_volume_mm3=range(len(cohort)), **OF_A_DOWNLOAD)
        for grouping in groupings.values():
            assert len(assign_groups(exams, grouping, groupings).cat.categories) >= 2


def test_an_intersection_leaves_out_what_a_part_leaves_out(cohort: pd.DataFrame) -> None:
    groupings = read_groupings("sex_x_race")
    groups = assign_groups(cohort, groupings["sex_x_race_wb"], groupings)
    assert list(groups.dropna()) == ["Female x White", "Female x White", "Male x Black"]
    assert list(groups.cat.categories) == [
        "Female x Black",
        "Female x White",
        "Male x Black",
        "Male x White",
    ]
    out = list_left_out(cohort, groupings["sex_x_race_wb"], groupings)
    assert set(out["reason"]) == {"left out of sex", "left out of race_wb"}


def test_blanks_can_be_a_group_of_their_own(cohort: pd.DataFrame) -> None:
    groupings = read_groupings("race")
    groups = assign_groups(cohort, groupings["race"], groupings)
    assert groups.value_counts().loc[
        ["White", "Black", "Asian", "Not Reported", "Missing"]
    ].tolist() == [
        2,
        1,
        1,
        1,
        1,
    ]


@given(st.integers(0, 2**20), st.permutations(range(40)))
def test_random_groups_depend_on_seed_and_patient_alone(seed: int, order: list[int]) -> None:
    exams = pd.DataFrame(
        {"exam_id": [f"e{i}" for i in order], "patient_id": [f"p{i // 2}" for i in order]}
    )
    grouping = Grouping(kind="random", group_order=["A", "B", "C"], seed=seed)
    groups = assign_groups(exams, grouping)
    subset = assign_groups(exams.iloc[:7], grouping)
    assert (groups[subset.index] == subset).all()
    assert groups.groupby(exams.set_index("exam_id")["patient_id"]).nunique().eq(1).all()


def test_random_groups_are_about_equal_in_size() -> None:
    exams = pd.DataFrame({"exam_id": [f"e{i}" for i in range(3000)]})
    exams["patient_id"] = exams["exam_id"]
    sizes = assign_groups(
        exams, Grouping(kind="random", group_order=["A", "B", "C"])
    ).value_counts()
    assert sizes.between(920, 1080).all()


@given(st.lists(st.floats(0, 1e5, allow_nan=False), min_size=9, max_size=60, unique=True))
def test_terciles_differ_by_at_most_one_in_size(volumes: list[float]) -> None:
    exams = pd.DataFrame({"exam_id": [str(i) for i in range(len(volumes))], "v": volumes})
    sizes = assign_groups(exams, Grouping(kind="quantiles", column="v", quantiles=3)).value_counts()
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(
    ("grouping", "message"),
    [
        (
            Grouping(kind="levels", column="nope", levels={"a": ["a"]}),
            "'nope' is not in the cohort",
        ),
        (
            Grouping(kind="levels", column="sex", levels={"a": ["F"], "b": ["f "]}),
            "is in 'a' and 'b'",
        ),
        (Grouping(kind="levels", column="sex"), "none is given"),
        (Grouping(kind="bins", column="age", edges=[60, 40]), "increase"),
        (Grouping(kind="bins", column="age", edges=[40], group_order=["x"]), "2 parts"),
        (Grouping(kind="intersection", of=["sex"]), "two or more"),
        (Grouping(kind="random"), "two or more names"),
        (Grouping(kind="rank"), "kind must be"),
        (
            Grouping(kind="levels", column="sex", levels={"a": ["F"]}, group_order=["b"]),
            "name each group once",
        ),
    ],
)
def test_a_grouping_that_cannot_be_made_says_why(
    cohort: pd.DataFrame, grouping: Grouping, message: str
) -> None:
    with pytest.raises(GroupingError, match=message):
        assign_groups(cohort, grouping)


def test_near_duplicate_spellings_are_merged_and_listed() -> None:
    values = pd.Series(["SIEMENS", "Siemens", "Siemens ", "GE", None, "siemens", "", "Siemens"])
    merged, changes = merge_spellings(values)
    assert merged.dropna().tolist() == ["Siemens", "Siemens", "Siemens", "GE", "Siemens", "Siemens"]
    assert changes.set_index("spelling")["exams"].to_dict() == {
        "SIEMENS": 1,
        "Siemens ": 1,
        "siemens": 1,
    }
    backwards = merge_spellings(values[::-1])[0][::-1]
    pd.testing.assert_series_equal(merged, backwards)


@pytest.mark.parametrize(
    "grouping",
    [
        Grouping(kind="levels", column="mrn", levels={f"g{i}": [f"{i}"] for i in range(51)}),
        Grouping(kind="quantiles", column="mrn", quantiles=10**12),
        Grouping(kind="bins", column="mrn", edges=list(map(float, range(50)))),
        Grouping(kind="random", group_order=[f"g{i}" for i in range(51)]),
        Grouping(kind="intersection", of=["ten", "six"]),
    ],
)
def test_more_groups_than_can_be_compared_are_refused_before_they_are_made(
    cohort: pd.DataFrame, grouping: Grouping
) -> None:
    parts = {
        "ten": Grouping(kind="quantiles", column="age", quantiles=10),
        "six": Grouping(kind="quantiles", column="age", quantiles=6),
    }
    with pytest.raises(GroupingError, match="expected at most 50 groups, found"):
        assign_groups(cohort.assign(mrn=range(len(cohort))), grouping, parts)


def test_bins_of_a_column_with_decimal_commas() -> None:
    cohort = pd.DataFrame({"exam_id": list("abc"), "bmi": ["21,5", "30", "25,0"]})
    bins = Grouping(kind="bins", column="bmi", edges=[25.0])
    assert assign_groups(cohort, bins).tolist() == ["<25", "25+", "25+"]
