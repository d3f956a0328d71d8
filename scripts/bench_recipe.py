"""Time preprocessing, training and prediction as whole processes, beside nnU-Net v2 if given.

    scripts/bench recipe --data msd_hippocampus --peer /path/to/peer/bin/python --repeats 3

Each job is one process with one thread, from start to exit, imports included; both tools get the
same exams, plan and number of steps, and predict with the same weights (ours, exported). Within a
repeat the two run one after the other, the first of them alternating, so that a busy machine slows
both; the ratio (peer / ours, above 1 means ours is faster) is taken within each repeat and reported
as median and range. A step is a training step inside that process, after the first epoch. Memory is
the peak of the largest single process.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from _both_sides import (
    CONFIGURATION,
    DATASET,
    Arena,
    Cost,
    find_exams,
    fold_task,
    load_recipe,
    ours,
    peer_environment,
    peer_settings,
    peers,
    prepare_arena,
    run_side,
)
from rich.console import Console
from rich.table import Table

from tworulers.io.images import read_label
from tworulers.recipe.clean import dice_of
from tworulers.recipe.folds import Fold

TOOLS = ("ours", "peer")
VALIDATION_EXAMS = 4


@dataclass(frozen=True)
class Bench:
    """What is timed: the exams with their plan, how long to train, and the peer's python."""

    arena: Arena
    fold: Fold
    data: Path
    limit: int
    peer: Path | None

    @property
    def model(self) -> Path:
        name = f"nnUNetTrainer__{self.arena.plans_name}__{CONFIGURATION}"
        return self.arena.work / "exported" / DATASET / name

    def run_peer(self, *arguments: object) -> Cost:
        assert self.peer is not None
        environment = peer_environment(self.arena, self.arena.work / "results")
        return run_side(peers(self.peer, *arguments), self.arena.work / "peer.log", environment)

    def run_ours(self, *arguments: object) -> Cost:
        return run_side(ours(*arguments), self.arena.work / "ours.log")


def preprocess(bench: Bench, tool: str) -> tuple[Cost, float | None]:
    if tool == "peer":
        return bench.run_peer("preprocess", bench.arena.plans_name, CONFIGURATION), None
    shutil.rmtree(bench.arena.work / "ours", ignore_errors=True)
    cost = bench.run_ours("preprocess", bench.arena.work, bench.data, "--exams", bench.limit)
    return cost, None


def train(bench: Bench, tool: str) -> tuple[Cost, float | None]:
    """The process's cost, and seconds of a step: median over the epochs after the first."""
    folder = bench.arena.work / f"trained_{tool}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if tool == "peer":
        (folder / "settings.json").write_text(json.dumps(peer_settings(bench.arena, 0)))
        cost = bench.run_peer("train", folder / "settings.json", folder / "record.json")
        seconds = json.loads((folder / "record.json").read_text())["epoch_seconds"]
    else:
        task = fold_task(bench.arena, bench.fold, 0, folder)
        (folder / "task.json").write_text(json.dumps(asdict(task)))
        command = [sys.executable, "-m", "tworulers.recipe.train", str(folder / "task.json")]
        cost = run_side(command, bench.arena.work / "ours.log")
        seconds = pd.read_parquet(folder / "scratch" / "seconds.parquet")["seconds"].tolist()
    return cost, statistics.median(seconds[1:]) / bench.arena.recipe.iterations


def predict(bench: Bench, tool: str) -> tuple[Cost, float | None]:
    output = bench.arena.work / f"predicted_{tool}"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    run = bench.run_peer if tool == "peer" else bench.run_ours
    return run("predict", bench.model, bench.arena.raw / "imagesTr", output), None


def agreement(bench: Bench) -> float:
    """Lowest Dice, over exams and structures, between the label maps of the two tools."""
    lowest = 1.0
    for exam in bench.arena.exams:
        first, second = (
            read_label(bench.arena.work / f"predicted_{tool}" / f"{exam.exam_id}.nii.gz").array
            for tool in TOOLS
        )
        dices = dice_of(first, second, bench.arena.facts.foreground)
        lowest = min(lowest, float(np.nanmin(dices, initial=1.0)))
    return lowest


def spread(values: list[float], digits: int = 2) -> str:
    middle = statistics.median(values)
    return f"{middle:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def measure(
    bench: Bench, job: Callable[[Bench, str], tuple[Cost, float | None]], repeats: int
) -> dict[str, list[tuple[Cost, float | None]]]:
    tools = TOOLS if bench.peer else TOOLS[:1]
    measured: dict[str, list[tuple[Cost, float | None]]] = {tool: [] for tool in tools}
    for repeat in range(repeats):
        for tool in tools if repeat % 2 == 0 else tools[::-1]:
            measured[tool].append(job(bench, tool))
            cost = measured[tool][-1][0]
            print(f"{job.__name__} {repeat + 1}, {tool}: {cost.seconds:.1f} s", flush=True)
    return measured


def describe(name: str, measured: dict[str, list[tuple[Cost, float | None]]]) -> list[list[str]]:
    """Rows of the table: wall clock, processor time, a step where there is one, peak memory."""
    quantities: list[tuple[str, Callable[[tuple[Cost, float | None]], float], int]] = [
        ("whole process, s", lambda run: run[0].seconds, 2),
        ("processor, s", lambda run: run[0].cpu_seconds, 2),
        ("peak, GiB", lambda run: run[0].peak_gib, 2),
    ]
    if measured["ours"][0][1] is not None:
        quantities.insert(2, ("one step, s", lambda run: run[1] or float("nan"), 3))
    rows = []
    for label, take, digits in quantities:
        values = {tool: [take(run) for run in runs] for tool, runs in measured.items()}
        row = [name if not rows else "", label, spread(values["ours"], digits)]
        if "peer" in values:
            ratios = [b / a for a, b in zip(values["ours"], values["peer"], strict=True)]
            row += [spread(values["peer"], digits), spread(ratios)]
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a Decathlon folder")
    parser.add_argument("--peer", type=Path, help="python with nnunetv2; without it ours alone")
    parser.add_argument("--exams", type=int, default=40, help="only the first so many")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--recipe", default="small", help="a recipe of conf/recipe")
    parser.add_argument("--out", type=Path, help="JSON with every figure")
    options = parser.parse_args()
    if options.epochs < 2 or options.exams <= VALIDATION_EXAMS:
        parser.error(f"at least 2 epochs and {VALIDATION_EXAMS + 1} exams are needed")

    recipe = replace(
        load_recipe(options.recipe),
        epochs=options.epochs,
        iterations=options.iterations,
        validation_iterations=1,
        warmup_iterations=0,
        cautious_start=False,
        select=False,
    )
    exams, facts = find_exams(options.data, options.exams)
    names = [exam.exam_id for exam in exams]
    fold = Fold(tuple(names[:-VALIDATION_EXAMS]), tuple(names[-VALIDATION_EXAMS:]))
    with tempfile.TemporaryDirectory() as temporary:
        arena = prepare_arena(Path(temporary), exams, facts, recipe, [fold])
        bench = Bench(arena, fold, options.data, options.exams, options.peer)
        measured = {
            f"preprocess {len(exams)} exams": measure(bench, preprocess, options.repeats),
            f"train {options.epochs} x {options.iterations} steps": measure(
                bench, train, options.repeats
            ),
        }
        bench.run_ours("export", arena.work, arena.work / "trained_ours")
        measured[f"predict {len(exams)} exams"] = measure(bench, predict, options.repeats)
        same = agreement(bench) if options.peer else None

    table = Table(title=f"Recipe {options.recipe}, {CONFIGURATION}, one thread")
    columns = ["job", "", "ours", *(["peer", "peer / ours"] if options.peer else [])]
    for column in columns:
        table.add_column(column)
    for name, runs in measured.items():
        for row in describe(name, runs):
            table.add_row(*row)
        table.add_section()
    Console(width=120).print(table)
    print(f"median (lowest to highest) of {options.repeats} repeats")
    if same is not None:
        print(f"lowest Dice between the tools' label maps, same weights: {same:.4f}")
    if options.out:
        content = {
            name: {tool: [{**asdict(c), "step": s} for c, s in runs] for tool, runs in by.items()}
            for name, by in measured.items()
        }
        options.out.write_text(json.dumps({"lowest_dice_between": same, **content}, indent=2))


if __name__ == "__main__":
    main()
