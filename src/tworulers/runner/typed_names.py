"""Names of a person's own in mappings: any text, in the signs that Hydra's grammar takes for a key, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omegaconf import DictConfig

_ESCAPED = re.compile(r"[\\()\[\]{}:=, \t]")
"""What the grammar takes behind a backslash."""

_OTHER = re.compile(r"[^\w\\()\[\]{}:=, \t/.+*@?|-]|[^\W\d](?<![A-Za-z_])|\d(?<![0-9])")
"""What it does not take at all, which is written by its number; `%` and `$` begin something."""

_READ_OTHERWISE = re.compile(
    r"(?i)true|false|null|none|nan|[+-]?inf|[+-]?[\d_.]+(e[+-]?\d+)?|[\d\s].*|.*\s"
)
"""Names that it reads as something else, or cuts short, unless their first or last sign is written by its number."""

_NUMBERED = re.compile(r"%\(u\+([0-9a-f]+)\)")


def write_name(name: str) -> str:
    """Write any text as the key of a mapping on the command line."""
    spelled = [
        _number(sign) if _OTHER.fullmatch(sign) else _ESCAPED.sub(r"\\\g<0>", sign) for sign in name
    ]
    if _READ_OTHERWISE.fullmatch(name):
        spelled[0], spelled[-1] = _number(name[0]), _number(name[-1])
    return "".join(spelled)


def restore_names(config: DictConfig) -> None:
    """Put the texts in place of names that `write_name` wrote, in place."""
    from omegaconf import open_dict  # help and completion ask for names alone

    for node in list(_walk(config)):
        keys = [str(key) for key in node]
        if not any(_NUMBERED.search(key) for key in keys):
            continue
        parts = [(key, node._get_node(key)) for key in node]
        with open_dict(node):
            for key, _ in parts:
                node.pop(key)
            for key, part in parts:
                node[_NUMBERED.sub(lambda found: chr(int(found[1], 16)), str(key))] = part


def _number(sign: str) -> str:
    return f"%\\(u+{ord(sign):04x}\\)"


def _walk(node: Any) -> Iterator[DictConfig]:
    """List the mappings of a configuration, the innermost first."""
    from omegaconf import DictConfig, ListConfig

    if not isinstance(node, DictConfig | ListConfig) or node._is_none() or node._is_missing():
        return
    inner = list(node) if isinstance(node, DictConfig) else range(len(node))
    for key in inner:
        yield from _walk(node._get_node(key))
    if isinstance(node, DictConfig):
        yield node
