"""Exams are predicted on their own grid, alone or together alike, and stored arrays come back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from recipe_toy import FACTS, RECIPE, SPACING, TRAINER, draw_exam, make_plans

from tworulers.recipe.interop import Member
from tworulers.recipe.network import build_network
from tworulers.recipe.plan import Plans
from tworulers.recipe.predict import (
    ExamPredictor,
    PreparedImage,
    choose_device,
    choose_home,
    load_member,
)
from tworulers.recipe.preprocess import preprocess_image, preprocess_label
from tworulers.recipe.store import (
    StoredExam,
    load_geometry,
    load_probabilities,
    store_image,
    store_label,
    store_probabilities,
)

SHAPES = [(8, 16, 16), (3, 7, 9), (8, 16, 16), (8, 16, 33), (1, 16, 16)]


def build_predictor(plans: Plans, batch: int, mirror: bool = False) -> ExamPredictor:
    torch.manual_seed(0)
    networks = {}
    for name in ("2d", "3d_fullres"):
        plan = plans.configuration(name)
        networks[name] = [
            Member(build_network(plan.architecture, 1, 3), tuple(range(plan.dimension)))
            for _ in range(2)
        ]
    trainer = replace(TRAINER, predict_batch=batch)
    return ExamPredictor(plans, FACTS, networks, replace(RECIPE, mirror=mirror), trainer)


def prepare(index: int, shape: tuple[int, ...], plans: Plans) -> PreparedImage:
    image, _ = draw_exam(index, shape)
    arrays = {name: preprocess_image(image, SPACING, plans, name) for name in plans.configurations}
    return PreparedImage(f"exam_{index}", arrays)


@pytest.mark.parametrize("mirror", [False, True])
def test_batches_do_not_change_predictions(mirror: bool) -> None:
    plans = make_plans()
    exams = [prepare(index, shape, plans) for index, shape in enumerate(SHAPES)]
    together = list(build_predictor(plans, 4, mirror).predict_exams(exams))
    alone = build_predictor(plans, 1, mirror)
    for exam, shape, fused in zip(exams, SHAPES, together, strict=True):
        # Volumes smaller than the patch are padded inside and come back as they were.
        assert fused.label_map.shape == shape
        assert fused.probabilities.shape == (3, *shape)
        np.testing.assert_allclose(fused.probabilities.sum(axis=0), 1, atol=1e-5)
        again = next(alone.predict_exams([exam]))
        np.testing.assert_allclose(fused.probabilities, again.probabilities, atol=1e-4)


def test_weights_without_their_mirrored_axes_are_refused(tmp_path: Path) -> None:
    plan = make_plans().configuration("2d")
    network = build_network(plan.architecture, 1, 3)
    torch.save({"network_weights": network.state_dict()}, tmp_path / "final.pt")
    with pytest.raises(ValueError, match="did not keep the axes that were mirrored: train again"):
        load_member(tmp_path / "final.pt", plan, FACTS)


@pytest.mark.parametrize(
    ("configuration", "features", "exams"),
    [("3d_fullres", 4, [4, 1]), ("3d_fullres", 16, [2, 2, 1]), ("3d_fullres", 32, [1] * 5)],
)
def test_exams_share_a_batch_only_where_networks_are_narrow(
    configuration: str, features: int, exams: list[int]
) -> None:
    assert batches_of(configuration, features) == exams


def test_slices_share_a_batch_within_their_exam_and_no_more_than_in_training() -> None:
    assert batches_of("2d", 4) == [6, 2, 3, 6, 2, 6, 2, 1]


def batches_of(configuration: str, features: int) -> list[int]:
    """Samples of every forward pass over five exams of 8, 3, 8, 8 and 1 slices."""
    plans = make_plans(replace(RECIPE, plan=replace(RECIPE.plan, base_features=features)))
    plan = plans.configuration(configuration)
    network = build_network(plan.architecture, 1, 3)
    seen: list[int] = []
    network.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    shapes = [(8, 16, 16), (3, 16, 16), (8, 16, 16), (8, 16, 16), (1, 16, 16)]
    exams = [prepare(index, shape, plans) for index, shape in enumerate(shapes)]
    predictor = ExamPredictor(
        plans, FACTS, {configuration: [Member(network, ())]}, RECIPE, replace(TRAINER)
    )
    assert len(list(predictor.predict_exams(exams))) == 5
    return seen


@pytest.mark.parametrize(("free", "home"), [(3000, "cpu"), (30_000_000, None)])
def test_exams_that_a_gpu_cannot_hold_stay_with_the_host(
    monkeypatch: pytest.MonkeyPatch, free: int, home: str | None
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free, free))
    images = [torch.zeros(1, 8, 16, 16)]
    found = choose_home(images, 118, torch.device("cuda"))
    assert found == (None if home is None else torch.device(home))
    assert choose_home(images, 118, torch.device("cpu")) is None


def test_asking_for_a_gpu_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="no GPU is visible: use trainer=cpu"):
        choose_device(replace(TRAINER, accelerator="gpu"))


def test_missing_weights_are_named(tmp_path: Path) -> None:
    plan = make_plans().configuration("2d")
    with pytest.raises(FileNotFoundError, match=r"final\.pt is missing: the fold is not trained"):
        load_member(tmp_path / "final.pt", plan, FACTS)


def test_stored_exam_comes_back(tmp_path: Path) -> None:
    image, label = draw_exam(1, (9, 16, 14))
    image[:, :, :3] = 0
    image[0, 1, 5, 0] = 0
    plans = make_plans()
    array, geometry = preprocess_image(image, SPACING, plans, "3d_fullres")
    prepared = preprocess_label(label, geometry, FACTS.foreground)
    store_image(tmp_path / "images", "a", array, geometry, "float16")
    store_label(tmp_path / "labels", "a", prepared, label)
    found = load_geometry(tmp_path / "images", "a")
    assert replace(found, inside=None) == replace(geometry, inside=None)
    assert geometry.inside is not None
    np.testing.assert_array_equal(found.inside, geometry.inside)
    exam = StoredExam("a", tmp_path / "images", tmp_path / "labels")
    np.testing.assert_allclose(exam.image, array, atol=5e-3)
    np.testing.assert_array_equal(exam.label, prepared.array)
    np.testing.assert_array_equal(exam.original, label)
    for value, voxels in prepared.locations.items():
        np.testing.assert_array_equal(exam.locations[value], voxels)
    assert not list(tmp_path.rglob(".*"))


def test_stored_probabilities_come_back_within_a_step(tmp_path: Path) -> None:
    probabilities = np.random.default_rng(0).dirichlet([0.3, 0.2, 0.1], (4, 5, 6))
    whole = np.moveaxis(probabilities, -1, 0).astype(np.float32)
    store_probabilities(tmp_path, "a", whole)
    np.testing.assert_allclose(load_probabilities(tmp_path, "a"), whole, atol=1.01 / 255)


def test_exam_that_is_not_preprocessed_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"b\.npz is missing: the exam is not preprocessed"):
        load_geometry(tmp_path, "b")
