"""Plans as plain data: nnU-Net's own files, old plans, inheritance, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from tworulers.recipe.plan import Architecture, DatasetFacts
from tworulers.recipe.plan_json import (
    facts_from_json,
    facts_to_json,
    plans_from_json,
    plans_to_json,
)

MODEL = Path(__file__).parents[2] / "golden" / "tiny_model"


@pytest.fixture
def written() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((MODEL / "plans.json").read_text())
    return data


@pytest.mark.parity
def test_plans_of_a_trained_model_are_written_back_as_they_were(written: dict[str, Any]) -> None:
    assert plans_to_json(plans_from_json(written)) == written


def test_cascade_inherits_from_fullres(written: dict[str, Any]) -> None:
    written["configurations"]["3d_cascade_fullres"] = {
        "inherits_from": "3d_fullres",
        "previous_stage": "3d_lowres",
        "batch_size": 7,
    }
    plans = plans_from_json(written)
    cascade, full = plans.configuration("3d_cascade_fullres"), plans.configuration("3d_fullres")
    assert cascade.batch_size == 7
    assert cascade.patch_size == full.patch_size
    assert plans_to_json(plans) == written


@pytest.mark.parametrize("parent", ["3d_cascade_fullres", "nowhere"])
def test_inheritance_that_leads_nowhere_is_refused(written: dict[str, Any], parent: str) -> None:
    written["configurations"]["3d_cascade_fullres"] = {"inherits_from": parent}
    with pytest.raises(ValueError, match=f"leads nowhere: 3d_cascade_fullres -> {parent}"):
        plans_from_json(written)


def test_old_plans_without_architecture_are_read(written: dict[str, Any]) -> None:
    new = plans_from_json(written).configurations["3d_fullres"].architecture
    configuration = written["configurations"]["3d_fullres"]
    del configuration["architecture"]
    configuration |= {
        "UNet_class_name": "ResidualEncoderUNet",
        "UNet_base_num_features": 4,
        "unet_max_num_features": 6,
        "n_conv_per_stage_encoder": [1, 2, 2],
        "n_conv_per_stage_decoder": [1, 1],
        "conv_kernel_sizes": [[1, 3, 3], [3, 3, 3], [3, 3, 3]],
        "pool_op_kernel_sizes": [[1, 1, 1], [1, 2, 2], [2, 2, 2]],
        "num_pool_per_axis": [1, 2, 2],
    }
    assert plans_from_json(written).configurations["3d_fullres"].architecture == new


def test_parts_that_are_not_built_are_refused_by_name(written: dict[str, Any]) -> None:
    kwargs = written["configurations"]["3d_fullres"]["architecture"]["arch_kwargs"]
    kwargs["norm_op"] = "torch.nn.modules.batchnorm.BatchNorm3d"
    with pytest.raises(ValueError, match=r"norm_op is .*BatchNorm3d.*, not 'InstanceNorm3d'"):
        plans_from_json(written)


def test_missing_keys_are_listed(written: dict[str, Any]) -> None:
    del written["configurations"]["3d_fullres"]["spacing"]
    with pytest.raises(ValueError, match="'3d_fullres' lacks spacing"):
        plans_from_json(written)


def test_unknown_configuration_lists_the_known_ones(written: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no configuration '2d': 3d_fullres"):
        plans_from_json(written).configuration("2d")


def test_facts_survive_json() -> None:
    labels = {"background": 0, "body": 1, "disc": 2, "ignore": 3}
    facts = DatasetFacts("Spine", ("MRI", "CT"), labels, 12)
    assert facts_from_json(facts_to_json(facts)) == facts
    assert (facts.n_classes, facts.foreground, facts.ignore_label) == (3, (1, 2), 3)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"background": 0, "whole": [1, 2], "core": 2}, r"regions \(whole\)"),
        ({"background": 0, "body": 2}, "consecutive"),
        ({"body": 0, "disc": 1}, "background 0"),
        ({"background": 0, "ignore": 1, "body": 2}, "highest"),
    ],
)
def test_labels_that_cannot_be_trained_are_refused(labels: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        facts_from_json({"channel_names": {"0": "MRI"}, "labels": labels})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strides": ((1, 1),)}, "strides has 1 entries, 2 stages need 2"),
        ({"kernel_sizes": ((3, 3), (2, 2))}, "must be odd"),
        ({"n_blocks_per_stage": (1, 0)}, "at least 1"),
    ],
)
def test_numbers_that_make_no_network_are_refused(change: dict[str, Any], message: str) -> None:
    numbers: dict[str, Any] = {
        "features_per_stage": (4, 8),
        "kernel_sizes": ((3, 3), (3, 3)),
        "strides": ((1, 1), (2, 2)),
        "n_blocks_per_stage": (1, 1),
        "n_conv_per_stage_decoder": (1,),
    }
    Architecture(**numbers)
    with pytest.raises(ValueError, match=message):
        Architecture(**{**numbers, **change})
