"""The report: one page that answers first, and keeps what lies behind the answer folded below it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from tworulers.report.render import Picture
from tworulers.report.tables import Table
from tworulers.report.words.glossary import TERMS, find_terms

TEMPLATE = Path(__file__).with_name("page.html.jinja")

LONGEST_LINK = 150_000
"""Characters of a table that the page itself carries as a download; longer ones lie beside it alone."""


@dataclass(frozen=True)
class Section:
    """A part of the page: its heading, paragraphs, figures and tables, in that order.

    Attributes
    ----------
    details, more_pictures : folded once more below `details_title`.
    data : names of the tables it is read from, as downloads.
    printed : whether it is part of the printed appendix; else it is named there with its tables.
    """

    anchor: str
    title: str
    paragraphs: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    details: Sequence[Table] = ()
    details_title: str = "More tables"
    more_pictures: Sequence[Picture] = ()
    data: Sequence[str] = ()
    printed: bool = True


@dataclass(frozen=True)
class Cell:
    """A cell of the verdict table: a word that stands out, with what it means, and lines below it."""

    word: str
    lines: Sequence[str] = ()
    meaning: str = ""


@dataclass(frozen=True)
class VerdictTable:
    """The table that answers: a row a grouping, of which `tones` say how loud the last cell speaks."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    tones: Sequence[str]
    note: str = ""


@dataclass(frozen=True)
class Page:
    """All that a page shows.

    Attributes
    ----------
    title, kicker : what it is about, in a few words and in a line.
    sentences : the answer.
    verdicts : the table that answers; None where nothing was grouped.
    opened, folded : its parts, those seen at once and those behind a fold.
    made_from : how the page came about: facts, then commands, each with what it is.
    configuration : as YAML.
    data : tables to download, CSV by name.
    footer : what no figure of it says.
    """

    title: str
    kicker: str
    sentences: Sequence[str]
    verdicts: VerdictTable | None
    opened: Sequence[Section]
    folded: Sequence[Section]
    facts: Sequence[tuple[str, str]] = ()
    commands: Sequence[tuple[str, str]] = ()
    configuration: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    footer: str = ""

    @property
    def sections(self) -> list[Section]:
        """List all parts."""
        return [*self.opened, *self.folded]

    @property
    def pictures(self) -> list[Picture]:
        """List all figures."""
        return [p for one in self.sections for p in (*one.pictures, *one.more_pictures)]


def render_page(page: Page) -> str:
    """Lay out the page: one HTML file that needs no other."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    body: str = template.render(
        page=page,
        terms=[],
        html=lambda table: Markup(table.to_html(TERMS)),  # every cell is escaped by the table
        inline=lambda picture: Markup(picture.inline),
        photo=lambda picture: Markup(' class="photo"' * picture.photo),
        link=lambda name: link_table(name, page.data[name]),
        there=lambda names: [name for name in names if name in page.data],
    )
    return body.replace(
        "<!-- terms -->", str(environment.from_string(TERMS_LIST).render(terms=find_terms(body)))
    )


TERMS_LIST = """<dl class="terms">
{% for term, meaning in terms %}
<dt><dfn>{{ term }}</dfn></dt><dd>{{ meaning }}</dd>
{% endfor %}
</dl>"""


def link_table(name: str, text: str) -> str:
    """Return where a table is downloaded from: the page itself, or the folder beside it where the table is long."""
    if len(text) > LONGEST_LINK:
        return f"tables/{quote(name)}.csv"
    return "data:text/csv;charset=utf-8," + quote(text, safe=" ,.;:()[]{}|=+-*/_@!$'")
