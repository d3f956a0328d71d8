"""Which settings may leave this machine: those named here, and of a path its last part."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from tworulers.schema.file_names import PATHS

SETTINGS = frozenset(
    {"seed", "processes", "split", "regime", "ruler", "configuration", "attributes", "recipe", "trainer", "inference",
     "audit", "report", "use", "check", "grid"}
)  # fmt: skip
SETTINGS_OF_SOURCES = {
    "dataset": {"name", "title", "source", "structures", "channels", "gold_share", "phantom", "root"},
    "predictions": {"name", "title", "folder", "structures", "label_map", "incomplete", "references"},
    "scores": {"file", "layout", "measures", "provenance"},
    "against": {"file", "layout", "measures", "provenance"},
    "risk": {"name", "title", "file", "score", "outcome", "event", "non_event", "groups", "groupings", "low",
             "high", "probability", "linear", "linear_terms", "seed"},
}  # fmt: skip
"""Of where data come from: names and codes, no columns of people, exam ids, lists of experts or keys of pseudonyms."""


def hide_places(params: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the settings that may be shown; of a path, keep its last part.

    Parameters
    ----------
    params : settings by their dotted keys. Keys of no group named here are a result's own figures and stay.
    """
    return {name: _shorten(value, name) for name, value in params.items() if _may_be_told(name)}


def tell_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the groups and keys that may be shown of nested settings; of a path, keep its last part.

    Parameters
    ----------
    settings : values and groups by name, as a stage keeps them.
    """
    told: dict[str, Any] = {}
    for name, value in settings.items():
        if name in SETTINGS_OF_SOURCES:
            keys = SETTINGS_OF_SOURCES[name]
            told[name] = _shorten({key: part for key, part in value.items() if key in keys})
        elif name in SETTINGS:
            told[name] = _shorten(value)
    return told


def _may_be_told(name: str) -> bool:
    group, _, rest = name.partition(".")
    if group in SETTINGS_OF_SOURCES:
        return rest.partition(".")[0] in SETTINGS_OF_SOURCES[group]
    return group in SETTINGS or "." not in name


def _shorten(value: Any, name: str = "") -> Any:
    """Keep the last part of a path: of every setting that holds one, and of what else looks like a whole one."""
    if isinstance(value, str) and ("/" in value or "\\" in value):
        last = PurePath(value.replace("\\", "/")).name
        if name.rpartition(".")[2] in PATHS:
            return last
        whole = value.startswith(("/", "~", ".", "\\")) or value[1:2] == ":"
        return last if whole and "\n" not in value else value
    if isinstance(value, Mapping):
        return {key: _shorten(part, str(key)) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shorten(part, name) for part in value]
    return value
