"""Distances to the nearest voxel against every pair of voxels, to the last bit, near and far."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tworulers.metrics.nearest import LOOKED_AT, find_distances, list_steps
from tworulers.metrics.surface import bound

SIDES = [(1.0, 1.0, 1.0), (0.43, 0.43, 4.0), (5.0, 0.7, 0.1)]


def search_all(points, targets, sides):
    steps = np.argwhere(points)[:, None] - np.argwhere(targets)
    return np.sqrt(((steps * np.array(sides)) ** 2).sum(axis=2)).min(axis=1)


@pytest.mark.parametrize("sides", SIDES)
@given(masks=st.lists(hnp.arrays(bool, (5, 4, 6)), min_size=2, max_size=2))
def test_near_places_are_as_far_as_the_nearest_of_all(sides, masks):
    points, targets = masks
    assume(targets.any())
    found = find_distances(points, targets, sides)
    assert found.tolist() == search_all(points, targets, sides).tolist()


@pytest.mark.parametrize("sides", SIDES)
def test_far_places_are_found_by_the_tree(sides):
    rng = np.random.default_rng(0)
    points, targets = np.zeros((2, 60, 50, 40), bool)
    points[:5, :5, :5] = rng.random((5, 5, 5)) < 0.5
    points[-1, -1, -2] = points[-1, -1, -1] = targets[-1, -1, -1] = True
    targets[-6:, -4:, -3:] |= rng.random((6, 4, 3)) < 0.5
    expected = search_all(points, targets, sides)
    assert expected.max() > list_steps(sides)[1].max()
    found = find_distances(points, targets, sides)
    assert found == pytest.approx(expected, rel=1e-15)
    assert found[-1] == 0.0


@pytest.mark.parametrize("sides", [*SIDES, (1e-6, 1.0, 50.0), (0.5, 2.0)])
def test_the_steps_are_the_shortest_there_are(sides):
    steps, lengths = list_steps(sides)
    assert len(steps) >= LOOKED_AT
    assert (np.diff(lengths) >= 0).all()
    assert len(np.unique(steps, axis=0)) == len(steps)
    assert steps.any(axis=1).all()
    for axis, side in enumerate(sides):
        longest = int(lengths[-1] / side)
        assert np.abs(steps[:, axis]).max() == pytest.approx(longest, abs=1)


@given(hnp.arrays(bool, st.tuples(*[st.integers(1, 6)] * 3)), st.sampled_from("CF"))
def test_the_box_of_a_mask_is_the_smallest_in_either_order_of_memory(mask, order):
    box = bound(np.asarray(mask, order=order))
    if not mask.any():
        assert box == (slice(None),) * 3
        return
    held = np.argwhere(mask)
    assert [(side.start, side.stop) for side in box] == [
        (low, high + 1) for low, high in zip(held.min(axis=0), held.max(axis=0), strict=True)
    ]
