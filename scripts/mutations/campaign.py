"""Changes of good tables and label maps, many of them: 2,000 read in this process, 50 by the command line.

`./scripts/campaign mutations [--number 2000] [--commands 50] [--seed 0]`
"""

import argparse
import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np

from mutations import tables
from mutations.trials import Outcome, tabulate, try_label_maps, try_table

TABLES = 4
"""Of so many changes one is of a label map, and the others are of tables."""

SECONDS = 600
"""How long a command may take, on a busy machine too."""


def run_trials(first: int, number: int) -> list[tuple[str, str, Outcome]]:
    """Try so many changes, each in a folder of its own; an accident is a failure with its place."""
    rows = []
    for seed in range(first, first + number):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            made = try_label_maps if seed % TABLES == 0 else try_table
            try:
                rows.append(made(seed, Path(folder)))
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                wrong = f"traceback: {error!r} in {place.name}, {place.filename}:{place.lineno}"
                rows.append((made.__name__, wrong, Outcome({})))
    return rows


def run_commands(first: int, number: int) -> list[tuple[str, str]]:
    """Audit so many changed tables by the command line; list what is wrong by seed."""
    failed = []
    for seed in range(first, first + number):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            rng = np.random.default_rng([seed, 3])
            path, change = tables.change(tables.make_scores(), rng, folder)
            command = [
                *(sys.executable, "-m", "tworulers", "audit", f"scores.file={path}"),
                *("scores.provenance=gold", "attributes.by=[sex]", "audit.metrics=[dice]"),
                *("audit.permutations=20", "audit.bootstrap_draws=20", "audit.power_draws=0"),
                *("tracking=off", f"paths.outputs={folder / 'out'}"),
            ]
            try:
                done = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, timeout=SECONDS
                )
            except subprocess.TimeoutExpired:
                failed.append((f"{seed} {change}", f"has not ended in {SECONDS} s"))
                continue
            said = done.stdout + done.stderr
            wrote = list((folder / "out").rglob("tests.parquet"))
            if "Traceback" in said:
                failed.append((f"{seed} {change}", said[-600:]))
            elif done.returncode == 0 and not wrote:
                failed.append((f"{seed} {change}", "ended well without a result"))
            elif done.returncode and "table." not in said:
                failed.append((f"{seed} {change}", f"no file is named: {said[-300:]}"))
    return failed


def main() -> int:
    """Run the campaign and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--commands", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with contextlib.redirect_stderr(Path(os.devnull).open("w")):
        rows = run_trials(asked.seed, asked.number)
    print(tabulate(rows).to_string())
    failed = [(change, wrong) for change, wrong, _ in rows if wrong]
    failed += run_commands(asked.seed, asked.commands)
    for change, wrong in failed:
        print(f"{change}: {wrong}")
    print(f"{asked.number} changes and {asked.commands} commands, {len(failed)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
