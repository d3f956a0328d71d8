"""The site builds without a warning, and loads nothing from anywhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from documents import PAGES, ROOT

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
