"""Batches depend on their place in the run alone: not on workers, processes or the device."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from recipe_toy import RECIPE, TRAINER, make_plans, make_task

from tworulers.recipe.augment import plan_augmentation
from tworulers.recipe.data import Batch, FoldData, PatchDataset, Stream
from tworulers.recipe.sample import TRAINING
from tworulers.recipe.store import StoredExam
from tworulers.schema.settings import Trainer

CONFIGURATIONS = pytest.mark.parametrize("configuration", ["2d", "3d_fullres"])


def open_data(folder: Path, configuration: str, trainer: Trainer = TRAINER) -> FoldData:
    task = make_task(folder, configuration)
    plan = make_plans().configuration(configuration)
    return FoldData(
        Path(task.images), Path(task.labels), task.train, task.val, plan, RECIPE, trainer, 5
    )


def same(first: Batch, second: Batch) -> bool:
    return torch.equal(first.images, second.images) and torch.equal(first.labels, second.labels)


@CONFIGURATIONS
def test_augmenting_on_the_device_changes_nothing(tmp_path: Path, configuration: str) -> None:
    at_once = open_data(tmp_path, configuration)
    device = open_data(tmp_path, configuration, replace(TRAINER, accelerator="gpu"))
    for first, second in zip(at_once.train_dataloader(), device.train_dataloader(), strict=True):
        assert len(second.draws) == len(second.images)
        assert second.images.shape[2:] == device.augmentation.sampled
        assert same(first, device.on_after_batch_transfer(second, 0))


@CONFIGURATIONS
def test_epochs_and_iterations_differ(tmp_path: Path, configuration: str) -> None:
    loader = open_data(tmp_path, configuration).train_dataloader()
    first = list(loader)
    loader.sampler.set_epoch(1)
    second = list(loader)
    assert not same(first[0], first[1])
    assert not same(first[0], second[0])
    loader.sampler.set_epoch(0)
    assert all(same(a, b) for a, b in zip(first, loader, strict=True))


def test_processes_share_one_batch(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    patch = make_plans().configuration("3d_fullres").patch_size
    augmentation = plan_augmentation(patch, "full", True, (False,))
    exams = [StoredExam(e, Path(task.images), Path(task.labels)) for e in task.train]

    def read(rank: int, processes: int) -> Batch:
        stream = Stream(0, TRAINING, rank, processes)
        return PatchDataset(exams, augmentation, 5, 0.33, stream)[(2, 3)]

    whole, parts = read(0, 1), [read(rank, 2) for rank in range(2)]
    assert [len(part.images) for part in parts] == [3, 2]
    assert torch.equal(whole.images, torch.cat([part.images for part in parts]))


def test_validation_shows_plain_patches(tmp_path: Path) -> None:
    data = open_data(tmp_path, "3d_fullres")
    batches = list(data.val_dataloader())
    assert len(batches) == RECIPE.validation_iterations
    assert batches[0].images.shape == (2, 1, *data.plan.patch_size)
    assert batches[0].labels.min() == 0
