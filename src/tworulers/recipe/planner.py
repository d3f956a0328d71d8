"""Which plan a data set gets: spacing, axis order, patch, batch and network from its fingerprint.

The rules are nnU-Net's with the residual-encoder presets (Isensee et al. 2021; 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from tworulers.recipe.axes import ANISOTROPY
from tworulers.recipe.fingerprint import Fingerprint
from tworulers.recipe.plan import Architecture, ConfigurationPlan, DatasetFacts, Plans
from tworulers.recipe.topology import (
    FEATURE_CAP,
    Topology,
    blocks_per_stage,
    estimate_feature_map,
    features_per_stage,
    fit_patch,
)

Floats = npt.NDArray[np.float64]

BASE_FEATURES = 32
REFERENCE_BATCH = {2: 12, 3: 2}
INITIAL_EDGE = {2: 2048, 3: 256}
LOWRES_TRIGGER = 0.25  # a fullres patch that covers less of the median image asks for a lowres
NORMALIZATION = {
    "ct": "CTNormalization",
    "nonorm": "NoNormalization",
    "zscore": "ZScoreNormalization",
    "rescale_to_0_1": "RescaleTo01Normalization",
    "rgb_to_0_1": "RGBTo01Normalization",
}
PresetName = Literal["M", "L", "XL"]


PRESETS: dict[str, dict[int, float]] = {
    "M": {2: 135e6, 3: 680e6},
    "L": {2: 380e6, 3: 2100e6},
    "XL": {2: 560e6, 3: 3600e6},
}
"""Feature-map elements that fill the GPU of a preset, by the number of a network's axes."""

MEMORY_GB = {"M": 8.0, "L": 24.0, "XL": 40.0}
"""Memory of the GPU that a preset is for."""


@dataclass(frozen=True)
class _Common:
    """What every configuration of a data set shares."""

    facts: DatasetFacts
    budget: dict[int, float]
    coverage_cap: float
    schemes: tuple[str, ...]
    masks: tuple[bool, ...]


def plan_dataset(
    fingerprint: Fingerprint,
    facts: DatasetFacts,
    preset: PresetName = "L",
    *,
    spacing: Sequence[float] | None = None,
    memory_gb: float | None = None,
    coverage_cap: float = 1.0,
) -> Plans:
    """Plan all configurations of a data set.

    Parameters
    ----------
    fingerprint
        Spacings (mm) and cropped shapes (voxels) of all exams, axes as read.
    facts
        Channel names, labels and number of exams.
    preset
        M, L or XL: the size of the residual encoder.
    spacing
        Target spacing (mm), axes as read, instead of the rule; it decides the axis order too.
    memory_gb
        Memory of the GPU to plan for, instead of the preset's.
    coverage_cap
        Largest share of the data set's voxels that one batch may hold (the presets: all of it;
        0.05 keeps batches of small data sets trainable).

    Raises
    ------
    ValueError
        Unknown preset, or a fingerprint without exams.
    """
    if preset not in PRESETS:
        raise ValueError(f"Unknown preset {preset!r}: expected one of {', '.join(PRESETS)}.")
    spacings = np.asarray(fingerprint.spacings, dtype=np.float64)
    shapes = np.asarray(fingerprint.shapes_after_crop, dtype=np.float64)
    if spacings.size == 0 or spacings.shape != shapes.shape:
        raise ValueError(
            f"A fingerprint needs one spacing and one shape an exam, found {len(spacings)} and {len(shapes)}."
        )
    target = choose_spacing(spacings, shapes) if spacing is None else np.asarray(spacing, float)
    forward = order_axes(target)
    median = _median_shape(spacings, shapes, target)[list(forward)]
    target = target[list(forward)]
    common = _gather_common(fingerprint, facts, _scale_budget(preset, memory_gb), coverage_cap)
    name = f"nnUNetResEncUNet{preset}Plans"
    usual, size = (np.median(of, axis=0)[list(forward)] for of in (spacings, shapes))
    return Plans(
        dataset_name=facts.name,
        plans_name=name,
        original_median_spacing_after_transp=tuple(float(s) for s in usual),
        original_median_shape_after_transp=tuple(round(n) for n in size),
        transpose_forward=forward,
        transpose_backward=tuple(int(a) for a in np.argsort(forward)),
        configurations=_plan_configurations(common, target, median, name),
        experiment_planner_used=f"nnUNetPlannerResEnc{preset}",
        foreground_intensity_properties_per_channel=(
            fingerprint.foreground_intensity_properties_per_channel
        ),
    )


def _scale_budget(preset: PresetName, memory_gb: float | None) -> dict[int, float]:
    larger = 1.0 if memory_gb is None else memory_gb / MEMORY_GB[preset]
    return {axes: elements * larger for axes, elements in PRESETS[preset].items()}


def _gather_common(
    fingerprint: Fingerprint,
    facts: DatasetFacts,
    budget: dict[int, float],
    coverage_cap: float,
) -> _Common:
    schemes = tuple(
        NORMALIZATION.get(c.lower(), "ZScoreNormalization") for c in facts.channel_names
    )
    cropped = fingerprint.median_relative_size_after_cropping < 0.75
    return _Common(
        facts=facts,
        budget=budget,
        coverage_cap=coverage_cap,
        schemes=schemes,
        masks=tuple(cropped and scheme == "ZScoreNormalization" for scheme in schemes),
    )


def choose_spacing(spacings: Floats, shapes: Floats) -> Floats:
    """Median spacing; the slice axis of anisotropic sets gets its 10th percentile.

    Parameters
    ----------
    spacings, shapes
        (n, 3), mm and voxels.
    """
    target: Floats = np.percentile(spacings, 50, axis=0)
    size = np.percentile(shapes, 50, axis=0)
    worst = int(np.argmax(target))
    others = [a for a in range(len(target)) if a != worst]
    coarse = target[worst] > ANISOTROPY * max(target[others])
    few = size[worst] * ANISOTROPY < min(size[others])
    if coarse and few:
        fine = float(np.percentile(spacings[:, worst], 10))
        finest_allowed = max(target[others])
        target[worst] = fine if fine >= finest_allowed else finest_allowed + 1e-5
    return target


def order_axes(target: Floats) -> tuple[int, ...]:
    """Coarsest axis first, the others in their order."""
    first = int(np.argmax(target))
    return (first, *(a for a in range(len(target)) if a != first))


def _median_shape(spacings: Floats, shapes: Floats, target: Floats) -> Floats:
    """Median over exams of the shape after resampling to `target`; may end in half voxels."""
    resampled = [
        [round(s / t * n) for s, t, n in zip(spacing, target, shape, strict=True)]
        for spacing, shape in zip(spacings, shapes, strict=True)
    ]
    return np.median(np.asarray(resampled, dtype=np.float64), axis=0)


def _plan_configurations(
    common: _Common, target: Floats, median: Floats, plans_name: str
) -> dict[str, ConfigurationPlan]:
    voxels = float(np.prod(median)) * common.facts.num_training
    flat = _plan_configuration(common, target[1:], median[1:], "nnUNetPlans_2d", voxels, True)
    if median[0] == 1:
        return {"2d": flat}
    full = _plan_configuration(common, target, median, "nnUNetPlans_3d_fullres", voxels, False)
    low = _plan_lowres(common, full, median, f"{plans_name}_3d_lowres")
    if low is None:
        return {"2d": flat, "3d_fullres": full}
    full = replace(full, batch_dice=True)
    cascade = replace(full, inherits_from="3d_fullres", previous_stage="3d_lowres")
    return {"2d": flat, "3d_lowres": low, "3d_fullres": full, "3d_cascade_fullres": cascade}


def _plan_lowres(
    common: _Common, full: ConfigurationPlan, median: Floats, identifier: str
) -> ConfigurationPlan | None:
    """Coarser and coarser plans until the patch covers a quarter of the image, or None."""
    fine = np.asarray(full.spacing)
    spacing, patch = fine.copy(), full.patch_size
    plan, voxels = None, float(np.prod(median))
    while np.prod(patch) / voxels < LOWRES_TRIGGER:
        finer = spacing.max() / spacing > 2
        spacing[finer if finer.any() else slice(None)] *= 1.03
        shape = fine / spacing * median
        voxels = float(np.prod(shape))
        plan = _plan_configuration(
            common, spacing, np.round(shape), identifier, voxels * common.facts.num_training, False
        )
        patch = plan.patch_size
    if plan is None or np.prod(median) / voxels < 2:
        return None
    return replace(plan, next_stage="3d_cascade_fullres")


def _plan_configuration(
    common: _Common,
    spacing: Floats,
    median: Floats,
    identifier: str,
    dataset_voxels: float,
    batch_dice: bool,
) -> ConfigurationPlan:
    """Patch, batch and network of one grid; `dataset_voxels` bounds the batch."""
    dimension = len(spacing)
    cap = FEATURE_CAP[dimension]
    fineness = 1 / spacing
    edge = (INITIAL_EDGE[dimension] ** dimension / np.prod(fineness)) ** (1 / dimension)
    initial = [min(round(f * edge), m) for f, m in zip(fineness, median, strict=True)]
    budget = common.budget[dimension]

    def estimate(topology: Topology) -> int:
        n = topology.n_stages
        features = features_per_stage(n, BASE_FEATURES, cap)
        return estimate_feature_map(
            topology.patch_size, topology.strides, features, blocks_per_stage(n),
            len(common.facts.labels),
        )  # fmt: skip

    topology, elements = fit_patch(
        initial, [float(m) for m in median], list(spacing), budget, estimate
    )
    batch = round(budget / elements * REFERENCE_BATCH[dimension])
    covered = round(dataset_voxels * common.coverage_cap / float(np.prod(topology.patch_size)))
    n = topology.n_stages
    return ConfigurationPlan(
        data_identifier=identifier,
        spacing=tuple(float(s) for s in spacing),
        patch_size=topology.patch_size,
        batch_size=max(min(batch, covered), 2),
        median_image_size_in_voxels=tuple(float(m) for m in median),
        normalization_schemes=common.schemes,
        use_mask_for_norm=common.masks,
        batch_dice=batch_dice,
        architecture=Architecture(
            features_per_stage=features_per_stage(n, BASE_FEATURES, cap),
            kernel_sizes=topology.kernel_sizes,
            strides=topology.strides,
            n_blocks_per_stage=blocks_per_stage(n),
            n_conv_per_stage_decoder=(1,) * (n - 1),
        ),
    )
