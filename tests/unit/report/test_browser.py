"""The page in a browser: the answer on the first screen, at any width, for everybody, and on paper."""

from pathlib import Path

import pytest

from page_in_browser import (
    NARROW,
    WIDE,
    check_print,
    look,
    open_browser,
    reach_by_keyboard,
)
from tworulers.report.findings import Findings
from tworulers.report.lay_out import lay_out
from tworulers.runner.page import write_files

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_page_answers_on_its_first_screen_and_serves_everybody(
    findings: Findings, tmp_path: Path
) -> None:
    write_files(lay_out(findings)[1], tmp_path)
    file = tmp_path / "index.html"
    with open_browser() as browser:
        wide, narrow = look(browser, file, WIDE), look(browser, file, NARROW)
        dark = look(browser, file, WIDE, "dark")
        opened = reach_by_keyboard(browser, file)
        check_print(browser, file, tmp_path / "page.pdf", 12)
    assert 0 < wide.answers < wide.table < 1200
    assert wide.figure < 1200
    assert 0 < narrow.answers < 800
    assert wide.words <= 900
    assert narrow.sideways <= 0
    assert wide.faults == narrow.faults == dark.faults == []
    assert opened == ["The verdict in full"]
