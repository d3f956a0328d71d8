"""Time audits, comparisons and audits of risk scores of made tables, by their commands.

    benchmarks/run audit audit_10k compare_10k --keep rows.jsonl
    benchmarks/run audit audit --exams 20000 --structures 10 --groups 2,3,50 --set audit=quick

A row of the page has its own sizes; `audit`, `compare`, `structures` (a comparison with its page) and `risk` take
them from the options. Tables have the metrics dice, ndsc and hd95 of every structure (`structures`: dice alone) and of
their macro; a second ruler is the first with noise. Processor seconds and peak are those of the whole command, with
tracking off.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from _rows import Row, keep_row
from _timing import run_process

ROOT = Path(__file__).parents[1]
METRICS = ("dice", "ndsc", "hd95")


@dataclass(frozen=True)
class Sizes:
    """What is run and how large: exams (or rows of risk scores), structures, groups of each grouping."""

    what: str
    exams: int
    structures: int = 2
    groups: tuple[int, ...] = (2, 3, 5)
    a_patient: int = 1


ROWS = {
    "audit_10k": Sizes("audit", 10_000),
    "audit_100k": Sizes("audit", 100_000),
    "compare_10k": Sizes("compare", 10_000),
    "compare_30k": Sizes("compare", 30_000),
    "structures_118": Sizes("structures", 1_000, 118),
    "risk_1e6": Sizes("risk", 1_000_000, groups=(50,), a_patient=3),
}


def make_scores(sizes: Sizes, folder: Path) -> None:
    """Write gold.csv and silver.csv, a row an exam: patient, groupings and scores."""
    rng = np.random.default_rng(0)
    n = sizes.exams
    table = {"exam_id": [f"e{i:07d}" for i in range(n)]}
    table["patient_id"] = [f"p{i // sizes.a_patient:07d}" for i in range(n)]
    for place, k in enumerate(sizes.groups):
        table[f"by{place}"] = [f"g{code:03d}" for code in rng.integers(0, k, n)]
    tables = {"gold": dict(table), "silver": dict(table)}
    for metric in METRICS:
        far, top = (20.0, np.inf) if metric == "hd95" else (1.0, 1.0)
        for structure in range(sizes.structures):
            lost = far * rng.lognormal(-2.4, 0.5, n).clip(0, 0.9)
            score = lost if metric == "hd95" else 1 - lost
            for name, noise in (("gold", 0.0), ("silver", 0.02)):
                noisy = (score + rng.normal(0, noise * far, n)).clip(0, top)
                tables[name][f"{metric}_s{structure:03d}"] = noisy.round(4)
    for name, columns in tables.items():
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)


def make_risks(sizes: Sizes, folder: Path) -> None:
    """Write risks.csv: person, outcome, score, group."""
    rng = np.random.default_rng(0)
    n, k = sizes.exams, sizes.groups[0]
    outcome = (rng.random(n) < 0.3).astype(int)
    code = rng.integers(0, k, n)
    table = {"person": rng.integers(0, max(n // sizes.a_patient, 1), n), "died": outcome}
    table["risk"] = (rng.normal(size=n) + outcome + 0.02 * code).round(4)
    table["site"] = np.array([f"g{one:03d}" for one in range(k)])[code]
    pd.DataFrame(table).to_csv(folder / "risks.csv", index=False)


def write_command(sizes: Sizes) -> list[str]:
    """The command as a person gives it."""
    if sizes.what == "risk":
        columns = ("score=risk", "outcome=died", "event='1'", "cluster=person", "groups.site=site")
        settings = ["risk=table", "risk.file=risks.csv", *(f"risk.{one}" for one in columns)]
        return ["-m", "tworulers.stages.risk", *settings, "tracking=off"]
    by = ",".join(f"by{place}" for place in range(len(sizes.groups)))
    rulers = ("gold",) if sizes.what == "audit" else ("gold", "silver")
    scores = [part for name in rulers for part in ("--scores", f"{name}:{name}.csv")]
    verb = "audit" if sizes.what == "audit" else "compare"
    return ["-m", "tworulers", verb, *scores, "--by", by, "tracking=off"]


def measure(name: str, sizes: Sizes, settings: Sequence[str], kept: Path | None) -> None:
    """Make the table, run the command once, and keep the row."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (make_risks if sizes.what == "risk" else make_scores)(sizes, folder)
        command = [sys.executable, *write_command(sizes), *settings]
        source = {"PYTHONPATH": str(ROOT / "src")}
        cost = run_process(command, folder / "log.txt", source, folder)
    of = f"{sizes.exams} exams or rows, {sizes.structures} structures, groups {sizes.groups}"
    print(of, " ".join(command[1:]))
    again = " ".join(["benchmarks/run audit", name, *(f"--set {one}" for one in settings)])
    row = Row(name, again, (cost.cpu_seconds,), peak_mb=cost.peak_gib * 1024)
    keep_row(row, kept)


def main() -> None:
    """Measure the rows asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = ("audit", "compare", "structures", "risk")
    parser.add_argument("rows", nargs="+", choices=[*ROWS, *kinds])
    parser.add_argument("--exams", type=int, default=1_000, help="or rows of risk scores")
    parser.add_argument("--structures", type=int, default=2)
    parser.add_argument("--groups", default="2,3,5", help="of each grouping")
    parser.add_argument("--exams-a-patient", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="a setting, as audit=quick")
    parser.add_argument("--keep", type=Path, help="file that the rows of the page are added to")
    asked = parser.parse_args()
    groups = tuple(map(int, asked.groups.split(",")))
    own = Sizes("", asked.exams, asked.structures, groups, asked.exams_a_patient)
    for name in asked.rows:
        sizes = ROWS.get(name) or replace(own, what=name)
        # only rows of the page at their own settings go onto it
        measure(name, sizes, asked.set, asked.keep if name in ROWS and not asked.set else None)


if __name__ == "__main__":
    main()
