"""Augmentation against values recorded from batchgeneratorsv2 0.3.6, and how often it happens."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tworulers.recipe import augment, operators
from tworulers.recipe.augment import Augmentation, Draws, apply, draw, plan_augmentation
from tworulers.recipe.sample import open_stream

FILE = Path(__file__).parents[2] / "golden" / "nnunet_augment.json.gz"
GOLDEN = json.loads(gzip.decompress(FILE.read_bytes()))
parity = pytest.mark.parity


def wave(shape: list[int]) -> Tensor:
    k = np.arange(np.prod(shape))
    values = np.sin(0.7 * k) + 0.5 * np.cos(0.31 * k)
    return torch.from_numpy(values.reshape(shape).astype(np.float32))


def label_map(shape: list[int]) -> Tensor:
    i = np.indices(shape)
    lead = 3 * i[0] if len(shape) == 3 else 0
    return torch.from_numpy((((lead + 2 * i[-2] + i[-1]) // 4) % 3).astype(np.int16))


def plain(patch: tuple[int, ...], channels: int = 1) -> Augmentation:
    return Augmentation(augment.NONE, patch, patch, False, (), (False,) * channels)


@parity
@pytest.mark.parametrize("case", GOLDEN["spatial"], ids=lambda case: case["name"])
def test_spatial_transforms_equal_recorded_ones(case: dict[str, Any]) -> None:
    angles = case["angles_degrees_per_axis"]
    if angles is not None:
        angles = tuple(np.deg2rad(angles))[-1 if len(case["patch"]) == 2 else 0 :]
    draws = Draws(angles=angles, scale=case["scale"])
    image, label = wave(case["input_shape"])[None], label_map(case["input_shape"])
    image, label = apply(image, label, draws, plain(tuple(case["patch"])))
    np.testing.assert_allclose(image[0], case["image"], atol=2e-4)
    # The last step of augmentation turns the label outside the image into background.
    np.testing.assert_array_equal(label, np.maximum(case["segmentation"], 0))


@parity
def test_spatial_transform_marks_the_outside() -> None:
    case = GOLDEN["spatial"][0]
    matrix = operators.rotation_matrix(np.deg2rad(case["angles_degrees_per_axis"])) * case["scale"]
    _, labels = operators.transform_spatially(
        wave(case["input_shape"])[None], label_map(case["input_shape"])[None], matrix, case["patch"]
    )
    np.testing.assert_array_equal(labels[0], case["segmentation"])


@parity
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("contrast", lambda x, c: operators.adjust_contrast(x, c["factor"])),
        ("gamma_plain", lambda x, c: operators.adjust_gamma(x, c["gamma"])),
        ("gamma_inverted", lambda x, c: operators.adjust_gamma(x, c["gamma"], inverted=True)),
        ("low_resolution", lambda x, c: operators.simulate_low_resolution(x, [c["scale"]] * 3)),
        (
            "low_resolution_axis0_kept",
            lambda x, c: operators.simulate_low_resolution(x, c["scale"]),
        ),
        ("blur", lambda x, c: operators.blur(x, c["sigmas"])),
    ],
)
def test_intensity_operators_equal_recorded_ones(name: str, change: Any) -> None:
    case = GOLDEN[name]
    np.testing.assert_allclose(change(wave(case["shape"]), case), case["result"], atol=2e-4)


@parity
def test_blur_kernels_equal_recorded_ones() -> None:
    case = GOLDEN["blur"]
    for sigma, length, weights in zip(
        case["sigmas"], case["kernel_lengths"], case["kernels"], strict=True
    ):
        kernel = operators.gaussian_kernel(sigma)
        assert len(kernel) == length
        np.testing.assert_allclose(kernel, weights, atol=1e-6)


@parity
def test_deep_supervision_targets_equal_recorded_ones() -> None:
    case = GOLDEN["deep_supervision_targets"]
    label = label_map(case["shape"])[None]
    for level, (scale, shape) in enumerate(zip(case["scales"], case["shapes"], strict=True)):
        target = augment.downsample_label(label, tuple(scale))[0]
        assert list(target.shape) == shape
        if level:
            np.testing.assert_array_equal(target, case[f"level{level}"])


def count_events(plan: Augmentation, channels: int, n: int = 4000) -> dict[str, float]:
    drawn = [draw(open_stream(0, 0, 0, 0, i), plan, channels) for i in range(n)]
    names = [f for f in Draws.__dataclass_fields__ if f not in ("noise_seed", "mirror")]
    rates = {name: np.mean([getattr(d, name) is not None for d in drawn]) for name in names}
    return rates | {"mirror_0": np.mean([0 in d.mirror for d in drawn])}


def test_full_augmentation_happens_as_often_as_stated() -> None:
    stated = {
        "angles": 0.2, "scale": 0.2, "noise": 0.1, "sigmas": 0.2, "brightness": 0.15,
        "contrast": 0.15, "low_resolution": 0.25, "gamma_inverted": 0.1, "gamma": 0.3,
        "mirror_0": 0.5,
    }  # fmt: skip
    rates = count_events(plan_augmentation((40, 56, 40), "full", True, (False,)), 1)
    for name, share in stated.items():
        assert rates[name] == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 4000))


def test_ranges_follow_the_shape_of_the_patch() -> None:
    volume = plan_augmentation((40, 56, 40), "full", True, (False,))
    slab = plan_augmentation((20, 448, 448), "full", True, (False,))
    strip = plan_augmentation((80, 40), "full", False, (False,))
    assert (volume.in_plane, slab.in_plane, strip.in_plane) == (False, True, False)
    degrees = [round(np.rad2deg(p.ranges.rotation)) for p in (volume, slab, strip)]
    assert degrees == [30, 180, 15]
    assert slab.sampled == (20, 527, 527)
    assert (volume.mirror_axes, strip.mirror_axes) == ((0, 1, 2), ())


@pytest.mark.parametrize("patch", [(6, 12, 12), (3, 12, 12), (12, 16)])
def test_everything_at_once_keeps_shape_and_labels(patch: tuple[int, ...]) -> None:
    plan = plan_augmentation(patch, "full", True, (False, True))
    everything = Draws(
        angles=(0.3,) * (1 if plan.in_plane or len(patch) == 2 else 3), scale=1.2, noise=0.1,
        noise_seed=3, sigmas=((0.9,) * len(patch), None), brightness=(0.8, 1.1),
        contrast=(1.2, 0.9), low_resolution=(0.6, None), gamma_inverted=(0.8, 1.2),
        gamma=(1.3, 0.9), mirror=plan.mirror_axes,
    )  # fmt: skip
    image = torch.stack([wave(list(plan.sampled)), 1 + wave(list(plan.sampled))])
    changed, label = apply(image, label_map(list(plan.sampled)), everything, plan)
    assert changed.shape == (2, *patch)
    assert label.shape == patch
    assert set(label.unique().tolist()) <= {0, 1, 2}
    assert torch.isfinite(changed).all()
    again, _ = apply(image, label_map(list(plan.sampled)), everything, plan)
    torch.testing.assert_close(changed, again, rtol=0, atol=0)


def test_masked_channels_stay_zero_outside_the_body() -> None:
    image = torch.ones(2, 4, 4, 4)
    label = torch.zeros(4, 4, 4, dtype=torch.int8)
    label[0] = -1
    plan = Augmentation(augment.NONE, (4, 4, 4), (4, 4, 4), False, (), (False, True))
    changed, cleared = apply(image, label, Draws(), plan)
    assert changed[0].min() == 1
    assert changed[1, 0].max() == 0
    assert changed[1, 1:].min() == 1
    assert cleared.min() == 0


def test_unknown_augmentation_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of full, light, none"):
        plan_augmentation((8, 8), "heavy", True, (False,))
