"""What the documents hold that can be run: commands, Python, and files to write, page by page."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = {path.stem: path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE = re.compile(
    r"`((?:own|conf)/[\w./]+)`:\n\n```(?:python|yaml)\n(.*?)^```", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Told:
    """One command of a page: its words, and the line of the block that it stands in."""

    page: str
    line: str

    @property
    def words(self) -> list[str]:
        """Return the words that a shell would pass on."""
        return shlex.split(self.line, comments=True)


def read_blocks(page: str, language: str) -> list[str]:
    """Read the blocks of a page that are written in a language."""
    return [text for name, text in BLOCK.findall(PAGES[page].read_text()) if name == language]


def list_commands(page: str) -> list[Told]:
    """List the commands of a page, each on one line."""
    text = "".join(read_blocks(page, "bash")).replace("\\\n", " ")
    return [Told(page, line) for line in text.splitlines() if line and not line.startswith("#")]


def list_files(page: str) -> dict[str, str]:
    """Map the files that a page shows, by the path that it names before a block, to their text."""
    return dict(FILE.findall(PAGES[page].read_text()))


def read_table(page: str, heading: str) -> list[list[str]]:
    """Read the rows of the first table below a heading."""
    below = PAGES[page].read_text().split(f"# {heading}\n", 1)[1]
    lines = re.search(r"^\|.*?(?=\n\n)", below, re.M | re.S)
    assert lines is not None
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines[0].splitlines()[2:]
    ]
