"""Which texts may name a file or folder, under which name any other text is filed, and which settings are paths."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

LONGEST_NAME = 200
"""Bytes of a name in UTF-8: file systems take 255, and endings and marks of unfinished files come on top."""

PATHS = frozenset(
    {
        "artifacts",
        "cohort",
        "experts",
        "file",
        "folder",
        "outputs",
        "primary",
        "pseudonym_key",
        "root",
        "table",
        "truth",
    }
)
"""The names of settings that are paths."""

_PLAIN = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,79}")
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_CONTROL = ("Cc", "Cs", "Zl", "Zp")


class FileNameError(ValueError):
    """A text that is to name a file or folder would lead elsewhere, or nowhere."""


def find_name_fault(name: str) -> str:
    """Say in words why a text cannot name a file or folder; empty where it can."""
    if not name.strip():
        return "is empty"
    if any(map(_is_control, name)):
        return "holds a control character"
    if "/" in name or "\\" in name:
        return "holds a slash"
    if name.startswith("."):
        return "begins with a dot"
    size = len(name.encode())
    return f"has {size} bytes, more than {LONGEST_NAME}" if size > LONGEST_NAME else ""


def check_name(name: str, what: str) -> str:
    """Return a name that a file or folder may have.

    Parameters
    ----------
    name : of an exam, patient, reference, ruler, regime or anything else that results are filed under.
    what : what is called so, for the message.

    Raises
    ------
    FileNameError : it holds a slash or control character, begins with a dot, is empty, or is too long.
    """
    fault = find_name_fault(name)
    if fault:
        raise FileNameError(
            f"{what} {escape_controls(name)!r} {fault}, so nothing can be filed under it; "
            "use letters, digits, spaces, - and _"
        )
    return name


def find_meeting_names(names: Iterable[str]) -> list[list[str]]:
    """List the names that are one on a file system that does not tell cases or compositions apart, sorted."""
    folded: dict[str, set[str]] = {}
    for name in names:
        folded.setdefault(fold_name(name), set()).add(name)
    return sorted(sorted(group) for group in folded.values() if len(group) > 1)


def fold_name(name: str) -> str:
    """Return what names that meet have in common: case folded, composed (NFC)."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def escape_controls(text: str) -> str:
    r"""Write control characters and those that turn the direction of writing as ``\x1b``; lines stay lines."""
    return "".join(
        character.encode("unicode_escape").decode()
        if _is_control(character) and character not in "\n\t"
        else character
        for character in text
    )


def is_plain(text: str) -> bool:
    """Tell whether a text is its own file name, on any file system."""
    return _PLAIN.fullmatch(text) is not None


def name_file(text: str) -> str:
    """Return the file name of any text, such as a structure or a grouping.

    Plain texts (small letters, digits, ``_``, ``.``, ``-``) are their own names. Any other gets a readable form and
    a hash of the text, parted by ``~``, which no plain text has: two texts never have one name, on any file system.
    """
    if is_plain(text):
        return text
    readable = re.sub(r"[^\w-]+", "_", unicodedata.normalize("NFC", text)).strip("_")[:40]
    readable = readable.encode()[:80].decode(errors="ignore")
    return (
        f"{readable or '_'}~{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:12]}"
    )


def name_parts(names: Iterable[str]) -> dict[str, str]:
    """Write names as parts of a metric's name, which slashes part: C2/C3 becomes C2-C3.

    Where that is the name of another one too, the slash is written %2F, so that no two meet.
    """
    names = list(dict.fromkeys(map(str, names)))
    plain = {name: name.replace("/", "-") for name in names}
    often = Counter(plain.values())
    return {
        name: part if part == name or often[part] == 1 else name.replace("/", "%2F")
        for name, part in plain.items()
    }


def _is_control(character: str) -> bool:
    return character in _TURNING or unicodedata.category(character) in _CONTROL
