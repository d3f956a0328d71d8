import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tworulers.metrics.agreement import shared_error


def test_the_shared_error_of_a_hand_worked_case() -> None:
    expert = np.array([1, 1, 1, 0, 0, 0, 2])
    model_ = np.array([1, 0, 0, 1, 0, 0, 2])
    ruler_ = np.array([1, 0, 1, 1, 1, 0, 0])
    # voxels 1 and 3 are wrong alike; 2 and 4 by one of the two alone
    assert shared_error(model_, ruler_, expert, 1) == pytest.approx(2 / 4)
    assert shared_error(model_, ruler_, expert, 2) == 0


def test_identical_masks_share_every_error_and_perfect_ones_have_none() -> None:
    expert, drawn = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    assert shared_error(drawn, drawn, expert, 1) == 1
    assert np.isnan(shared_error(expert, expert, expert, 1))


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=4, max_size=60))
@settings(max_examples=60, deadline=None)
def test_the_index_is_the_definition(voxels) -> None:
    model_, ruler_, expert = np.array(voxels).T
    m, r, e = model_ == 1, ruler_ == 1, expert == 1
    either = ((m != e) | (r != e)).sum()
    expected = ((m == r) & (m != e)).sum() / either if either else np.nan
    assert shared_error(model_, ruler_, expert, 1) == pytest.approx(expected, nan_ok=True)


def test_maps_of_different_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2, 2\), ruler \(2, 3\)"):
        shared_error(np.zeros((2, 2), int), np.zeros((2, 3), int), np.zeros((2, 2), int), 1)
