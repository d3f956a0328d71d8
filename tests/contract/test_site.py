"""The site builds without a warning, loads nothing from anywhere, and serves everybody."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from documents import PAGES, ROOT
from page_in_browser import NARROW, WIDE, find_faults, open_browser, open_context

FETCHED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\ssrc=\"(?:https?:)?//|<link\b[^>]*\shref=\"(?:https?:)?//"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", ROOT / "docs", folder],
        check=True, timeout=300,
    )  # fmt: skip
    return folder


@pytest.mark.slow
def test_every_page_is_built_and_fetches_nothing(site: Path) -> None:
    built = {path.stem for path in site.glob("*.html")}
    assert set(PAGES) - {"README"} <= built
    for path in site.rglob("*.html"):
        assert FETCHED.search(path.read_text(encoding="utf-8")) is None, path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", path.read_text()), (
            path.name
        )


@pytest.mark.slow
def test_what_a_newcomer_looks_for_is_found_by_the_search(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for word in (
        "provenance",
        "reassurance",
        "pattern",
        "manifest",
        "nnunet",
        "xauc1",
        "windows",
        "margin",
    ):
        assert word[:6] in index, word


@pytest.mark.slow
def test_formulas_and_drawings_are_shown_without_a_script(site: Path) -> None:
    assert "<math" in (site / "statistics.html").read_text(encoding="utf-8")
    for page, rows in (("house", 10), ("pipeline", 14)):
        text = (site / f"{page}.html").read_text(encoding="utf-8")
        assert "mermaid" not in text
        assert text.count("<tr") > rows


@pytest.mark.slow
@pytest.mark.browser
def test_the_site_serves_everybody_at_any_width_light_and_dark(site: Path) -> None:
    found = {}
    with open_browser() as browser:
        for width, scheme in itertools.product((WIDE, NARROW), ("light", "dark")):
            page = open_context(browser, width, scheme).new_page()
            for name in ("index", "start", "concepts", "settings"):
                page.goto((site / f"{name}.html").as_uri())
                sideways = page.evaluate("document.documentElement.scrollWidth") > width
                found[name, width, scheme] = find_faults(page) + ["sideways"] * sideways
    assert {seen: faults for seen, faults in found.items() if faults} == {}
