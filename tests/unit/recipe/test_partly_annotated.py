"""Voxels that nobody annotated are drawn, learnt from and judged as little as by nnU-Net."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from recipe_toy import EXAMS, FACTS, RECIPE, SPACING, draw_exam, make_plans, make_task

from tworulers.recipe.clean import decide_cleanup, dice_of
from tworulers.recipe.plan_json import facts_to_json
from tworulers.recipe.preprocess import Geometry, preprocess_image, preprocess_label
from tworulers.recipe.sample import draw_crop, open_stream
from tworulers.recipe.store import StoredExam, store_label
from tworulers.recipe.train import train_fold

IGNORED = 3
PARTLY = replace(FACTS, labels={**FACTS.labels, "ignore": IGNORED})


def draw_label() -> np.ndarray:
    """Two shells, a slice outside the body (-1), and columns that nobody annotated (3)."""
    offset = (np.indices((12, 40, 40)).T - np.array([6, 20, 20])).T
    radius = np.sqrt((offset**2 * np.array([4, 1, 1]).reshape(3, 1, 1, 1)).sum(0))
    label = np.zeros((12, 40, 40), np.int8)
    label[radius < 14], label[radius < 6] = 1, 2
    label[:, :, 30:], label[0] = IGNORED, -1
    return label


@pytest.mark.parity
def test_voxels_are_drawn_of_all_that_is_annotated_as_nnunet_draws_them() -> None:
    label = draw_label()
    box = tuple((0, n) for n in label.shape)
    even, forward = (1.0, 1.0, 1.0), (0, 1, 2)
    geometry = Geometry(even, even, label.shape, box, label.shape, forward, inside=label != -1)
    prepared = preprocess_label(label.clip(min=0), geometry, (1, 2), IGNORED)
    np.testing.assert_array_equal(prepared.array, label)
    assert prepared.annotated is not None
    # What nnU-Net 2.8.1 draws of this label for the classes 1, 2 and (-1, 0, 1, 2).
    drawn = {**prepared.locations, "all": prepared.annotated}
    recorded = {1: (4530, "809885c7ae7d1b79"), 2: (425, "8ad4d33be82683d8")}
    assert {
        name: (len(voxels), hashlib.sha256(voxels.tobytes()).hexdigest()[:16])
        for name, voxels in drawn.items()
    } == {**recorded, "all": (10_000, "8ace190e7cd8c877")}


def test_without_such_a_value_it_is_refused_in_a_label() -> None:
    label = draw_label().clip(min=0)
    box = tuple((0, n) for n in label.shape)
    even = (1.0, 1.0, 1.0)
    geometry = Geometry(even, even, label.shape, box, label.shape, (0, 1, 2))
    with pytest.raises(ValueError, match=r"holds \[3\]; expected 0 and \[1, 2\]"):
        preprocess_label(label, geometry, (1, 2))


def exam(label: np.ndarray) -> Any:
    found = {value: np.argwhere(label == value) for value in (1, 2)}
    annotated = np.argwhere(label != IGNORED)
    return SimpleNamespace(label=label, locations=found, annotated=annotated)


def test_every_crop_is_centred_on_an_annotated_voxel() -> None:
    label = np.full((4, 30, 30), IGNORED, np.int8)
    label[:, 5:9, 20:24] = 0
    label[2, 7, 22] = 1
    size = (2, 6, 6)
    for forced, wanted in ((False, {0, 1}), (True, {1})):
        centres = set()
        for place in range(60):
            crop = draw_crop(open_stream(0, 0, 0, 0, place), exam(label), size, size, forced)
            z, y, x = (corner + wide // 2 for corner, wide in zip(crop.corner, size, strict=True))
            centres.add(int(label[z, y, x]))
        assert centres == wanted
    empty = np.full((4, 30, 30), IGNORED, np.int8)
    corners = {
        draw_crop(open_stream(0, 0, 0, 0, n), exam(empty), size, size, True).corner
        for n in range(20)
    }
    assert len(corners) > 10


def test_neither_dice_nor_clean_up_counts_them() -> None:
    reference = np.zeros((1, 10, 10), np.uint8)
    reference[0, 2:4, 2:4], reference[0, :, 6:] = 1, IGNORED
    predicted = np.where(reference == 1, 1, 0)
    predicted[0, 4:9, 6:] = 1
    assert dice_of(predicted, reference, (1,), IGNORED).tolist() == [1.0]
    assert dice_of(predicted, reference, (1,))[0] < 1
    # The larger component lies where nobody looked, and keeping it alone would lose the structure.
    assert decide_cleanup([(predicted, reference)], (1,), IGNORED).steps == ()
    everywhere = np.full_like(reference, IGNORED)
    assert np.isnan(dice_of(predicted, everywhere, (1,), IGNORED)).all()


def test_a_fold_learns_from_partly_annotated_exams(tmp_path: Path) -> None:
    task = make_task(tmp_path, recipe=replace(RECIPE, epochs=2, iterations=4))
    plans = make_plans()
    (tmp_path / "dataset.json").write_text(json.dumps(facts_to_json(PARTLY)))
    originals = {}
    for index, exam_id in enumerate(EXAMS):
        image, label = draw_exam(index)
        label[:, :, 8:] = IGNORED
        originals[exam_id] = label
        _, geometry = preprocess_image(image, SPACING, plans, "3d_fullres")
        prepared = preprocess_label(label, geometry, PARTLY.foreground, IGNORED)
        store_label(Path(task.labels), exam_id, prepared, label)
    stored = StoredExam(EXAMS[0], Path(task.images), Path(task.labels))
    assert stored.annotated is not None
    assert (stored.label[tuple(stored.annotated.T)] != IGNORED).all()
    assert sorted(stored.locations) == [1, 2]
    result = train_fold(task)
    weights = torch.load(Path(task.output) / "final.pt", weights_only=True)["network_weights"]
    heads = {len(weights[name]) for name in weights if "seg_layers" in name}
    assert heads == {3}, "background and two structures, and none for what is ignored"
    assert np.isfinite(result.curve["train_loss"]).all()
    assert set(result.cross_validation["structure"]) == {"ball", "core"}
