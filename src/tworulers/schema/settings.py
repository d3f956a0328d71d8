"""The words and choices everything else is written in, and one dataclass a configuration group."""

from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from tworulers.schema.cost_settings import Cost
from tworulers.schema.export_settings import Export
from tworulers.schema.folds import Fold
from tworulers.schema.risk_settings import RiskUse
from tworulers.schema.running import Check, Inference, Workers
from tworulers.schema.sources import (
    UNSET,
    Attributes,
    Dataset,
    Grouping,
    Predictions,
    Relation,
    RiskTable,
    ScoreTable,
    read_relation,
)

FAILURES = "failures"
"""The key of `audit.margin` for the share of failed exams, in per cent."""

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
    """What a model may learn from: the provenances of its training labels.

    `models` are folders of models that nnU-Net trained, one a configuration; nothing is trained then. `folds` names
    those of them that predict (where empty, all numbered ones), `checkpoint` the file of a fold's weights by nnU-Net's
    name: `checkpoint_final.pth` or `checkpoint_best.pth`, also of networks that were trained here.
    """

    name: str = UNSET
    title: str = ""
    provenances: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    folds: list[str] = field(default_factory=list)
    checkpoint: str = "checkpoint_final.pth"

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

    `kind` is one of `dataset`, `gold`, `predictions`, `truth`, `biased`, `folder`, or of a project's own. A `folder` is
    seen from the project root. `relation` says what a machine's labels have to do with the models that they judge:
    `shares_training`, `independent` or `unknown`; of predictions that the pipeline made itself it is known.
    `corrected_from` names the ruler whose labels were corrected to make these, `caveat` is what every report says of
    them; of the data's own labels both are the dataset's where they are not given.
    """

    name: str = UNSET
    title: str = ""
    kind: str = UNSET
    provenance: str = Provenance.GOLD.value
    regime: str | None = None
    folder: str | None = None
    distortion: Distortion = field(default_factory=Distortion)
    relation: str = Relation.UNKNOWN.value
    corrected_from: str = ""
    caveat: str = ""

    def __post_init__(self) -> None:
        """Take provenance and relation by their words; an unknown one is an error that lists them."""
        self.provenance = _read_provenance(self.provenance)
        self.relation = str(read_relation(self.relation))


@dataclass
class Configuration:
    """One network configuration of the recipe: `2d` or `3d_fullres`."""

    name: str = UNSET
    fold: Fold | None = None
    """The one fold of `grid.folds` that this job trains, or `all` exams as one; all folds where none is named."""


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
    """How a network is planned and trained; defaults are the full ResEnc-L recipe.

    `preset` is M, L or XL. `memory_gb` plans for a GPU of another size than the preset's 8, 24 or 40 GB. `pretrained`
    is a file of weights, of ours or of nnU-Net's and seen from the project root, that every fold starts from: all but
    the heads, which learn anew.
    """

    name: str = UNSET
    title: str = ""
    preset: str = "L"
    memory_gb: float | None = None
    pretrained: str | None = None
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

    `devices` are those of each of the `nodes`. `gradient_accumulation` is in how many parts a batch goes through the
    network, for a device that cannot hold it whole; a Dice over the batch (of slices) is then one over each part.
    `deterministic` lets a GPU use only what gives the same bits again, which takes longer.
    `predict_batch` is the most exams that are predicted together, where their networks are narrow enough to gain by it.
    """

    name: str = UNSET
    accelerator: str = "cpu"
    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"
    precision: str = "32-true"
    threads: int = 1
    parallel_folds: int = 2
    workers: int = 0
    compile: bool = False
    gradient_accumulation: int = 1
    deterministic: bool = False
    checkpoint_every: int = 50
    predict_batch: int = 4


@dataclass
class Locked:
    """The primary questions of an audit, as they were locked; filled in from the file that states them and its lock.

    A question is a metric, a structure and a grouping. `sha256` is of what is asked now, `date` the day of the lock.
    `changed` says what is not as it was locked, `lacking` what there is to do before anything can be audited, `earlier`
    lists the hashes that audits of the same result were made with before, an empty one of an audit without questions.
    """

    questions: list[list[str]] = field(default_factory=list)
    sha256: str = ""
    date: str = ""
    changed: str = ""
    lacking: str = ""
    earlier: list[str] = field(default_factory=list)


@dataclass
class Audit:
    """The fairness battery: which scores form the family, what counts as success, and how sure one has to be.

    `family` is `main`, or `primary`: the questions of the file `primary` (seen from the project root), locked beside
    it, are then a family of their own and come first, and all other tests are secondary.
    `hd95` names the definition that carries the plain name. `ndsc_reference` is `fraction`, `fraction_frozen`,
    `volume` or `ratio`; `ndsc_fractions` gives frozen fractions by structure. `linear_terms` are groupings and numeric
    columns of the cohort that enter the joint regression. `given` are columns of the table of exams within whose strata
    every test is made once more, and which enter the mixed models: numbers, or levels such as scanners; those that the
    table does not have are passed over. `macro` is `defined` (the mean over the structures that an
    exam has, with `n of m`) or `complete` (undefined where one structure is). `failure_quantile` is the share of worst
    exams that count as failed where the threshold leaves a group too few failures to ask whether the model's confidence
    warned of them. Without a `margin` of the metric and one of `failures`, and a threshold, it is not asked whether
    groups are alike.
    """

    name: str = UNSET
    family: str = "main"
    primary: str | None = None
    locked: Locked = field(default_factory=Locked)
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
    """What an exam has to reach to count as a success, by metric; below it the exam has failed."""
    sweep: dict[str, list[float]] = field(default_factory=dict)
    margin: dict[str, float] = field(default_factory=dict)
    """Up to which difference groups count as alike, by metric in points or its unit, and `failures` in per cent."""
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
    given: list[str] = field(default_factory=lambda: ["age", "manufacturer"])
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse margins that are no size: none, below 0 or endless, and failures of all exams."""
        faults = [
            f"audit.margin: expected a number above 0{' and below 100 (per cent)' if name == FAILURES else ''} "
            f"for {name}, found {value:g}"
            for name, value in self.margin.items()
            if not 0 < value < (100 if name == FAILURES else inf)
        ]
        if faults:
            raise ValueError("\n  ".join(faults))


@dataclass
class Tracking:
    """Where results are shown: `local` (SQLite below `mlruns/`), `server`, or `off`.

    Tables with a row an exam or a person stay on this machine unless `row_level` is true. `folder` is the result that
    `publish` copies, relative to the project root; without one it copies all of the dataset. `system_metrics` shows how
    busy the machine is while networks train.
    """

    name: str = UNSET
    enabled: bool = True
    uri: str | None = None
    experiment: str = UNSET
    row_level: bool = False
    folder: str | None = None
    system_metrics: bool = True


@dataclass
class Report:
    """What the page may show."""

    shared: bool = False
    """Make results that may be passed on: groups of fewer than `suppress_below` exams are described nowhere."""
    suppress_below: int = 5
    """The least number of exams of a group that a shared page describes."""


@dataclass
class Paths:
    """Where results go, relative to the project root: `repro` below `artifacts/`, `sweep` below `sweeps/`."""

    name: str = UNSET
    artifacts: str = "artifacts"
    """Folder that the pipeline's results lie in."""
    outputs: str = "artifacts"
    """Folder that results go to; in a sweep every run gets one of its own where none is named."""
    readable_by: str = "owner"
    """Who may read results: their `owner` alone, the `group`, or `all` who use the machine."""


@dataclass
class Grid:
    """The lists that the pipeline is expanded over, what has a part of its own in them, and how it trains.

    The `teacher` is the regime that labels the silver pool; it learns from experts alone, and its test exams are those
    with an expert label. The `widest` regime's test exams are what every model predicts. Every other ruler is compared
    with the `base_ruler`. `folds` are numbers, or `all`: one network of every exam, which nothing is chosen by.
    """

    dataset: str = UNSET
    regimes: list[str] = field(default_factory=list)
    teacher: str = "gold"
    widest: str = "mix"
    configurations: list[str] = field(default_factory=list)
    folds: list[Fold] = field(default_factory=list)
    recipe: str = UNSET
    trainer: str = UNSET
    rulers: list[str] = field(default_factory=list)
    base_ruler: str = "gold"


@dataclass
class Settings:
    """One composed configuration: everything a stage is told."""

    dataset: Dataset = field(default_factory=Dataset)
    split: SplitSettings = field(default_factory=SplitSettings)
    regime: Regime = field(default_factory=Regime)
    ruler: Ruler = field(default_factory=Ruler)
    configuration: Configuration = field(default_factory=Configuration)
    attributes: Attributes = field(default_factory=Attributes)
    recipe: Recipe = field(default_factory=Recipe)
    trainer: Trainer = field(default_factory=Trainer)
    inference: Inference = field(default_factory=Inference)
    audit: Audit = field(default_factory=Audit)
    scores: ScoreTable = field(default_factory=ScoreTable)
    against: ScoreTable = field(default_factory=ScoreTable)
    """A second ready table, of the same predictions by another ruler, that `scores` is compared with."""
    predictions: Predictions = field(default_factory=Predictions)
    report: Report = field(default_factory=Report)
    tracking: Tracking = field(default_factory=Tracking)
    cost: Cost = field(default_factory=Cost)
    paths: Paths = field(default_factory=Paths)
    grid: Grid = field(default_factory=Grid)
    risk: RiskTable = field(default_factory=RiskTable)
    use: RiskUse = field(default_factory=RiskUse)
    check: Check = field(default_factory=Check)
    export: Export = field(default_factory=Export)
    workers: Workers = field(default_factory=Workers)
    processes: int = 2
    """How many exams are worked on side by side."""
    seed: int = 0
    """What every draw at random starts from."""
