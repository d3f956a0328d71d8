"""Time the AUC matrix against a double loop over scikit-learn's roc_auc_score, in one run.

    benchmarks/run auc --rows 10000000 --groups 8 --repeats 3

The double loop selects the events of one group and the non-events of another and calls
roc_auc_score on them, K x K times. Both give the same cells; the ratio of the two times is taken
within each repeat, so a busy machine slows both. Memory is that of the whole process, in bytes as
the system reports the peak.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
from _rows import WALL, Row, keep_row
from _timing import peak_gib, write_range
from sklearn.metrics import roc_auc_score

from tworulers.auc.matrix import compute_matrix, stratify_scores


def loop_over_pairs(score, outcome, group, groups: int) -> np.ndarray:
    cells = np.empty((groups, groups))
    for g in range(groups):
        for h in range(groups):
            rows = ((group == g) & (outcome == 1)) | ((group == h) & (outcome == 0))
            cells[g, h] = roc_auc_score(outcome[rows], score[rows])
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--prevalence", type=float, default=0.5)
    parser.add_argument("--ties", type=int, default=0, help="distinct scores; 0 for all different")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-loop", action="store_true", help="time the matrix alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="file that the row is added to")
    options = parser.parse_args()

    rng = np.random.default_rng(options.seed)
    outcome = (rng.random(options.rows) < options.prevalence).astype(np.int8)
    group = rng.integers(0, options.groups, options.rows, dtype=np.int8)
    score = rng.random(options.rows) + 0.2 * outcome + 0.02 * group
    if options.ties:
        score = np.floor(score * options.ties / 2)

    ours, busy, loops, ratios, differences, peak = [], [], [], [], [], 0.0
    for repeat in range(options.repeats):
        start, cpu = time.perf_counter(), time.process_time()
        matrix = compute_matrix(stratify_scores(score, outcome, group))
        ours.append(time.perf_counter() - start)
        busy.append(time.process_time() - cpu)
        peak = peak or peak_gib()
        line = f"repeat {repeat + 1}: matrix {ours[-1]:.2f} s (processor {busy[-1]:.2f} s)"
        if not options.no_loop:
            start = time.perf_counter()
            reference = loop_over_pairs(score, outcome, group, options.groups)
            loop = time.perf_counter() - start
            loops.append(loop)
            ratios.append(loop / ours[-1])
            difference = np.abs(reference - matrix.cells).max()
            differences.append(difference)
            line += f", double loop {loop:.2f} s, ratio {ratios[-1]:.1f}, differ {difference:.1e}"
        print(line, flush=True)
    print(
        f"{options.rows:,} rows, {options.groups} groups: median {write_range(ours)} s, "
        f"processor {statistics.median(busy):.2f} s, peak {peak:.2f} GiB before any double loop"
    )
    if ratios:
        print(f"double loop takes {write_range(ratios, 1)} times as long")
        name = {10**6: "auc_1e6", 10**7: "auc_1e7"}.get(options.rows)
        command = f"benchmarks/run auc --rows {options.rows} --groups {options.groups}"
        agreed = f"Cells differ by {max(differences):.1e} at most."
        row = Row(
            name or "auc", command, tuple(ours), tuple(loops), peak * 1024, None, agreed, WALL
        )
        keep_row(row, options.keep if name else None)


if __name__ == "__main__":
    main()
