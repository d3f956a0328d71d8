"""How plans are written as plain data with nnU-Net's key names, and read back, old ones too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tworulers.recipe.axes import READERS
from tworulers.recipe.plan import (
    Architecture,
    Axes,
    ConfigurationPlan,
    DatasetFacts,
    Plans,
)
from tworulers.recipe.plan_support import (
    LABEL_MANAGER,
    PREPROCESSOR,
    RESAMPLING,
    require_supported,
)

Json = dict[str, Any]
REQUIRED = (
    "data_identifier", "batch_size", "patch_size", "median_image_size_in_voxels", "spacing",
    "normalization_schemes", "use_mask_for_norm",
)  # fmt: skip
NETWORK_MODULE = "dynamic_network_architectures.architectures.unet"


def plans_to_json(plans: Plans) -> Json:
    """The plans as nested dicts and lists; classes are named as dotted text."""
    written = {n: _configuration_to_json(c) for n, c in plans.configurations.items()}
    for name, configuration in plans.configurations.items():
        parent = written.get(configuration.inherits_from or "")
        if parent is not None:
            kept = ("inherits_from", "previous_stage", "next_stage")
            written[name] = {
                key: value
                for key, value in written[name].items()
                if key in kept or parent.get(key) != value
            }
    return {
        "dataset_name": plans.dataset_name,
        "plans_name": plans.plans_name,
        "original_median_spacing_after_transp": list(plans.original_median_spacing_after_transp),
        "original_median_shape_after_transp": list(plans.original_median_shape_after_transp),
        "image_reader_writer": plans.image_reader_writer,
        "transpose_forward": list(plans.transpose_forward),
        "transpose_backward": list(plans.transpose_backward),
        "configurations": written,
        "experiment_planner_used": plans.experiment_planner_used,
        "label_manager": LABEL_MANAGER,
        "foreground_intensity_properties_per_channel": {
            channel: dict(properties)
            for channel, properties in plans.foreground_intensity_properties_per_channel.items()
        },
    }


def plans_from_json(data: Mapping[str, Any]) -> Plans:
    """Read plans written by `plans_to_json` or by nnU-Net, with or without `architecture`.

    Raises
    ------
    ValueError
        A key that is missing, an inheritance that leads nowhere, or values that are not acted on
        here, each by name.
    """
    _require(data, ("configurations", "transpose_forward", "transpose_backward"), "The plans")
    written = data["configurations"]
    resolved = {name: _resolve(written, name) for name in written}
    for name, content in resolved.items():
        _require(content, REQUIRED, f"Configuration {name!r}")
    require_supported(data, resolved)
    forward, backward = _ints(data["transpose_forward"]), _ints(data["transpose_backward"])
    return Plans(
        dataset_name=str(data.get("dataset_name", "")),
        plans_name=str(data.get("plans_name", "nnUNetPlans")),
        original_median_spacing_after_transp=tuple(
            float(s) for s in data.get("original_median_spacing_after_transp", ())
        ),
        original_median_shape_after_transp=_ints(
            data.get("original_median_shape_after_transp", ())
        ),
        transpose_forward=forward,
        transpose_backward=backward,
        configurations={
            name: _configuration_from_json(name, content) for name, content in resolved.items()
        },
        experiment_planner_used=str(data.get("experiment_planner_used", "")),
        foreground_intensity_properties_per_channel=data.get(
            "foreground_intensity_properties_per_channel", {}
        ),
        image_reader_writer=str(data.get("image_reader_writer", READERS[0])),
    )


def facts_to_json(facts: DatasetFacts) -> Json:
    """The facts under the key names of nnU-Net's `dataset.json`."""
    return {
        "channel_names": {str(i): name for i, name in enumerate(facts.channel_names)},
        "labels": dict(facts.labels),
        "numTraining": facts.num_training,
        "file_ending": facts.file_ending,
        "name": facts.name,
    }


def facts_from_json(data: Mapping[str, Any], name: str = "") -> DatasetFacts:
    """Read a `dataset.json`.

    Raises
    ------
    ValueError
        A key that is missing, labels that are not consecutive from background 0, an ignore label
        that is not the highest, or region-based labels, which are not trained here.
    """
    _require(data, ("channel_names", "labels"), "dataset.json")
    regions = [k for k, v in data["labels"].items() if not isinstance(v, int | str)]
    if regions:
        raise ValueError(
            f"dataset.json defines regions ({', '.join(regions)}): only one integer a label is "
            "supported. Give every structure its own label."
        )
    labels = {str(k): int(v) for k, v in data["labels"].items()}
    if labels.get("background") != 0 or sorted(labels.values()) != list(range(len(labels))):
        raise ValueError(f"Labels must be consecutive integers with background 0, found {labels}.")
    if labels.get("ignore", len(labels) - 1) != len(labels) - 1:
        raise ValueError(f"The ignore label must be the highest value, found {labels}.")
    channels = data["channel_names"]
    return DatasetFacts(
        name=str(data.get("name", name)),
        channel_names=tuple(str(channels[key]) for key in sorted(channels, key=int)),
        labels=labels,
        num_training=int(data.get("numTraining", 0)),
        file_ending=str(data.get("file_ending", ".nii.gz")),
    )


def _configuration_to_json(plan: ConfigurationPlan) -> Json:
    data: Json = {
        "data_identifier": plan.data_identifier,
        "preprocessor_name": PREPROCESSOR,
        "batch_size": plan.batch_size,
        "patch_size": list(plan.patch_size),
        "median_image_size_in_voxels": list(plan.median_image_size_in_voxels),
        "spacing": list(plan.spacing),
        "normalization_schemes": list(plan.normalization_schemes),
        "use_mask_for_norm": list(plan.use_mask_for_norm),
    }
    for name, order in (("data", plan.image_order), ("seg", 1), ("probabilities", 1)):
        data[f"resampling_fn_{name}"] = RESAMPLING
        data[f"resampling_fn_{name}_kwargs"] = {
            "is_seg": name == "seg",
            "order": order,
            "order_z": 0,
            "force_separate_z": None,
        }
    data["architecture"] = _architecture_to_json(plan.architecture)
    data["batch_dice"] = plan.batch_dice
    if plan.channels_last:
        data["channels_last"] = True
    for name in ("inherits_from", "previous_stage", "next_stage"):
        if getattr(plan, name) is not None:
            data[name] = getattr(plan, name)
    return data


def _configuration_from_json(name: str, data: Mapping[str, Any]) -> ConfigurationPlan:
    return ConfigurationPlan(
        data_identifier=str(data["data_identifier"]),
        spacing=tuple(float(s) for s in data["spacing"]),
        patch_size=_ints(data["patch_size"]),
        batch_size=int(data["batch_size"]),
        median_image_size_in_voxels=tuple(float(n) for n in data["median_image_size_in_voxels"]),
        normalization_schemes=tuple(str(s) for s in data["normalization_schemes"]),
        use_mask_for_norm=tuple(bool(m) for m in data["use_mask_for_norm"]),
        batch_dice=bool(data.get("batch_dice", False)),
        architecture=_architecture_from_json(name, data),
        image_order=int((data["resampling_fn_data_kwargs"] or {}).get("order", 3)),
        channels_last=bool(data.get("channels_last", False)),
        inherits_from=data.get("inherits_from"),
        previous_stage=data.get("previous_stage"),
        next_stage=data.get("next_stage"),
    )


def _architecture_to_json(arch: Architecture) -> Json:
    kwargs: Json = {
        "n_stages": arch.n_stages,
        "features_per_stage": list(arch.features_per_stage),
        "conv_op": f"torch.nn.modules.conv.Conv{arch.dimension}d",
        "kernel_sizes": [list(k) for k in arch.kernel_sizes],
        "strides": [list(s) for s in arch.strides],
        "n_blocks_per_stage": list(arch.n_blocks_per_stage),
        "n_conv_per_stage_decoder": list(arch.n_conv_per_stage_decoder),
        "conv_bias": True,
        "norm_op": f"torch.nn.modules.instancenorm.InstanceNorm{arch.dimension}d",
        "norm_op_kwargs": {"eps": 1e-05, "affine": True},
        "dropout_op": None,
        "dropout_op_kwargs": None,
        "nonlin": "torch.nn.LeakyReLU",
        "nonlin_kwargs": {"inplace": True},
    }
    if any(f != 1 for f in arch.space_to_depth):
        kwargs["space_to_depth"] = list(arch.space_to_depth)
    return {
        "network_class_name": f"{NETWORK_MODULE}.{arch.network}",
        "arch_kwargs": kwargs,
        "_kw_requires_import": ["conv_op", "norm_op", "dropout_op", "nonlin"],
    }


def _architecture_from_json(name: str, data: Mapping[str, Any]) -> Architecture:
    if "architecture" not in data:
        return _architecture_from_old_plans(name, data)
    kwargs = data["architecture"]["arch_kwargs"]
    n_stages = int(kwargs["n_stages"])
    blocks = kwargs.get("n_blocks_per_stage", kwargs.get("n_conv_per_stage"))
    return Architecture(
        features_per_stage=_ints(kwargs["features_per_stage"]),
        kernel_sizes=tuple(_ints(k) for k in kwargs["kernel_sizes"]),
        strides=tuple(_ints(s) for s in kwargs["strides"]),
        n_blocks_per_stage=_per_stage(blocks, n_stages),
        n_conv_per_stage_decoder=_per_stage(kwargs["n_conv_per_stage_decoder"], n_stages - 1),
        space_to_depth=_ints(kwargs.get("space_to_depth", ())),
        network=str(_last(data["architecture"]["network_class_name"])),
    )


def _architecture_from_old_plans(name: str, data: Mapping[str, Any]) -> Architecture:
    required = (
        "UNet_class_name", "UNet_base_num_features", "unet_max_num_features",
        "n_conv_per_stage_encoder", "n_conv_per_stage_decoder", "conv_kernel_sizes",
        "pool_op_kernel_sizes",
    )  # fmt: skip
    _require(data, required, f"Configuration {name!r} (no `architecture`)")
    n_stages = len(data["conv_kernel_sizes"])
    base, cap = int(data["UNet_base_num_features"]), int(data["unet_max_num_features"])
    return Architecture(
        features_per_stage=tuple(min(cap, base * 2**i) for i in range(n_stages)),
        kernel_sizes=tuple(_ints(k) for k in data["conv_kernel_sizes"]),
        strides=tuple(_ints(s) for s in data["pool_op_kernel_sizes"]),
        n_blocks_per_stage=_per_stage(data["n_conv_per_stage_encoder"], n_stages),
        n_conv_per_stage_decoder=_per_stage(data["n_conv_per_stage_decoder"], n_stages - 1),
        network=str(data["UNet_class_name"]),
    )


def _resolve(written: Mapping[str, Any], name: str, asked: tuple[str, ...] = ()) -> Json:
    """A configuration with what it inherits filled in."""
    if name not in written or name in asked:
        chain = " -> ".join((*asked, name))
        raise ValueError(f"inherits_from leads nowhere: {chain}.")
    own = dict(written[name])
    if own.get("inherits_from"):
        inherited = _resolve(written, own["inherits_from"], (*asked, name))
        for stage in ("previous_stage", "next_stage"):
            inherited.pop(stage, None)
        return {**inherited, **own}
    return own


def _require(data: Mapping[str, Any], keys: Sequence[str], what: str) -> None:
    missing = [key for key in keys if key not in data]
    if missing:
        raise ValueError(f"{what} lacks {', '.join(missing)}.")


def _per_stage(value: int | Sequence[int], n: int) -> Axes:
    return (int(value),) * n if isinstance(value, int) else _ints(value)


def _ints(values: Sequence[Any]) -> Axes:
    return tuple(int(v) for v in values)


def _last(dotted: Any) -> Any:
    return dotted.rsplit(".", 1)[-1] if isinstance(dotted, str) else dotted
