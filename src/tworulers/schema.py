"""The words and choices everything else is written in, and one dataclass a configuration group."""

from dataclasses import dataclass, field
from enum import StrEnum

from tworulers.schema_sources import (
    UNSET,
    Attributes,
    Dataset,
    Grouping,
    Predictions,
    RiskTable,
    ScoreTable,
)

MACRO = "macro"
"""The structure name of the plain mean over all structures of an exam."""


class Provenance(StrEnum):
    """Who drew a reference label."""

    GOLD = "gold"
    SILVER = "silver"
    MIXED = "mixed"
    TRUTH = "truth"
    BIASED = "biased"


def _read_provenance(word: str) -> Provenance:
    if word not in list(Provenance):
        raise ValueError(
            f"provenance {word!r} is unknown; it is one of {[str(known) for known in Provenance]}"
        )
    return Provenance(word)


class Split(StrEnum):
    """Which part of the study an exam belongs to."""

    TRAIN = "train"
    VAL = "val"
    TEST = "test"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Metric:
    """One segmentation score, as it was declared: its direction, unit, range, and how it is written in a heading.

    `low` and `high` are the least and the largest value there can be, `perfect` is that of a faultless prediction; None
    where there is none. A metric that can be negative has no `low`.
    """

    name: str
    title: str
    higher_is_better: bool
    unit: str = ""
    low: float | None = None
    high: float | None = None
    perfect: float | None = None

    @property
    def in_points(self) -> bool:
        """Tell whether differences are written in points, hundredths of a score from 0 to 1."""
        return not self.unit and (self.low, self.high) == (0, 1)

    def succeeds(self, value: float, threshold: float) -> bool:
        """Tell whether a score is strictly better than the threshold; an undefined score never is."""
        return value > threshold if self.higher_is_better else value < threshold

    def write_success(self, threshold: float) -> str:
        """Write what counts as success: `> 0.8`, `< 5 mm`."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{'>' if self.higher_is_better else '<'} {threshold:g}{unit}"


def _share(name: str, title: str) -> Metric:
    return Metric(name, title, True, low=0.0, high=1.0, perfect=1.0)


def _distance(name: str, title: str) -> Metric:
    return Metric(name, title, False, "mm", low=0.0, perfect=0.0)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _share("dice", "Dice"),
        _share("ndsc", "nDSC"),
        _distance("hd95", "HD95"),
        _distance("hd95_voxel", "HD95 (border voxels)"),
        _distance("hd95_pooled", "HD95 (both directions pooled)"),
        _share("surface_dice", "Surface Dice"),
        _distance("mean_surface_distance", "Mean surface distance"),
    )
}
"""The metrics we compute. A result carries the declarations of its own metrics; nothing that shows one looks here."""


@dataclass
class SplitSettings:
    """Shares of patients, the columns that are stratified and balanced, and the number of folds.

    `strata` names groupings of `grouping` definitions given in `groupings`; `balance` names the column whose levels
    are made equal in number within each split (nothing is balanced where it is null).
    """

    test: float = 0.2
    val: float = 0.1
    folds: int = 5
    strata: list[str] = field(default_factory=list)
    groupings: dict[str, Grouping] = field(default_factory=dict)
    balance: str | None = None
    seed: int = 0
    file: str | None = None


@dataclass
class Regime:
    """What a model may learn from: the provenances of its training labels."""

    name: str = UNSET
    title: str = ""
    provenances: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take provenances by their words alone; an unknown one is an error that lists them."""
        self.provenances = [_read_provenance(word) for word in self.provenances]


@dataclass
class Distortion:
    """A stated distortion of expert labels in one group, to show what a biased ruler does."""

    grouping: str = ""
    group: str = ""
    dilate_mm: float = 0.0
    boundary_noise_mm: float = 0.0
    missed_share: float = 0.0
    seed: int = 0


@dataclass
class Ruler:
    """What judges: the reference labels, their provenance, and the regime whose predictions they are, if any.

    `kind` is one of `dataset`, `gold`, `predictions`, `truth`, `biased`, `folder`.
    """

    name: str = UNSET
    title: str = ""
    kind: str = UNSET
    provenance: str = Provenance.GOLD.value
    regime: str | None = None
    folder: str | None = None
    distortion: Distortion = field(default_factory=Distortion)

    def __post_init__(self) -> None:
        """Take the provenance by its word; an unknown one is an error that lists them."""
        self.provenance = _read_provenance(self.provenance)


@dataclass
class Configuration:
    """One network configuration of the recipe: `2d` or `3d_fullres`."""

    name: str = UNSET


@dataclass
class PlanOverrides:
    """Plan fields that a small recipe replaces; what is null stays as planned.

    `spacing` is in mm along the axes of the files (x, y, z); `patch_size` is in voxels by configuration, in the order
    that the plan stage prints, slice axis first. `space_to_depth` folds that factor of every axis finer than twice the
    finest spacing into channels (1 is off).
    """

    batch_size: dict[str, int] = field(default_factory=dict)
    patch_size: dict[str, list[int]] = field(default_factory=dict)
    spacing: list[float] | None = None
    base_features: int | None = None
    max_features: int | None = None
    blocks_per_stage: int | None = None
    stages: int | None = None
    space_to_depth: int = 1


@dataclass
class Recipe:
    """How a network is planned and trained; defaults are the full ResEnc-L recipe."""

    name: str = UNSET
    title: str = ""
    preset: str = "L"
    batch_coverage: float = 1.0
    plan: PlanOverrides = field(default_factory=PlanOverrides)
    epochs: int = 1000
    iterations: int = 250
    validation_iterations: int = 50
    optimizer: str = "sgd"
    learning_rate: float = 0.01
    momentum: float = 0.99
    weight_decay: float = 3e-5
    warmup_iterations: int = 0
    poly_exponent: float = 0.9
    gradient_clip: float = 12.0
    foreground_share: float = 0.33
    deep_supervision: bool = True
    augmentation: str = "full"
    cautious_start: bool = False
    mirror: bool = True
    tile_overlap: float = 0.5
    accumulate: str = "float"
    store_dtype: str = "float32"
    cleanup: str = "forced"
    select: bool = True


@dataclass
class Trainer:
    """Where and how fast a network is trained; nothing here changes what is learnt beyond rounding.

    `predict_batch` is the most exams that are predicted together, where their networks are narrow enough to gain by it.
    """

    name: str = UNSET
    accelerator: str = "cpu"
    devices: int = 1
    strategy: str = "auto"
    precision: str = "32-true"
    threads: int = 1
    parallel_folds: int = 2
    workers: int = 0
    compile: bool = False
    checkpoint_every: int = 50
    predict_batch: int = 4


@dataclass
class Audit:
    """The fairness battery: which scores form the family, what counts as success, and how sure one has to be.

    `hd95` names the definition that carries the plain name. `ndsc_reference` is `fraction`, `fraction_frozen`,
    `volume` or `ratio`; `ndsc_fractions` gives frozen fractions by structure. `linear_terms` are groupings and numeric
    columns of the cohort that enter the joint regression. `macro` is `defined` (the mean over the structures that an
    exam has, with `n of m`) or `complete` (undefined where one structure is). `failure_quantile` is the share of worst
    exams that count as failed where the threshold leaves a group too few failures to ask whether the model's confidence
    warned of them.
    """

    name: str = UNSET
    metrics: list[str] = field(default_factory=lambda: ["dice", "hd95", "ndsc"])
    extra_metrics: list[str] = field(default_factory=list)
    structures: list[str] = field(default_factory=list)
    levels_of: str | None = None
    min_component_mm3: float = 30.0
    ndsc_reference: str = "fraction"
    ndsc_fractions: dict[str, float] = field(default_factory=dict)
    ndsc_empty: str = "nan"
    macro: str = "defined"
    surface_tolerance_mm: float = 1.0
    thresholds: dict[str, float] = field(default_factory=dict)
    sweep: dict[str, list[float]] = field(default_factory=dict)
    alpha: float = 0.05
    four_fifths: float = 0.8
    bootstrap_draws: int = 10_000
    permutations: int = 10_000
    power_draws: int = 2_000
    min_group: int = 5
    failure_quantile: float = 0.25
    covariance: str = "nonrobust"
    linear: bool = True
    linear_terms: list[str] = field(default_factory=lambda: ["sex", "race_wb", "age"])
    seed: int = 0


@dataclass
class Tracking:
    """Where results are shown: `local` (SQLite below `mlruns/`), `server`, or `off`.

    Tables with a row an exam or a person stay on this machine unless `row_level` is true. `folder` is the result that
    `publish` copies, relative to the project root; without one it copies all of the dataset.
    """

    name: str = UNSET
    enabled: bool = True
    uri: str | None = None
    experiment: str = UNSET
    row_level: bool = False
    folder: str | None = None


@dataclass
class Report:
    """What the page may show: a `shared` one does not describe groups of fewer than `suppress_below` exams."""

    shared: bool = False
    suppress_below: int = 5


@dataclass
class Paths:
    """Where results go, relative to the project root: `repro` below `artifacts/`, `sweep` below `sweeps/`.

    Without `outputs` every run gets a folder of its own. They are `readable_by` their `owner` alone, or by the
    `group`, or by `all` who use the machine.
    """

    name: str = UNSET
    artifacts: str = "artifacts"
    outputs: str = "artifacts"
    readable_by: str = "owner"


@dataclass
class Grid:
    """The lists that the pipeline is expanded over.

    `machine_taught` are the regimes that learn from `annotate`'s labels, `label_rulers` the rulers whose labels the
    dataset ships; both are parts of the lists beside them.
    """

    dataset: str = UNSET
    regimes: list[str] = field(default_factory=list)
    machine_taught: list[str] = field(default_factory=list)
    configurations: list[str] = field(default_factory=list)
    folds: list[int] = field(default_factory=list)
    rulers: list[str] = field(default_factory=list)
    label_rulers: list[str] = field(default_factory=list)


@dataclass
class RiskUse:
    """What a risk score is for, which decides what is reported, and how the AUC audit is run.

    `name` is `risk_estimation`, `single_threshold`, `group_thresholds` or `ranking`. `threshold` is the one for all
    groups, `sensitivity` the share of events that each group's own threshold reaches. `all_metrics` shows the metrics
    that are not recommended too, each with the reason why not.
    """

    name: str = "risk_estimation"
    all_metrics: bool = False
    threshold: float | None = None
    sensitivity: float = 0.9
    bins: int = 10
    level: float = 0.95
    bootstrap_draws: int = 2_000
    seed: int = 0


@dataclass
class Check:
    """How thoroughly a source is checked before it is used: `headers` alone, or `full` with every voxel."""

    depth: str = "full"


@dataclass
class Settings:
    """One composed configuration: everything a stage is told. `processes` work on exams side by side.

    `against` is a second ready table, of the same predictions by another ruler, that `scores` is compared with.
    """

    dataset: Dataset = field(default_factory=Dataset)
    split: SplitSettings = field(default_factory=SplitSettings)
    regime: Regime = field(default_factory=Regime)
    ruler: Ruler = field(default_factory=Ruler)
    configuration: Configuration = field(default_factory=Configuration)
    attributes: Attributes = field(default_factory=Attributes)
    recipe: Recipe = field(default_factory=Recipe)
    trainer: Trainer = field(default_factory=Trainer)
    audit: Audit = field(default_factory=Audit)
    scores: ScoreTable = field(default_factory=ScoreTable)
    against: ScoreTable = field(default_factory=ScoreTable)
    predictions: Predictions = field(default_factory=Predictions)
    report: Report = field(default_factory=Report)
    tracking: Tracking = field(default_factory=Tracking)
    paths: Paths = field(default_factory=Paths)
    grid: Grid = field(default_factory=Grid)
    risk: RiskTable = field(default_factory=RiskTable)
    use: RiskUse = field(default_factory=RiskUse)
    check: Check = field(default_factory=Check)
    processes: int = 2
    seed: int = 0
