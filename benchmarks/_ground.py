"""Where our recipe and the peer meet: exams with one plan, and a process of each side that takes its turn."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from _arena import HERE, Arena, find_exams, load_comparable, peer_environment, prepare_arena
from _folds import Fold
from _made import SPINE, SPINE_SPACING, make_spine, write_map
from _rows import Row, keep_row
from _sides import Answer, Side, find_peak, list_seconds

from tworulers.schema.settings import PlanOverrides

PAPER_EXAMS = 3
EIGHTH = {"3d_fullres": [16, 128, 256]}
"""A patch of the paper's network that a step fits into the memory of a small machine."""


@dataclass(frozen=True)
class Ground:
    """Exams with one plan, laid out for both tools, and a process of each."""

    arena: Arena
    ours: Side
    peer: Side

    @property
    def plans(self) -> dict[str, str]:
        return {"plans": str(self.arena.plans), "dataset": str(self.arena.dataset)}

    @property
    def work(self) -> str:
        return str(self.arena.work / "ours")

    def preprocess(self, configuration: str) -> tuple[Answer, Answer]:
        """Let both prepare all exams, ours first."""
        raw = str(self.arena.raw)
        ours = self.ours.ask(
            "preprocess", raw=raw, work=self.work, configuration=configuration, **self.plans
        )
        peers = self.peer.ask(
            "preprocess",
            raw=raw,
            preprocessed=str(self.arena.preprocessed),
            plans=str(self.arena.plans),
            configuration=configuration,
        )
        return ours, peers

    def export(self, configuration: str) -> str:
        """Write the weights that both predict with, and return the folder of the model."""
        results = str(self.arena.work / "exported")
        answer = self.ours.ask("export", configuration=configuration, results=results, **self.plans)
        return str(answer["model"])


@contextmanager
def meet(work: Path, data: Path, limit: int, peer: Path, plan: PlanOverrides) -> Iterator[Ground]:
    """Lay out the first exams of a Decathlon folder with one plan, and start a process of each side."""
    exams, facts = find_exams(data, limit)
    names = [exam.exam_id for exam in exams]
    recipe = replace(load_comparable("resenc_l"), plan=plan)
    fold = Fold(tuple(names[1:]), tuple(names[:1]))
    arena = prepare_arena(work, exams, facts, recipe, [fold])
    sides = HERE / "_turns_ours.py", HERE / "_turns_peer.py"
    environment = peer_environment(arena, work / "results")
    with ExitStack() as stack:
        ours = stack.enter_context(Side([sys.executable, sides[0]]))
        other = stack.enter_context(Side([peer, sides[1]], environment))
        yield Ground(arena, ours, other)


def step_settings(arena: Arena, configuration: str) -> dict[str, Any]:
    """What the peer's trainer is made of."""
    shared = ("epochs", "iterations", "validation_iterations", "optimizer", "learning_rate")
    return {
        "plans": str(arena.preprocessed / f"{arena.plans_name}.json"),
        "dataset": str(arena.preprocessed / "dataset.json"),
        "configuration": configuration,
        "fold": 0,
        "seed": 0,
        "weight_decay": arena.recipe.weight_decay,
        **{name: asdict(arena.recipe)[name] for name in shared},
    }


def write_paper_like(folder: Path) -> Path:
    """Write a Decathlon folder with exams of the paper's size, sagittal stacks of 512 x 512 x 15."""
    listed = []
    for seed in range(PAPER_EXAMS):
        label = make_spine(seed)[1]
        noise = np.random.default_rng(seed).integers(0, 40, label.shape)
        image = (60 + 50 * label + noise).astype(np.uint8)
        for kind, array in (("images", image), ("labels", label)):
            write_map(folder / kind / f"spine_{seed}.nii.gz", array, SPINE_SPACING)
        names = {"image": f"images/spine_{seed}.nii.gz", "label": f"labels/spine_{seed}.nii.gz"}
        listed.append(names)
    labels = {"0": "background", **{str(value): name for name, value in SPINE.items()}}
    described = {"training": listed, "modality": {"0": "CT-like"}, "labels": labels}
    (folder / "dataset.json").write_text(json.dumps(described))
    return folder


def read_options(described: str, names: list[str], default: list[str]) -> argparse.Namespace:
    """The command line of a comparison with the peer."""
    parser = argparse.ArgumentParser(description=described.splitlines()[0])
    parser.add_argument("--peer", type=Path, required=True, help="python that has nnunetv2")
    parser.add_argument("--data", type=Path, help="a Decathlon folder, such as Task04_Hippocampus")
    parser.add_argument("--only", nargs="+", choices=names, default=default, help="which rows")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="a file that the rows are added to (JSON lines)")
    options = parser.parse_args()
    if options.data is None and any("paper" not in name for name in options.only):
        parser.error("--data is needed for all but the rows of the paper")
    return options


def keep_turns(
    name: str, command: str, ours: list[Answer], peers: list[Answer], agreed: str, kept: Path | None
) -> None:
    """Keep what both sides took in their turns."""
    data = "" if "paper" in name else " --data Task04_Hippocampus"
    told = f"benchmarks/run {command}{data} --peer PYTHON --only {name} --repeats {len(ours)}"
    seconds = list_seconds(ours), list_seconds(peers)
    keep_row(Row(name, told, *seconds, find_peak(ours), find_peak(peers), agreed), kept)
