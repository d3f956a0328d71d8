"""The settings that a result was made with, asked for once more from wherever the person stands."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tworulers.cli.forms import FormError
from tworulers.cli.quoting import quote_text, write_mapping
from tworulers.runner.arguments import is_open
from tworulers.schema.file_names import PATHS


def read_again(file: str) -> list[str]:
    """Read the `config.yaml` of a result as settings of the command line.

    Relative paths in it count from the folder above it that holds them, whatever the working folder is.

    Parameters
    ----------
    file : the file, or the folder of the result.

    Raises
    ------
    FormError : no such file, or no settings in it.
    """
    path = Path(file).expanduser()
    path = path / "config.yaml" if path.is_dir() else path
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise FormError(f"--again {file}: expected the config.yaml of a result: {error}") from error
    if not isinstance(content, dict):
        raise FormError(f"--again {file}: expected the config.yaml of a result, found no settings")
    # The groupings of the set that is chosen by default would be asked beside those of the file.
    first = ["attributes=none"] if "attributes" in content else []
    return [*first, *_list_settings(content, "", path.resolve().parent)]


def _list_settings(values: Mapping[Any, Any], prefix: str, place: Path) -> Iterator[str]:
    """List single values by their dotted names; a mapping with names of a person's own stands whole."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value and not is_open(name):
            yield from _list_settings(value, f"{name}.", place)
        else:
            yield f"++{name}={_write(value, str(key), place)}"


def _write(value: Any, key: str, place: Path) -> str:
    if isinstance(value, dict):
        return write_mapping({str(k): _write(part, str(k), place) for k, part in value.items()})
    if isinstance(value, list):
        return f"[{','.join(_write(part, '', place) for part in value)}]"
    if isinstance(value, str):
        return quote_text(_find(value, place) if key in PATHS else value)
    return json.dumps(value).replace("Infinity", "inf").replace("NaN", "nan")


def _find(value: str, place: Path) -> str:
    """Return where a relative path leads that was written down below the folder it counts from."""
    found = [folder / value for folder in (place, *place.parents) if (folder / value).exists()]
    relative = bool(value) and not Path(value).is_absolute() and not value.startswith("~")
    return str(found[0]) if relative and found else value
