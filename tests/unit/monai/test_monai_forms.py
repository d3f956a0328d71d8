"""Metrics and transforms in MONAI's forms, beside MONAI's own and beside what training does."""

import numpy as np
import pytest
import torch
from monai.metrics import CumulativeIterationMetric, DiceMetric, HausdorffDistanceMetric
from monai.networks.utils import one_hot
from monai.transforms import Compose
from torch import Tensor

from tworulers.metrics.known.dice import DICE
from tworulers.metrics.known.hd95 import HD95, POOLED, VOXEL
from tworulers.metrics.known.ndsc import NDSC
from tworulers.metrics.overlap import normalised_dice, reference_fractions, weigh_false_positives
from tworulers.monai.metrics import ExamMetric, NormalisedDiceMetric
from tworulers.monai.transforms import Augmentd
from tworulers.recipe.augment import apply, draw, plan_augmentation

SPACING = (3.0, 1.0, 1.5)


def draw_maps(seed: int, exams: int = 4) -> tuple[Tensor, Tensor]:
    """One-hot label maps of blocks with ragged edges: what was predicted, and the reference."""
    rng = np.random.default_rng(seed)
    reference = np.zeros((exams, 1, 8, 14, 12), int)
    reference[..., 2:6, 3:9, 2:9] = 1
    reference[..., 3:6, 9:13, 3:8] = 2
    predicted = np.where(
        rng.random(reference.shape) < 0.02, rng.integers(0, 3, reference.shape), reference
    )
    both = (torch.from_numpy(one) for one in (predicted, reference))
    first, second = (one_hot(one, 3) for one in both)
    return first, second


def test_voxel_hd95_and_dice_are_those_of_monai() -> None:
    predicted, reference = draw_maps(1)
    theirs = HausdorffDistanceMetric(percentile=95, reduction="none")
    ours: CumulativeIterationMetric = ExamMetric(VOXEL, reduction="none")
    for metric in (theirs, ours):
        metric(predicted[:2], reference[:2], spacing=SPACING)
        metric(predicted[2:], reference[2:], spacing=SPACING)
    torch.testing.assert_close(
        ours.aggregate(),
        theirs.aggregate()[0].double()
        if isinstance(theirs.aggregate(), tuple)
        else theirs.aggregate().double(),
        atol=1e-5,
        rtol=0,
    )
    dice = DiceMetric(include_background=False, reduction="none")
    mine = ExamMetric(DICE, reduction="none")
    for metric in (dice, mine):
        metric(predicted, reference)
    torch.testing.assert_close(mine.aggregate(), dice.aggregate().double(), atol=1e-6, rtol=0)


def test_the_other_two_hd95_differ_from_it_and_are_summed_up_as_asked() -> None:
    predicted, reference = draw_maps(2)
    values = {}
    for metric in (HD95, VOXEL, POOLED):
        measure = ExamMetric(metric)
        measure(predicted, reference, spacing=SPACING)
        values[metric.name] = float(measure.aggregate())
        assert measure.aggregate("none").shape == (4, 2)
        assert measure.aggregate("mean").item() == pytest.approx(
            measure.aggregate("none").mean().item()
        )
    assert len(set(values.values())) == 3
    assert values["hd95_pooled"] <= values["hd95_voxel"]


def test_ndsc_normalises_to_the_exams_since_the_last_reset() -> None:
    predicted, reference = draw_maps(3)
    reference[0, 1, 2:4] = 0
    metric = NormalisedDiceMetric(reduction="none")
    metric(predicted[:1], reference[:1])
    metric(predicted[1:], reference[1:])
    found = metric.aggregate().numpy()
    mask, truth = predicted[:, 1].numpy() > 0, reference[:, 1].numpy() > 0
    axes = (1, 2, 3)
    tp, fp, fn = (mask & truth).sum(axes), (mask & ~truth).sum(axes), (~mask & truth).sum(axes)
    voxels = truth[0].size
    share = reference_fractions({"1": [(int(size), voxels) for size in tp + fn]})["1"]
    kappa = weigh_false_positives("fraction", tp + fn, voxels, share)
    np.testing.assert_allclose(found[:, 0], normalised_dice(tp, fp, fn, kappa))
    metric.reset()
    metric(predicted[1:], reference[1:])
    assert metric.aggregate().shape == (3, 2)
    with pytest.raises(ValueError, match="whole set"):
        ExamMetric(NDSC)


def test_maps_that_are_no_pairs_are_refused() -> None:
    predicted, reference = draw_maps(4)
    with pytest.raises(ValueError, match="of one shape"):
        ExamMetric(HD95)(predicted[:, :2], reference)


def test_the_transform_draws_what_training_draws() -> None:
    plan = plan_augmentation((8, 16, 16), "full", True, (False,))
    rng = np.random.default_rng(5)
    images = [torch.from_numpy(rng.normal(size=(1, *plan.sampled))).float() for _ in range(6)]
    label = torch.from_numpy(rng.integers(-1, 3, (1, *plan.sampled)))
    transform = Augmentd(("image", "label"), plan, seed=7)
    stream = np.random.default_rng(7)
    for image in images:
        changed = transform({"image": image, "label": label, "exam": "one"})
        expected, labels = apply(image, label[0], draw(stream, plan, 1), plan)
        assert torch.equal(changed["image"], expected)
        assert torch.equal(changed["label"][0], labels)
        assert changed["exam"] == "one"
    assert changed["image"].shape == (1, 8, 16, 16)
    again = Augmentd(("image", "label"), plan).set_random_state(7)
    first = apply(images[0], label[0], draw(np.random.default_rng(7), plan, 1), plan)[0]
    assert torch.equal(again({"image": images[0], "label": label})["image"], first)
    composed = Compose([again])
    one, two = (
        composed.set_random_state(3)({"image": images[0], "label": label})["image"]
        for _ in range(2)
    )
    assert torch.equal(one, two), "MONAI seeds what it composes, and so it does ours"
    with pytest.raises(ValueError, match="keys of an image and its label"):
        Augmentd(("image",), plan)
