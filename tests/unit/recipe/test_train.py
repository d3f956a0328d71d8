"""A fold is learnt, goes on where it was killed with the same outcome, and says what went wrong."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from recipe_toy import EXAMS, FACTS, RECIPE, SHAPE, make_plans, make_task

from tworulers.recipe.data import Batch
from tworulers.recipe.derived import feature_map_estimate
from tworulers.recipe.module import EpochRecord, SegmentationModule
from tworulers.recipe.parallel import FoldError, run_folds
from tworulers.recipe.predict import load_member
from tworulers.recipe.schedule import learning_rate
from tworulers.recipe.store import load_probabilities
from tworulers.recipe.task import FoldTask, task_from_json
from tworulers.recipe.train import share_batch, train_fold
from tworulers.schema.settings import Trainer

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


class Stopped(Exception):  # noqa: N818
    pass


def weights(task: FoldTask) -> dict[str, torch.Tensor]:
    content = torch.load(Path(task.output) / "final.pt", weights_only=True)
    found: dict[str, torch.Tensor] = content["network_weights"]
    return found


def assert_same_outcome(first: FoldTask, second: FoldTask) -> None:
    a, b = weights(first), weights(second)
    assert a.keys() == b.keys()
    for name in a:
        torch.testing.assert_close(a[name], b[name], rtol=0, atol=0, msg=name)
    files = [
        {p.relative_to(task.output): p.read_bytes() for p in Path(task.output).rglob("*.*")}
        for task in (first, second)
    ]
    assert files[0] == files[1]


@pytest.mark.parametrize("configuration", ["3d_fullres", "2d"])
def test_interrupted_fold_ends_as_an_uninterrupted_one(tmp_path: Path, configuration: str) -> None:
    whole = make_task(tmp_path, configuration, run="whole")
    result = train_fold(whole)

    def interrupt(record: EpochRecord) -> None:
        if record.epoch == 2:
            raise Stopped

    broken = make_task(tmp_path, configuration, run="broken")
    with pytest.raises(Stopped):
        train_fold(broken, interrupt)
    epochs: list[int] = []
    train_fold(broken, lambda record: epochs.append(record.epoch))
    assert epochs == [2, 3]
    assert_same_outcome(whole, broken)
    assert list(result.curve["epoch"]) == [0, 1, 2, 3]
    assert list(result.cross_validation["exam_id"].unique()) == list(EXAMS[5:])
    assert set(result.cross_validation["structure"]) == {"ball", "core"}
    kept = load_probabilities(Path(whole.output) / "probabilities", EXAMS[5])
    np.testing.assert_allclose(kept.sum(axis=0), 1, atol=0.01)
    assert not list(Path(whole.scratch).glob("*.ckpt"))


def test_what_a_curve_holds_can_be_watched_from_outside(tmp_path: Path) -> None:
    task = make_task(tmp_path, "2d", replace(RECIPE, epochs=3))
    seen: list[EpochRecord] = []
    curve = train_fold(task, seen.append).curve
    assert [asdict(record) for record in seen] == [
        {**row, "seconds": record.seconds}
        for row, record in zip(curve.to_dict("records"), seen, strict=True)
    ]
    best = torch.load(Path(task.output) / "best.pt", weights_only=True)
    assert best["epoch"] == curve["smoothed_pseudo_dice"].idxmax()
    last = learning_rate(task.recipe, 2, task.recipe.iterations - 1)
    assert curve["learning_rate"].iloc[-1] == last


def test_workers_do_not_change_what_is_learnt(tmp_path: Path) -> None:
    recipe = replace(RECIPE, epochs=2)
    alone = make_task(tmp_path, recipe=recipe, run="alone")
    helped = make_task(tmp_path, recipe=recipe, run="helped")
    helped = replace(helped, trainer=replace(helped.trainer, workers=2))
    train_fold(alone)
    train_fold(helped)
    assert_same_outcome(alone, helped)


def test_finished_fold_is_not_trained_again(tmp_path: Path) -> None:
    task = make_task(tmp_path, recipe=replace(RECIPE, epochs=1))
    first = train_fold(task)
    called: list[EpochRecord] = []
    again = train_fold(task, called.append)
    assert called == []
    pd.testing.assert_frame_equal(first.cross_validation, again.cross_validation)


def test_a_batch_in_parts_learns_what_a_whole_one_does(tmp_path: Path) -> None:
    recipe = replace(RECIPE, epochs=2, optimizer="sgd", momentum=0.9, learning_rate=0.02)
    whole = make_task(tmp_path, recipe=recipe, run="whole")
    parts = make_task(tmp_path, recipe=recipe, run="parts")
    parts = replace(parts, trainer=replace(parts.trainer, gradient_accumulation=2))
    curves = [train_fold(task).curve for task in (whole, parts)]
    a, b = weights(whole), weights(parts)
    for name in a:
        torch.testing.assert_close(a[name], b[name], rtol=1e-3, atol=1e-4, msg=name)
    np.testing.assert_allclose(curves[0]["train_loss"], curves[1]["train_loss"], atol=1e-4)
    assert list(curves[0]["learning_rate"]) == list(curves[1]["learning_rate"])


@pytest.mark.parametrize(
    ("changes", "samples"),
    [
        ({}, 6),
        ({"gradient_accumulation": 4}, 2),
        ({"accelerator": "gpu", "devices": 2}, 3),
        ({"accelerator": "cpu", "devices": 2}, 6),
        ({"accelerator": "gpu", "devices": 2, "nodes": 2}, 2),
    ],
)
def test_samples_in_one_memory_are_counted(changes: dict[str, Any], samples: int) -> None:
    assert share_batch("fold", 6, replace(Trainer(), **changes)) == samples


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"devices": 2, "gradient_accumulation": 2}, "by 2 processes in 2 parts each"),
        ({"nodes": 3}, "by 3 processes in 1 parts each"),
        ({"devices": 2, "nodes": 2}, "by 4 processes in 1 parts each"),
    ],
)
def test_a_batch_with_fewer_samples_than_processes_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    task = make_task(tmp_path)
    task = replace(task, trainer=replace(task.trainer, **changes))
    with pytest.raises(ValueError, match=f"a batch of 2 cannot be shared {message}"):
        train_fold(task)
    assert not Path(task.scratch).exists(), "before anything is made"


def test_memory_is_judged_by_precision_and_by_what_is_there_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make_task(tmp_path, recipe=replace(RECIPE, epochs=1, iterations=1))
    plan = make_plans().configuration("3d_fullres")
    whole = feature_map_estimate(plan, FACTS.n_classes) * plan.batch_size * 4
    monkeypatch.setattr("tworulers.recipe.train.find_memory", lambda trainer: whole // 2 + 1)
    with pytest.raises(ValueError, match=r"batch 2 keeps at least"):
        train_fold(task)
    for run, changes in (
        ("bf16", {"precision": "bf16-mixed"}),
        ("parts", {"gradient_accumulation": 2}),
    ):
        output = str(tmp_path / run)
        trainer = replace(task.trainer, **changes)
        assert len(train_fold(replace(task, trainer=trainer, output=output)).curve) == 1


def test_a_deterministic_training_asks_torch_for_it_and_learns_the_same(tmp_path: Path) -> None:
    recipe = replace(RECIPE, epochs=1, iterations=2)
    plain = make_task(tmp_path, recipe=recipe, run="plain")
    strict = make_task(tmp_path, recipe=recipe, run="strict")
    strict = replace(strict, trainer=replace(strict.trainer, deterministic=True))
    asked: list[bool] = []
    try:
        for task in (plain, strict):
            train_fold(
                task, lambda record: asked.append(torch.are_deterministic_algorithms_enabled())
            )
    finally:
        torch.use_deterministic_algorithms(False)
    assert asked == [False, True]
    assert_same_outcome(plain, strict)


def test_the_gradient_of_parts_is_that_of_the_batch_to_rounding() -> None:
    plan = make_plans().configuration("3d_fullres")
    assert not plan.batch_dice, "Dice is one a sample"
    torch.manual_seed(0)
    module = SegmentationModule(plan, RECIPE, Trainer(), n_channels=1, n_classes=3)
    images = torch.randn(2, 1, *plan.patch_size)
    labels = torch.randint(0, 3, (2, *plan.patch_size), dtype=torch.int8)
    found = []
    for parts in ([slice(0, 2)], [slice(0, 1), slice(1, 2)]):
        module.zero_grad()
        for part in parts:
            loss = module.training_step(Batch(images[part], labels[part]), 0)
            (loss / len(parts)).backward()
        found.append([p.grad.clone() for p in module.parameters() if p.grad is not None])
    assert len(found[0]) > 20
    for whole, parted in zip(*found, strict=True):
        torch.testing.assert_close(parted, whole, rtol=1e-4, atol=1e-6)


def test_a_fold_starts_from_pretrained_weights_but_for_its_heads(tmp_path: Path) -> None:
    first = make_task(tmp_path, recipe=replace(RECIPE, epochs=1), run="first")
    train_fold(first)
    still = replace(RECIPE, epochs=1, iterations=1, learning_rate=1e-12, warmup_iterations=0)
    still = replace(still, weight_decay=0.0, pretrained=f"{first.output}/final.pt")
    second = make_task(tmp_path, recipe=still, run="second")
    train_fold(second)
    given, tuned = weights(first), weights(second)
    close = {n: torch.allclose(given[n], tuned[n], rtol=0, atol=1e-9) for n in given}
    assert all(alike for name, alike in close.items() if ".seg_layers." not in name)
    assert not all(close.values())
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        train_fold(make_task(tmp_path, recipe=replace(still, pretrained="no.pt"), run="third"))


def test_volumes_smaller_than_the_patch_are_padded(tmp_path: Path) -> None:
    plan = replace(RECIPE.plan, patch_size={"3d_fullres": [16, 32, 32]})
    recipe = replace(RECIPE, plan=plan, epochs=1, iterations=2, validation_iterations=1)
    result = train_fold(make_task(tmp_path, recipe=recipe))
    assert np.isfinite(result.curve["train_loss"]).all()
    kept = load_probabilities(Path(result.output) / "probabilities", EXAMS[6])
    assert kept.shape == (3, *SHAPE)


def test_plan_that_outgrows_the_memory_is_refused(tmp_path: Path) -> None:
    plan = replace(RECIPE.plan, patch_size={"3d_fullres": [512, 2048, 2048]})
    with pytest.raises(ValueError, match="override patch_size, batch_size or base_features"):
        train_fold(make_task(tmp_path, recipe=replace(RECIPE, plan=plan)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": ()}, "toy 3d_fullres fold 0 has no training exams"),
        ({"val": ()}, "has no validation exams"),
        ({"val": (EXAMS[0], EXAMS[6])}, "1 exams are in training and validation, e.g. toy_00"),
    ],
)
def test_unusable_folds_are_refused(tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train_fold(replace(make_task(tmp_path), **change))


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    task = make_task(tmp_path, recipe=replace(RECIPE, epochs=1, iterations=1))
    train_fold(task)
    other = make_plans(replace(RECIPE, plan=replace(RECIPE.plan, base_features=8)))
    with pytest.raises(ValueError, match="holds the weights of another network"):
        load_member(Path(task.output) / "final.pt", other.configuration("3d_fullres"), FACTS)


def test_task_travels_as_plain_data(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    assert task_from_json(json.loads(json.dumps(asdict(task)))) == task


@pytest.mark.slow
def test_killed_process_is_resumed_with_the_same_outcome(tmp_path: Path) -> None:
    recipe = replace(RECIPE, epochs=6, iterations=20)
    whole = make_task(tmp_path, recipe=recipe, run="whole")
    train_fold(whole)
    broken = make_task(tmp_path, recipe=recipe, run="broken")
    file = tmp_path / "task.json"
    file.write_text(json.dumps(asdict(broken)))
    process = subprocess.Popen(
        [sys.executable, "-m", "tworulers.recipe.train", str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{") and json.loads(line)["epoch"] == 2:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (Path(broken.output) / "final.pt").exists()
    run_folds([broken], parallel=1)
    assert_same_outcome(whole, broken)


@pytest.mark.slow
def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    recipe = replace(
        RECIPE, epochs=2, optimizer="sgd", momentum=0.9, learning_rate=0.02, augmentation="none"
    )
    one = make_task(tmp_path, recipe=recipe, run="one")
    two = make_task(tmp_path, recipe=recipe, run="two")
    two = replace(two, trainer=replace(two.trainer, devices=2, strategy="ddp"))
    run_folds([one, two], parallel=2)
    a, b = weights(one), weights(two)
    for name in a:
        torch.testing.assert_close(a[name], b[name], rtol=1e-3, atol=1e-4, msg=name)
    curves = [pd.read_parquet(Path(t.output) / "curve.parquet") for t in (one, two)]
    for column in ("train_loss", "val_loss", "pseudo_dice"):
        np.testing.assert_allclose(curves[0][column], curves[1][column], atol=1e-3)


@pytest.mark.slow
def test_failing_fold_is_named_with_its_error(tmp_path: Path) -> None:
    good = make_task(tmp_path, run="good")
    bad = replace(make_task(tmp_path, run="bad"), name="bad fold", train=())
    with pytest.raises(FoldError, match="bad fold failed: bad fold has no training exams"):
        run_folds([bad, good], parallel=2)
