"""Absolute volume error of worked cases, in mm3 of the grid."""

import numpy as np
import pytest

from tworulers.metrics.case import score_case
from tworulers.metrics.known.absolute_volume_error import ABSOLUTE_VOLUME_ERROR
from tworulers.schema.settings import Audit


@pytest.mark.parametrize(
    ("predicted", "reference", "voxels"), [(6, 6, 0), (3, 6, 3), (6, 3, 3), (0, 6, 6), (0, 0, 0)]
)
def test_worked_cases(predicted: int, reference: int, voxels: int) -> None:
    maps = np.zeros((2, 2, 8), np.uint8)
    maps[0, 0, :predicted] = maps[1, 1, :reference] = 1
    found = score_case(
        maps[0],
        maps[1],
        affine=np.diag([0.5, 0.5, 4, 1]),
        structures={"vb": 1},
        metrics=[ABSOLUTE_VOLUME_ERROR],
        settings=Audit(),
    ).set_index(["structure", "metric"])
    assert found.loc[("vb", "absolute_volume_error"), "value"] == pytest.approx(voxels * 1.0)
    assert found["undefined_because"].isna().all()


def test_a_wider_slice_makes_a_larger_error() -> None:
    one, none = np.ones((1, 1), np.uint8), np.zeros((1, 1), np.uint8)
    values = [
        score_case(
            one,
            none,
            affine=np.diag([0.5, 0.5, slice_mm, 1]),
            structures={"vb": 1},
            metrics=[ABSOLUTE_VOLUME_ERROR],
            settings=Audit(),
        )["value"].iloc[0]
        for slice_mm in (1.0, 4.0)
    ]
    assert values == [0.25, 1.0]
