"""What a command is asked: the composed configuration as plain settings, whole, or the part that a stage reads."""

import os
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from tworulers.io.paths import find_choice, list_configuration
from tworulers.runner.environment import limit_environment
from tworulers.schema.file_names import PATHS, check_name
from tworulers.schema.settings import Settings

Group = TypeVar("Group")


def load_settings(config: DictConfig) -> Settings:
    """Turn a composed configuration into plain dataclasses."""
    limit_environment()
    OmegaConf.resolve(config)
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise UnsetValueError(missing)
    settings = OmegaConf.to_object(config)
    assert isinstance(settings, Settings)
    if unknown := _list_unknown(settings, ""):
        raise ValueError("\n  ".join(["no such setting:", *unknown]))
    return settings


def _list_unknown(settings: Any, place: str) -> list[str]:
    """List what was given below a name of a person's own and is no setting there, each with those there are."""
    if isinstance(settings, dict | list):
        parts = settings.items() if isinstance(settings, dict) else enumerate(settings)
        return [told for name, part in parts for told in _list_unknown(part, f"{place}.{name}")]
    if not is_dataclass(settings):
        return []
    known = [field.name for field in fields(settings)]
    told = [
        f"{place}.{name}; there are {', '.join(known)}".removeprefix(".")
        for name in vars(settings)
        if name not in known
    ]
    for name in known:
        told += _list_unknown(getattr(settings, name), f"{place}.{name}")
    return told


class UnsetValueError(ValueError):
    """Configuration values that have to be given are not."""

    def __init__(self, keys: list[str]) -> None:
        assignments = " ".join(f"{key}=..." for key in keys)
        super().__init__(
            f"configuration value not set: {', '.join(keys)}; give it on the command line: {assignments}"
        )


def load_choice(root: Path, group: str, name: str, schema: type[Group]) -> Group:
    """Read one choice of a configuration group, for stages that need several choices at once.

    Raises
    ------
    ValueError : there is no such choice; the message lists those there are.
    """
    path = find_choice(root, group, check_name(name, group))
    if path is None:
        folders = [folder / group for folder in list_configuration(root)]
        choices = sorted({choice.stem for folder in folders for choice in folder.glob("*.yaml")})
        raise ValueError(f"no {group} is called {name!r}; conf/{group} has {choices}")
    loaded = OmegaConf.to_object(
        OmegaConf.merge(OmegaConf.structured(schema), OmegaConf.load(path))
    )
    assert isinstance(loaded, schema)
    return loaded


BESIDE_DATA = ("dataset.reading.table", "dataset.reading.experts", "risk.file", "risk.joins")
"""Paths that are named as seen from the folder of the data."""


def open_paths(
    settings: Any, typed: Collection[str] = (), root: Path | None = None, kept: Any = None
) -> None:
    """Open `~` and variables in every path of settings, in place, and let it lead where the person means.

    What is typed counts from the working folder, what a file of the configuration says from the project. Where they are
    one, and results go below it, relative paths stay as they are.

    Parameters
    ----------
    settings : whose paths are opened.
    typed : the keys of the command line.
    root : the project root.
    kept : the configuration they were made of, which is kept with the result.

    Raises
    ------
    ValueError : there is no such home folder; the message names the setting and the path.
    """
    outputs = Path(settings.paths.outputs) if root is not None else Path()
    one = root is None or (root == Path.cwd() and (root / outputs).is_relative_to(root))
    _open_parts(
        settings, "", kept, lambda key, value: _open_path(value, key, typed, None if one else root)
    )


def _open_parts(settings: Any, place: str, kept: Any, open_path: Callable[[str, str], str]) -> None:
    parts: list[tuple[Any, Any]] = []
    if isinstance(settings, dict):
        parts = list(settings.items())
    elif isinstance(settings, list):
        parts = list(enumerate(settings))
    elif is_dataclass(settings):
        parts = [(field.name, getattr(settings, field.name)) for field in fields(settings)]
    for name, value in parts:
        key = f"{place}.{name}".strip(".")
        if is_dataclass(settings) and name in PATHS and isinstance(value, str):
            opened = open_path(key, value)
            setattr(settings, name, opened)
            if kept is not None and opened != value:
                kept[name] = opened
        elif isinstance(value, dict | list) or is_dataclass(value):
            known = kept is not None and (isinstance(settings, list) or name in kept)
            _open_parts(value, key, kept[name] if known else None, open_path)


def _open_path(value: str, key: str, typed: Collection[str], root: Path | None) -> str:
    """Open a path; where a root is given it is made whole."""
    opened = os.path.expandvars(value)
    try:
        opened = str(Path(opened).expanduser()) if opened.startswith("~") else opened
    except RuntimeError as error:
        raise ValueError(f"{key}={value}: {error}; write the whole path") from error
    if root is None or not opened or Path(opened).is_absolute() or key.startswith(BESIDE_DATA):
        return opened
    if any(key == name or key.startswith(f"{name}.") for name in typed):
        return str(Path(opened).absolute())
    # Places of results count from the project as they are.
    return opened if key.startswith("paths.") else str(root / opened)


def read_kept(text: str) -> dict[str, Any] | None:
    """Read the settings that a result was made by; None where they can no longer be read."""
    try:
        kept = OmegaConf.to_container(OmegaConf.create(text))
    except (ValueError, YAMLError, OmegaConfBaseException):
        return None
    return {str(key): value for key, value in kept.items()} if isinstance(kept, dict) else None


def pick_settings(config: DictConfig, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the named part of a resolved configuration, nested as it is there.

    Parameters
    ----------
    config : every setting.
    names : dotted names of values or whole groups.
    """
    whole = OmegaConf.to_container(config)
    picked: dict[str, Any] = {}
    for name in names:
        *parents, last = name.split(".")
        value, place = whole, picked
        for parent in parents:
            value, place = value[parent], place.setdefault(parent, {})  # type: ignore[index,call-overload]
        place[last] = value[last]  # type: ignore[index,call-overload]
    return picked


def flatten(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """List the values of nested settings that are set, by dotted name."""
    flat: list[tuple[str, Any]] = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            flat += flatten(value, f"{name}.")
        elif value not in (None, "", [], {}):
            flat.append((name, value))
    return flat
