"""Disc levels against the golden six discs and hand-built spines."""

import numpy as np
import pytest

from tworulers.metrics.levels import LEVELS, score_levels

HEAD_DOWN = np.array([[0, 0, 4.0, 0], [0, 1.0, 0, 0], [-1.0, 0, 0, 90], [0, 0, 0, 1]])
"""The first array axis runs from head to feet; voxels of 1 x 1 x 4 mm."""


def spine(tops: list[int], *, width: int = 4) -> np.ndarray:
    """Discs 2 voxels high, 5 deep and `width` slices wide, one below the other."""
    mask = np.zeros((60, 9, 6), bool)
    for top in tops:
        mask[top : top + 2, 2:7, :width] = True
    return mask


SIX = [3, 12, 21, 30, 39, 48]


def test_golden_six_discs(golden):
    case = golden["six_discs"]
    row, depth, slices = np.diag(case.affine)[:3]
    affine = np.array([[0, 0, slices, 0], [0, depth, 0, 0], [-row, 0, 0, 0], [0, 0, 0, 1]])
    found = score_levels(case.prediction == 2, case.reference == 2, affine)
    assert found.status == case.levels["status"]
    assert found.names == LEVELS
    assert found.dice == pytest.approx(case.levels["dice"], abs=1e-9)


def test_the_affine_says_where_the_head_is():
    reference, prediction = spine(SIX), spine(SIX[1:])
    head_first = score_levels(prediction, reference, HEAD_DOWN)
    assert head_first.dice == (0, 1, 1, 1, 1, 1)
    head_up = HEAD_DOWN @ np.diag([-1, 1, 1, 1])
    assert score_levels(prediction, reference, head_up).dice == (1, 1, 1, 1, 1, 0)


def test_order_holds_in_an_oblique_volume():
    angle = np.deg2rad(25)
    turn = np.eye(4)
    turn[1:3, 1:3] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    found = score_levels(spine(SIX[:5]), spine(SIX), turn @ HEAD_DOWN)
    assert found.dice == (1, 1, 1, 1, 1, 0)


@pytest.mark.parametrize(
    ("tops", "status", "count"),
    [([], "fewer", 0), (SIX[:5], "fewer", 5), ([*SIX, 56], "more", 7)],
)
def test_another_number_of_discs_has_no_level_names(tops, status, count):
    found = score_levels(spine(SIX), spine(tops), HEAD_DOWN)
    assert (found.status, found.names, len(found.dice)) == (status, (), count)


def test_a_bridge_between_two_discs_is_split_at_the_middle():
    reference = spine([10, 16, 24, 32, 40, 48])
    prediction = reference.copy()
    prediction[12:16, 4, 0] = True
    found = score_levels(prediction, reference, HEAD_DOWN)
    assert found.dice == pytest.approx([80 / 82, 80 / 82, 1, 1, 1, 1])


def test_distance_is_measured_in_mm():
    """One slice (4 mm) beside a disc and three rows (3 mm) above the next: it is the next's."""
    reference = spine([3, 7, 21, 30, 39, 48])
    reference[3:5, 2:7, 2:] = False
    reference[7:9, 2:7, 0] = False
    reference[7:9, 2:7, 4] = True
    prediction = reference.copy()
    prediction[4, 4, 2] = True
    found = score_levels(prediction, reference, HEAD_DOWN, min_component_mm3=0)
    assert found.dice == pytest.approx([1, 80 / 81, 1, 1, 1, 1])


def test_small_pieces_are_not_discs():
    reference = spine(SIX)
    reference[58, 4, 0] = True  # 4 mm3
    found = score_levels(spine(SIX), reference, HEAD_DOWN)
    assert found.status == "ok"
    assert found.dice == (1,) * 6
    assert score_levels(spine(SIX), reference, HEAD_DOWN, min_component_mm3=3).status == "more"


def test_discs_that_touch_at_a_corner_are_one():
    reference = spine(SIX)
    reference[5, 7, 0] = True
    reference[6, 8, 1] = True
    assert score_levels(spine(SIX), reference, HEAD_DOWN, min_component_mm3=0).status == "ok"
