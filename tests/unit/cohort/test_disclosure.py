"""Few exams are not singled out: not by a group, not by what it leaves out, not by subtraction."""

from itertools import product

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tworulers.cohort.disclosure import (
    find_disclosing,
    find_small_outcomes,
    hide_single_exams,
    list_members,
    list_unions,
)
from tworulers.schema.tables import pack_names, unpack_names


def cut(ages: "np.ndarray[tuple[int], np.dtype[np.float64]]", edge: float) -> pd.Series:
    names = [f"<{edge}", f"{edge}+"]
    return pd.Series(np.where(ages < edge, *names)).astype(pd.CategoricalDtype(names, ordered=True))


def test_two_cut_points_with_one_person_between_them() -> None:
    """`<50.5 (n 11)` beside `<53.5 (n 12)` tells of one person of 51 to 53."""
    ages = np.array([*np.linspace(20, 50, 11), 52.0, *np.linspace(60, 80, 12)])
    groups = pd.DataFrame({"at_50": cut(ages, 50.5), "at_53": cut(ages, 53.5)})
    assert find_disclosing(groups[["at_50"]], 5) == []
    assert find_disclosing(groups, 5) == ["at_53"]
    assert find_disclosing(groups.assign(at_53=cut(ages, 66.0)), 5) == []


def test_the_few_that_a_grouping_leaves_out_are_a_group() -> None:
    race = pd.Series(["W"] * 11 + ["B"] * 11 + [None] * 2, dtype="category")
    assert find_disclosing(pd.DataFrame({"race": race}), 5) == ["race"]
    assert find_disclosing(pd.DataFrame({"race": race}), 3) == ["race"]
    assert find_disclosing(pd.DataFrame({"race": race}), 2) == []


def test_a_crossing_gives_its_own_small_cell_away_and_leaves_its_parts() -> None:
    sex = pd.Series((["F"] * 12 + ["M"] * 12), dtype="category")
    site = pd.Series((["a"] * 10 + ["b"] * 2 + ["a"] * 6 + ["b"] * 6), dtype="category")
    both = pd.Series([f"{s}{t}" for s, t in zip(sex, site, strict=True)], dtype="category")
    groups = pd.DataFrame({"sex": sex, "site": site, "sex_x_site": both})
    assert find_disclosing(groups, 5) == ["sex_x_site"]


@given(
    st.lists(st.tuples(*[st.sampled_from(["a", "b", "c", None])] * 3), min_size=1, max_size=18),
    st.integers(2, 6),
)
def test_whatever_is_kept_isolates_nobody(rows: list[tuple[str | None, ...]], least: int) -> None:
    groups = pd.DataFrame(rows, columns=["x", "y", "z"]).astype("category")
    kept = [name for name in groups if name not in find_disclosing(groups, least)]
    unions = {name: list_unions(list_members(groups[name])) for name in kept}
    for one, other in product(kept, kept):
        for a, b in product([0, *unions[one]], unions[other]):
            if a & b == a:
                assert not 0 < (b ^ a).bit_count() < least


def test_one_failure_of_twelve_hides_the_rate_of_its_score() -> None:
    rates = pd.DataFrame(
        {
            "grouping": ["sex"] * 4,
            "metric": ["dice", "dice", "hd95", "hd95"],
            "structure": "disc",
            "threshold": [0.8, 0.8, 5.0, 5.0],
            "group": ["F", "M"] * 2,
            "n": [12, 12, 12, 12],
            "successes": [12, 11, 12, 6],
        }
    )
    assert find_small_outcomes(rates, 5)["metric"].tolist() == ["dice"]


def test_a_group_of_one_keeps_its_name_and_loses_its_values() -> None:
    table = pd.DataFrame({"group": ["F", "M"], "n": [9, 1], "n_undefined": 0, "mean": [0.9, 0.4]})
    hidden = hide_single_exams(table)
    assert hidden["n"].tolist() == [9, 1]
    assert hidden["mean"].isna().tolist() == [False, True]
    assert hide_single_exams(table.head(1)) is not None


def test_what_hangs_on_a_group_of_one_goes_with_it() -> None:
    pairs = pd.DataFrame(
        {
            "group_a": ["F", "F"],
            "group_b": ["M", "X"],
            "n_a": 10,
            "n_b": [1, 3],
            "mean_difference": 0.1,
        }
    )
    assert hide_single_exams(pairs)["mean_difference"].isna().tolist() == [True, False]
    counts = pd.DataFrame({"counts": [pack_names(["9/10", "1/1"]), pack_names(["9/10", "1/11"])]})
    said = pd.DataFrame({"sentence": ["Lowest in vb Dice: A 11/12, B 1/10, C 0/1."]})
    assert hide_single_exams(said)["sentence"].tolist() == [
        "Lowest in vb Dice: A 11/12, B 1/10, C –/1."
    ]
    assert [unpack_names(cell) for cell in hide_single_exams(counts)["counts"]] == [
        ["9/10", "–/1"],
        ["9/10", "1/11"],
    ]


def test_five_exams_of_one_man_are_one_man() -> None:
    sex = pd.Series(["F"] * 9 + ["M"] * 5, [f"e{i}" for i in range(14)], dtype="category")
    patients = pd.Series([*(f"p{i}" for i in range(9)), *["him"] * 5], sex.index)
    groups = pd.DataFrame({"sex": sex})
    assert find_disclosing(groups, 5) == []
    assert find_disclosing(groups, 5, patients) == ["sex"]
