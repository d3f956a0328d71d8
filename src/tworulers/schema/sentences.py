"""What a setting means, in the sentence that stands with it in its dataclass; help and documents take it from there."""

import ast
import inspect
import re
from dataclasses import is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from tworulers.schema.settings import Settings


def describe_key(key: str, kind: type = Settings) -> str:
    """Return the sentence of a setting, without its full stop; empty where none stands with it.

    Parameters
    ----------
    key : dotted name, such as `predictions.structures`; names that a person chooses (`predictions.references.expert`)
        are passed over.
    kind : the dataclass that the name begins in.

    Raises
    ------
    KeyError : there is no such setting.
    """
    sentence, place = "", kind
    names = key.split(".")
    while names:
        name = names.pop(0)
        hints = get_type_hints(place) if is_dataclass(place) else {}
        if name not in hints:
            raise KeyError(f"{key}: {getattr(place, '__name__', place)} has no {name}")
        found: Any = hints[name]
        sentence = _read_sentences(place).get(name) or _describe_kind(found)
        if get_origin(found) is dict and names:
            names.pop(0)
            found = get_args(found)[1]
            sentence = _describe_kind(found) if not names else sentence
        place = found
    return sentence.removesuffix(".")


@cache
def _read_sentences(kind: type) -> dict[str, str]:
    """Map the fields of a dataclass to the text below each, else to the sentence of its docstring that names it."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    text = " ".join((ast.get_docstring(definition) or "").split())
    said = re.split(r"(?<=[.;]) (?=[A-Z`])", text)
    found: dict[str, str] = {}
    field = ""
    for node in definition.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            field = node.target.id
            found[field] = next((one.strip(" ;") for one in said if f"`{field}`" in one), "")
        elif field and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[field], field = " ".join(str(node.value.value).split()), ""
        else:
            field = ""
    return found


def _describe_kind(kind: Any) -> str:
    """Return the first sentence of a group of settings."""
    text = (inspect.getdoc(kind) or "") if is_dataclass(kind) else ""
    return text.split("\n\n")[0].replace("\n", " ")
