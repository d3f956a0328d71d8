"""Families of true nulls keep their level, and codings of one attribute are consistent."""

import numpy as np
import pytest
from calibration.family import draw_people, measure

pytestmark = pytest.mark.slow


def test_families_keep_their_level() -> None:
    rows = measure(25, np.random.default_rng(0))
    assert [row.what for row in rows[:2]] == ["any adjusted p below .05", "any raw p below .05"]
    assert all(row.holds for row in rows)
    assert min(row.value for row in rows if "raw" in row.what) > 0.3


def test_codings_of_one_attribute_are_consistent() -> None:
    people = draw_people(300, np.random.default_rng(0))
    white = people["race_wbo"] == "group 2"
    assert (people.loc[white, "race_wb"] == "group 1").all()
    assert (people.loc[white, "race_wn"] == "group 1").all()
    assert people.loc[people["race_wbo"] == "group 1", "race_wb"].isna().all()
