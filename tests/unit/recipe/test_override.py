"""A recipe's overrides: what they change, what follows, and that the result is a plan."""

import json
from dataclasses import replace

import pytest
import torch

from tworulers.recipe.fingerprint import Fingerprint
from tworulers.recipe.interop import Member
from tworulers.recipe.module import SegmentationModule
from tworulers.recipe.network import build_network
from tworulers.recipe.override import override_plans
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.plan_json import plans_from_json, plans_to_json
from tworulers.recipe.planner import plan_dataset
from tworulers.recipe.predict import ExamPredictor
from tworulers.schema.settings import PlanOverrides, Recipe, Trainer


@pytest.fixture(scope="module")
def spine() -> Plans:
    facts = DatasetFacts("Spine", ("MRI",), {"background": 0, "body": 1, "disc": 2}, 300)
    spacing, shape = (4.0, 1.25, 1.25), (10, 120, 72)
    return plan_dataset(Fingerprint((spacing,) * 3, (shape,) * 3, {}, 1.0), facts)


TINY = PlanOverrides(
    batch_size={"2d": 8, "3d_fullres": 2},
    base_features=8,
    blocks_per_stage=1,
    stages=3,
    space_to_depth=2,
)


def test_tiny_plan_folds_the_fine_axes_only(spine: Plans) -> None:
    full = override_plans(spine, TINY).configurations["3d_fullres"]
    assert full.architecture.space_to_depth == (1, 2, 2)
    assert full.architecture.features_per_stage == (8, 16, 32)
    assert full.architecture.n_blocks_per_stage == (1, 1, 1)
    assert full.batch_size == 2
    assert all(n % d == 0 for n, d in zip(full.patch_size, full.architecture.divisor, strict=True))


def test_tiny_plans_are_plain_data(spine: Plans) -> None:
    plans = override_plans(spine, TINY)
    assert plans_from_json(json.loads(json.dumps(plans_to_json(plans)))) == plans


def test_tiny_network_gives_logits_on_the_grid_of_the_image(spine: Plans) -> None:
    for plan in override_plans(spine, TINY).configurations.values():
        network = build_network(plan.architecture, 1, 3)
        heads = network(torch.zeros(1, 1, *plan.patch_size), deep_supervision=True)
        assert heads[0].shape == (1, 3, *plan.patch_size)
        assert len(heads) == 2


def test_nothing_overridden_is_the_same_plan(spine: Plans) -> None:
    assert override_plans(spine, PlanOverrides()) == spine


def test_patch_is_rounded_up_to_what_the_network_divides(spine: Plans) -> None:
    overrides = PlanOverrides(patch_size={"3d_fullres": [10, 50, 33]}, stages=3)
    changed = override_plans(spine, overrides).configurations["3d_fullres"]
    assert changed.patch_size == (10, 52, 36)
    assert changed.architecture.divisor == (2, 4, 4)


def test_spacing_rescales_the_median_image_and_renames_the_data(spine: Plans) -> None:
    overrides = PlanOverrides(spacing=[2.5, 2.5, 4.0])
    changed = override_plans(spine, overrides).configurations["3d_fullres"]
    assert changed.median_image_size_in_voxels == (10, 60, 36)
    assert changed.data_identifier == "nnUNetPlans_3d_fullres_4x2.5x2.5"


def test_spacing_of_a_recipe_is_along_the_axes_of_the_files() -> None:
    facts = DatasetFacts("Spine", ("MRI",), {"background": 0, "body": 1}, 9)
    last = Fingerprint(((1.0, 1.0, 5.0),) * 3, ((90, 80, 12),) * 3, {}, 1.0)
    plans = override_plans(plan_dataset(last, facts), PlanOverrides(spacing=[6.0, 1.5, 2.0]))
    assert plans.configurations["3d_fullres"].spacing == (6.0, 2.0, 1.5)
    assert plans.configurations["2d"].spacing == (2.0, 1.5)


@pytest.mark.parametrize("name", ["2d", "3d_fullres"])
def test_batch_alone_leaves_the_network_and_its_patch(spine: Plans, name: str) -> None:
    plans = override_plans(spine, PlanOverrides(batch_size={name: 3}))
    assert plans.configurations[name] == replace(spine.configurations[name], batch_size=3)


def test_unknown_names_are_refused(spine: Plans) -> None:
    with pytest.raises(ValueError, match="3d_lowres, which the plans do not have"):
        override_plans(spine, PlanOverrides(batch_size={"3d_lowres": 2}))


def test_more_stages_than_the_patch_allows_are_refused(spine: Plans) -> None:
    with pytest.raises(ValueError, match=r"stages is 9, .* at most: set recipe\.plan\.stages=\d"):
        override_plans(spine, PlanOverrides(stages=9))


def test_the_memory_layout_follows_from_the_network_and_stays_with_the_plan(spine: Plans) -> None:
    layouts = {}
    for name, overrides in (("tiny", TINY), ("full", PlanOverrides())):
        plans = plans_from_json(plans_to_json(override_plans(spine, overrides)))
        layouts[name] = [plans.configurations[c].channels_last for c in ("2d", "3d_fullres")]
    assert layouts == {"tiny": [False, True], "full": [False, False]}


@pytest.mark.parametrize("layout", [True, False])
def test_training_and_prediction_run_in_the_layout_of_the_plan(spine: Plans, layout: bool) -> None:
    plans = override_plans(spine, TINY)
    plan = replace(plans.configurations["3d_fullres"], channels_last=layout)
    module = SegmentationModule(plan, Recipe(), Trainer(), 1, 3)
    facts = DatasetFacts("Spine", ("MRI",), {"background": 0, "body": 1, "disc": 2}, 300)
    network = build_network(plan.architecture, 1, 3)
    changed = replace(plans, configurations={"3d_fullres": plan})
    ExamPredictor(changed, facts, {"3d_fullres": [Member(network, ())]}, Recipe(), Trainer())
    for built in (module.network, network):
        kernels = [p for p in built.parameters() if p.ndim == 5 and min(p.shape[:3]) > 1]
        assert kernels
        last = [k.is_contiguous(memory_format=torch.channels_last_3d) for k in kernels]
        assert all(last) if layout else not any(last)
