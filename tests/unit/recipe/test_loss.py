"""The loss against values and gradients recorded from nnU-Net, and against MONAI's Dice."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from monai.losses import DiceLoss
from torch import Tensor

from tworulers.recipe.derived import deep_supervision_weights
from tworulers.recipe.loss import (
    DeeplySupervisedLoss,
    DiceCrossEntropyLoss,
    count_overlap,
    dice_cross_entropy,
    pseudo_dice,
    smooth_pseudo_dice,
    soft_dice,
)
from tworulers.recipe.processes import leave_processes
from tworulers.recipe.schedule import poly_rate

GOLDEN = json.loads(
    gzip.decompress((Path(__file__).parents[2] / "golden" / "nnunet_loss.json.gz").read_bytes())
)


def wave(shape: list[int]) -> Tensor:
    k = np.arange(np.prod(shape), dtype=np.float64)
    values = (np.sin(0.37 * k) + 0.5 * np.cos(0.11 * k)).astype(np.float32) * 2
    return torch.from_numpy(values).view(*shape)


def labels(case: dict[str, Any]) -> Tensor:
    batch, _, *axes = case["shape"]
    return torch.tensor(case["target"]).view(batch, *axes)


@pytest.mark.parity
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda c: f"{c['name']}-{c['batch_dice']}")
def test_loss_and_gradient_are_as_recorded(case: dict[str, Any]) -> None:
    logits = wave(case["shape"]).requires_grad_()
    target = labels(case)
    dice = soft_dice(logits, target, batch_dice=case["batch_dice"])
    assert -dice.item() == pytest.approx(case["negative_dice"], abs=1e-6)
    total = dice_cross_entropy(logits, target, batch_dice=case["batch_dice"])
    assert total.item() == pytest.approx(case["total"], abs=1e-6)
    total.backward()
    assert logits.grad is not None
    first = logits.grad.flatten()[:8].numpy()
    np.testing.assert_allclose(first, case["grad_first8"], atol=1e-6)
    assert logits.grad.abs().sum().item() == pytest.approx(case["grad_abs_sum"], rel=1e-6)


@pytest.mark.parity
def test_ignored_voxels_are_left_out() -> None:
    case = GOLDEN["ignore_label"]
    total = dice_cross_entropy(wave(case["shape"]), labels(case), batch_dice=True, ignore_label=3)
    assert total.item() == pytest.approx(case["total"], abs=1e-6)


def test_without_annotation_only_dice_is_left() -> None:
    logits = wave([1, 3, 4, 4])
    target = torch.full((1, 4, 4), 3)
    total = dice_cross_entropy(logits, target, batch_dice=True, ignore_label=3)
    assert total.item() == pytest.approx(-1.0)


@pytest.mark.parity
def test_heads_are_weighted_as_recorded() -> None:
    case = GOLDEN["deep_supervision"]
    heads = [wave(shape) for shape in case["head_shapes"]]
    full = torch.tensor(case["target_full"]).view(2, 8, 8)
    half = torch.tensor(case["target_half"]).view(2, 4, 4)
    targets = [full, half, torch.zeros(2, 2, 2, dtype=torch.long)]
    weights = deep_supervision_weights(3)
    np.testing.assert_allclose(weights, case["weights"])
    for head, target, recorded in zip(heads[:2], targets[:2], case["per_head"][:2], strict=True):
        found = dice_cross_entropy(head, target, batch_dice=True)
        assert found.item() == pytest.approx(recorded, abs=1e-6)
    loss = DeeplySupervisedLoss(DiceCrossEntropyLoss(batch_dice=True), weights)
    total = loss(heads, targets)
    assert total.item() == pytest.approx(case["total"], abs=1e-6)


def test_network_without_weighted_head_is_refused() -> None:
    with pytest.raises(ValueError, match="network of two stages"):
        DeeplySupervisedLoss(DiceCrossEntropyLoss(batch_dice=False), deep_supervision_weights(1))


def test_a_head_without_its_target_is_refused() -> None:
    loss = DeeplySupervisedLoss(DiceCrossEntropyLoss(batch_dice=True), (0.7, 0.3))
    with pytest.raises(ValueError, match="2 heads, 1 targets and 2 weights"):
        loss([wave([1, 2, 4, 4]), wave([1, 2, 2, 2])], [torch.zeros(1, 4, 4)])


@pytest.mark.parity
def test_pseudo_dice_is_as_recorded() -> None:
    case = GOLDEN["cases"][0]
    recorded = GOLDEN["pseudo_dice"]
    counts = count_overlap(wave(case["shape"]), labels(case))
    assert counts.true_positive.tolist() == recorded["tp"]
    assert counts.false_positive.tolist() == recorded["fp"]
    assert counts.false_negative.tolist() == recorded["fn"]
    found = pseudo_dice(counts).tolist()
    np.testing.assert_allclose(found, recorded["dice_per_foreground_class"], atol=1e-6)
    np.testing.assert_allclose(pseudo_dice(counts + counts).tolist(), found)


def test_pseudo_dice_of_a_class_that_never_occurs_is_undefined() -> None:
    logits = torch.tensor([[[5.0, 5.0]], [[0.0, 0.0]], [[0.0, 0.0]]])[None]
    assert pseudo_dice(count_overlap(logits, torch.zeros(1, 1, 2))).isnan().all()


def test_smoothed_pseudo_dice_starts_with_the_first_value() -> None:
    assert smooth_pseudo_dice(None, 0.5) == 0.5
    assert smooth_pseudo_dice(0.5, 1.0) == pytest.approx(0.55)


@pytest.mark.parity
def test_poly_rate_is_as_recorded() -> None:
    for epoch, rate in GOLDEN["poly_lr"].items():
        assert poly_rate(0.01, int(epoch), 1000) == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize("batch_dice", [False, True])
def test_dice_and_its_gradient_agree_with_monai(batch_dice: bool) -> None:
    oracle = DiceLoss(include_background=False, softmax=True, to_onehot_y=True, batch=batch_dice)
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(3, 4, 5, 6, 7, generator=generator, requires_grad=True)
    target = torch.randint(0, 4, (3, 5, 6, 7), generator=generator)
    ours = 1 - soft_dice(logits, target, batch_dice=batch_dice)
    theirs = oracle(logits, target[:, None])
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-6)
    (gradient,) = torch.autograd.grad(ours, logits)
    (expected,) = torch.autograd.grad(theirs, logits)
    torch.testing.assert_close(gradient, expected, atol=1e-7, rtol=1e-5)


def sum_in_two_processes(rank: int, folder: str) -> None:
    before = set(Path("/proc/self/task").iterdir())
    store = torch.distributed.FileStore(f"{folder}/store", 2)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
    logits, target = two_samples()
    own = logits[rank : rank + 1].detach().requires_grad_()
    dice = soft_dice(own, target[rank : rank + 1], batch_dice=True)
    dice.backward()
    torch.save((dice.detach(), own.grad), f"{folder}/{rank}.pt")
    del dice, own
    leave_processes()
    # A thread that is left would be ended by the end of the interpreter, and abort the process if it asks for it then.
    assert set(Path("/proc/self/task").iterdir()) <= before


def two_samples() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, 4, 5, generator=generator)
    return logits, torch.randint(0, 3, (2, 4, 5), generator=generator)


@pytest.mark.slow
def test_batch_dice_spans_processes(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(sum_in_two_processes, (str(tmp_path),), nprocs=2)
    logits, target = two_samples()
    logits.requires_grad_()
    alone = soft_dice(logits, target, batch_dice=True)
    alone.backward()
    assert logits.grad is not None
    for rank in range(2):
        dice, gradient = torch.load(tmp_path / f"{rank}.pt")
        assert dice.item() == pytest.approx(alone.item(), abs=1e-7)
        # Distributed training averages gradients over the two processes afterwards.
        torch.testing.assert_close(gradient / 2, logits.grad[rank : rank + 1])
