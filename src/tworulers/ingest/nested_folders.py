"""Label maps that lie in a folder an exam, and those with one file a structure."""

import re
from pathlib import Path

from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.folders import Listing, is_debris
from tworulers.ingest.id_rules import EXAM
from tworulers.io.image_names import IMAGES, stem_of

STRUCTURE = "{structure}"
"""Where a pattern of file names has the name of a structure, whose mask the file holds alone."""


def list_nested(folder: Path, pattern: str) -> Listing:
    """List the label maps below a folder whose paths fit a pattern such as `{exam}/{structure}`.

    Parameters
    ----------
    folder : where the paths begin.
    pattern : a path without extension; it holds `{exam}` once or more, `{structure}` at most once, in its last part.

    Raises
    ------
    ValueError : the pattern has no `{exam}`, or `{structure}` elsewhere.
    """
    fits = _compile(pattern)
    files: dict[str, Path] = {}
    parts: dict[str, None] = {}
    faults: list[Fault] = []
    depth = pattern.count("/")
    for path in sorted(folder.glob("/".join(["*"] * (depth + 1)))):
        if is_debris(path) or not path.name.casefold().endswith(IMAGES):
            continue
        name = path.parent.relative_to(folder) / stem_of(path)
        match = fits.fullmatch(name.as_posix())
        if match is None:
            continue
        exam = match["exam"]
        if STRUCTURE in pattern:
            parts[match["structure"]] = None
            path = path.parent
        elif exam in files:
            found = f"{files[exam].name} and {path.name}"
            faults.append(
                Fault(FaultKind.DUPLICATES, "one file", found, "remove one", str(path), exam)
            )
        files[exam] = path
    return Listing(folder.name, files, faults, tuple(sorted(parts)))


def name_part(pattern: str, structure: str) -> str:
    """Return what the file of a structure is called, without extension."""
    return pattern.rpartition("/")[2].replace(STRUCTURE, structure)


def _compile(pattern: str) -> re.Pattern[str]:
    folders, _, last = pattern.rpartition("/")
    if EXAM not in pattern or STRUCTURE in folders or last.count(STRUCTURE) > 1:
        raise ValueError(
            f"pattern {pattern!r}: expected {EXAM}, and {STRUCTURE} once in its last part or not at all, such as "
            f"{EXAM}/{STRUCTURE}"
        )
    if STRUCTURE in pattern and EXAM not in folders:
        raise ValueError(
            f"pattern {pattern!r}: expected a folder an exam, such as {EXAM}/{STRUCTURE}"
        )
    text, seen = "", False
    for piece in re.split(r"(\{exam\}|\{structure\})", pattern):
        if piece == EXAM:
            text += "(?P=exam)" if seen else "(?P<exam>[^/]+)"
            seen = True
        else:
            text += "(?P<structure>[^/]+)" if piece == STRUCTURE else re.escape(piece)
    return re.compile(text)
