"""Stored values of any size and type become the structure's value that they stand for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tworulers.io.label_values import ValueMap

VALUES = st.integers(-(2**40), 2**40) | st.integers(-5, 300)


@given(
    st.dictionaries(VALUES.filter(bool), st.integers(0, 255), max_size=6),
    st.none() | st.integers(0, 255),
    st.lists(VALUES, max_size=30),
    st.booleans(),
)
def test_every_value_is_looked_up(
    named: dict[int, int], others: int | None, stored: list[int], as_float: bool
) -> None:
    stands_for = ValueMap(named, others)
    array = np.array(stored, np.float64 if as_float else np.int64)
    default = others or 0
    wanted = [named.get(value, default) if value else 0 for value in stored]
    found = stands_for.apply(array)
    assert found.dtype == np.uint8
    assert found.tolist() == wanted
    for value in stored:
        assert stands_for.knows(value) == (value in (0, *named) or others is not None)
