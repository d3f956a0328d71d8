"""What a command is asked: the composed configuration as plain settings, whole, or the part that a stage reads."""

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
    return settings


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
