"""A page of 118 structures, 50 groups and 30 groupings can be read: it chooses, says so, and the tables hold all."""

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from page_in_browser import NARROW, WIDE, look, open_browser
from tworulers.battery.audit import AuditResult, audit_scores
from tworulers.report.choose import MOST_GROUPINGS, MOST_ROWS, MOST_SCORES
from tworulers.report.findings import Findings, ShownAudit
from tworulers.report.lay_out import lay_out
from tworulers.report.page import Page, render_page
from tworulers.report.style import WIDEST
from tworulers.report.view import MOST_GROUPS
from tworulers.runner.page import write_files
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping

STRUCTURES = [f"s{place:03}" for place in range(116)]
GROUPINGS = [f"g{place:02}" for place in range(27)]


def repeat(table: pd.DataFrame, column: str, of: str, names: list[str]) -> pd.DataFrame:
    if column not in table:
        return table
    part = table[table[column] == of]
    return pd.concat([table, *(part.assign(**{column: name}) for name in names)], ignore_index=True)


def widen(result: AuditResult, sites: AuditResult) -> AuditResult:
    """Put a grouping of 50 groups beside the others, and repeat a structure and a grouping many times."""
    tables: dict[str, Any] = {}
    for field in fields(result):
        table = getattr(result, field.name)
        if isinstance(table, pd.DataFrame) and field.name not in ("families", "linear"):
            table = pd.concat([getattr(sites, field.name), table], ignore_index=True)
            table = table if "grouping" in table else table.drop_duplicates(["structure", "metric"])
            table = repeat(table, "grouping", "sex", GROUPINGS)
            tables[field.name] = repeat(table, "structure", "disc", STRUCTURES)
    return replace(result, **tables)


@pytest.fixture(scope="module")
def many(
    findings: Findings,
    few_scores: dict[str, pd.DataFrame],
    e2_table: pd.DataFrame,
    quick: Audit,
) -> Page:
    exams = pd.Index(e2_table["exam_id"], name="exam_id")
    names = [f"site {place:02}" for place in range(50)]
    place = np.r_[np.repeat(np.arange(26), 2), np.arange(26, 50)]
    site = pd.Series(pd.Categorical([names[x] for x in place], names), exams, name="site")
    asked = Attributes("site", "Site", "exam", {"site": Grouping("Site", "levels", "site")})
    small = replace(quick, linear=False, bootstrap_draws=20, permutations=0, power_draws=0)
    one = findings.audits["mix", "gold"]
    owners = e2_table.set_index("exam_id")["patient_id"]
    sites = audit_scores(few_scores["gold"], site.to_frame(), owners, small, asked)
    groups = pd.concat([site, findings.groups], axis=1)
    wide = ShownAudit(widen(one.result, sites), one.title, one.scores)
    return lay_out(replace(findings, audits={("mix", "gold"): wide}, changes=[], groups=groups))[1]


def test_the_page_says_how_many_of_how_many_it_shows(many: Page) -> None:
    said = " ".join(text for section in many.sections for text in section.paragraphs)
    assert f"{MOST_GROUPINGS} of 30 groupings" in said
    assert f"{MOST_SCORES} of 119 scores" in said
    assert many.verdicts is not None
    assert len(many.verdicts.rows) == MOST_GROUPINGS
    assert f"{MOST_GROUPINGS} of 30 groupings" in many.verdicts.note
    sizes = [line for row in many.verdicts.rows for line in row[0].lines]
    assert "50 groups (n 1 to 2)" in sizes
    tables = [table for s in many.sections for table in (*s.tables, *s.details)]
    assert all(len(table.rows) <= MOST_ROWS for table in tables)
    cut = [table for table in tables if len(table.rows) == MOST_ROWS]
    assert cut
    assert all("rows are shown" in table.note for table in cut)
    assert "Site: 26 groups (n 2 each); Site: 24 groups (n 1 each)" in said
    (missed,) = [table for table in tables if "exams needed for an answer" in table.columns]
    assert [row[-1] for row in missed.rows].count("none") == 8
    assert missed.note.startswith("None: within not asked: no margin of the metric")
    tests = [table.caption for table in tables if table.caption.startswith("Tests of")]
    assert any("macro" in caption for caption in tests)


def test_every_figure_can_be_read_at_its_width(many: Page) -> None:
    for picture in many.pictures:
        width, height = (
            float(re.search(rf'<svg[^>]*\s{side}="([\d.]+)pt"', picture.svg).group(1))
            for side in ("width", "height")
        )
        assert width <= 72 * WIDEST * 1.02, picture.name
        assert height <= 72 * 20, picture.name
    drawn = next(p for p in many.pictures if p.name.startswith("two_rulers"))
    assert f"{MOST_GROUPS} of 50 groups" in drawn.caption


def test_what_is_not_shown_can_be_downloaded(many: Page) -> None:
    tests = many.data["tests"]
    assert all(f",{name}," in tests for name in STRUCTURES)
    assert all(f"{name}," in tests for name in GROUPINGS)
    page = render_page(many)
    assert 'href="tables/tests.csv"' in page, "it is too long to be carried by the page"
    assert len(page) < 6_000_000


@pytest.mark.slow
@pytest.mark.browser
def test_the_page_serves_everybody_at_any_width(many: Page, tmp_path: Path) -> None:
    write_files(many, tmp_path)
    file = tmp_path / "index.html"
    with open_browser() as browser:
        wide, narrow = look(browser, file, WIDE), look(browser, file, NARROW)
    assert wide.words <= 900
    assert 0 < wide.answers < 800
    assert 0 < narrow.answers < 800
    assert wide.sideways <= 0
    assert narrow.sideways <= 0
    assert wide.faults == narrow.faults == []
