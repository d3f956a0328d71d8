"""A page as a reader sees it in a browser: where things lie, how many words, what axe says, and how it prints."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

WIDE, NARROW, HEIGHT = 1280, 400, 800
MEASURE = """() => {
  const bottom = Math.max(...[...document.querySelectorAll(".answer")].map(e => e.getBoundingClientRect().bottom));
  const box = name => document.querySelector(name)?.getBoundingClientRect();
  const table = box(".glance"), figure = box("figure");
  return {answers: bottom, table: table ? table.bottom : 0, figure: figure ? figure.top : 0,
    words: document.body.innerText.split(/\\s+/).filter(Boolean).length,
    sideways: document.documentElement.scrollWidth - window.innerWidth};
}"""
WITHOUT_PATHS = """() => document.querySelectorAll("svg").forEach(drawing => {
  [...drawing.children].forEach(part => { if (part.tagName !== "title") part.remove(); });
})"""
"""The paths of drawings are nothing that axe looks at, and take it minutes."""

OPEN = '() => document.querySelectorAll("details").forEach(part => { part.open = true; })'


@dataclass(frozen=True)
class Seen:
    """A page at one width: pixels from the top, words before anything is unfolded, and faults that axe found."""

    answers: float
    table: float
    figure: float
    words: int
    sideways: float
    faults: list[str]


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start a headless browser; a test without one is skipped by name."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs the program chromium")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def look(browser: Any, file: Path, width: int, scheme: str = "light") -> Seen:
    """Look at a page at a width: first as it opens, then, all unfolded, with axe."""
    context = open_context(browser, width, scheme)
    page = context.new_page()
    page.goto(file.resolve().as_uri())
    measured = page.evaluate(MEASURE)
    page.evaluate(WITHOUT_PATHS)
    page.evaluate(OPEN)
    faults = find_faults(page)
    context.close()
    return Seen(faults=faults, **measured)


def open_context(browser: Any, width: int, scheme: str) -> Any:
    """Open a window of a width, light or dark, in which axe may run."""
    size = {"width": width, "height": HEIGHT}
    return browser.new_context(viewport=size, bypass_csp=True, color_scheme=scheme)


def find_faults(page: Any) -> list[str]:
    """Return what axe finds on an open page."""
    axe = Path(pytest.importorskip("axe_playwright_python").__file__).with_name("axe.min.js")
    page.evaluate(axe.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run({resultTypes: ['violations']})")["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


def reach_by_keyboard(browser: Any, file: Path) -> list[str]:
    """Open the first fold with the keyboard alone, and return the headings that are open then."""
    page = browser.new_page()
    page.goto(file.resolve().as_uri())
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.tagName") == "SUMMARY":
            break
    page.keyboard.press("Enter")
    return list(
        page.evaluate(
            '() => [...document.querySelectorAll("details[open] > summary")].map(s => s.innerText)'
        )
    )


def print_page(browser: Any, file: Path, target: Path) -> Any:
    """Print a page to PDF as its own style asks, and open that."""
    reader = pytest.importorskip("pdfplumber")
    page = browser.new_page()
    page.goto(file.resolve().as_uri())
    page.pdf(path=str(target), prefer_css_page_size=True, print_background=True)
    return reader.open(target)


def list_printed_headings(browser: Any, file: Path) -> list[list[str]]:
    """Return the headings of every table that is printed, column by column."""
    page = browser.new_page()
    page.goto(file.resolve().as_uri())
    page.emulate_media(media="print")
    page.evaluate(OPEN)
    return list(
        page.evaluate(
            """() => [...document.querySelectorAll("table")].filter(t => t.offsetParent !== null)
            .map(t => [...t.querySelectorAll("thead th")].map(cell => cell.innerText))"""
        )
    )


def check_print(browser: Any, file: Path, target: Path, most: int) -> None:
    """Hold a printed page to its number of pages, and the headings of its tables to the paper, their words unbroken."""
    printed = print_page(browser, file, target)
    assert len(printed.pages) <= most
    words = [(word, page.width) for page in printed.pages for word in page.extract_words()]
    assert all(word["x0"] >= 0 and word["x1"] <= width for word, width in words)
    whole = Counter(word["text"] for word, _ in words)
    headings = list_printed_headings(browser, file)
    assert len(headings) > 5
    wanted = Counter(word for table in headings for cell in table for word in cell.split())
    assert {word: (n, whole[word]) for word, n in wanted.items() if whole[word] < n} == {}
