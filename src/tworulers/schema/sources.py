"""What is studied: data sources, tables and label maps made elsewhere, and how their exams are grouped."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tworulers.schema.file_names import find_name_fault, name_file
from tworulers.schema.phantom_settings import Phantom
from tworulers.schema.stored_values import write_values

CODES_FOR_NOTHING = ("", "NA", "N/A", "nan", "none", "null", "<NA>", "-", "--", "?", ".")
"""Codes for no value where a person declares none, in any case of letters; a list of their own takes their place."""

UNSET = "???"
"""A configuration value that a person has to give; asking for it unset is an error that names the key."""


class Relation(StrEnum):
    """What a machine's labels have to do with the model that they judge, where somebody knows."""

    SHARES_TRAINING = "shares_training"
    INDEPENDENT = "independent"
    UNKNOWN = "unknown"


def read_relation(word: str) -> Relation:
    """Take a relation by its word.

    Raises
    ------
    ValueError : it is none of them; the message lists them.
    """
    if word not in list(Relation):
        known = [str(one) for one in Relation]
        raise ValueError(
            f"relation {word!r} of labels to the model is unknown; it is one of {known}"
        )
    return Relation(word)


@dataclass
class Grouping:
    """How exams are put into groups: by the levels, bins or quantiles of a column, at random, or by crossing groupings.

    `kind` is one of `levels`, `bins`, `quantiles`, `column`, `random`, `intersection`, or of a project's own.
    `column` takes the values that a column of text holds as its levels, and cuts numbers by `bins`: edges, a number of
    equal parts, `median`, or `levels` where they are codes. `levels` maps a group to the column values
    it holds (`*` holds every value no other group names, not-reported ones included). `edges` are the inner edges of
    half-open bins `[low, high)`; `quantiles` cuts the evaluated exams into that many equal parts. `missing` and
    `over_89` name the group of exams without a value and of exams whose age is only known to be above 89; without a
    name such exams are left out of the grouping. `group_order` is the order of display and of effects. `ordered` says
    that levels are steps, along which a trend is asked for, as it is along bins and quantiles.
    """

    title: str = ""
    kind: str = UNSET
    column: str | None = None
    levels: dict[str, list[Any]] = field(default_factory=dict)
    edges: list[float] = field(default_factory=list)
    quantiles: int = 0
    of: list[str] = field(default_factory=list)
    group_order: list[str] = field(default_factory=list)
    missing: str | None = None
    over_89: str | None = None
    bins: Any = None
    seed: int = 0
    ordered: bool = False

    def __post_init__(self) -> None:
        """Take the values of levels as texts."""
        self.levels = write_values(self.levels)


@dataclass
class Attributes:
    """A named set of groupings, and what is asked of them."""

    name: str = UNSET
    title: str = ""
    resampling_unit: str = "patient"
    """What resampling draws: `exam` or `patient`."""
    groupings: dict[str, Grouping] = field(default_factory=dict)
    """How exams are put into groups, by the name of the grouping."""
    by: list[str] = field(default_factory=list)
    """Ask these alone: groupings of the set by name, with those that they cross, else columns of the table of exams."""
    bins: dict[str, Any] = field(default_factory=dict)
    """How the numbers of a column in `by` are cut: edges, a number of equal parts, `median`, or `levels` for codes."""
    possible: bool = False
    """Go on with the groupings that can be made, and name the others, where the exams do not say enough for all."""

    def __post_init__(self) -> None:
        """Put what `by` names in the place of the set's groupings; bins of anything else are an error."""
        columns = [name for name in self.by if name not in self.groupings]
        if set(self.bins) - set(columns):
            raise ValueError(
                f"attributes.bins are given for {sorted(set(self.bins) - set(columns))}, but the columns that "
                f"attributes.by asks for are {columns}"
            )
        if self.by:
            asked = {
                name: self.groupings.get(name)
                or Grouping(name, "column", name, bins=self.bins.get(name))
                for name in self.by
            }
            crossed = [name for grouping in asked.values() for name in grouping.of]
            parts = {name: self.groupings[name] for name in crossed if name in self.groupings}
            name = "+".join(self.by)
            self.name = name_file(name) if find_name_fault(name) else name
            self.title, self.groupings = ", ".join(self.by), {**parts, **asked}
            self.by, self.bins = [], {}


@dataclass
class Reading:
    """How the files of a source are found and read, where its layout leaves a choice.

    `table` is the manifest, or a table of people that is joined to the exams (relative to the data root unless
    absolute); `columns` maps the cohort's column names to the table's. `experts` is a list of the exams, series or
    files that experts drew. `patient` is a pattern whose group `patient` is the patient's part of an exam id.
    `label_map` replaces stored label values. `missing` are all codes for no value. `trust_grid` takes labels voxel
    by voxel although their header puts them elsewhere. `exclude` leaves out exams by id, and `keep` keeps those that
    would be left out as localizers. `pseudonym_key` is a file whose bytes key the hash that replaces ids of exams and
    patients; it has to lie outside the results. `masks` are the folders of label maps by who drew them, and `phase`
    which image after contrast is taken, where a layout has several.
    """

    table: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    experts: str | None = None
    patient: str | None = None
    label_map: dict[int, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=lambda: list(CODES_FOR_NOTHING))
    trust_grid: bool = False
    exclude: list[str] = field(default_factory=list)
    keep: list[str] = field(default_factory=list)
    pseudonym_key: str | None = None
    masks: dict[str, str] = field(default_factory=dict)
    phase: int = 1


@dataclass
class Dataset:
    """One data source: where it lies, what its structures are called, and which labels are the experts'.

    `gold_share` is the share of development patients who keep their expert label where the source does not say which
    labels are the experts'; `null` takes provenance from the source. `truth` names the folder of noise-free masks.
    `margin` says up to which difference groups count as alike in these data, as of `audit.margin`, which goes first.
    `corrected_from` names the machine's labels that experts corrected to make theirs, `caveat` is what every report
    says of the experts' labels, in whole sentences.
    """

    name: str = UNSET
    title: str = ""
    source: str = UNSET
    root: str | None = None
    structures: dict[str, int] = field(default_factory=dict)
    ignore: int | None = None
    """The value of voxels that nobody annotated, the one after those of the structures; as `dataset.json` declares
    `ignore` where it does. They are neither learnt from nor judged."""
    channels: list[str] = field(default_factory=lambda: ["MRI"])
    gold_share: float | None = None
    truth: str | None = None
    margin: dict[str, float] = field(default_factory=dict)
    corrected_from: str = ""
    caveat: str = ""
    reading: Reading = field(default_factory=Reading)
    phantom: Phantom = field(default_factory=Phantom)

    @property
    def values(self) -> tuple[int, ...]:
        """The values beside 0 that a label map may hold: of the structures, and of voxels without annotation."""
        return (*self.structures.values(), *([] if self.ignore is None else [self.ignore]))

    @property
    def made(self) -> bool:
        """Whether the data are made here rather than read from a folder."""
        return self.source == "phantom"


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

    In `columns` a wide table maps `exam_id` and `structure/metric` to its own names (without such an entry columns
    named `dice_disc` or `disc_dice` are understood), a long one `exam_id`, `structure`, `metric` and `value`. A key
    made of two columns is written `subject+session`; where rows are of several models, `columns.model` names them.
    """

    file: str | None = None
    """Ready table of scores, a row an exam or (`layout=long`) a score, or a folder of nnU-Net's results."""
    layout: str = "wide"
    """`wide`, with a column a score, or `long`, with a row a score."""
    columns: dict[str, str] = field(default_factory=dict)
    """What the table calls its columns: `exam_id=case`, or a score, `disc/dice=DSC_disc`."""
    measures: dict[str, Measure] = field(default_factory=dict)
    """Metrics of the table's own, by the name of their columns."""
    cohort: str | None = None
    """Table that says who each exam is of, joined on `exam_id`; without one the scores' own columns do."""
    cohort_columns: dict[str, str] = field(default_factory=dict)
    """What the table of exams calls its columns: `exam_id=case`."""
    filters: dict[str, list[str]] = field(default_factory=dict)
    """Keep the rows whose column holds one of the values."""
    missing: list[str] = field(default_factory=lambda: list(CODES_FOR_NOTHING))
    """All codes for no value."""
    id_ignore: list[str] = field(default_factory=list)
    """What does not count when exams are told by their names: `folder`, `case`, `extension`, `zeros`."""
    id_pattern: str = "{exam}"
    """What surrounds the names of exams in a table: `sub-{exam}`."""
    provenance: str = ""
    """Who drew the reference that the scores were made with: `gold`, `silver`, ...; it has to be given."""
    model: str = ""
    """Whose predictions were scored."""
    relation: str = Relation.UNKNOWN.value
    """What a machine's reference has to do with the model: `shares_training`, `independent` or `unknown`."""
    corrected_from: str = ""
    """The provenance of the labels that experts corrected to make this reference: `silver`."""

    def __post_init__(self) -> None:
        """Take the relation by its word; an unknown one is an error that lists them."""
        self.relation = str(read_relation(self.relation))


@dataclass
class Reference:
    """A folder of label maps that judge predictions: who drew them, and what their stored values stand for."""

    folder: str = UNSET
    """Folder of the reference's label maps."""
    provenance: str = UNSET
    """Who drew them: `gold` (experts), `silver` (a machine), `mixed`, `truth` or `biased`."""
    title: str = ""
    """What the labels are called in tables and sentences."""
    pattern: str = "{exam}"
    """What files are called, without extension: `{exam}_seg`, `{exam}/seg`, a mask each `{exam}/{structure}`."""
    label_map: dict[str, list[Any]] = field(default_factory=dict)
    """Which stored values stand for a structure, or for `background`."""
    threshold: float | None = None
    """Smallest probability that counts as the structure, where files hold probabilities of one."""
    relation: str = Relation.UNKNOWN.value
    """What a machine's labels have to do with the models: `shares_training`, `independent` or `unknown`."""
    corrected_from: str = ""
    """The reference whose labels experts corrected to make these."""
    caveat: str = ""
    """What every report says of these labels, in whole sentences."""

    def __post_init__(self) -> None:
        """Take the relation by its word, an unknown one is an error that lists them, and stored values as texts."""
        self.relation = str(read_relation(self.relation))
        self.label_map = write_values(self.label_map)


@dataclass
class PredictedModel:
    """A folder of label maps that a model predicted, and what their stored values stand for."""

    folder: str = UNSET
    """Folder of the model's label maps."""
    title: str = ""
    """What the model is called in tables and sentences."""
    pattern: str = "{exam}"
    """What files are called, without extension: `{exam}_seg`, `{exam}/seg`, a mask each `{exam}/{structure}`."""
    label_map: dict[str, list[Any]] = field(default_factory=dict)
    """Which stored values stand for a structure, or for `background`."""
    threshold: float | None = None
    """Smallest probability that counts as the structure, where files hold probabilities of one."""

    def __post_init__(self) -> None:
        """Take stored values as texts."""
        self.label_map = write_values(self.label_map)


@dataclass
class Predictions:
    """Predictions made elsewhere and what judges them: folders of label maps paired by name, and who they are of."""

    name: str = ""
    """What the results are filed under."""
    title: str = ""
    """What the predictions are called in tables and sentences."""
    folder: str | None = None
    """Folder of the label maps that a model predicted."""
    pattern: str = "{exam}"
    """What predictions are called, without extension: `{exam}_seg`, `{exam}/seg`, a mask each `{exam}/{structure}`."""
    models: dict[str, PredictedModel] = field(default_factory=dict)
    """Several models, a name and a folder each, in place of `folder`; every two are compared under every reference."""
    references: dict[str, Reference] = field(default_factory=dict)
    """Folders of label maps that judge, by name, and who drew them: `gold` (experts), `silver` (a machine), ..."""
    structures: dict[str, int] = field(default_factory=dict)
    """The structures and their values in the label maps; without them, as a `dataset.json` beside the files has it."""
    ignore: int | None = None
    """The stored value of voxels that nobody annotated in a reference; else `dataset.json` says it."""
    label_map: dict[str, list[Any]] = field(default_factory=dict)
    """Stored values that stand for a structure or `background`: `{vb: ["1-7"], background: ["*"]}`, `*` all others."""
    cohort: str | None = None
    """Table that says who each exam is of, with a column `exam_id` and the columns that groups are made of."""
    layout: str = ""
    """Layout of data whose own tables say who the exams are of, where `cohort` is the folder of a download."""
    cohort_columns: dict[str, str] = field(default_factory=dict)
    """What the table of exams calls its columns: `exam_id=case`."""
    missing: list[str] = field(default_factory=lambda: list(CODES_FOR_NOTHING))
    """All codes for no value."""
    threshold: float | None = None
    """Smallest probability that counts as the structure, where files hold probabilities of one."""
    id_ignore: list[str] = field(default_factory=list)
    """What does not count when exams are told by their names: `folder`, `case`, `extension`, `zeros`."""
    id_pattern: str = "{exam}"
    """What surrounds the names of exams in a table: `sub-{exam}`."""
    incomplete: bool = False
    """Score the exams that have a prediction, where some have none, and say "n of m"."""
    trust_grid: bool = False
    """Voxels correspond by index, though headers put the files elsewhere (more than 0.01 mm apart), or nowhere."""

    @property
    def all_models(self) -> dict[str, PredictedModel]:
        """Return the models by name: those given, else the one whose folder is."""
        one = PredictedModel(
            str(self.folder), self.title, self.pattern, self.label_map, self.threshold
        )
        return self.models or ({self.name: one} if self.folder else {})


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
    """A table of risk scores and outcomes made elsewhere: its columns, codes and groups."""

    name: str = ""
    """What the results are filed under."""
    title: str = ""
    """What the score is called in tables and sentences."""
    root: str | None = None
    """Folder that the files are named from."""
    file: str = ""
    """Table with a row a score: the risk, what happened, and who it was."""
    joins: list[RiskJoin] = field(default_factory=list)
    """Further tables that are joined to it."""
    filters: dict[str, list[str]] = field(default_factory=dict)
    """Keep the rows whose column holds one of the values."""
    score: str = ""
    """Column of the risk score."""
    outcome: str = ""
    """Column of what happened."""
    event: str | None = None
    """The value of the outcome that means the event; it is never guessed."""
    non_event: list[str] = field(default_factory=list)
    """Values of the outcome that mean no event; all others where none are given."""
    unit: str | None = None
    """Column that is the key of a row."""
    cluster: str | None = None
    """Column of the person behind several rows."""
    groups: dict[str, str] = field(default_factory=dict)
    """Groupings and the columns whose values are their groups: `sex=gender`."""
    groupings: dict[str, Grouping] = field(default_factory=dict)
    """Groupings made from columns by levels, bins, quantiles or crossing."""
    sentinels: list[str] = field(default_factory=list)
    """Codes in the score column that mean "not computed"; any other value outside `low` to `high` is a fault."""
    low: float | None = None
    """Lowest value that a score can have."""
    high: float | None = None
    """Highest value that a score can have."""
    missing: list[str] = field(default_factory=lambda: list(CODES_FOR_NOTHING))
    """All codes for no value."""
    probability: bool = False
    """The score is a predicted probability, so that calibration can be judged."""
