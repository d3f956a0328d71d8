"""Writes `dvc.yaml` and `conf/dvc.yaml`: `python -m tworulers.graph.write`, or `./scripts/write_graph`."""

import textwrap
from pathlib import Path
from typing import Any

import yaml

from tworulers.graph.choices import UNWATCHED, Choices, Watched, merge
from tworulers.graph.declared import list_settings
from tworulers.graph.imports import list_watched
from tworulers.graph.wiring import STEPS, Step
from tworulers.io.paths import project_root

HEAD = """\
# Written by ./scripts/write_graph: do not edit. What is connected stands in src/tworulers/graph/wiring.py, settings in
# conf/, the lists in conf/grid.yaml. Every step watches the sources that it imports and the settings that it reads.
"""
ARTIFACTS = "artifacts/${grid.dataset}"
DEFINITIONS = ("conf/attributes/", "conf/regime/", "conf/ruler/")
"""Settings that are data rather than numbers to turn: watched as files, since their values would fill the lock."""

ITEMS = ("regime", "ruler", "configuration")


def write_graph(root: Path) -> dict[str, str]:
    """Return the text of each file of the graph, by its path from the project root.

    What always runs has a file of its own: DVC writes the lock of its file anew each time, and that should be short.

    Parameters
    ----------
    root : the folder with `conf/` and `src/`.
    """
    always = [describe_step(step, root) for step in STEPS if step.always]
    others = [describe_step(step, root) for step in STEPS if not step.always]
    settings = ("grid.yaml", "config.yaml:defaults")
    return {
        "dvc.yaml": write_steps([f"conf/{file}" for file in settings], others),
        "conf/dvc.yaml": write_steps(list(settings), always),
    }


def write_steps(settings: list[str], steps: list[str]) -> str:
    """Return the text of one file of the graph."""
    return f"{HEAD}{yaml.safe_dump({'vars': settings})}\nstages:\n" + "\n".join(steps)


def describe_step(step: Step, root: Path) -> str:
    """Return the entry of one step."""
    lists = {
        name: f"${{grid.{of}}}" if isinstance(of, str) else of for name, of in step.matrix.items()
    }
    chosen = {"dataset": "${grid.dataset}", **step.given}
    chosen |= {name: f"${{item.{name}}}" for name in step.matrix}
    arguments = " ".join(f"{name}={choice}" for name, choice in chosen.items())
    entry: dict[str, Any] = {"matrix": lists} if lists else {}
    if step.always:
        entry["wdir"] = ".."
    entry["cmd"] = f"python -m tworulers.stages.{step.stage} {arguments}"
    if not step.always:
        entry |= describe_watched(step, root, chosen)
    if step.outs:
        entry["outs"] = [place(out) for out in step.outs]
    if step.always:
        entry["always_changed"] = True
    text = yaml.safe_dump({step.name: entry}, sort_keys=False, width=10_000)
    note = "\n".join(f"# {line}" for line in textwrap.wrap(step.note, 110))
    return textwrap.indent(f"{note}\n{text}" if note else text, "  ").replace(": null\n", ":\n")


def describe_watched(step: Step, root: Path, chosen: dict[str, str]) -> dict[str, Any]:
    """Return the sources, files and values that a step watches."""
    module, share = f"tworulers.stages.{step.stage}", 0.0 if step.many else 0.5
    sources = list_watched(module, root / "src", share)
    settings = watch_settings(step, root, chosen)
    files = [
        file for file, keys in settings.items() if keys is None and file.startswith(DEFINITIONS)
    ]
    values = {file: keys for file, keys in settings.items() if file not in files}
    return {
        "deps": [
            *(path.relative_to(root).as_posix() for path in sources),
            *files,
            *(place(dep) for dep in step.deps),
        ],
        "params": [{file: sorted(keys) if keys else None} for file, keys in values.items()],
    }


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
    """Write the graph of the project above the working folder."""
    root = project_root()
    for name, text in write_graph(root).items():
        (root / name).write_text(text, encoding="utf-8")
        print(f"written: {name}")


if __name__ == "__main__":
    main()
