"""How a small recipe replaces named numbers of a plan, with everything that hangs on them."""

from __future__ import annotations

import math
from dataclasses import replace

from tworulers.recipe.derived import prefers_channels_last
from tworulers.recipe.plan import Architecture, Axes, ConfigurationPlan, Plans
from tworulers.recipe.topology import (
    FEATURE_CAP,
    blocks_per_stage,
    derive_topology,
    features_per_stage,
    round_up,
)
from tworulers.schema.settings import PlanOverrides


def override_plans(plans: Plans, overrides: PlanOverrides) -> Plans:
    """Apply a recipe's overrides to every configuration of the plans, and let what hangs on them follow.

    A new spacing rescales the median image size and renames the stored data. Strides and kernels are
    derived anew from patch and spacing (on the grid left after `space_to_depth`) where one of these,
    or the number of stages, is given. The patch is rounded up to what the network divides, and the
    memory layout follows from the network that this makes.

    Parameters
    ----------
    plans
        What was planned.
    overrides
        `spacing` (mm) is along the axes of the files (x, y, z); 2d takes what is left without the
        slice axis. `space_to_depth` folds the axes whose spacing is less than twice the finest.

    Raises
    ------
    ValueError
        Numbers for a configuration that the plans do not have, or that make no network.
    """
    named = set(overrides.batch_size) | set(overrides.patch_size)
    unknown = sorted(named - set(plans.configurations) - {"2d", "3d_fullres"})
    if unknown:
        raise ValueError(
            f"The recipe overrides configurations {', '.join(unknown)}, which the plans do not "
            f"have: {', '.join(plans.configurations)}."
        )
    changed = {}
    for name, plan in plans.configurations.items():
        spacing = plan.spacing
        if overrides.spacing is not None:
            read = overrides.spacing[::-1]
            ordered = [float(read[axis]) for axis in plans.transpose_forward]
            spacing = tuple(ordered[-plan.dimension :])
        overridden = plan
        if name in named or replace(overrides, batch_size={}, patch_size={}) != PlanOverrides():
            overridden = _override_plan(plan, name, spacing, overrides)
        layout = prefers_channels_last(overridden.architecture)
        changed[name] = replace(overridden, channels_last=layout)
    return replace(plans, configurations=changed)


def _override_plan(
    plan: ConfigurationPlan, name: str, spacing: tuple[float, ...], overrides: PlanOverrides
) -> ConfigurationPlan:
    median = tuple(
        m * old / new
        for m, old, new in zip(plan.median_image_size_in_voxels, plan.spacing, spacing, strict=True)
    )
    # A planned patch was rounded up for its own network; a smaller network need not keep that.
    needed = [min(p, math.ceil(m)) for p, m in zip(plan.patch_size, median, strict=True)]
    patch = tuple(overrides.patch_size.get(name, needed))
    anew = name in overrides.patch_size or overrides.spacing is not None
    architecture = _override_architecture(plan.architecture, patch, spacing, anew, overrides)
    identifier = plan.data_identifier
    if spacing != plan.spacing:
        identifier += "_" + "x".join(f"{s:g}" for s in spacing)
    return replace(
        plan,
        data_identifier=identifier,
        spacing=spacing,
        patch_size=round_up(patch, architecture.divisor),
        batch_size=overrides.batch_size.get(name, plan.batch_size),
        median_image_size_in_voxels=median,
        architecture=architecture,
    )


def _override_architecture(
    old: Architecture,
    patch: Axes,
    spacing: tuple[float, ...],
    anew: bool,
    overrides: PlanOverrides,
) -> Architecture:
    """Replace the numbers of a network; `anew` says that its patch or spacing was chosen."""
    fold, strides, kernels = old.space_to_depth, old.strides, old.kernel_sizes
    if overrides.space_to_depth > 1:
        fold = tuple(overrides.space_to_depth if s / min(spacing) < 2 else 1 for s in spacing)
    if anew or overrides.stages is not None or overrides.space_to_depth > 1:
        topology = derive_topology(
            tuple(n / f for n, f in zip(patch, fold, strict=True)),
            tuple(s * f for s, f in zip(spacing, fold, strict=True)),
            overrides.stages,
        )
        strides, kernels = topology.strides, topology.kernel_sizes
    n_stages = len(strides)
    if overrides.stages not in (None, n_stages):
        raise ValueError(
            f"recipe.plan.stages is {overrides.stages}, but a patch of {' x '.join(map(str, patch))} voxels makes "
            f"{n_stages} at most: set recipe.plan.stages={n_stages}, or give a patch that can be halved more often."
        )
    same = n_stages == old.n_stages
    blocks = old.n_blocks_per_stage if same else blocks_per_stage(n_stages)
    if overrides.blocks_per_stage is not None:
        blocks = (overrides.blocks_per_stage,) * n_stages
    features = old.features_per_stage
    if not same or overrides.base_features is not None or overrides.max_features is not None:
        base = overrides.base_features or old.features_per_stage[0]
        cap = overrides.max_features or FEATURE_CAP[len(spacing)]
        features = features_per_stage(n_stages, base, cap)
    return replace(
        old,
        features_per_stage=features,
        kernel_sizes=kernels,
        strides=strides,
        n_blocks_per_stage=blocks,
        n_conv_per_stage_decoder=(1,) * (n_stages - 1),
        space_to_depth=fold,
    )
