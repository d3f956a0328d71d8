"""The report: one page that a reader can follow from the question to the commands that made it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from tworulers.audit import AuditResult
from tworulers.report.gallery import ShownAudit
from tworulers.report.render import Picture
from tworulers.report.tables import Table
from tworulers.report.verdict_words import Glance
from tworulers.rulers import Comparison, RegimeComparison

OWN_PREDICTIONS = "scored by its own predictions: no verdict"
"""Why a reference that is the predictions themselves judges nothing."""

TEMPLATE = Path(__file__).with_name("page.html.jinja")


@dataclass(frozen=True)
class Anchored:
    """Group means of the expert's score, estimated from few exams with it and many without.

    Tables as `tworulers.stats.anchored` gives them, with a column `grouping` in the first two;
    `sentences` is what has to be said of them.
    """

    means: pd.DataFrame
    gaps: pd.DataFrame
    exchangeability: pd.DataFrame
    sentences: Sequence[str] = ()


@dataclass(frozen=True)
class Warned:
    """How well each uncertainty of a model warns of failures, as one ruler calls them.

    Tables as `tworulers.stats.failure_warning` gives them, with a column `uncertainty`; `overall`
    is the AUC over all exams by uncertainty.
    """

    cells: pd.DataFrame
    metrics: pd.DataFrame
    tests: pd.DataFrame
    concordance: pd.DataFrame
    overall: Mapping[str, float]


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
    commands : what to run to get this page again, each with what it does.
    configuration : as YAML.
    suppress_below : groups with fewer exams are not described; 0 describes all.
    withheld : titles of the groupings that were taken out, since a group of theirs is smaller.
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
    commands: Sequence[tuple[str, str]] = ()
    configuration: str = ""
    suppress_below: int = 0
    withheld: Sequence[str] = ()


@dataclass(frozen=True)
class Section:
    """A part of the page: its heading, paragraphs, figures and tables, in that order."""

    anchor: str
    title: str
    paragraphs: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    details: tuple[Table, ...] = ()
    details_title: str = "More tables"
    more_pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Headline:
    """The verdict at one glance.

    Attributes
    ----------
    question : what is asked.
    sentence : the answer in a sentence.
    remarks : what has to be known beside it.
    base, other : the two rulers, with provenance; `other` is empty where there is one ruler.
    rows : one a grouping.
    """

    question: str
    sentence: str
    remarks: tuple[str, ...] = ()
    base: str = ""
    other: str = ""
    rows: tuple[Glance, ...] = ()


def render_page(
    title: str,
    headline: Headline,
    sections: Sequence[Section],
    commands: Sequence[tuple[str, str]],
    configuration: str,
) -> str:
    """Lay out the page: one HTML file that needs no other.

    Parameters
    ----------
    title : of the page.
    headline, sections : its content.
    commands : each with what it does.
    configuration : as YAML.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        title=title,
        headline=headline,
        sections=sections,
        commands=commands,
        configuration=configuration,
        html=lambda table: Markup(table.to_html()),  # every cell is escaped by the table
        inline=lambda picture: Markup(picture.inline),
    )
