"""Paths that start with the sign of the home folder, wherever in the settings they stand."""

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from tworulers.file_names import PATHS


def expand_home(settings: Any) -> None:
    """Put the home folder in place of a leading `~` of every path in settings, in place.

    Raises
    ------
    ValueError : there is no such home folder; the message names the setting and the path.
    """
    if isinstance(settings, dict | list):
        for part in settings.values() if isinstance(settings, dict) else settings:
            expand_home(part)
    if not is_dataclass(settings):
        return
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name in PATHS and isinstance(value, str) and value.startswith("~"):
            try:
                setattr(settings, field.name, str(Path(value).expanduser()))
            except RuntimeError as error:
                raise ValueError(f"{field.name}={value}: {error}; write the whole path") from error
        else:
            expand_home(value)
