"""The planner against plans that nnU-Net 2.8.1 wrote, and the plan the paper's training printed."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tworulers.recipe.derived import (
    deep_supervision_scales,
    deep_supervision_weights,
    feature_map_estimate,
    forced_foreground,
    initial_patch_size,
    mirror_axes,
    require_memory,
    rotation_range,
    uses_dummy_2d,
)
from tworulers.recipe.fingerprint import Fingerprint
from tworulers.recipe.network import build_network
from tworulers.recipe.plan import ConfigurationPlan, DatasetFacts, Plans
from tworulers.recipe.plan_json import plans_from_json, plans_to_json
from tworulers.recipe.planner import plan_dataset


def load(name: str) -> Any:
    file = Path(__file__).parents[2] / "golden" / f"nnunet_{name}.json.gz"
    return json.loads(gzip.decompress(file.read_bytes()))


def collect_cases() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    cases = {case["name"]: (case, case["expected"]) for case in load("planner_cases")["cases"]}
    hippocampus = load("hippocampus_plan")
    known = {
        "spacings": [[1.0, 1.0, 1.0]] * 260,
        "planner": "L",
        "median_relative_size_after_cropping": 1.0,
    }
    cases["hippocampus"] = ({**hippocampus, **known}, hippocampus["plan"])
    spine = load("cspine_like_fingerprint")
    cases["cspine_like"] = ({**spine, "planner": "L"}, load("cspine_like_plan")["plan"])
    paper = load("paper_plan")
    facts = paper["case"]
    known = {
        "spacings": [facts["spacing_every_case"]] * 2,
        "shapes_after_crop": [facts["shape_every_case"]] * 2,
        "planner": "L",
    }
    cases["paper"] = ({**facts, **known}, paper["plan"])
    return cases


CASES = collect_cases()


def plan(case: dict[str, Any], **options: Any) -> Plans:
    labels = {f"structure {i}" if i else "background": i for i in range(case["num_labels"])}
    facts = DatasetFacts("Dataset", tuple(case["channel_names"]), labels, case["num_training"])
    fingerprint = Fingerprint(
        tuple(map(tuple, case["spacings"])),
        tuple(map(tuple, case["shapes_after_crop"])),
        {},
        case["median_relative_size_after_cropping"],
    )
    options.setdefault("spacing", case.get("overwrite_target_spacing"))
    return plan_dataset(fingerprint, facts, case["planner"], **options)


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def facts_of(configuration: ConfigurationPlan) -> dict[str, Any]:
    patch, arch = configuration.patch_size, configuration.architecture
    scales = deep_supervision_scales(arch)
    return {
        "dummy_2d_augmentation": uses_dummy_2d(patch),
        "rotation_degrees": rotation_range(patch),
        "initial_patch_size": initial_patch_size(patch),
        "mirror_axes": mirror_axes(patch),
        "deep_supervision_scales": scales,
        "deep_supervision_loss_weights": deep_supervision_weights(len(scales)),
        "foreground_forced_per_batch": sum(forced_foreground(configuration.batch_size)),
    }


def test_there_are_26_recorded_plans() -> None:
    assert len(CASES) == 26


@pytest.mark.parity
@pytest.mark.parametrize("name", CASES)
def test_plan_is_the_recorded_one(name: str) -> None:
    case, expected = CASES[name]
    plans = plan(case)
    for key in ("transpose_forward", "transpose_backward", "original_median_shape_after_transp"):
        assert list(getattr(plans, key)) == expected[key]
    np.testing.assert_allclose(
        plans.original_median_spacing_after_transp,
        expected["original_median_spacing_after_transp"],
        rtol=1e-12,
    )
    assert list(plans.configurations) == list(expected["configurations"])
    for kind, recorded in expected["configurations"].items():
        configuration = plans.configurations[kind]
        for key, value in recorded.items():
            if key == "derived":
                continue
            owner = configuration if hasattr(configuration, key) else configuration.architecture
            found = plain(getattr(owner, key))
            if key == "spacing":
                np.testing.assert_allclose(found, value, rtol=1e-12)
            else:
                assert found == value, (kind, key)


@pytest.mark.parity
@pytest.mark.parametrize("name", CASES)
def test_what_follows_from_a_plan_is_as_recorded(name: str) -> None:
    case, expected = CASES[name]
    plans = plan(case)
    for kind, recorded in expected["configurations"].items():
        if "derived" not in recorded:
            continue
        configuration = plans.configurations[kind]
        derived = dict(recorded["derived"])
        estimate = feature_map_estimate(configuration, case["num_labels"])
        assert estimate == derived.pop("feature_map_estimate")
        n_parameters = derived.pop("num_parameters")
        if configuration.architecture.n_stages > 1:
            with torch.device("meta"):
                network = build_network(
                    configuration.architecture, len(case["channel_names"]), case["num_labels"]
                )
            assert sum(p.numel() for p in network.parameters()) == n_parameters
        assert plain(facts_of(configuration)) == derived, kind


@pytest.mark.parity
@pytest.mark.parametrize("name", CASES)
def test_plans_survive_json(name: str) -> None:
    plans = plan(CASES[name][0])
    assert plans_from_json(plain(plans_to_json(plans))) == plans


def test_preset_names_the_plans() -> None:
    case = CASES["preset_M_ct"][0]
    plans = plan(case)
    assert plans.plans_name == "nnUNetResEncUNetMPlans"
    assert plans.experiment_planner_used == "nnUNetPlannerResEncM"
    assert plans.configurations["3d_lowres"].data_identifier == ("nnUNetResEncUNetMPlans_3d_lowres")


def test_coverage_cap_bounds_the_batch() -> None:
    plans = plan(CASES["hippocampus"][0], coverage_cap=0.05)
    batches = {name: c.batch_size for name, c in plans.configurations.items()}
    assert batches == {"2d": 366, "3d_fullres": 9}


def test_a_smaller_preset_gives_a_smaller_patch() -> None:
    small = plan({**CASES["paper"][0], "planner": "M"}).configurations["3d_fullres"]
    assert np.prod(small.patch_size) < 16 * 512 * 512
    assert feature_map_estimate(small, 3) <= 680e6


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(ValueError, match="M, L, XL"):
        plan({**CASES["paper"][0], "planner": "XXL"})


def test_another_memory_changes_the_plan_as_much_as_the_preset_does_not_fill() -> None:
    case = CASES["paper"][0]
    own = plan(case).configurations["3d_fullres"]
    assert plan(case, memory_gb=24.0).configurations["3d_fullres"] == own
    card = plan(case, memory_gb=8.0).configurations["3d_fullres"]
    assert feature_map_estimate(card, 3) * card.batch_size < 0.4 * own.batch_size * (
        feature_map_estimate(own, 3)
    )


def test_sixteen_bits_and_parts_of_a_batch_take_less_memory() -> None:
    configuration = plan(CASES["paper"][0]).configurations["3d_fullres"]
    require_memory(configuration, 3, 8 * 10**9, bytes_per_element=2)
    require_memory(configuration, 3, 8 * 10**9, samples=1)


def test_patch_larger_than_memory_is_refused() -> None:
    configuration = plan(CASES["paper"][0]).configurations["3d_fullres"]
    require_memory(configuration, 3, 16 * 10**9)
    with pytest.raises(ValueError, match=r"at least 15\.6 GB .* override patch_size"):
        require_memory(configuration, 3, 8 * 10**9)
