"""Writes `dvc.yaml`: `python -m tworulers.graph.write`, or `./scripts/write_graph`."""

import textwrap
from pathlib import Path
from typing import Any

import yaml

from tworulers.graph.choices import UNWATCHED, Choices, Watched, merge
from tworulers.graph.declared import list_settings
from tworulers.graph.imports import list_sources
from tworulers.graph.wiring import STEPS, Step

HEAD = """\
# The straight line from cohort to verdict, written by ./scripts/write_graph: do not edit. What is connected stands
# in src/tworulers/graph/wiring.py, settings in conf/, the lists in conf/grid.yaml. Every step watches the source
# files that it imports and the settings that it reads.
"""
ARTIFACTS = "artifacts/${grid.dataset}"
ITEMS = ("regime", "ruler", "configuration")


def write_graph(root: Path) -> str:
    """Return the text of `dvc.yaml` for a project.

    Parameters
    ----------
    root : the folder with `conf/` and `src/`.
    """
    head = yaml.safe_dump({"vars": ["conf/grid.yaml", "conf/config.yaml:defaults"]})
    steps = [describe_step(step, root) for step in STEPS]
    return f"{HEAD}{head}\nstages:\n" + "\n".join(steps)


def describe_step(step: Step, root: Path) -> str:
    """Return the entry of one step."""
    lists = {
        name: f"${{grid.{of}}}" if isinstance(of, str) else of for name, of in step.matrix.items()
    }
    chosen = {"dataset": "${grid.dataset}", **step.given}
    chosen |= {name: f"${{item.{name}}}" for name in step.matrix}
    arguments = " ".join(f"{name}={choice}" for name, choice in chosen.items())
    sources = list_sources(f"tworulers.stages.{step.stage}", root / "src")
    entry: dict[str, Any] = {"matrix": lists} if lists else {}
    entry["cmd"] = f"python -m tworulers.stages.{step.stage} {arguments}"
    entry["deps"] = [path.relative_to(root).as_posix() for path in sources]
    entry["deps"] += [place(dep) for dep in step.deps]
    watched = watch_settings(step, root, chosen)
    entry["params"] = [{file: sorted(keys) if keys else None} for file, keys in watched.items()]
    if step.outs:
        entry["outs"] = [place(out) for out in step.outs]
    if step.always:
        entry["always_changed"] = True
    text = yaml.safe_dump({step.name: entry}, sort_keys=False, width=10_000)
    note = "\n".join(f"# {line}" for line in textwrap.wrap(step.note, 110))
    return textwrap.indent(f"{note}\n{text}" if note else text, "  ").replace(": null\n", ":\n")


def watch_settings(step: Step, root: Path, chosen: dict[str, str]) -> Watched:
    """Say which values of which files in `conf/` a step watches, in the order of the files."""
    choices = Choices(root / "conf", chosen)
    names = list_settings(step.stage, root / "src")
    parts = [choices.watch(name) for name in names if name.partition(".")[0] not in UNWATCHED]
    for group, key in step.every.items():
        files = choices.watch_all(group)
        parts.append({file: {key} if key else None for file in files})
    return dict(sorted(merge(parts).items()))


def place(path: str) -> str:
    """Write a place below the dataset's folder as DVC spells it."""
    spelled = path.format(**{name: f"${{item.{name}}}" for name in ITEMS})
    return f"{ARTIFACTS}/{spelled}"


def main() -> None:
    """Write `dvc.yaml` of the project above the working folder."""
    from tworulers.io.paths import project_root

    root = project_root()
    (root / "dvc.yaml").write_text(write_graph(root), encoding="utf-8")
    print(f"written to {root / 'dvc.yaml'}")


if __name__ == "__main__":
    main()
