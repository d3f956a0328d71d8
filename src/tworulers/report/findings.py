"""Everything that a page can tell of: audits with their rulers, what lies between them, and the cohort."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.diagnosis.anchored import Anchored
from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.diagnosis.warning import Warned
from tworulers.schema.metric import Metric

OWN_PREDICTIONS = "scored by its own predictions: no verdict"
"""Why a reference that is the predictions themselves judges nothing."""


@dataclass(frozen=True)
class ShownAudit:
    """One audit with what a figure needs beside its tables.

    Attributes
    ----------
    result : the audit.
    title : what its ruler is, in words.
    scores : the long scores it judged, or None where only the tables are at hand.
    model : what the model is called, where it is models that a page compares; else empty.
    corrected_from : the ruler whose labels were corrected to make this one's; empty where they were drawn anew.
    """

    result: AuditResult
    title: str
    scores: pd.DataFrame | None = None
    model: str = ""
    corrected_from: str = ""

    @property
    def provenance(self) -> str:
        """Return who drew the labels, and from what they were corrected."""
        made = f", corrected from {self.corrected_from}" if self.corrected_from else ""
        return f"{self.result.provenance}{made}"

    @property
    def ruler(self) -> str:
        """Return the name of the ruler."""
        return self.result.ruler

    @property
    def key(self) -> str:
        """Return what tells this side of a page from the other: the ruler, or the model where the ruler is one."""
        return self.model or self.result.ruler

    @property
    def name(self) -> str:
        """Return the ruler with its title and provenance, and the model where models are compared."""
        ruler = name_ruler(self.result.ruler, self.title, self.provenance)
        return f"{ruler}, model {self.model}" if self.model else ruler

    @property
    def titles(self) -> dict[str, str]:
        """Return the title of each grouping, in order."""
        groupings = self.result.groupings
        return dict(zip(groupings["grouping"], groupings["title"], strict=True))

    def title_of(self, grouping: str) -> str:
        """Return the title of a grouping; its name where it has none."""
        return self.titles.get(grouping, grouping)

    def metric(self, name: str) -> Metric:
        """Return what the audit knows of a metric."""
        return self.result.metrics[name]


@dataclass(frozen=True)
class RulerChange:
    """Two audits of one regime and what lies between them; names point into `Findings.audits`.

    `probability` is how often each test is significant by number of exams, where that was traced;
    `anchored` is there where the second ruler scored exams without an expert label as well;
    `audits` holds both audits over the exams that both rulers judged, by ruler, where either judged more.
    """

    regime: str
    base: str
    other: str
    comparison: Comparison
    probability: pd.DataFrame | None = None
    anchored: Anchored | None = None
    audits: Mapping[str, AuditResult] = field(default_factory=dict)


@dataclass(frozen=True)
class RegimeChange:
    """Two regimes under one ruler and what lies between them."""

    base: str
    other: str
    ruler: str
    comparison: RegimeComparison


@dataclass(frozen=True)
class Unjudged:
    """An audit without verdict, and why there is none."""

    regime: str
    ruler: str
    title: str
    provenance: str
    reason: str


@dataclass(frozen=True, eq=False)
class WorstExam:
    """The worst exam of a group by a ruler, as a slice: its image, both label maps, and a pixel's height over width.

    Where label maps alone are at hand, the image is 1 where they agree on a structure and 0 elsewhere.
    """

    key: str
    group: str
    exam_id: str
    value: float
    image: np.ndarray
    prediction: np.ndarray
    reference: np.ndarray
    aspect: float
    of_labels: bool = False


@dataclass(frozen=True)
class CohortTables:
    """The cohort's tables; a missing one is None.

    `volumes` has `exam_id`, `structure`, `volume_mm3`, measured in the labels of `volumes_ruler`.
    """

    counts: pd.DataFrame | None = None
    ages: pd.DataFrame | None = None
    relations: pd.DataFrame | None = None
    left_out: pd.DataFrame | None = None
    exclusions: pd.DataFrame | None = None
    volumes: pd.DataFrame | None = None
    volumes_ruler: str = ""


@dataclass(frozen=True)
class Findings:
    """Everything the page tells of.

    Attributes
    ----------
    dataset, attributes : their titles.
    audits : by regime and ruler.
    unjudged : audits without verdict.
    changes, regimes : comparisons of rulers and of regimes.
    warnings : how well confidence warns of failures, by regime and ruler.
    groups : indexed by exam_id, one ordered categorical column a grouping; empty if unknown.
    patients : indexed by exam_id, whose each exam is; empty if unknown.
    cohort : the cohort's tables.
    worst : the worst exam of each group by each ruler, where its label maps are at hand.
    facts : what the page was made from, each fact with its name.
    commands : what to run to get this page again, each with what it does.
    configuration : as YAML.
    suppress_below : groups with fewer exams are not described; 0 describes all.
    withheld : titles of the groupings that were taken out, since a group of theirs is smaller.
    teacher : the regime that learnt from experts alone; empty where there is none.
    origins : what is known of how references came about, and bears on what they may be believed.
    training : what models learnt from, a sentence each; empty where that is not known.
    """

    dataset: str
    attributes: str
    audits: Mapping[tuple[str, str], ShownAudit]
    unjudged: Sequence[Unjudged] = ()
    changes: Sequence[RulerChange] = ()
    regimes: Sequence[RegimeChange] = ()
    warnings: Mapping[tuple[str, str], Warned] = field(default_factory=dict)
    groups: pd.DataFrame = field(default_factory=pd.DataFrame)
    patients: "pd.Series[str]" = field(default_factory=lambda: pd.Series(dtype="str"))
    cohort: CohortTables = field(default_factory=CohortTables)
    worst: Sequence[WorstExam] = ()
    facts: Sequence[tuple[str, str]] = ()
    commands: Sequence[tuple[str, str]] = ()
    configuration: str = ""
    suppress_below: int = 0
    withheld: Sequence[str] = ()
    teacher: str = ""
    origins: Sequence[str] = ()
    training: Sequence[str] = ()


def name_ruler(ruler: str, title: str, provenance: str) -> str:
    """Name a ruler with who drew its labels: `gold: expert labels (provenance gold)`."""
    described = f"{ruler}: {title}" if title else ruler
    return f"{described} (provenance {provenance})"
