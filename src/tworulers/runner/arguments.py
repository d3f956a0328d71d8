"""Arguments as a person types them, in the form that Hydra's grammar takes."""

import re
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from tworulers.schema.settings import Settings

ASSIGNMENT = re.compile(r"(?P<sign>[+~]{0,2})(?P<key>[\w.-]+)=(?P<value>.*)", re.DOTALL)

_TEXTS_AND_HOMES = re.compile(
    r"""'(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | (?P<before>(?:^|[\[{,:])\s*) (?P<home>~(?:/[^,\]}]*)?) (?=$|[,\]}])""",
    re.VERBOSE,
)


def complete_arguments(arguments: Sequence[str]) -> list[str]:
    """Write arguments so that names in open mappings need no plus, and paths below the home folder no quotes.

    Parameters
    ----------
    arguments : of the command, without its own name.

    Returns
    -------
    `predictions.structures={a: 1}` as `++predictions.structures={a: 1}`, `scores.file=~/x` as `scores.file='~/x'`, and
    all others as they are.
    """
    completed = []
    for argument in arguments:
        found = ASSIGNMENT.fullmatch(argument)
        if found is None:
            completed.append(argument)
            continue
        sign = "++" if not found["sign"] and is_open(found["key"]) else found["sign"]
        completed.append(f"{sign}{found['key']}={_quote_homes(found['value'])}")
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


def _quote_homes(value: str) -> str:
    """Quote the paths of a value that start with the sign of the home folder."""

    def quote(found: re.Match[str]) -> str:
        if found["home"] is None:
            return found[0]
        escaped = found["home"].rstrip().replace("\\", "\\\\").replace("'", "\\'")
        return f"{found['before']}'{escaped}'"

    return _TEXTS_AND_HOMES.sub(quote, value)
