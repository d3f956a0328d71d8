"""What the stages that ran in this process left behind, for whoever called them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """A finished stage: its name, its result folder, and the project that is in."""

    stage: str
    folder: Path
    root: Path


OUTCOMES: list[Outcome] = []
"""Stages that ended well, in turn."""

ERRORS: list[str] = []
"""What was said of those that did not."""

SENTENCES: list[str] = []
"""The lines that they ended with."""


def forget() -> None:
    """Begin anew."""
    for told in (OUTCOMES, ERRORS, SENTENCES):
        told.clear()
