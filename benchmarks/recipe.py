"""Time preprocessing, training and prediction as whole processes, beside nnU-Net v2 if given.

    benchmarks/run recipe --data msd_hippocampus --peer /path/to/peer/bin/python --repeats 3

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
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from _arena import (
    CONFIGURATION,
    DATASET,
    TOOLS,
    Arena,
    find_exams,
    load_comparable,
    ours,
    peer_environment,
    peers,
    prepare_arena,
    train_ours,
    train_peer,
)
from _folds import Fold
from _timing import Cost, run_process, write_range

from tworulers.io.label_maps import read_label
from tworulers.recipe.clean import dice_of
from tworulers.report.tables import make_table
from tworulers.runner.console import tell

Runs = dict[str, list[Cost]]
"""By tool, one entry a repeat."""

VALIDATION_EXAMS = 4
QUANTITIES = {
    "seconds": ("whole process, s", 2),
    "cpu_seconds": ("processor, s", 2),
    "step": ("one step, s", 3),
    "peak_gib": ("peak, GiB", 2),
}


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
        return run_process(peers(self.peer, *arguments), self.arena.work / "peer.log", environment)

    def run_ours(self, *arguments: object) -> Cost:
        return run_process(ours(*arguments), self.arena.work / "ours.log")


def preprocess(bench: Bench, tool: str) -> Cost:
    if tool == "peer":
        return bench.run_peer("preprocess", bench.arena.plans_name, CONFIGURATION)
    shutil.rmtree(bench.arena.work / "ours", ignore_errors=True)
    return bench.run_ours("preprocess", bench.arena.work, bench.data, bench.limit)


def train(bench: Bench, tool: str) -> Cost:
    """The process's cost; seconds of a step are the median over the epochs after the first."""
    folder = bench.arena.work / f"trained_{tool}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if tool == "peer":
        assert bench.peer is not None
        cost, record = train_peer(bench.arena, 0, folder, bench.peer)
        seconds = record["epoch_seconds"]
    else:
        cost = train_ours(bench.arena, bench.fold, 0, folder)
        seconds = pd.read_parquet(folder / "scratch" / "seconds.parquet")["seconds"].tolist()
    return replace(cost, step=statistics.median(seconds[1:]) / bench.arena.recipe.iterations)


def predict(bench: Bench, tool: str) -> Cost:
    output = bench.arena.work / f"predicted_{tool}"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    run = bench.run_peer if tool == "peer" else bench.run_ours
    return run("predict", bench.model, bench.arena.raw / "imagesTr", output)


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


def measure(bench: Bench, job: Callable[[Bench, str], Cost], repeats: int) -> Runs:
    tools = TOOLS if bench.peer else TOOLS[:1]
    measured: Runs = {tool: [] for tool in tools}
    for repeat in range(repeats):
        for tool in tools if repeat % 2 == 0 else tools[::-1]:
            cost = job(bench, tool)
            measured[tool].append(cost)
            print(f"{job.__name__} {repeat + 1}, {tool}: {cost.seconds:.1f} s", flush=True)
    return measured


def describe(name: str, measured: Runs) -> list[list[str]]:
    """Rows of the table: wall clock, processor time, a step where there is one, peak memory."""
    rows: list[list[str]] = []
    for quantity, (label, digits) in QUANTITIES.items():
        values = {
            tool: [getattr(cost, quantity) for cost in runs] for tool, runs in measured.items()
        }
        if None in values["ours"]:
            continue
        row = [name if not rows else "", label, write_range(values["ours"], digits)]
        if "peer" in values:
            ratios = [b / a for a, b in zip(values["ours"], values["peer"], strict=True)]
            row += [write_range(values["peer"], digits), write_range(ratios)]
        rows.append(row)
    return rows


def run_all(bench: Bench, repeats: int) -> tuple[dict[str, Runs], float | None]:
    """Time every job; return also how far the label maps of the two tools agree."""
    exams, recipe = len(bench.arena.exams), bench.arena.recipe
    steps = f"train {recipe.epochs} x {recipe.iterations} steps"
    measured = {
        f"preprocess {exams} exams": measure(bench, preprocess, repeats),
        steps: measure(bench, train, repeats),
    }
    bench.run_ours("export", bench.arena.work, bench.arena.work / "trained_ours")
    measured[f"predict {exams} exams"] = measure(bench, predict, repeats)
    return measured, agreement(bench) if bench.peer else None


def read_options() -> argparse.Namespace:
    """The command line."""
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
    return options


def main() -> None:
    """Time, show and keep."""
    options = read_options()
    recipe = load_comparable(
        options.recipe,
        epochs=options.epochs,
        iterations=options.iterations,
        validation_iterations=1,
    )
    exams, facts = find_exams(options.data, options.exams)
    names = [exam.exam_id for exam in exams]
    fold = Fold(tuple(names[:-VALIDATION_EXAMS]), tuple(names[-VALIDATION_EXAMS:]))
    with tempfile.TemporaryDirectory() as temporary:
        arena = prepare_arena(Path(temporary), exams, facts, recipe, [fold])
        bench = Bench(arena, fold, options.data, options.exams, options.peer)
        measured, same = run_all(bench, options.repeats)
    columns = ["job", "", "ours", *(["peer", "peer / ours"] if options.peer else [])]
    rows = [row for name, runs in measured.items() for row in describe(name, runs)]
    title = f"Recipe {options.recipe}, {CONFIGURATION}, one thread"
    tell(make_table(title, columns, rows))
    print(f"median (lowest to highest) of {options.repeats} repeats")
    if same is not None:
        print(f"lowest Dice between the tools' label maps, same weights: {same:.4f}")
    if options.out:
        content = {
            name: {tool: [asdict(cost) for cost in runs] for tool, runs in by.items()}
            for name, by in measured.items()
        }
        options.out.write_text(json.dumps({"lowest_dice_between": same, **content}, indent=2))


if __name__ == "__main__":
    main()
