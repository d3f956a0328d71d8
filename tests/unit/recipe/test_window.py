"""Tiles, weights and merged logits against values recorded from nnU-Net."""

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from monai.inferers import Inferer
from torch import Tensor, nn

from tworulers.recipe.interop import load_trained_model
from tworulers.recipe.window import MirroredWindowInferer, half_map, importance_map, tile_starts

GOLDEN = Path(__file__).parents[2] / "golden"
GAUSSIAN = json.loads(gzip.decompress((GOLDEN / "nnunet_gaussian.json.gz").read_bytes()))
EXPECTED = json.loads((GOLDEN / "tiny_model" / "expected.json").read_text())["predictions"]
MAPS = [name for name, value in GAUSSIAN.items() if isinstance(value, dict)]


def wave(shape: list[int]) -> np.ndarray[Any, Any]:
    k = np.arange(np.prod(shape), dtype=np.float64)
    values = np.sin(0.11 * k) + 0.5 * np.cos(0.07 * k)
    return values.astype(np.float32).reshape(shape)


class Echo(nn.Module):
    """Logits that are the image and its negative, so that merging must give the image back."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.batches: list[int] = []

    def forward(self, x: Tensor) -> Tensor:
        self.batches.append(len(x))
        return torch.cat((x, -x), dim=1) * self.scale


@pytest.mark.parity
@pytest.mark.parametrize("name", MAPS)
def test_importance_map_is_as_recorded(name: str) -> None:
    recorded = GAUSSIAN[name]
    weight = importance_map(tuple(recorded["tile"]))
    assert weight.max() == pytest.approx(recorded["max"], rel=1e-12)
    assert weight.min() == pytest.approx(recorded["min"], rel=1e-9)
    assert weight.sum() == pytest.approx(recorded["sum"], rel=1e-9)
    assert list(np.unravel_index(weight.argmax(), weight.shape)) == recorded["argmax"]
    half = half_map(tuple(recorded["tile"])).double()
    assert half.min().item() == recorded["fp16_min"]
    assert half.sum().item() == pytest.approx(recorded["fp16_sum"], rel=1e-9)
    if "values" in recorded:
        np.testing.assert_allclose(weight, recorded["values"], atol=1e-9)


@pytest.mark.parity
@pytest.mark.parametrize("case", GAUSSIAN["sliding_window_starts"], ids=lambda c: str(c["image"]))
def test_tile_starts_are_as_recorded(case: dict[str, Any]) -> None:
    starts = [
        list(tile_starts(size, tile, case["step"]))
        for size, tile in zip(case["image"], case["tile"], strict=True)
    ]
    assert starts == case["starts"]


@given(st.integers(2, 60), st.integers(0, 200))
def test_tiles_cover_every_voxel_and_stay_inside(tile: int, extra: int) -> None:
    starts = tile_starts(tile + extra, tile)
    assert starts[0] == 0
    assert starts[-1] == extra
    assert all(0 < b - a <= tile for a, b in pairwise(starts))


@pytest.mark.parity
@pytest.mark.parametrize("accumulate", ["half", "float"])
@pytest.mark.parametrize("name", EXPECTED)
def test_trained_model_predicts_as_recorded(name: str, accumulate: Any) -> None:
    recorded = EXPECTED[name]
    values = recorded if accumulate == "half" else recorded["float32_accumulators"]
    model = load_trained_model(GOLDEN / "tiny_model")
    inferer = MirroredWindowInferer(
        model.plans.configuration(model.configuration).patch_size,
        mirror_axes=model.mirror_axes if name.endswith("mirrored") else (),
        accumulate=accumulate,
    )
    image = wave(recorded["input_shape"])
    (logits,) = inferer.predict_images([image], model.networks["0"])
    assert logits.dtype == (torch.float16 if accumulate == "half" else torch.float32)
    found = logits.float().numpy()
    _, z, y, _ = found.shape
    tolerance = 5.1e-6  # recorded with five decimals
    np.testing.assert_allclose(found.ravel()[:24], values["first24"], atol=tolerance)
    line = found[:, z // 2, y // 2]
    np.testing.assert_allclose(line, values["centre_line"], atol=tolerance)
    np.testing.assert_allclose(found.mean((1, 2, 3)), values["channel_mean"], atol=1e-6)
    counts = np.bincount(found.argmax(0).ravel(), minlength=3)
    assert counts.tolist() == values["argmax_counts"]


@pytest.mark.parametrize("patch", [(4, 6, 6), (6, 6)])
@pytest.mark.parametrize("shape", [(1, 7, 13, 9), (1, 1, 3, 20), (1, 2, 5, 4)])
def test_merging_gives_back_what_every_tile_says(
    patch: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    image = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    inferer = MirroredWindowInferer(patch, mirror_axes=range(len(patch)))
    (logits,) = inferer.predict_images([image], Echo())
    np.testing.assert_allclose(logits[:1], image, atol=2e-6)


def test_small_images_of_different_size_share_a_batch() -> None:
    rng = np.random.default_rng(0)
    images = [rng.normal(size=(1, 3, n, 5)).astype(np.float32) for n in (4, 6, 5, 6, 3)]
    network = Echo()
    logits = MirroredWindowInferer((4, 6, 6), batch=4).predict_images(images, network)
    assert network.batches == [4, 1]
    for image, out in zip(images, logits, strict=True):
        np.testing.assert_array_equal(out[:1], image)


def test_slices_share_a_batch() -> None:
    network = Echo()
    inferer = MirroredWindowInferer((6, 6), batch=4)
    inferer.predict_images([np.zeros((1, 10, 6, 6), np.float32)], network)
    assert network.batches == [4, 4, 2]


def test_images_without_channel_axis_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(channel, z, y, x\), found \(3, 4, 5\)"):
        MirroredWindowInferer((4, 4)).predict_images([np.zeros((3, 4, 5), np.float32)], Echo())


def test_the_window_is_called_as_every_inferer_of_monai() -> None:
    inferer: Inferer = MirroredWindowInferer((4, 6, 6))
    images = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 3, 5, 7, 6))).float()
    logits = inferer(images, Echo())
    assert torch.equal(
        logits[:, :1], torch.stack(inferer.predict_images(list(images), Echo()))[:, :1]
    )
    assert logits.shape[0] == 2
