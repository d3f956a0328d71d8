"""Long work says how far it is: a bar on a terminal, a line a minute elsewhere, nothing where quiet is asked for."""

import io
import sys

import pytest

from tworulers import progress
from tworulers.progress import QUIET, following, track


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that half a minute passes on whenever it is read."""
    now = iter(range(0, 10**6, 30))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))


def test_a_line_a_minute_with_the_time_left(
    clock: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(track(range(12), 12, "scoring")) == list(range(12))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5, "of some six minutes, and one at the end"
    assert lines[0] == "scoring: 3 of 12, about 4 min left"
    assert lines[-1].startswith("scoring: 12 of 12 in ")


def test_parts_that_are_told_are_counted_as_their_turn_comes(
    clock: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with following("auditing", 9) as tell:
        for name in "abcdefghi":
            tell(name)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("auditing: 2 of 9, about ")
    assert len(lines) == 3


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    list(track(range(3), 3, "scoring"))
    with following("auditing", 2) as tell:
        tell("sex")
    assert "3/3" in terminal.getvalue()
    assert "auditing" in terminal.getvalue()


def test_nothing_where_quiet_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, clock: None, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(QUIET, "1")
    list(track(range(9), 9, "scoring"))
    with following("auditing", 9) as tell:
        for name in "abcdefghi":
            tell(name)
    assert capsys.readouterr().err == ""
