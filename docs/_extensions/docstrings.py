"""Docstrings of this project as reST: sections of `name : what it is` become lists."""

import re
from collections.abc import Sequence
from typing import Any

from sphinx.application import Sphinx

SECTION = re.compile(r"^-{3,}$")
ENTRY = re.compile(r"^([\w, ]+?)\s* :\s+(.*)$")
LISTED = ("Parameters", "Attributes", "Raises")


def write_sections(lines: Sequence[str]) -> list[str]:
    """Write a docstring with its sections as bold titles, and their entries as items.

    Parameters
    ----------
    lines : of the docstring, without its common indent.
    """
    written: list[str] = []
    section = ""
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if SECTION.match(following):
            section = line.strip()
            written += ["", f"**{section}**", ""]
        elif SECTION.match(line):
            continue
        elif section in LISTED:
            found = ENTRY.match(line)
            written.append(
                write_item(found[1], found[2]) if found else f"  {line.strip()}".rstrip()
            )
        else:
            written.append(line)
    return written


def write_item(names: str, what: str) -> str:
    """Write one entry of a list."""
    told = ", ".join(f"``{name.strip()}``" for name in names.split(","))
    return f"* {told}: {what}"


def process(_: Sphinx, __: str, ___: str, ____: object, _____: object, lines: list[str]) -> None:
    """Rewrite the docstring that is about to be shown."""
    lines[:] = write_sections(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every docstring that is shown."""
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
