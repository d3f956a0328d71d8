"""The page of settings, written from the dataclasses that hold them, their sentences, and the files of `conf/`."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from sphinx.application import Sphinx

from tworulers.runner.settings import load_settings
from tworulers.schema.sentences import describe_key
from tworulers.schema.settings import Settings
from tworulers.schema.sources import UNSET

ROOT = Path(__file__).parents[2]
HERE = "<!-- settings -->"
LONGEST = 60
NAMED = "<name>"
"""Stands for a name that a person gives."""


def compose_defaults() -> Settings:
    """Compose what holds where nothing is said."""
    ConfigStore.instance().store(name="schema", node=Settings)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return load_settings(compose("config", []))


def list_keys(kind: type, value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """List the dotted keys of a group of settings with their values; of a mapping to groups, those of one.

    Parameters
    ----------
    kind : the dataclass.
    value : one of it; None where only its defaults are known.
    name : dotted, of the group.
    """
    hints = get_type_hints(kind)
    for one in fields(kind):
        key, hint = f"{name}.{one.name}", hints[one.name]
        given = getattr(value, one.name, None)
        inner = get_args(hint)[-1] if get_origin(hint) in (dict, list) else hint
        if is_dataclass(hint) and isinstance(hint, type):
            yield from list_keys(hint, given, key)
        elif is_dataclass(inner) and isinstance(inner, type) and get_origin(hint) is dict:
            yield key, given
            yield from list_keys(inner, inner(), f"{key}.{NAMED}")
        else:
            yield key, given


def write_value(value: Any) -> str:
    """Write a value as it stands in a table, a long one by its beginning."""
    if value is None or value == UNSET:
        return "to be given" if value == UNSET else "none"
    if isinstance(value, dict) and any(is_dataclass(one) for one in value.values()):
        return ", ".join(f"`{name}`" for name in value)
    if value in ("", [], {}):
        return "empty"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return f"`{text}`".replace("|", "\\|")


def write_row(key: str, value: Any) -> str:
    """Write the row of one key."""
    said = describe_key(key).replace("|", "\\|")
    return f"| `{key}` | {write_value(value)} | {said} |"


def write_choices(group: str) -> str:
    """List the files of a group of `conf/` with their first line; empty where it has none."""
    files = sorted((ROOT / "conf" / group).glob("*.yaml"))
    if not files:
        return ""
    rows = [f"| `{group}={path.stem}` | {describe_choice(path)} |" for path in files]
    return "\n".join(["", "| choice | means |", "|---|---|", *rows, ""])


def describe_choice(path: Path) -> str:
    """Say what a file of `conf/` chooses: in its comment, its title, as which other file, or in what it sets."""
    content = yaml.safe_load(path.read_text()) or {}
    others = [one for one in content.get("defaults", []) if one != "_self_"]
    said = read_comment(path) or content.get("title", "")
    if not said and others:
        said = f"as `{others[0]}`"
    rest = [f"`{key}: {value}`" for key, value in content.items() if not isinstance(value, list)]
    return said or ", ".join(rest)


def read_comment(path: Path) -> str:
    """Read the comment that a file of `conf/` begins with."""
    told = []
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            break
        if "@package" not in line:
            told.append(line.lstrip("# ").rstrip())
    return " ".join(told).replace("|", "\\|")


def write_group(name: str, kind: type, value: Any) -> str:
    """Write one group: what it is, its choices, and its keys."""
    keys = dict(list_keys(kind, value, name))
    rows = [write_row(key, given) for key, given in keys.items()]
    said = describe_key(name)
    table = "\n".join(["| key | where nothing is said | means |", "|---|---|---|", *rows])
    return f"## {name}\n\n{said}.\n{write_choices(name)}\n{table}\n"


def write_page() -> str:
    """Write every group, and the keys that are in none."""
    settings, hints = compose_defaults(), get_type_hints(Settings)
    groups, single = [], []
    for one in fields(Settings):
        kind, value = hints[one.name], getattr(settings, one.name)
        if is_dataclass(kind) and isinstance(kind, type):
            groups.append(write_group(one.name, kind, value))
        else:
            single.append(write_row(one.name, value))
    head = ["## Of every command", "", "| key | where nothing is said | means |", "|---|---|---|"]
    return "\n".join([*head, *single, "", "## experiment", write_choices("experiment"), *groups])


def read_source(_: Sphinx, __: str, content: list[str]) -> None:
    """Put the settings where a page asks for them."""
    if HERE in content[0]:
        content[0] = content[0].replace(HERE, write_page())


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page that is read."""
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
