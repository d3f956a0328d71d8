"""Resampling against values recorded from nnU-Net 2.8.1, and its properties."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tworulers.recipe.resample import (
    find_separate_axis,
    resample_image,
    resample_label,
    resample_logits,
    resampled_shape,
)

FILE = Path(__file__).parents[2] / "golden" / "nnunet_resample.json.gz"
GOLDEN = json.loads(gzip.decompress(FILE.read_bytes()))
CASES = pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])


def wave(shape: tuple[int, ...], a: float = 0.7, b: float = 0.31) -> np.ndarray:
    k = np.arange(np.prod(shape))
    return (np.sin(a * k) + 0.5 * np.cos(b * k)).reshape(shape)


def label_map(shape: tuple[int, ...]) -> np.ndarray:
    i = np.indices(shape)
    label = ((3 * i[0] + 2 * i[1] + i[2]) // 4) % 3
    label[:, 0] = -1
    return label.astype(np.int8)


def grids(case: dict[str, Any]) -> tuple[Any, Any, Any]:
    return case["new_shape"], case["current_spacing"], case["new_spacing"]


@pytest.mark.parity
@CASES
def test_images_equal_recorded_values(case: dict[str, Any]) -> None:
    image = wave((1, *case["shape"])).astype(np.float32)
    resampled = resample_image(image, *grids(case))
    assert resampled.dtype == np.float32
    np.testing.assert_allclose(resampled[0], case["image_order3"], atol=2e-5)


@pytest.mark.parity
@CASES
def test_labels_equal_recorded_values(case: dict[str, Any]) -> None:
    resampled = resample_label(label_map(tuple(case["shape"])), *grids(case))
    assert resampled.dtype == np.int8
    np.testing.assert_array_equal(resampled, case["seg_order1"])


@pytest.mark.parity
@CASES
def test_half_logits_equal_recorded_values(case: dict[str, Any]) -> None:
    logits = wave((2, *case["shape"]), 0.9, 0.17).astype(np.float16)
    resampled = resample_logits(logits, *grids(case))
    assert resampled.dtype == np.float16
    np.testing.assert_allclose(resampled, case["logits_order1_fp16"], atol=2e-3)


@pytest.mark.parity
@CASES
def test_separate_axis_and_shape_equal_recorded_ones(case: dict[str, Any]) -> None:
    assert find_separate_axis(case["current_spacing"], case["new_spacing"]) == case["axis"]
    shape = resampled_shape(case["shape"], case["current_spacing"], case["new_spacing"])
    assert list(shape) == case["new_shape"]


@pytest.mark.parity
@pytest.mark.parametrize("case", GOLDEN["round_half_even_shapes"])
def test_shapes_round_half_to_even(case: dict[str, Any]) -> None:
    shape = resampled_shape(case["old_shape"], case["current"], case["new"])
    assert list(shape) == case["new_shape"]


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.tuples(*[st.integers(1, 6)] * 4),
    shape=st.tuples(*[st.integers(1, 8)] * 3),
    slice_edge=st.sampled_from([1.0, 3.5]),
)
def test_resampling_never_leaves_the_range_of_a_channel(
    seed: int, size: tuple[int, ...], shape: tuple[int, ...], slice_edge: float
) -> None:
    image = np.random.default_rng(seed).normal(0, 50, size).astype(np.float32)
    spacing = (slice_edge, 1.0, 1.0)
    resampled = resample_image(image, shape, spacing, spacing)
    assert resampled.shape == (len(image), *shape)
    for before, after in zip(image, resampled, strict=True):
        assert before.min() <= after.min()
        assert after.max() <= before.max()


def test_labels_keep_a_slab_in_place() -> None:
    label = np.zeros((4, 8, 8), np.int8)
    label[:, :4] = 2
    resampled = resample_label(label, (4, 16, 16), (1, 1, 1), (1, 0.5, 0.5))
    expected = np.zeros((4, 16, 16), np.int8)
    expected[:, :8] = 2
    np.testing.assert_array_equal(resampled, expected)
