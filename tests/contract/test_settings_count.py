"""Every setting that a stage reads counts: with another value in `conf/` its step is stale, or the graph is refused."""

import copy
import re
import shutil
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tworulers.runner.graph.table import TABLE
from tworulers.runner.graph.wiring import Step, list_steps
from tworulers.runner.graph.write import write_graph
from tworulers.schema.settings import Settings

ROOT = Path(__file__).parents[2]
STEPS = {step.stage: step for step in list_steps(ROOT) if not step.wiring.always}
NAMED = ("name",)
"""Values that a step's command says itself."""


def list_leaves(settings: Any, names: tuple[str, ...]) -> list[str]:
    """The single settings that a stage reads, as dotted names."""
    found = []
    for name in names:
        place = settings
        for part in name.split("."):
            place = getattr(place, part)
        nested = is_dataclass(place) and not isinstance(place, type)
        inner = tuple(f"{name}.{field.name}" for field in fields(place)) if nested else ()
        found += list_leaves(settings, inner) if nested else [name]
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "conf", project / "conf")
    return project


class Watched:
    """What a step of the generated graph watches of the files in `conf/`, with its choices filled in."""

    def __init__(self, step: Step, project: Path, graph: dict[str, Any]) -> None:
        config = yaml.safe_load((project / "conf/config.yaml").read_text())
        grid = yaml.safe_load((project / "conf/grid.yaml").read_text())["grid"]
        self.root, self.config, self.grid = project, config, grid
        self.entry = graph["stages"][step.name]
        lists = {name: self.fill(of) for name, of in self.entry["matrix"].items()}
        self.item = {
            name: self.fill(of[-1]) if isinstance(of, list) else of for name, of in lists.items()
        }
        self.choices = {
            name: self.fill(choice)
            for name, choice in (word.split("=") for word in self.entry["cmd"].split()[3:])
        }

    def fill(self, text: Any) -> Any:
        if isinstance(text, list):
            return text

        def find(match: re.Match[str]) -> Any:
            group, _, key = match[1].partition(".")
            if group == "grid":
                value = self.grid[key]
                return value if isinstance(value, str) else value[-1]
            if group == "item":
                return self.item[key]
            place, name = re.fullmatch(r"defaults\[(\d+)\]\.(\w+)", match[1]).groups()  # type: ignore[union-attr]
            return self.config["defaults"][int(place)][name]

        return re.sub(r"\$\{([^}]+)\}", find, text)

    def read(self) -> list[Any]:
        """The watched values, as DVC reads them."""
        found: list[Any] = [self.fill(self.entry["cmd"])]
        for one in self.entry.get("params", []):
            ((file, keys),) = one.items()
            content = yaml.safe_load((self.root / self.fill(file)).read_text())
            found.append([pick(content, key) for key in keys] if keys else content)
        files = [self.fill(dep) for dep in self.entry["deps"] if dep.startswith("conf/")]
        return found + [yaml.safe_load((self.root / file).read_text()) for file in files]

    def place(self, setting: str) -> tuple[Path, list[str]]:
        """Where a person would write another value of a setting: the file that is chosen of its group."""
        group, *rest = setting.split(".")
        if group == "grid":
            return self.root / "conf/grid.yaml", setting.split(".")
        if not rest or not (self.root / "conf" / group).is_dir():
            return self.root / "conf/config.yaml", setting.split(".")
        chosen = self.choices.get(group)
        for entry in self.config["defaults"]:
            if chosen is None and isinstance(entry, dict) and group in entry:
                named = re.fullmatch(r"\$\{(\w+)\}", entry[group])
                chosen = self.choices[named[1]] if named else entry[group]
        return self.root / "conf" / group / f"{chosen}.yaml", rest


def pick(content: Any, key: str) -> Any:
    for part in key.split("."):
        content = content[int(part)] if isinstance(content, list) else (content or {}).get(part)
    return content


def give_another(path: Path, names: list[str]) -> None:
    content = yaml.safe_load(path.read_text()) or {}
    place = content
    for name in names[:-1]:
        if not isinstance(place.get(name), dict):
            place[name] = {}
        place = place[name]
    before = copy.deepcopy(place.get(names[-1]))
    place[names[-1]] = [*before, "another"] if isinstance(before, list) else f"not {before}"
    path.write_text(yaml.safe_dump(content, sort_keys=False))


@pytest.mark.parametrize("stage", sorted(STEPS))
def test_another_value_of_any_setting_that_a_stage_reads_is_seen(stage: str, project: Path) -> None:
    graph = write_graph(project)
    watched = Watched(STEPS[stage], project, yaml.safe_load(graph["dvc.yaml"]))
    before, unseen, tried = watched.read(), [], 0
    for setting in list_leaves(Settings(), TABLE[stage].reads):
        path, names = watched.place(setting)
        if names[-1] == "name" or names[0] in ("locked",):
            continue
        if not path.is_file():
            continue
        text = path.read_text()
        give_another(path, names)
        try:
            seen = watched.read() != before or write_graph(project) != graph
        except ValueError:
            seen = True  # Refused: a choice that there is not, or rulers of regimes that are not there.
        tried += 1
        if not seen:
            unseen.append(f"{setting} in {path.relative_to(project)}")
        path.write_text(text)
    assert not unseen
    assert tried > 0 or stage == "publish"
