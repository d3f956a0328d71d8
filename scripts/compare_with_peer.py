"""Train our recipe and nnU-Net v2 on the same exams with one plan, and compare validation Dice.

    python scripts/compare_with_peer.py --data msd_hippocampus --peer /path/to/peer/bin/python

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
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _both_sides import (
    CONFIGURATION,
    Arena,
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
from scipy import stats

from tworulers.io.images import read_label
from tworulers.recipe.clean import dice_of
from tworulers.recipe.folds import Fold, split_folds

TOOLS = ("ours", "peer")
AGREE_WITHIN = 2.0
SAME_DICE = 1e-6


def train_ours(arena: Arena, fold: Fold, seed: int, folder: Path) -> pd.DataFrame:
    """Dice of each validation exam and structure after our training."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.json").write_text(json.dumps(asdict(fold_task(arena, fold, seed, folder))))
    command = [sys.executable, "-m", "tworulers.recipe.train", str(folder / "task.json")]
    run_side(command, folder / "log.txt")
    return pd.read_parquet(folder / "validation.parquet")


def train_peer(arena: Arena, fold: Fold, seed: int, folder: Path, peer: Path) -> pd.DataFrame:
    """Dice of each validation exam and structure after the peer's training."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(peer_settings(arena, seed)))
    command = peers(peer, "train", folder / "settings.json", folder / "record.json")
    run_side(command, folder / "log.txt", peer_environment(arena, folder / "results"))
    validation = Path(json.loads((folder / "record.json").read_text())["validation"])
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


def train_once(
    arena: Arena, fold: Fold, tool: str, seed: int, peer: Path
) -> tuple[str, int, dict[str, float], float]:
    """Train one tool with one seed, unless its result is there: mean Dice by structure, minutes."""
    folder = arena.work / "trained" / f"{tool}_{seed}"
    kept = folder / "dice.json"
    if not kept.is_file():
        start = time.perf_counter()
        if tool == "ours":
            scored = train_ours(arena, fold, seed, folder)
        else:
            scored = train_peer(arena, fold, seed, folder, peer)
        dice = scored.groupby("structure")["dice"].mean().to_dict()
        minutes = (time.perf_counter() - start) / 60
        kept.write_text(json.dumps({"dice": dice, "minutes": minutes}))
        print(f"{tool}, seed {seed}: {dice} after {minutes:.1f} min", flush=True)
    content = json.loads(kept.read_text())
    return tool, seed, content["dice"], content["minutes"]


def summarise(dices: dict[str, dict[str, list[float]]]) -> list[dict[str, Any]]:
    """Compare the tools structure by structure: tool -> structure -> one Dice a seed."""
    rows = []
    for structure in dices["ours"]:
        own, other = (np.array(dices[tool][structure]) for tool in TOOLS)
        n = len(own)
        row: dict[str, Any] = {"structure": structure}
        for tool, values in zip(TOOLS, (own, other), strict=True):
            spread = float(values.std(ddof=1)) if n > 1 else None
            row[tool] = {"seeds": values.tolist(), "mean": float(values.mean()), "sd": spread}
        row["difference"] = float(own.mean() - other.mean())
        if n > 1:
            pooled = float(np.sqrt((own.var(ddof=1) + other.var(ddof=1)) / 2))
            reach = float(stats.t.ppf(0.975, 2 * n - 2)) * pooled * np.sqrt(2 / n)
            row["seed_spread"] = pooled
            row["interval"] = [row["difference"] - reach, row["difference"] + reach]
            row["within_seed_spread"] = abs(row["difference"]) <= AGREE_WITHIN * pooled
        rows.append(row)
    return rows


def show(rows: list[dict[str, Any]], seeds: int) -> None:
    table = Table(title="Validation Dice, mean over exams")
    columns = ("structure", "tool", *(f"seed {s}" for s in range(seeds)), "mean", "SD")
    for column in (*columns, "difference (95 % interval)", "within seed spread"):
        table.add_column(column)
    for row in rows:
        verdict = ("", "")
        if "interval" in row:
            low, high = row["interval"]
            verdict = (
                f"{row['difference']:+.4f} ({low:+.4f} to {high:+.4f})",
                "yes" if row["within_seed_spread"] else "NO",
            )
        for tool in TOOLS:
            spread = row[tool]["sd"]
            table.add_row(
                row["structure"] if tool == "ours" else "",
                tool,
                *(f"{value:.4f}" for value in row[tool]["seeds"]),
                f"{row[tool]['mean']:.4f}",
                "" if spread is None else f"{spread:.4f}",
                *(verdict if tool == "ours" else ("", "")),
            )
    Console(width=130).print(table)


def main() -> None:
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
    options = parser.parse_args()

    recipe = replace(
        load_recipe("small"),
        epochs=options.epochs,
        iterations=options.iterations,
        validation_iterations=options.validation_iterations,
        optimizer=options.optimizer,
        learning_rate=options.learning_rate,
        momentum=0.99,
        warmup_iterations=0,
        cautious_start=False,
        select=False,
    )
    exams, facts = find_exams(options.data, options.exams)
    fold = split_folds([exam.exam_id for exam in exams])[0]
    with tempfile.TemporaryDirectory() as temporary:
        work = (options.work or Path(temporary)).absolute()
        check_same_settings(work, {"recipe": asdict(recipe), "exams": len(exams)})
        arena = prepare_arena(work, exams, facts, recipe, [fold])
        if not (work / "prepared").is_file():
            limit = [] if options.exams is None else ["--exams", options.exams]
            run_side(ours("preprocess", work, options.data, *limit), work / "ours" / "log.txt")
            command = peers(options.peer, "preprocess", arena.plans_name, CONFIGURATION)
            run_side(command, work / "peer" / "log.txt", peer_environment(arena, work / "results"))
            (work / "prepared").touch()
        print(
            f"{len(fold.train)} exams train, {len(fold.val)} validate; "
            f"{options.epochs * options.iterations} steps",
            flush=True,
        )
        jobs = [(tool, seed) for seed in range(options.seeds) for tool in TOOLS]
        with ThreadPoolExecutor(options.parallel) as pool:
            waiting = [pool.submit(train_once, arena, fold, *job, options.peer) for job in jobs]
            try:
                results = [future.result() for future in as_completed(waiting)]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        results.sort(key=lambda result: result[1])
        plan = json.loads(arena.plans.read_text())["configurations"][CONFIGURATION]

    structures = list(results[0][2])
    for _, _, dice, _ in results:
        dice["mean"] = float(np.mean(list(dice.values())))
    dices = {
        tool: {
            name: [dice[name] for job, _, dice, _ in results if job == tool]
            for name in (*structures, "mean")
        }
        for tool in TOOLS
    }
    rows = summarise(dices)
    show(rows, options.seeds)
    minutes = {tool: [m for job, _, _, m in results if job == tool] for tool in TOOLS}
    print("minutes a training: " + ", ".join(f"{t} {np.mean(m):.1f}" for t, m in minutes.items()))
    if options.out:
        content = {
            "settings": {
                "exams": len(exams), "train": len(fold.train), "validation": len(fold.val),
                "epochs": options.epochs, "iterations": options.iterations,
                "optimizer": options.optimizer, "learning_rate": options.learning_rate,
            },
            "plan": plan,
            "agree_within_seed_spreads": AGREE_WITHIN,
            "structures": rows,
            "minutes": minutes,
        }  # fmt: skip
        options.out.write_text(json.dumps(content, indent=2))


if __name__ == "__main__":
    main()
