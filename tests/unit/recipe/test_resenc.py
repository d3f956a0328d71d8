"""The network against values recorded from nnU-Net's, and its folded sibling."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tworulers.recipe.network import build_network
from tworulers.recipe.plan import Architecture
from tworulers.recipe.resenc import ResidualEncoderUNet
from tworulers.recipe.space_to_depth import fold, start_from_background, unfold

SHAPES = json.loads(
    gzip.decompress(
        (Path(__file__).parents[2] / "golden" / "nnunet_network_shapes.json.gz").read_bytes()
    )
)


def architecture(kwargs: dict[str, Any], **changes: Any) -> Architecture:
    numbers = {
        "features_per_stage": tuple(kwargs["features_per_stage"]),
        "kernel_sizes": tuple(map(tuple, kwargs["kernel_sizes"])),
        "strides": tuple(map(tuple, kwargs["strides"])),
        "n_blocks_per_stage": tuple(kwargs["n_blocks_per_stage"]),
        "n_conv_per_stage_decoder": tuple(kwargs["n_conv_per_stage_decoder"]),
    }
    return Architecture(**{**numbers, **changes})


def build(case: dict[str, Any]) -> nn.Module:
    kwargs = case["kwargs"]
    return build_network(architecture(kwargs), kwargs["input_channels"], kwargs["num_classes"])


@torch.no_grad()
def fill(network: nn.Module) -> None:
    """Give every parameter the value that the recording gave it."""
    norms = {
        f"{name}.weight"
        for name, module in network.named_modules()
        if isinstance(module, nn.InstanceNorm2d | nn.InstanceNorm3d)
    }
    for i, (name, parameter) in enumerate(network.named_parameters()):
        k = np.arange(parameter.numel(), dtype=np.float64)
        values = 1 + 0.1 * np.sin(0.3 * k + i) if name in norms else 0.05 * np.sin(0.1 * k + i)
        parameter.copy_(torch.from_numpy(values.astype(np.float32)).view_as(parameter))


def wave(shape: list[int]) -> torch.Tensor:
    k = np.arange(np.prod(shape), dtype=np.float64)
    values = np.sin(0.05 * k) + 0.5 * np.cos(0.013 * k)
    return torch.from_numpy(values.astype(np.float32)).view(*shape)


@pytest.mark.parity
@pytest.mark.parametrize("name", ["tiny_3d", "tiny_2d"])
def test_parameters_have_the_recorded_names_shapes_and_order(name: str) -> None:
    case = SHAPES[name]
    found = {key: list(p.shape) for key, p in build(case).named_parameters()}
    assert list(found.items()) == list(case["named_parameters"].items())


@pytest.mark.parity
@pytest.mark.parametrize("name", ["tiny_3d", "tiny_2d"])
def test_heads_have_the_recorded_values(name: str) -> None:
    case = SHAPES[name]
    network = build(case).eval()
    fill(network)
    x = wave(case["input_shape"])
    with torch.no_grad():
        heads = network(x, deep_supervision=True)
        alone = network(x)
    torch.testing.assert_close(alone, heads[0])
    assert len(heads) == len(case["heads"])
    for head, recorded in zip(heads, case["heads"], strict=True):
        assert list(head.shape) == recorded["shape"]
        first = head.flatten()[:16].numpy()
        np.testing.assert_allclose(first, recorded["first16"], rtol=1e-4, atol=1e-4)
        assert head.mean().item() == pytest.approx(recorded["mean"], abs=1e-4)
        spread = head.std(correction=0).item()
        assert spread == pytest.approx(recorded["std_population"], abs=1e-4)


@pytest.mark.parity
@pytest.mark.parametrize("name", ["tiny_3d", "tiny_2d"])
def test_blocks_start_as_their_skip_path(name: str) -> None:
    case = SHAPES[name]
    parameters = dict(build(case).named_parameters())
    norms = [key for key in parameters if key.endswith("norm.weight")]
    zeros = [key for key in norms if not parameters[key].any()]
    assert zeros == case["after_initialise"]["zero_weight_norms"]
    assert all((parameters[key] == 1).all() for key in norms if key not in zeros)
    assert not any(p.any() for key, p in parameters.items() if key.endswith("bias"))


def test_convolutions_start_he_normal() -> None:
    wide = Architecture(((64, 128)), ((3, 3),) * 2, ((1, 1), (2, 2)), (1, 1), (1,))
    torch.manual_seed(0)
    network = build_network(wide, 1, 3)
    assert isinstance(network, ResidualEncoderUNet)
    weight = network.decoder.stages[0].convs[0].conv.weight
    expected = (2 / (1 + 0.01**2) / (128 * 9)) ** 0.5
    assert weight.std().item() == pytest.approx(expected, rel=0.02)


@pytest.mark.parity
def test_papers_network_has_177_million_parameters() -> None:
    plane = (1, 3, 3)
    arch = Architecture(
        features_per_stage=(32, 64, 128, 256, 320, 320, 320, 320),
        kernel_sizes=(plane, plane, plane, *((3, 3, 3),) * 5),
        strides=((1, 1, 1), *((1, 2, 2),) * 3, *((2, 2, 2),) * 2, *((1, 2, 2),) * 2),
        n_blocks_per_stage=(1, 3, 4, 6, 6, 6, 6, 6),
        n_conv_per_stage_decoder=(1,) * 7,
    )
    with torch.device("meta"):
        network = build_network(arch, 1, 3)
    assert sum(p.numel() for p in network.parameters()) == 177_010_741


def test_other_networks_are_refused_by_name() -> None:
    arch = architecture(SHAPES["tiny_2d"]["kwargs"], network="PlainConvUNet")
    with pytest.raises(ValueError, match=r"asks for a PlainConvUNet.*only ResidualEncoderUNet"):
        build_network(arch, 1, 2)


def test_network_of_one_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="single stage"):
        build_network(Architecture((4,), ((3, 3),), ((1, 1),), (1,), ()), 1, 2)


@pytest.mark.parametrize("factors", [(2, 2), (1, 2, 2), (2, 3, 1)])
def test_unfold_undoes_fold(factors: tuple[int, ...]) -> None:
    x = torch.randn(2, 3, *(f * 5 for f in factors))
    folded = fold(x, factors)
    assert folded.shape == (2, 3 * int(np.prod(factors)), *(5 for _ in factors))
    assert torch.equal(unfold(folded, factors), x)


def test_fold_is_pixel_unshuffle_in_plane() -> None:
    x = torch.randn(2, 3, 8, 6)
    assert torch.equal(fold(x, (2, 2)), nn.functional.pixel_unshuffle(x, 2))


def test_folded_network_sees_every_voxel() -> None:
    kwargs = SHAPES["tiny_3d"]["kwargs"]
    arch = architecture(kwargs, space_to_depth=(1, 2, 2))
    torch.manual_seed(0)
    network = build_network(arch, 1, 3)
    x = torch.randn(1, 1, 8, 16, 16, requires_grad=True)
    heads = network(x, deep_supervision=True)
    assert [tuple(h.shape) for h in heads] == [(1, 3, 8, 16, 16), (1, 3, 8, 8, 8)]
    heads[0].square().sum().backward()
    assert x.grad is not None
    assert bool((x.grad != 0).all())


def test_cautious_start_shrinks_the_heads_and_leans_to_background() -> None:
    arch = architecture(SHAPES["tiny_3d"]["kwargs"], space_to_depth=(1, 2, 2))
    torch.manual_seed(0)
    network = build_network(arch, 1, 3)
    x = torch.randn(1, 1, 8, 16, 16)
    with torch.no_grad():
        before = network(x)
        start_from_background(network, 3)
        after = network(x)
    shift = torch.tensor([3.0, 0.0, 0.0]).view(1, 3, 1, 1, 1)
    torch.testing.assert_close(after, 0.3 * before + shift)
    assert (after.argmax(1) == 0).float().mean() > (before.argmax(1) == 0).float().mean()
