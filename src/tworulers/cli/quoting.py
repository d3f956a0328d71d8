"""Texts that a person types without quotes, in the spelling that Hydra's grammar reads back as the same text."""

import os
import re
from collections.abc import Mapping, Sequence

from tworulers.runner.typed_names import write_name

_PLAIN = re.compile(r"[A-Za-z_./][\w./-]*", re.ASCII)
_WORDS = {"true", "false", "null", "nan", "inf"}
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def quote_text(text: str) -> str:
    """Write a text as it is where that reads as text, else in quotes, with `${NAME}` as a shell opens it."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    text = _VARIABLE.sub(lambda found: os.environ.get(found[1], found[0]), text)
    return "'" + re.sub(r"(\\+)(?='|$)", r"\1\1", text).replace("'", "\\'") + "'"


def write_list(texts: Sequence[str]) -> str:
    """Write a list of texts."""
    return f"[{','.join(map(quote_text, texts))}]"


def write_mapping(values: Mapping[str, str]) -> str:
    """Write a mapping from names, which may be any text, to values, which stand as they are."""
    return "{" + ", ".join(f"{write_name(name)}: {value}" for name, value in values.items()) + "}"
