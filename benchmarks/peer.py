"""Train our recipe and nnU-Net v2 on the same exams with one plan, and compare validation Dice.

    benchmarks/run peer --data msd_hippocampus --peer /path/to/peer/bin/python

Both get one plan (residual encoder, 3d_fullres), the first fold of nnU-Net's split, the same number
of steps, optimiser, schedule and full augmentation, one thread a process. Every seed is trained
once by either tool. Dice is that of the validation exams on their own grid, a mean over exams, and
one function scores both tools. The seed spread is the pooled standard deviation over seeds; the
tools agree on a structure when their means differ by at most twice that. With --work, a run that
was stopped goes on with the trainings that are still missing.

The optimiser is AdamW by default, on both sides: with SGD (0.01, Nesterov 0.99) 480 steps only begin
to show structures, where AdamW has them after 120. The rate falls by epoch as nnU-Net's does.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _arena import (
    CONFIGURATION,
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
from _folds import Fold, split_folds
from _timing import run_process
from scipy import stats

from tworulers.io.label_maps import read_label
from tworulers.recipe.clean import dice_of
from tworulers.report.tables import Table, make_table
from tworulers.runner.console import tell

AGREE_WITHIN = 2.0
SAME_DICE = 1e-6

Trained = tuple[str, int, dict[str, float], float]
"""A tool, its seed, its mean Dice by structure, and the minutes that the training took."""


def score_ours(arena: Arena, fold: Fold, seed: int, folder: Path) -> pd.DataFrame:
    """Dice of each validation exam and structure after our training."""
    train_ours(arena, fold, seed, folder)
    return pd.read_parquet(folder / "validation.parquet")


def score_peer(arena: Arena, fold: Fold, seed: int, folder: Path, peer: Path) -> pd.DataFrame:
    """Dice of each validation exam and structure after the peer's training."""
    validation = Path(train_peer(arena, seed, folder, peer)[1]["validation"])
    names = {value: name for name, value in arena.facts.labels.items()}
    labels = {exam.exam_id: exam.label for exam in arena.exams}
    rows = []
    for exam_id in fold.val:
        predicted = read_label(validation / f"{exam_id}.nii.gz").array
        dices = dice_of(predicted, read_label(labels[exam_id]).array, arena.facts.foreground)
        rows += [
            (exam_id, names[value], float(dice))
            for value, dice in zip(arena.facts.foreground, dices, strict=True)
        ]
    scored = pd.DataFrame(rows, columns=["exam_id", "structure", "dice"])
    reported = json.loads((validation / "summary.json").read_text())["foreground_mean"]["Dice"]
    own = scored.groupby("structure")["dice"].mean().mean()
    if abs(own - reported) > SAME_DICE:
        raise RuntimeError(
            f"The peer reports a mean Dice of {reported}, but its label maps have {own}: "
            "the two are not of the same exams."
        )
    return scored


def check_same_settings(work: Path, settings: dict[str, Any]) -> None:
    """Refuse a work folder that holds trainings with other settings."""
    work.mkdir(parents=True, exist_ok=True)
    kept = work / "settings.json"
    if kept.is_file() and json.loads(kept.read_text()) != settings:
        raise SystemExit(
            f"{work} holds trainings with other settings than asked for ({kept}): give another "
            "--work, or remove it."
        )
    kept.write_text(json.dumps(settings))


def train_once(arena: Arena, fold: Fold, tool: str, seed: int, peer: Path) -> Trained:
    """Train one tool with one seed, unless its result is there."""
    folder = arena.work / "trained" / f"{tool}_{seed}"
    kept = folder / "dice.json"
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        if tool == "ours":
            scored = score_ours(arena, fold, seed, folder)
        else:
            scored = score_peer(arena, fold, seed, folder, peer)
        dice = scored.groupby("structure")["dice"].mean().to_dict()
        minutes = (time.perf_counter() - start) / 60
        kept.write_text(json.dumps({"dice": dice, "minutes": minutes}))
        print(f"{tool}, seed {seed}: {dice} after {minutes:.1f} min", flush=True)
    content = json.loads(kept.read_text())
    return tool, seed, content["dice"], content["minutes"]


def summarise(dices: dict[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Compare the tools structure by structure: by tool, one row a seed and one column a structure."""
    rows = []
    for structure in dices["ours"]:
        values = {tool: dices[tool][structure].to_numpy() for tool in TOOLS}
        own, other = values.values()
        row: dict[str, Any] = {"structure": structure}
        for tool, dice in values.items():
            spread = float(dice.std(ddof=1)) if len(dice) > 1 else None
            row[tool] = {"seeds": dice.tolist(), "mean": float(dice.mean()), "sd": spread}
        row["difference"] = float(own.mean() - other.mean())
        if len(own) > 1:
            pooled = float(np.sqrt((own.var(ddof=1) + other.var(ddof=1)) / 2))
            row["seed_spread"] = pooled
            row["interval"] = list(stats.ttest_ind(own, other).confidence_interval())
            row["within_seed_spread"] = abs(row["difference"]) <= AGREE_WITHIN * pooled
        rows.append(row)
    return rows


def tabulate(rows: list[dict[str, Any]], seeds: int) -> Table:
    """Lay the comparison out, two lines a structure."""
    lines = []
    for row in rows:
        verdict = ("", "")
        if "interval" in row:
            low, high = row["interval"]
            agree = "yes" if row["within_seed_spread"] else "NO"
            verdict = f"{row['difference']:+.4f} ({low:+.4f} to {high:+.4f})", agree
        for tool, name, said in (("ours", row["structure"], verdict), ("peer", "", ("", ""))):
            numbers = (*row[tool]["seeds"], row[tool]["mean"], row[tool]["sd"])
            written = ("" if number is None else f"{number:.4f}" for number in numbers)
            lines.append((name, tool, *written, *said))
    columns = ("structure", "tool", *(f"seed {s}" for s in range(seeds)), "mean", "SD")
    columns += ("difference (95 % interval)", "within seed spread")
    return make_table("Validation Dice, mean over exams", columns, lines)


def prepare(options: argparse.Namespace, work: Path) -> tuple[Arena, Fold]:
    """Lay out the exams for both tools in a work folder, unless that was done."""
    exams, facts = find_exams(options.data, options.exams)
    fold = split_folds([exam.exam_id for exam in exams])[0]
    recipe = load_comparable(
        "small",
        epochs=options.epochs,
        iterations=options.iterations,
        validation_iterations=options.validation_iterations,
        optimizer=options.optimizer,
        learning_rate=options.learning_rate,
        momentum=0.99,
    )
    check_same_settings(work, {"recipe": asdict(recipe), "exams": len(exams)})
    arena = prepare_arena(work, exams, facts, recipe, [fold])
    if not (work / "prepared").is_file():
        run_process(ours("preprocess", work, options.data, len(exams)), work / "ours" / "log.txt")
        command = peers(options.peer, "preprocess", arena.plans_name, CONFIGURATION)
        run_process(command, work / "peer" / "log.txt", peer_environment(arena, work / "results"))
        (work / "prepared").touch()
    return arena, fold


def train_all(arena: Arena, fold: Fold, seeds: int, peer: Path, parallel: int) -> list[Trained]:
    """Train both tools with every seed, so many at once; results in the order of the seeds."""
    jobs = [(tool, seed) for seed in range(seeds) for tool in TOOLS]
    with ThreadPoolExecutor(parallel) as pool:
        waiting = [pool.submit(train_once, arena, fold, *job, peer) for job in jobs]
        try:
            results = [future.result() for future in as_completed(waiting)]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return sorted(results, key=lambda result: result[1])


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a Decathlon folder")
    parser.add_argument("--peer", type=Path, required=True, help="python with nnunetv2")
    parser.add_argument("--work", type=Path, help="where everything is kept (default: nothing is)")
    parser.add_argument("--out", type=Path, help="JSON with every figure")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--validation-iterations", type=int, default=2)
    parser.add_argument("--optimizer", choices=("sgd", "adamw"), default="adamw")
    parser.add_argument("--learning-rate", type=float, default=0.003)
    parser.add_argument("--exams", type=int, help="only the first so many")
    parser.add_argument("--parallel", type=int, default=2, help="trainings at once, a thread each")
    return parser.parse_args()


def main() -> None:
    """Train, compare, show and keep."""
    options = read_options()
    with tempfile.TemporaryDirectory() as temporary:
        work = (options.work or Path(temporary)).absolute()
        arena, fold = prepare(options, work)
        print(
            f"{len(fold.train)} exams train, {len(fold.val)} validate; "
            f"{options.epochs * options.iterations} steps",
            flush=True,
        )
        results = train_all(arena, fold, options.seeds, options.peer, options.parallel)
        plan = json.loads(arena.plans.read_text())["configurations"][CONFIGURATION]
    dices = {
        tool: pd.DataFrame([dice for job, _, dice, _ in results if job == tool]) for tool in TOOLS
    }
    rows = summarise({tool: table.assign(mean=table.mean(axis=1)) for tool, table in dices.items()})
    tell(tabulate(rows, options.seeds))
    minutes = {tool: [m for job, _, _, m in results if job == tool] for tool in TOOLS}
    print("minutes a training: " + ", ".join(f"{t} {np.mean(m):.1f}" for t, m in minutes.items()))
    if options.out:
        kept = ("epochs", "iterations", "optimizer", "learning_rate")
        sizes = {"exams": len(arena.exams), "train": len(fold.train), "validation": len(fold.val)}
        content = {
            "settings": sizes | {name: getattr(options, name) for name in kept},
            "plan": plan,
            "agree_within_seed_spreads": AGREE_WITHIN,
            "structures": rows,
            "minutes": minutes,
        }
        options.out.write_text(json.dumps(content, indent=2))


if __name__ == "__main__":
    main()
