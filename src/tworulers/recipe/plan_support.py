"""Which values of nnU-Net's plans are acted on here: any other is refused by name, never replaced.

Fields that nnU-Net itself does not read are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tworulers.recipe.axes import READERS

Json = Mapping[str, Any]

PREPROCESSOR = "DefaultPreprocessor"
LABEL_MANAGER = "LabelManager"
RESAMPLING = "resample_data_or_seg_to_shape"
RESAMPLING_DEFAULTS: Json = {
    "is_seg": False, "order": 3, "order_z": 0, "force_separate_z": False,
    "separate_z_anisotropy_threshold": 3,
}  # fmt: skip
"""What nnU-Net's function takes where its `kwargs` are silent."""

RESAMPLING_ORDERS: Mapping[str, tuple[int, ...]] = {
    "data": (0, 1, 2, 3, 4, 5), "seg": (1,), "probabilities": (1,),
}  # fmt: skip
NUMBERS = (
    "n_stages", "features_per_stage", "kernel_sizes", "strides", "n_blocks_per_stage",
    "n_conv_per_stage", "n_conv_per_stage_decoder", "space_to_depth",
)  # fmt: skip
PARTS = ("conv_op", "norm_op", "nonlin", "dropout_op", "conv_bias")
NORM: Json = {"eps": 1e-5, "affine": True, "momentum": 0.1, "track_running_stats": False}
LEAKY: Json = {"negative_slope": 0.01, "inplace": True}


def require_supported(plans: Json, configurations: Mapping[str, Json]) -> None:
    """Refuse plans that ask for what is not done here.

    Parameters
    ----------
    plans
        As read from JSON.
    configurations
        Every configuration with what it inherits filled in.

    Raises
    ------
    ValueError
        Every such field with its value and what is supported, all in one list.
    """
    faults = list(_check_plans(plans))
    for name, configuration in configurations.items():
        checks = (_check_resampling, _check_architecture)
        found = [fault for check in checks for fault in check(configuration)]
        preprocessor = configuration.get("preprocessor_name", PREPROCESSOR)
        if preprocessor != PREPROCESSOR:
            found.append(f"preprocessor_name is {preprocessor!r}, not {PREPROCESSOR!r}")
        faults += [f"configuration {name!r}: {fault}" for fault in found]
    if faults:
        raise ValueError(
            "The plans ask for what is not done here:\n  "
            + "\n  ".join(faults)
            + "\nPlan with values that are supported, or use the tool that made these plans."
        )


def _check_plans(plans: Json) -> Iterator[str]:
    reader = plans.get("image_reader_writer", READERS[0])
    if reader not in READERS:
        yield f"image_reader_writer is {reader!r}, not {' or '.join(map(repr, READERS))}"
    manager = plans.get("label_manager", LABEL_MANAGER)
    if manager != LABEL_MANAGER:
        yield f"label_manager is {manager!r}, not {LABEL_MANAGER!r}"
    forward, backward = plans["transpose_forward"], list(plans["transpose_backward"])
    undone = [list(forward).index(axis) for axis in range(len(forward)) if axis in forward]
    if undone != backward:
        yield f"transpose_backward is {backward}, not {undone} (what undoes transpose_forward)"


def _check_resampling(configuration: Json) -> Iterator[str]:
    for part, orders in RESAMPLING_ORDERS.items():
        field = f"resampling_fn_{part}"
        function = configuration.get(field)
        if function != RESAMPLING:
            yield f"{field} is {function!r}, not {RESAMPLING!r}"
            continue
        given = configuration.get(f"{field}_kwargs") or {}
        values = {**RESAMPLING_DEFAULTS, **given}
        supported = {
            **RESAMPLING_DEFAULTS, "is_seg": part == "seg", "force_separate_z": None,
        }  # fmt: skip
        order = values.pop("order")
        if order not in orders:
            yield f"{field}_kwargs.order is {order!r}, not {' or '.join(map(str, orders))}"
        yield from _compare(f"{field}_kwargs", values, supported)


def _check_architecture(configuration: Json) -> Iterator[str]:
    if "architecture" not in configuration:
        return
    dimension = len(configuration["patch_size"])
    kwargs = configuration["architecture"]["arch_kwargs"]
    expected = {
        "conv_op": f"Conv{dimension}d",
        "norm_op": f"InstanceNorm{dimension}d",
        "nonlin": "LeakyReLU",
        "dropout_op": None,
        "conv_bias": True,
    }
    for part in PARTS:
        found = kwargs.get(part)
        if (found.rsplit(".", 1)[-1] if isinstance(found, str) else found) != expected[part]:
            yield f"arch_kwargs.{part} is {found!r}, not {expected[part]!r}"
    norm = {"affine": False, **(kwargs.get("norm_op_kwargs") or {})}
    yield from _compare("arch_kwargs.norm_op_kwargs", norm, NORM)
    leaky = kwargs.get("nonlin_kwargs") or {}
    yield from _compare("arch_kwargs.nonlin_kwargs", {**leaky, "inplace": True}, LEAKY)
    known = {*NUMBERS, *PARTS, "norm_op_kwargs", "nonlin_kwargs", "dropout_op_kwargs"}
    for name in sorted(set(kwargs) - known):
        if kwargs[name] not in (None, False):
            yield f"arch_kwargs.{name} is {kwargs[name]!r}, which is not built here"


def _compare(field: str, values: Json, supported: Json) -> Iterator[str]:
    for name, value in values.items():
        if name not in supported:
            yield f"{field}.{name} is {value!r}, which is not known here"
        elif value != supported[name]:
            yield f"{field}.{name} is {value!r}, not {supported[name]!r}"
