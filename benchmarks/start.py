"""Measure what a command costs before it reads its first file, and a graph with nothing to do.

    benchmarks/run start --repeats 5

Processor seconds of whole processes, in turns. Beside `audit`, which is ended where it would read the cohort, stands
a process that imports pandas, SciPy's statistics and Hydra alone. `--repro` adds `dvc repro` where a graph was made
before (`./scripts/reproduce`): it digests the code, lists the images, and finds that all outputs are there.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from _timing import run_process, write_range

ROOT = Path(__file__).parents[1]
IMPORTS = "import os, pandas, scipy.stats, hydra; os._exit(0)"
AUDIT = """
import os
import tworulers.stages.audit as stage
from tworulers.runner.run import run_stage
stage.read_cohort = lambda layout: os._exit(0)
run_stage(stage.audit)
"""
"""Runs the stage until it would read its first table."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--repro", action="store_true", help="also `dvc repro` of a made graph")
    options = parser.parse_args()

    commands = {
        "imports": [sys.executable, "-c", IMPORTS],
        "audit": [sys.executable, "-c", AUDIT],
    }
    if options.repro:
        commands["repro"] = [str(Path(sys.executable).with_name("dvc")), "repro", "--quiet"]
    source = {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    spent: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as logs:
        # The first of each writes what Python compiles, and does not count.
        for turn in range(options.repeats + 1):
            for name, command in commands.items():
                cost = run_process(command, Path(logs) / f"{name}.log", source)
                if turn:
                    spent[name].append(cost.cpu_seconds)
    spent["audit above imports"] = [
        ours - base for ours, base in zip(spent["audit"], spent["imports"], strict=True)
    ]
    for name, seconds in spent.items():
        print(f"{name:<20} {write_range(seconds)} processor seconds")


if __name__ == "__main__":
    main()
