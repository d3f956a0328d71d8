"""Writes `dvc.yaml`, `conf/dvc.yaml` and their picture: `./scripts/write_graph`."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tworulers.io.paths import project_root
from tworulers.runner.graph.choices import Choices, Known, Watched, merge, read_yaml
from tworulers.runner.graph.code import place_digests
from tworulers.runner.graph.draw import draw_graph
from tworulers.runner.graph.wiring import Step, list_steps
from tworulers.schema.own_files import load_own_files
from tworulers.schema.result_files import COUNTED, CURVES, GROUP_SCORES

HEAD = """\
# Written by ./scripts/write_graph: do not edit. The steps stand in src/tworulers/runner/graph/wiring.py, what a stage
# reads and makes in table.py beside it, settings in conf/, the lists in conf/grid.yaml. Every step watches a digest of
# the code that it imports, and the settings that it reads.
"""
ARTIFACTS = "artifacts/${item.dataset}"
DEFINITIONS = ("conf/attributes/", "conf/regime/", "conf/ruler/")
"""Settings that are data rather than numbers to turn: watched as files, since their values would fill the lock."""


def write_graph(root: Path) -> dict[str, str]:
    """Return the text of each file of the graph, by its path from the project root.

    What always runs has a file of its own: DVC writes the lock of its file anew each time, and that should be short.

    Parameters
    ----------
    root : the folder with `conf/` and `src/`.
    """
    load_own_files(root)
    steps, known = list_steps(root), Known()
    stages = sorted({step.stage for step in steps if not step.wiring.always})
    always = [describe_code(stages)]
    always += [describe_step(step, root, known) for step in steps if step.wiring.always]
    others = [describe_step(step, root, known) for step in steps if not step.wiring.always]
    settings = ("grid.yaml", "config.yaml:defaults")
    return {
        "dvc.yaml": write_steps([f"conf/{file}" for file in settings], others) + write_shown(),
        "conf/dvc.yaml": write_steps(list(settings), always),
        "docs/pipeline.md": draw_graph(steps),
    }


def write_steps(settings: list[str], steps: list[str]) -> str:
    """Return the text of one file of the graph."""
    return f"{HEAD}{yaml.safe_dump({'vars': settings})}\nstages:\n" + "\n".join(steps)


def write_shown() -> str:
    """Return what `dvc metrics` and `dvc plots` show, as YAML."""
    report = "artifacts/${grid.dataset}/report"
    shown = {
        "metrics": [f"{report}/{COUNTED}"],
        "plots": [
            {
                f"{report}/{GROUP_SCORES}": {
                    "x": "median",
                    "y": "group",
                    "template": "scores_by_group",
                    "title": "Scores over all structures by group and ruler: median and quartiles",
                }
            },
            {
                f"{report}/{CURVES}": {
                    "x": "epoch",
                    "y": "smoothed_pseudo_dice",
                    "template": "curves",
                    "title": "How every fold learnt",
                }
            },
        ],
    }
    return "\n" + yaml.safe_dump(shown, sort_keys=False, width=10_000)


def describe_code(stages: list[str]) -> str:
    """Return the entry of the step that digests the code of every stage."""
    entry = {
        "wdir": "..",
        "cmd": "python -m tworulers.runner.graph.code",
        "outs": [mark(place_digests(stage)) for stage in stages],
        "always_changed": True,
    }
    note = "What the code does is digested each time: comments, docstrings and layout do not count."
    return write_entry("code", entry, note)


def describe_step(step: Step, root: Path, known: Known) -> str:
    """Return the entry of one step; `known` is what was read of `conf/`."""
    wiring, chosen = step.wiring, step.choose()
    entry: dict[str, Any] = {"matrix": step.expand()}
    if wiring.always:
        entry["wdir"] = ".."
    arguments = " ".join(f"{name}={choice}" for name, choice in chosen.items())
    module = "runner.graph.outside" if wiring.always else f"stages.{step.stage}"
    entry["cmd"] = f"python -m tworulers.{module} {arguments}"
    if not wiring.always:
        entry |= describe_watched(step, root, known)
    outputs = [place(out, chosen) for out in wiring.outputs]
    kept = [{out: {"persist": True}} for out in outputs]
    marks = [mark(place(one, chosen)) for one in wiring.marks]
    entry["outs"] = [*(kept if wiring.keeps else outputs), *marks]
    if wiring.always:
        entry["always_changed"] = True
    return write_entry(step.name, entry, step.note)


def write_entry(name: str, entry: dict[str, Any], note: str) -> str:
    """Return an entry as YAML, its note above it."""
    text = yaml.safe_dump({name: entry}, sort_keys=False, width=10_000)
    said = "\n".join(f"# {line}" for line in textwrap.wrap(note, 110))
    return textwrap.indent(f"{said}\n{text}" if said else text, "  ").replace(": null\n", ":\n")


def describe_watched(step: Step, root: Path, known: Known) -> dict[str, Any]:
    """Return the code, files and values that a step watches."""
    settings = watch_settings(step, root, known)
    files = [
        file for file, keys in settings.items() if keys is None and file.startswith(DEFINITIONS)
    ]
    values = {file: keys for file, keys in settings.items() if file not in files}
    inputs = [place(one, step.choose()) for one in step.inputs]
    deps = [place_digests(step.stage), *files, *inputs]
    params = [{file: sorted(keys) if keys else None} for file, keys in values.items()]
    return {"deps": deps, "params": params} if params else {"deps": deps}


def watch_settings(step: Step, root: Path, known: Known) -> Watched:
    """Say which values of which files in `conf/` a step watches, in the order of the files."""
    choices = Choices(root / "conf", step.choose(), known)
    parts = [choices.watch(name) for name in step.wiring.reads]
    for group, key in step.wiring.every.items():
        files = choices.watch_all(group)
        parts.append({file: {key} if key else None for file in files})
    return dict(sorted(merge(parts).items()))


def place(path: str, chosen: Mapping[str, str]) -> str:
    """Write a place as DVC spells it: below the dataset's folder, or a mark anywhere else."""
    spelled = path.format(**chosen)
    return spelled if path.startswith("mlruns/") else f"{ARTIFACTS}/{spelled}"


def mark(path: str) -> dict[str, Any]:
    """Return an output that DVC hashes, and neither keeps nor takes away before the step runs."""
    return {path: {"cache": False, "persist": True}}


def require_current(root: Path) -> None:
    """Refuse a graph that is not what the grid, the files of `conf/` and the wiring make it.

    Raises
    ------
    ValueError : with the steps that are missing, not asked for any more, or of other lists or settings.
    """
    stale: dict[str, None] = {}
    for name, text in write_graph(root).items():
        if not name.endswith(".yaml"):
            continue
        there = read_yaml(root / name).get("stages", {})
        wanted = yaml.load(text, yaml.CSafeLoader)["stages"]
        stale |= {one: None for one in {**wanted, **there} if wanted.get(one) != there.get(one)}
    if stale:
        raise ValueError(
            "dvc.yaml was written for other lists or settings than those of conf/grid.yaml and conf/ (see "
            f"{', '.join(stale)}); run ./scripts/write_graph"
        )


def save_graph(root: Path) -> list[str]:
    """Write the files of the graph, and return their paths from the project root."""
    graph = write_graph(root)
    for name, text in graph.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return list(graph)


def main() -> None:
    """Write the graph of the project above the working folder."""
    for name in save_graph(project_root()):
        print(f"written: {name}")


if __name__ == "__main__":
    main()
