"""Plans as plain data: nnU-Net's own files, old plans, inheritance, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tworulers.recipe.plan import Architecture, DatasetFacts
from tworulers.recipe.plan_json import (
    facts_from_json,
    facts_to_json,
    plans_from_json,
    plans_to_json,
)
from tworulers.recipe.preprocess import normalise, preprocess_image
from tworulers.recipe.resample import resample_image

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
    cascade, full = plans.configurations["3d_cascade_fullres"], plans.configuration("3d_fullres")
    assert cascade.batch_size == 7
    assert cascade.patch_size == full.patch_size
    assert plans_to_json(plans) == written
    with pytest.raises(ValueError, match="second step of a cascade"):
        plans.configuration("3d_cascade_fullres")


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


KWARGS = "architecture.arch_kwargs"


@pytest.mark.parametrize(
    ("field", "value", "supported"),
    [
        ("resampling_fn_data", "resample_torch_fornnunet", "'resample_data_or_seg_to_shape'"),
        ("resampling_fn_probabilities", "no_resampling_hack", "'resample_data_or_seg_to_shape'"),
        ("resampling_fn_seg", None, "'resample_data_or_seg_to_shape'"),
        ("resampling_fn_data_kwargs.force_separate_z", True, "None"),
        ("resampling_fn_data_kwargs.order_z", 1, "0"),
        ("resampling_fn_data_kwargs.order", 9, "0 or 1 or 2 or 3 or 4 or 5"),
        ("resampling_fn_data_kwargs.separate_z_anisotropy_threshold", 2, "3"),
        ("resampling_fn_seg_kwargs.order", 0, "1"),
        ("resampling_fn_probabilities_kwargs.order", 3, "1"),
        ("preprocessor_name", "OwnPreprocessor", "'DefaultPreprocessor'"),
        (f"{KWARGS}.norm_op_kwargs.eps", 1e-3, "1e-05"),
        (f"{KWARGS}.norm_op_kwargs.affine", False, "True"),
        (f"{KWARGS}.nonlin_kwargs.negative_slope", 0.2, "0.01"),
        (f"{KWARGS}.conv_bias", False, "True"),
    ],
)
def test_a_value_that_is_not_acted_on_is_refused_by_name(
    written: dict[str, Any], field: str, value: Any, supported: str
) -> None:
    place = written["configurations"]["3d_fullres"]
    *parents, last = field.split(".")
    for parent in parents:
        place = place[parent]
    place[last] = value
    said = f"{field.removeprefix('architecture.')} is {value!r}, not {supported}"
    with pytest.raises(ValueError, match=re.escape(said)):
        plans_from_json(written)


@pytest.mark.parametrize(
    ("field", "value", "supported"),
    [
        ("image_reader_writer", "NibabelIOWithReorient", "'SimpleITKIO' or 'NibabelIO'"),
        ("label_manager", "OwnManager", "'LabelManager'"),
        ("transpose_backward", [1, 2, 0], "[0, 1, 2]"),
    ],
)
def test_plans_of_another_making_are_refused_by_name(
    written: dict[str, Any], field: str, value: Any, supported: str
) -> None:
    written[field] = value
    with pytest.raises(ValueError, match=re.escape(f"{field} is {value!r}, not {supported}")):
        plans_from_json(written)


@pytest.mark.parametrize(
    "part", [{"stem_channels": 8}, {"bottleneck_channels": 4}, {"squeeze_excitation": True}]
)
def test_parts_of_a_network_that_are_not_known_are_refused(
    written: dict[str, Any], part: dict[str, Any]
) -> None:
    written["configurations"]["3d_fullres"]["architecture"]["arch_kwargs"] |= part
    with pytest.raises(ValueError, match=rf"arch_kwargs\.{next(iter(part))} is .* not built here"):
        plans_from_json(written)


def test_all_refused_values_are_in_one_list(written: dict[str, Any]) -> None:
    configuration = written["configurations"]["3d_fullres"]
    configuration["preprocessor_name"] = "Own"
    configuration["resampling_fn_seg_kwargs"] = {}
    with pytest.raises(ValueError, match="preprocessor_name") as told:
        plans_from_json(written)
    # Silent arguments are what nnU-Net's function takes, not what its planner writes.
    for said in ("seg_kwargs.order is 3, not 1", "is_seg is False, not True", "'3d_fullres'"):
        assert said in str(told.value)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_order_of_image_splines_is_obeyed_and_written_back(
    written: dict[str, Any], order: int
) -> None:
    written["configurations"]["3d_fullres"]["resampling_fn_data_kwargs"]["order"] = order
    plans = plans_from_json(written)
    assert plans_to_json(plans) == written
    image = np.random.default_rng(order).normal(size=(1, 12, 20, 20))
    spacing, target = (3.0, 1.25, 1.0), plans.configuration("3d_fullres").spacing
    array, geometry = preprocess_image(image, spacing, plans, "3d_fullres")
    standard = normalise(
        image.astype(np.float32),
        np.ones(image.shape[1:], bool),
        plans.configuration("3d_fullres"),
        {},
    )
    expected = resample_image(standard, geometry.shape, spacing, target, order)
    np.testing.assert_allclose(array, expected, atol=1e-6)


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
