"""What a plan is: every number that preprocessing, training and prediction of a data set follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tworulers.recipe.topology import divisor_of

Axes = tuple[int, ...]

IGNORE = "ignore"
"""The label of voxels that nobody annotated, by nnU-Net's name for it."""


@dataclass(frozen=True)
class DatasetFacts:
    """What a plan needs to know beside the images: names, channels, labels, number of exams.

    `labels` maps a name to its integer, background 0; `channel_names` are in channel order.
    """

    name: str
    channel_names: tuple[str, ...]
    labels: Mapping[str, int]
    num_training: int
    file_ending: str = ".nii.gz"

    @property
    def ignore_label(self) -> int | None:
        """The value that marks voxels without annotation, if there is one."""
        return self.labels.get(IGNORE)

    @property
    def n_classes(self) -> int:
        """Channels of the network's heads: every label but `ignore`."""
        return len(self.labels) - (IGNORE in self.labels)

    @property
    def foreground(self) -> tuple[int, ...]:
        """Values of the structures, ascending: neither background nor ignore."""
        return tuple(sorted(v for k, v in self.labels.items() if v != 0 and k != IGNORE))


@dataclass(frozen=True)
class Architecture:
    """The numbers a residual-encoder U-Net is built from; stage 0 is full resolution.

    `space_to_depth` folds that many voxels per axis into channels before the first stage (all 1:
    off); patch, strides and kernels then count on the coarser grid, the output does not.
    """

    features_per_stage: tuple[int, ...]
    kernel_sizes: tuple[Axes, ...]
    strides: tuple[Axes, ...]
    n_blocks_per_stage: tuple[int, ...]
    n_conv_per_stage_decoder: tuple[int, ...]
    space_to_depth: Axes = ()
    network: str = "ResidualEncoderUNet"

    def __post_init__(self) -> None:
        if not self.space_to_depth:
            object.__setattr__(self, "space_to_depth", (1,) * self.dimension)
        faults = _find_faults(self)
        if faults:
            raise ValueError("This architecture cannot be built: " + "; ".join(faults) + ".")

    @property
    def n_stages(self) -> int:
        """Stages of the encoder."""
        return len(self.features_per_stage)

    @property
    def dimension(self) -> int:
        """2 for slices, 3 for volumes."""
        return len(self.strides[0])

    @property
    def divisor(self) -> Axes:
        """What each patch edge must be a multiple of, in voxels of the input."""
        inner = divisor_of(self.strides)
        return tuple(d * f for d, f in zip(inner, self.space_to_depth, strict=True))


@dataclass(frozen=True)
class ConfigurationPlan:
    """One way of looking at the images (2d, 3d_fullres, ...): grid, patch, batch and network.

    `spacing` in mm and all shapes are in the transposed axis order of the plans; 2d leaves out
    the slice axis. `image_order` is the order of the splines that images are resampled by,
    `channels_last` the memory layout in which the network runs, wherever it does.
    """

    data_identifier: str
    spacing: tuple[float, ...]
    patch_size: Axes
    batch_size: int
    median_image_size_in_voxels: tuple[float, ...]
    normalization_schemes: tuple[str, ...]
    use_mask_for_norm: tuple[bool, ...]
    batch_dice: bool
    architecture: Architecture
    image_order: int = 3
    channels_last: bool = False
    inherits_from: str | None = None
    previous_stage: str | None = None
    next_stage: str | None = None

    @property
    def dimension(self) -> int:
        """2 for slices, 3 for volumes."""
        return len(self.patch_size)


@dataclass(frozen=True)
class Plans:
    """The plan of a data set: axis order, intensities, and every configuration by name."""

    dataset_name: str
    plans_name: str
    original_median_spacing_after_transp: tuple[float, ...]
    original_median_shape_after_transp: tuple[int, ...]
    transpose_forward: Axes
    transpose_backward: Axes
    configurations: Mapping[str, ConfigurationPlan]
    experiment_planner_used: str
    foreground_intensity_properties_per_channel: Mapping[str, Mapping[str, float]] = field(
        default_factory=dict
    )
    image_reader_writer: str = "SimpleITKIO"

    def configuration(self, name: str) -> ConfigurationPlan:
        """The configuration of that name.

        Raises
        ------
        ValueError
            No such name, with those there are; or the second step of a cascade, which is not done here.
        """
        if name not in self.configurations:
            known = ", ".join(self.configurations)
            raise ValueError(f"Plans {self.plans_name!r} have no configuration {name!r}: {known}.")
        found = self.configurations[name]
        if found.previous_stage is not None:
            raise ValueError(
                f"{name} is the second step of a cascade: its network also sees what {found.previous_stage} predicts, "
                "and that is not done here. Use 2d, 3d_lowres or 3d_fullres."
            )
        return found


def _find_faults(arch: Architecture) -> list[str]:
    """Everything about the numbers of an architecture that does not fit together."""
    n, d = arch.n_stages, arch.dimension
    faults = []
    if d not in (2, 3):
        faults.append(f"strides have {d} axes (2 or 3 are possible)")
    for name, value, expected in (
        ("kernel_sizes", arch.kernel_sizes, n),
        ("strides", arch.strides, n),
        ("n_blocks_per_stage", arch.n_blocks_per_stage, n),
        ("n_conv_per_stage_decoder", arch.n_conv_per_stage_decoder, n - 1),
    ):
        if len(value) != expected:
            faults.append(f"{name} has {len(value)} entries, {n} stages need {expected}")
    for name, stages in (("kernel_sizes", arch.kernel_sizes), ("strides", arch.strides)):
        if any(len(stage) != d for stage in stages):
            faults.append(f"{name} must have {d} numbers in every stage")
    if len(arch.space_to_depth) != d:
        faults.append(f"space_to_depth has {len(arch.space_to_depth)} numbers, not {d}")
    if any(k % 2 == 0 for stage in arch.kernel_sizes for k in stage):
        faults.append("kernel sizes must be odd")
    numbers = [*arch.features_per_stage, *arch.n_blocks_per_stage, *arch.space_to_depth]
    numbers += [s for stage in arch.strides for s in stage]
    if any(v < 1 for v in numbers):
        faults.append("features, blocks, strides and space_to_depth must be at least 1")
    return faults
