"""Crop bounds and forced foreground against values recorded from nnU-Net 2.8.1."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tworulers.recipe.derived import forced_foreground
from tworulers.recipe.sample import Crop, centre_on, corner_bounds, cut, draw_crop, open_stream

FILE = Path(__file__).parents[2] / "golden" / "nnunet_sampling.json.gz"
GOLDEN = json.loads(gzip.decompress(FILE.read_bytes()))


def patches(case: dict[str, Any]) -> tuple[list[int], list[int]]:
    leading = [1] * (3 - len(case["final_patch"]))
    return [*leading, *case["sampled_patch"]], [*leading, *case["final_patch"]]


@pytest.mark.parity
@pytest.mark.parametrize("case", GOLDEN["bbox"], ids=lambda case: case["name"])
def test_corners_equal_recorded_ones(case: dict[str, Any]) -> None:
    sampled, final = patches(case)
    lowest, highest = corner_bounds(case["image_shape"], sampled, final)
    assert list(lowest) == case["random_lower_min"]
    assert list(highest) == case["random_lower_max"]
    for forced in case["forced_foreground"]:
        assert list(centre_on(forced["voxel"], lowest, sampled)) == forced["lower"]


@pytest.mark.parity
def test_forced_positions_equal_recorded_ones() -> None:
    for size, forced in GOLDEN["forced_foreground_positions_by_batch_size"].items():
        assert list(forced_foreground(int(size), 0.33)) == forced


def exam(label: np.ndarray) -> Any:
    locations = {v: np.argwhere(label == v).astype(np.int32) for v in (1, 2)}
    image = label[None].astype(float)
    return SimpleNamespace(image=image, label=label, locations=locations, annotated=None)


def test_forced_crops_hold_a_drawn_structure_and_visit_all() -> None:
    label = np.zeros((4, 30, 30), np.int8)
    label[1, 3, 3] = 1
    label[2, 27, 20] = 2
    seen = set()
    for position in range(40):
        crop = draw_crop(open_stream(0, 0, 0, 0, position), exam(label), (4, 8, 8), (4, 8, 8), True)
        values = np.unique(cut(label, crop, -1))
        assert values.max() > 0
        seen.add(int(values.max()))
    assert seen == {1, 2}


def test_exam_without_structures_is_cut_at_random() -> None:
    empty = exam(np.zeros((4, 30, 30), np.int8))
    corners = {
        draw_crop(open_stream(0, 0, 0, 0, p), empty, (4, 8, 8), (4, 8, 8), True).corner
        for p in range(20)
    }
    assert len(corners) > 10


def test_streams_depend_on_every_part_of_their_place() -> None:
    places = [(0, 0, 0, 0, 0), (1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 0, 1)]
    first = {float(open_stream(*place).random()) for place in places}
    assert len(first) == len(places)
    assert open_stream(0, 0, 3, 2, 1).random() == open_stream(0, 0, 3, 2, 1).random()


@pytest.mark.parametrize("corner", [(-2, -3, 1), (0, 0, 0), (3, 4, 5), (-9, 0, 0), (0, 0, 9)])
def test_cut_is_padding_and_slicing(corner: tuple[int, int, int]) -> None:
    array = np.random.default_rng(1).random((2, 4, 5, 6))
    crop = Crop(corner, (4, 5, 3))
    wide = np.pad(array, [(0, 0), (9, 9), (9, 9), (9, 9)], constant_values=-1)
    box = tuple(slice(c + 9, c + 9 + n) for c, n in zip(corner, crop.size, strict=True))
    np.testing.assert_array_equal(cut(array, crop, -1), wide[(slice(None), *box)])
