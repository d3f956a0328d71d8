"""Preparation of images and labels against values recorded from nnU-Net 2.8.1, and its refusals."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tworulers.recipe.plan import Architecture, ConfigurationPlan, Plans
from tworulers.recipe.preprocess import (
    Geometry,
    preprocess_image,
    preprocess_label,
    restore_probabilities,
)

FILE = Path(__file__).parents[2] / "golden" / "nnunet_preprocess.json.gz"
GOLDEN = json.loads(gzip.decompress(FILE.read_bytes()))
CASES = pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
CT = {"mean": 40.0, "std": 25.0, "percentile_00_5": -60.0, "percentile_99_5": 120.0}
ISOTROPIC = (1.0, 1.0, 1.0)


def wave(shape: tuple[int, ...], a: float = 0.7, b: float = 0.31) -> np.ndarray:
    k = np.arange(np.prod(shape))
    return (np.sin(a * k) + 0.5 * np.cos(b * k)).reshape(shape)


def recorded_image() -> np.ndarray:
    image = np.stack([wave((7, 10, 9)) + 2, 150 * wave((7, 10, 9), 0.23, 0.05)]).astype(np.float32)
    image[:, 0] = 0
    image[:, :, :2] = 0
    image[..., 8] = 0
    image[:, 3, 5, 4] = image[:, 1, 2, 0] = 0
    return image


def recorded_label() -> np.ndarray:
    i = np.indices((7, 10, 9))
    label = ((3 * i[0] + 2 * i[1] + i[2]) // 4) % 3
    label[:2] = 0
    return label


def make_plans(
    spacing: tuple[float, ...] = ISOTROPIC,
    schemes: tuple[str, ...] = ("ZScoreNormalization",),
    masked: tuple[bool, ...] = (False,),
    forward: tuple[int, ...] = (0, 1, 2),
) -> Plans:
    d = len(spacing)
    architecture = Architecture(
        features_per_stage=(8, 16),
        kernel_sizes=((3,) * d, (3,) * d),
        strides=((1,) * d, (2,) * d),
        n_blocks_per_stage=(1, 1),
        n_conv_per_stage_decoder=(1,),
    )
    configuration = ConfigurationPlan(
        data_identifier="test",
        spacing=spacing,
        patch_size=(8,) * d,
        batch_size=2,
        median_image_size_in_voxels=(8,) * d,
        normalization_schemes=schemes,
        use_mask_for_norm=masked,
        batch_dice=False,
        architecture=architecture,
    )
    return Plans(
        dataset_name="test",
        plans_name="test",
        original_median_spacing_after_transp=ISOTROPIC,
        original_median_shape_after_transp=(8, 8, 8),
        transpose_forward=forward,
        transpose_backward=tuple(int(a) for a in np.argsort(forward)),
        configurations={"c": configuration},
        experiment_planner_used="test",
        foreground_intensity_properties_per_channel={"1": CT},
    )


def prepare(case: dict[str, Any]) -> tuple[np.ndarray, Geometry]:
    schemes = ("ZScoreNormalization", "CTNormalization")
    plans = make_plans(
        tuple(case["target_spacing"]),
        schemes,
        tuple(case["use_mask_for_norm"]),
        tuple(case["transpose_forward"]),
    )
    return preprocess_image(recorded_image(), case["spacing"], plans, "c")


@pytest.mark.parity
@CASES
def test_image_and_geometry_equal_recorded_ones(case: dict[str, Any]) -> None:
    image, geometry = prepare(case)
    assert [list(edge) for edge in geometry.box] == case["bbox"]
    assert list(geometry.full_shape) == case["shape_before_cropping"]
    assert list(geometry.cropped_shape) == case["shape_after_cropping_and_before_resampling"]
    assert list(image.shape) == case["output_shape"]
    np.testing.assert_allclose(image.mean((1, 2, 3)), case["channel_mean"], atol=1e-4)
    np.testing.assert_allclose(image.std((1, 2, 3)), case["channel_std"], atol=1e-4)
    for channel in (0, 1):
        first = image[channel].ravel()[:24]
        np.testing.assert_allclose(first, case[f"channel{channel}_first24"], atol=1e-4)


@pytest.mark.parity
@CASES
def test_label_and_locations_equal_recorded_ones(case: dict[str, Any]) -> None:
    _, geometry = prepare(case)
    prepared = preprocess_label(recorded_label(), geometry, (1, 2))
    np.testing.assert_array_equal(prepared.array.ravel(), case["seg_flat"])
    for structure, voxels in prepared.locations.items():
        recorded = case["class_locations"][str(structure)]
        assert len(voxels) == recorded["n"]
        assert voxels[:3].tolist() == [row[1:] for row in recorded["first3"]]


@pytest.mark.parity
@CASES
def test_export_equals_recorded_label_and_probabilities(case: dict[str, Any]) -> None:
    _, geometry = prepare(case)
    export = case["export"]
    logits = (3 * wave((3, *case["output_shape"][1:]), 0.41, 0.07)).astype(np.float16)
    label = restore_probabilities(logits, geometry).argmax(axis=0)
    assert list(label.shape) == export["seg_shape"]
    np.testing.assert_array_equal(label.ravel(), export["seg_flat"])
    probabilities = restore_probabilities(logits, geometry)
    np.testing.assert_allclose(probabilities[:, 0, 0, 0], export["prob_at_origin"])
    means = probabilities.mean((1, 2, 3))
    np.testing.assert_allclose(means, export["prob_channel_mean"], atol=1e-4)


def test_untouched_image_comes_back_on_its_own_grid() -> None:
    plans = make_plans(forward=(2, 0, 1))
    image = 1 + wave((1, 5, 6, 7)).astype(np.float32) ** 2
    array, geometry = preprocess_image(image, ISOTROPIC, plans, "c")
    assert geometry.inside is None
    assert array.shape == (1, 7, 5, 6)
    label = np.random.default_rng(0).integers(0, 3, (5, 6, 7))
    prepared = preprocess_label(label, geometry, (1, 2))
    logits = np.stack([prepared.array == value for value in range(3)]).astype(np.float32)
    np.testing.assert_array_equal(restore_probabilities(logits, geometry).argmax(axis=0), label)


def test_slices_of_a_flat_plan_are_never_resampled() -> None:
    plans = make_plans((0.5, 0.5))
    array, geometry = preprocess_image(np.ones((1, 4, 6, 6)), (3.0, 1.0, 1.0), plans, "c")
    assert array.shape == (1, 4, 12, 12)
    assert geometry.target == (3.0, 0.5, 0.5)


def test_constant_image_becomes_zero() -> None:
    image = np.full((1, 4, 5, 6), 0.1, np.float32)
    array, _ = preprocess_image(image, ISOTROPIC, make_plans(), "c")
    np.testing.assert_array_equal(array, 0)


def test_empty_image_keeps_its_full_box() -> None:
    plans = make_plans(masked=(True,))
    array, geometry = preprocess_image(np.zeros((1, 4, 5, 6)), ISOTROPIC, plans, "c")
    np.testing.assert_array_equal(array, 0)
    assert geometry.cropped_shape == (4, 5, 6)


def test_exam_with_background_alone_has_no_locations() -> None:
    _, geometry = preprocess_image(np.ones((1, 4, 5, 6)), ISOTROPIC, make_plans(), "c")
    prepared = preprocess_label(np.zeros((4, 5, 6), int), geometry, (1, 2))
    assert {value: len(voxels) for value, voxels in prepared.locations.items()} == {1: 0, 2: 0}


def test_one_slice_is_a_volume_like_any_other() -> None:
    array, geometry = preprocess_image(wave((1, 1, 8, 8)), (3.0, 1, 1), make_plans((1.0, 1.0)), "c")
    assert array.shape == (1, 1, 8, 8)
    assert restore_probabilities(np.zeros((2, 1, 8, 8)), geometry).shape == (2, 1, 8, 8)


@pytest.mark.parametrize(
    ("image", "spacing", "message"),
    [
        (np.full((1, 4, 4, 4), np.nan), ISOTROPIC, "64 intensities are NaN or infinite"),
        (np.ones((2, 4, 4, 4)), ISOTROPIC, "expected 1 channels as planned, found 2"),
        (np.ones((1, 4, 4, 4, 2)), ISOTROPIC, r"found an array of shape \(1, 4, 4, 4, 2\)"),
        (np.ones((1, 4, 4, 4)), (0.0, 1, 1), "three positive voxel edges"),
        (np.ones((1, 1, 4, 4)), (0.1, 1, 1), "leaves no voxel along an axis"),
    ],
)
def test_unusable_images_are_refused(
    image: np.ndarray, spacing: tuple[float, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        preprocess_image(image, spacing, make_plans(), "c")


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (np.zeros((4, 4, 5), int), r"The label has \(4, 4, 5\) voxels, the image \(4, 4, 4\)"),
        (np.full((4, 4, 4), 255), r"The label holds \[255\]; expected 0 and \[1, 2\]"),
    ],
)
def test_unusable_labels_are_refused(label: np.ndarray, message: str) -> None:
    _, geometry = preprocess_image(np.ones((1, 4, 4, 4)), ISOTROPIC, make_plans(), "c")
    with pytest.raises(ValueError, match=message):
        preprocess_label(label, geometry, (1, 2))
