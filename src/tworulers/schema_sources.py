"""What is studied: data sources, tables and label maps made elsewhere, and how their exams are grouped."""

from dataclasses import dataclass, field

CODES_FOR_NOTHING = ("", "NA", "N/A", "nan", "none", "null", "<NA>", "-", "--", "?", ".")
"""Codes for no value where a person declares none, in any case of letters; a list of their own takes their place."""

UNSET = "???"
"""A configuration value that a person has to give; asking for it unset is an error that names the key."""


@dataclass
class Grouping:
    """How exams are put into groups: by the levels, bins or quantiles of a column, at random, or by crossing groupings.

    `kind` is one of `levels`, `bins`, `quantiles`, `random`, `intersection`. `levels` maps a group to the column values
    it holds (`*` holds every value no other group names, not-reported ones included). `edges` are the inner edges of
    half-open bins `[low, high)`; `quantiles` cuts the evaluated exams into that many equal parts. `missing` and
    `over_89` name the group of exams without a value and of exams whose age is only known to be above 89; without a
    name such exams are left out of the grouping. `group_order` is the order of display and of effects.
    """

    title: str = ""
    kind: str = UNSET
    column: str | None = None
    levels: dict[str, list[str]] = field(default_factory=dict)
    edges: list[float] = field(default_factory=list)
    quantiles: int = 0
    of: list[str] = field(default_factory=list)
    group_order: list[str] = field(default_factory=list)
    missing: str | None = None
    over_89: str | None = None
    seed: int = 0


@dataclass
class Attributes:
    """A named set of groupings, and the unit that resampling draws (`exam` or `patient`)."""

    name: str = UNSET
    title: str = ""
    resampling_unit: str = "patient"
    groupings: dict[str, Grouping] = field(default_factory=dict)


@dataclass
class Phantom:
    """The synthetic cervical-spine cohort: its size, its grid and the knobs of what it shows."""

    patients: int = 1232
    gold_patients: int = 481
    exams: int = 1255
    shape: list[int] = field(default_factory=lambda: [10, 120, 72])
    spacing: list[float] = field(default_factory=lambda: [4.0, 1.25, 1.25])
    age_contrast: float = 0.50
    expert_offset_mm: float = 0.40
    expert_sloppiness_mm: float = 0.34
    expert_sloppiness_spread: float = 0.90
    expert_sloppiness_cap_mm: float = 2.0
    seed: int = 0
    expert_seed: int = 0


@dataclass
class Reading:
    """How the files of a source are found and read, where its layout leaves a choice.

    `table` is the manifest, or a table of people that is joined to the exams (relative to the data root unless
    absolute); `columns` maps the cohort's column names to the table's. `experts` is a list of the exams, series or
    files that experts drew. `patient` is a pattern whose group `patient` is the patient's part of an exam id.
    `label_map` replaces stored label values. `missing` are all codes for no value. `trust_grid` takes labels voxel
    by voxel although their header puts them elsewhere. `exclude` leaves out exams by id. `pseudonym_key` is a file
    whose bytes key the hash that replaces ids of exams and patients; it has to lie outside the results.
    """

    table: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    experts: str | None = None
    patient: str | None = None
    label_map: dict[int, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=lambda: list(CODES_FOR_NOTHING))
    trust_grid: bool = False
    exclude: list[str] = field(default_factory=list)
    pseudonym_key: str | None = None


@dataclass
class Dataset:
    """One data source: where it lies, what its structures are called, and which labels are the experts'.

    `gold_share` is the share of development patients who keep their expert label where the source does not say which
    labels are the experts'; `null` takes provenance from the source. `truth` names the folder of noise-free masks.
    """

    name: str = UNSET
    title: str = ""
    source: str = UNSET
    root: str | None = None
    structures: dict[str, int] = field(default_factory=dict)
    channels: list[str] = field(default_factory=lambda: ["MRI"])
    gold_share: float | None = None
    truth: str | None = None
    reading: Reading = field(default_factory=Reading)
    phantom: Phantom = field(default_factory=Phantom)


@dataclass
class Measure:
    """A score of a ready table that is none of the known metrics: how it is written, and which way is better.

    `low` and `high` bound the values that are read; without `low` they may be negative. `perfect` is the value of a
    faultless prediction, where there is one.
    """

    title: str = ""
    higher_is_better: bool = True
    unit: str = ""
    low: float | None = None
    high: float | None = None
    perfect: float | None = None


@dataclass
class ScoreTable:
    """A ready score table made elsewhere: its columns, long or wide, and the codes for missing values.

    `columns` maps `exam_id` and, in a wide table, `structure/metric` to the table's own names (without such an entry
    columns named `dice_disc` or `disc_dice` are understood); a long table maps `exam_id`, `structure`, `metric` and
    `value`. A key made of two columns is written `subject+session`. `measures` declares metrics of the table's own.
    `cohort` is the table of exams joined on `exam_id`; without one the score table's own columns describe the exams.
    `filters` keep the rows whose column holds one of the values. `provenance` says who drew the reference the scores
    were made with; it has to be given.
    """

    file: str | None = None
    layout: str = "wide"
    columns: dict[str, str] = field(default_factory=dict)
    measures: dict[str, Measure] = field(default_factory=dict)
    cohort: str | None = None
    cohort_columns: dict[str, str] = field(default_factory=dict)
    filters: dict[str, list[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=lambda: list(CODES_FOR_NOTHING))
    provenance: str = ""


@dataclass
class Reference:
    """A folder of label maps that judge predictions: who drew them, and what their stored values stand for."""

    folder: str = UNSET
    provenance: str = UNSET
    title: str = ""
    pattern: str = "{exam}"
    label_map: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Predictions:
    """Predictions made elsewhere and what judges them: folders of label maps paired by name, and who they are of.

    `structures` are the values of the structures, the dataset's where none are given. A `label_map` says which stored
    values stand for a structure (or `background`): `{vb: ["1-7"], disc: ["8"], background: ["*"]}`, where `*` is every
    value not named; without one the stored values are the structures' own. `pattern` says how files are called, without
    extension, where their names are more than the exam's: `{exam}_seg`. `cohort` is the table of exams,
    `cohort_columns` maps the cohort's column names to the table's, `missing` are codes for no value. Exams without a
    prediction are refused unless `incomplete` is true. `trust_grid` takes voxels to correspond by index although the
    headers put the files elsewhere.
    """

    name: str = ""
    title: str = ""
    folder: str | None = None
    pattern: str = "{exam}"
    references: dict[str, Reference] = field(default_factory=dict)
    structures: dict[str, int] = field(default_factory=dict)
    label_map: dict[str, list[str]] = field(default_factory=dict)
    cohort: str | None = None
    cohort_columns: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=lambda: list(CODES_FOR_NOTHING))
    incomplete: bool = False
    trust_grid: bool = False


@dataclass
class RiskJoin:
    """A second table joined to the table of risks: its file, the key in both, and its own filters.

    `right_key` is the key's name there where it differs.
    """

    file: str = ""
    key: str = ""
    right_key: str | None = None
    filters: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class RiskTable:
    """A table of risk scores and outcomes made elsewhere: its columns, codes and groups.

    `event` is the level of `outcome` that means the event; it is never guessed. `sentinels` are codes in the score
    column that mean "not computed"; any other value outside `low` to `high` is a fault. `filters` keep the rows whose
    column holds one of the values. `unit` is the key of a row, `cluster` the person behind several rows. `groups` maps
    the name of a grouping to the column whose values are its groups; `groupings` makes groups from columns by levels,
    bins, quantiles or crossing. `missing` are all codes for no value. `probability` says that the score is a
    predicted probability, so that calibration can be judged. `simulate_patients` above 0 draws so many patients of each
    published scenario in place of a table.
    """

    name: str = ""
    title: str = ""
    root: str | None = None
    file: str = ""
    joins: list[RiskJoin] = field(default_factory=list)
    filters: dict[str, list[str]] = field(default_factory=dict)
    score: str = ""
    outcome: str = ""
    event: str | None = None
    non_event: list[str] = field(default_factory=list)
    unit: str | None = None
    cluster: str | None = None
    groups: dict[str, str] = field(default_factory=dict)
    groupings: dict[str, Grouping] = field(default_factory=dict)
    sentinels: list[str] = field(default_factory=list)
    low: float | None = None
    high: float | None = None
    missing: list[str] = field(default_factory=lambda: list(CODES_FOR_NOTHING))
    probability: bool = False
    simulate_patients: int = 0
