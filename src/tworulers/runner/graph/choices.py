"""Which values of which files in `conf/` a setting comes from, whatever the choices are."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tworulers.io.paths import place_lock

UNWATCHED = ("paths", "tracking", "cost", "processes", "workers")
"""Settings that say where results go, who is shown them, what they cost, and how many and whose processes work; none
changes a result."""

Known = dict[Path, dict[str, Any]]
"""Files that were read, by path."""

Watched = dict[str, set[str] | None]
"""Values to watch by file, as dotted names; None watches the whole file."""


@dataclass(frozen=True)
class Choices:
    """The configuration groups below `conf/`, and how `config.yaml` and the pipeline choose among their files.

    `given` names the choice of a group that the pipeline's commands make, as DVC writes it. `known` holds what was
    read, for others that look at the same files.
    """

    conf: Path
    given: dict[str, str] = field(default_factory=dict)
    known: Known = field(default_factory=dict)

    @cached_property
    def root(self) -> dict[str, Any]:
        """The content of `config.yaml`."""
        return self._read(self.conf / "config.yaml")

    def watch(self, setting: str) -> Watched:
        """Say what has to be watched so that no change of a setting goes unseen.

        Parameters
        ----------
        setting : dotted name of a value, a group, or a group's value.
        """
        group, _, key = setting.partition(".")
        if key == "name" and group in self.given:
            return {}  # The command says it.
        watched: Watched = {}
        own = setting if find(self.root, setting) else group
        if find(self.root, own):
            watched["conf/config.yaml"] = {own}
        if group == "grid":
            return merge([watched, {"conf/grid.yaml": {setting}}])
        if not (self.conf / group).is_dir():
            return watched
        chosen, choice = self._choice(group)
        return merge(
            [watched, choice, self._watch_files(group, chosen, key), self._watch_primary(group)]
        )

    def watch_all(self, group: str) -> Watched:
        """Watch every file of a group, for a stage that reads several choices at once."""
        return {f"conf/{group}/{path.name}": None for path in self._files(group)}

    def _watch_primary(self, group: str) -> Watched:
        """Watch the primary questions that files of a group name, and their locks, as far as they are there."""
        named = {self._read(path).get("primary") for path in self._files(group)}
        files = [Path(str(name)) for name in named if name]
        return {
            file.as_posix(): None
            for questions in files
            for file in (questions, place_lock(questions))
            if (self.conf.parent / file).is_file()
        }

    def _choice(self, group: str) -> tuple[str, Watched]:
        """Return how DVC spells a group's choice, and the value to watch where that spelling does not say it."""
        if group in self.given:
            return self.given[group], {}
        for place, entry in enumerate(self.root["defaults"]):
            if not isinstance(entry, dict) or group not in entry:
                continue
            follows = re.fullmatch(r"\$\{(\w+)\}", str(entry[group]))
            if follows is None:
                return f"${{defaults[{place}].{group}}}", {}
            followed, _ = self._choice(follows[1])
            return followed, {"conf/config.yaml": {f"defaults.{place}.{group}"}}
        raise ValueError(f"conf/config.yaml chooses nothing of the group {group}")

    def _watch_files(self, group: str, chosen: str, key: str) -> Watched:
        """Watch one value where it stands in every file that may be chosen, else the whole of what may be read."""
        lines = {path: self._line(path) for path in self._files(group)}
        template = f"conf/{group}/{chosen}.yaml"
        holders = {path for path in lines if key and find(self._read(path), key)}
        if key and holders == set(lines):
            return {template: {key}}
        if len(holders) == 1 and all(holders <= set(line) for line in lines.values()):
            return {f"conf/{group}/{holders.pop().name}": {key}}
        parents = {parent for line in lines.values() for parent in line[1:]}
        whole: Watched = {f"conf/{group}/{path.name}": None for path in parents}
        return {template: None, **whole}

    def _read(self, path: Path) -> dict[str, Any]:
        if path not in self.known:
            self.known[path] = read_yaml(path)
        return self.known[path]

    def _files(self, group: str) -> list[Path]:
        return sorted((self.conf / group).glob("*.yaml"))

    def _line(self, path: Path) -> list[Path]:
        """Return a file and the files of its group that it starts from."""
        names = [
            name
            for name in self._read(path).get("defaults", [])
            if name not in ("_self_", "schema")
        ]
        parents = [path.with_name(f"{name}.yaml") for name in names if isinstance(name, str)]
        return [path, *(one for parent in parents for one in self._line(parent))]


def merge(parts: Iterable[Watched]) -> Watched:
    """Put together what is to be watched; a file watched whole stays so."""
    merged: Watched = {}
    for part in parts:
        for file, keys in part.items():
            known = merged.get(file, set())
            merged[file] = None if keys is None or known is None else known | keys
    return merged


def find(content: Any, name: str) -> bool:
    """Tell whether nested mappings hold a dotted name."""
    for part in name.split("."):
        if not isinstance(content, dict) or part not in content:
            return False
        content = content[part]
    return True


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file as a mapping."""
    content: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) or {}
    return content
