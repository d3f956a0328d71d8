"""How a small recipe replaces named numbers of a plan, with everything that hangs on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tworulers.recipe.derived import prefers_channels_last
from tworulers.recipe.plan import Architecture, Axes, ConfigurationPlan, Plans
from tworulers.recipe.topology import (
    FEATURE_CAP,
    blocks_per_stage,
    derive_topology,
    features_per_stage,
    kernels_for_strides,
    round_up,
)
from tworulers.schema import PlanOverrides

OVERRIDES = (
    "spacing", "patch_size", "batch_size", "base_features", "max_features", "blocks_per_stage",
    "n_stages", "strides", "kernel_sizes", "space_to_depth", "batch_dice", "data_identifier",
)  # fmt: skip


def override_plan(plan: ConfigurationPlan, overrides: Mapping[str, Any]) -> ConfigurationPlan:
    """Replace named numbers of a plan and let everything that hangs on them follow.

    A new spacing rescales the median image size and renames the stored data. Where strides are
    not given, the topology rule derives them from patch and spacing (on the grid left after
    `space_to_depth`); where kernels are not given, they follow the strides. The patch is rounded
    up to what the network divides. None leaves a number as it is.

    Parameters
    ----------
    plan
        The configuration to change.
    overrides
        Any of `spacing` (mm), `patch_size` (voxels), `batch_size`, `base_features`,
        `max_features`, `blocks_per_stage` (one number or one a stage), `n_stages`, `strides`,
        `kernel_sizes`, `space_to_depth`, `batch_dice`, `data_identifier`.

    Raises
    ------
    ValueError
        Names that are unknown, or numbers that make no network.
    """
    unknown = sorted(set(overrides) - set(OVERRIDES))
    if unknown:
        raise ValueError(
            f"A plan has no field to override called {', '.join(unknown)}. "
            f"It has: {', '.join(OVERRIDES)}."
        )
    given = {key: value for key, value in overrides.items() if value is not None}
    if not given:
        return plan
    spacing = tuple(float(s) for s in given.get("spacing", plan.spacing))
    median = tuple(
        m * old / new
        for m, old, new in zip(plan.median_image_size_in_voxels, plan.spacing, spacing, strict=True)
    )
    # A planned patch was rounded up for its own network; a smaller network need not keep that.
    needed = [min(p, math.ceil(m)) for p, m in zip(plan.patch_size, median, strict=True)]
    patch = tuple(int(n) for n in given.get("patch_size", needed))
    architecture = _override_architecture(plan, given, patch, spacing)
    identifier = plan.data_identifier
    if spacing != plan.spacing:
        identifier += "_" + "x".join(f"{s:g}" for s in spacing)
    return replace(
        plan,
        data_identifier=str(given.get("data_identifier", identifier)),
        spacing=spacing,
        patch_size=round_up(patch, architecture.divisor),
        batch_size=int(given.get("batch_size", plan.batch_size)),
        batch_dice=bool(given.get("batch_dice", plan.batch_dice)),
        median_image_size_in_voxels=median,
        architecture=architecture,
    )


def _override_architecture(
    plan: ConfigurationPlan, given: Mapping[str, Any], patch: Axes, spacing: tuple[float, ...]
) -> Architecture:
    old = plan.architecture
    fold = tuple(int(f) for f in given.get("space_to_depth", old.space_to_depth))
    coarse_spacing = tuple(s * f for s, f in zip(spacing, fold, strict=True))
    if "strides" in given:
        strides = tuple(tuple(int(s) for s in stage) for stage in given["strides"])
        kernels = kernels_for_strides(strides, coarse_spacing)
    elif given.keys() & {"patch_size", "spacing", "n_stages", "space_to_depth"}:
        coarse_patch = tuple(n / f for n, f in zip(patch, fold, strict=True))
        topology = derive_topology(coarse_patch, coarse_spacing, given.get("n_stages"))
        strides, kernels = topology.strides, topology.kernel_sizes
    else:
        strides, kernels = old.strides, old.kernel_sizes
    if "kernel_sizes" in given:
        kernels = tuple(tuple(int(k) for k in stage) for stage in given["kernel_sizes"])
    n_stages = len(strides)
    if given.get("n_stages", n_stages) != n_stages:
        raise ValueError(
            f"n_stages is {given['n_stages']}, but the strides make {n_stages} stages: "
            "give as many strides as stages, or a patch that can be halved that often."
        )
    base = int(given.get("base_features", old.features_per_stage[0]))
    cap = int(given.get("max_features", FEATURE_CAP[plan.dimension]))
    blocks = given.get("blocks_per_stage", ())
    if isinstance(blocks, int):
        blocks = (blocks,) * n_stages
    kept = old.n_blocks_per_stage if n_stages == old.n_stages else blocks_per_stage(n_stages)
    features = features_per_stage(n_stages, base, cap)
    if n_stages == old.n_stages and not given.keys() & {"base_features", "max_features"}:
        features = old.features_per_stage
    return Architecture(
        features_per_stage=features,
        kernel_sizes=kernels,
        strides=strides,
        n_blocks_per_stage=tuple(int(b) for b in blocks) or kept,
        n_conv_per_stage_decoder=(1,) * (n_stages - 1),
        space_to_depth=fold,
        network=old.network,
    )


def override_plans(plans: Plans, settings: PlanOverrides) -> Plans:
    """Apply a recipe's overrides to every configuration of the plans.

    `settings.spacing` (mm) is along the axes of the files (x, y, z); 2d takes what is left
    without the slice axis. `settings.space_to_depth` folds the axes whose spacing is less than
    twice the finest. The memory layout follows from the network that this makes.

    Raises
    ------
    ValueError
        Numbers for a configuration that the plans do not have, or that make no network.
    """
    named = set(settings.batch_size) | set(settings.patch_size)
    unknown = sorted(named - set(plans.configurations) - {"2d", "3d_fullres"})
    if unknown:
        raise ValueError(
            f"The recipe overrides configurations {', '.join(unknown)}, which the plans do not "
            f"have: {', '.join(plans.configurations)}."
        )
    changed = {}
    for name, plan in plans.configurations.items():
        spacing = None
        if settings.spacing is not None:
            read = settings.spacing[::-1]
            ordered = [read[axis] for axis in plans.transpose_forward]
            spacing = ordered[-plan.dimension :]
        grid = spacing or plan.spacing
        fold = [settings.space_to_depth if s / min(grid) < 2 else 1 for s in grid]
        overridden = override_plan(
            plan,
            {
                "spacing": spacing,
                "patch_size": settings.patch_size.get(name),
                "batch_size": settings.batch_size.get(name),
                "base_features": settings.base_features,
                "max_features": settings.max_features,
                "blocks_per_stage": settings.blocks_per_stage,
                "n_stages": settings.stages,
                "space_to_depth": fold if settings.space_to_depth > 1 else None,
            },
        )
        layout = prefers_channels_last(overridden.architecture)
        changed[name] = replace(overridden, channels_last=layout)
    return replace(plans, configurations=changed)
