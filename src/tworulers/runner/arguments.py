"""Arguments as a person types them, in the form that Hydra's grammar takes."""

import re
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from tworulers.runner.typed_names import write_name
from tworulers.schema.settings import Settings

ASSIGNMENT = re.compile(r"(?P<sign>[+~]{0,2})(?P<key>[\w./-]+)=(?P<value>.*)", re.DOTALL)

_TEXTS_AND_HOMES = re.compile(
    r"""
    (?P<text>'(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*") (?P<key>\s*:)?
    | (?P<before>(?:^|[\[{,:])\s*) (?P<home>~(?:/[^,\]}]*)?) (?=$|[,\]}])
    """,
    re.VERBOSE | re.DOTALL,
)
_LISTED_NUMBER = re.compile(r"(?P<before>[\[,]\s*)(?P<number>[+-]?\d+(?:\.\d+)?)(?=\s*[,\]])")
"""A number in a list of texts, which mappings of such lists do not take as it is."""

_QUOTED_SIGN = re.compile(r"""\\(['"\\])""")


def complete_arguments(arguments: Sequence[str]) -> list[str]:
    """Write arguments so that names in open mappings need no plus and may be any text in quotes, and paths below the
    home folder need none.

    Parameters
    ----------
    arguments : of the command, without its own name.

    Returns
    -------
    `predictions.structures={'a "b"': 1}` as `++predictions.structures={a\\ %\\(u+0022\\)b%\\(u+0022\\): 1}`,
    `scores.columns.all/dice=d` as `++scores.columns={all/dice: d}`, `scores.file=~/x` as `scores.file='~/x'`, and all
    others as they are.
    """
    completed = []
    for argument in arguments:
        found = ASSIGNMENT.fullmatch(argument)
        if found is None:
            completed.append(argument)
            continue
        key, value = found["key"], _spell(found["value"])
        if _find_kind(key) in (dict[str, list[str]], list[str]):
            value = _LISTED_NUMBER.sub(r"\g<before>'\g<number>'", value)
        sign = "++" if not found["sign"] and is_open(key) else found["sign"]
        if "/" in key and is_open(key):
            key, value = _nest(key, value)
        completed.append(f"{sign}{key}={value}")
    return completed


def is_open(key: str) -> bool:
    """Tell whether a dotted key is a mapping whose names a person chooses, or lies below one."""
    kind: Any = Settings
    for name in key.split("."):
        hints = get_type_hints(kind) if is_dataclass(kind) else {}
        if name not in hints:
            return False
        kind = hints[name]
        if get_origin(kind) is dict:
            return len(get_args(kind)) == 2
    return False


def _find_kind(key: str) -> Any:
    """Return the type of a setting, named by its dotted key; nothing where there is none."""
    kind: Any = Settings
    for name in key.split("."):
        if get_origin(kind) is dict:
            kind = get_args(kind)[1]
            continue
        kind = get_type_hints(kind).get(name) if is_dataclass(kind) else None
    return kind


def _nest(key: str, value: str) -> tuple[str, str]:
    """Write a key that holds a slash, which Hydra takes for a group of files, as a mapping."""
    parts = key.split(".")
    first = next(n for n in range(1, len(parts)) if is_open(".".join(parts[:n])))
    for name in reversed(parts[first:]):
        value = f"{{{write_name(name)}: {value}}}"
    return ".".join(parts[:first]), value


def _spell(value: str) -> str:
    """Quote the paths of a value that start with the sign of the home folder, and take quoted names of mappings."""

    def spell(found: re.Match[str]) -> str:
        if found["key"]:
            return write_name(_QUOTED_SIGN.sub(r"\1", found["text"][1:-1])) + found["key"]
        if found["home"] is None:
            return found[0]
        escaped = found["home"].rstrip().replace("\\", "\\\\").replace("'", "\\'")
        return f"{found['before']}'{escaped}'"

    return _TEXTS_AND_HOMES.sub(spell, value)
