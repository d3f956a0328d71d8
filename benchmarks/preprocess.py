"""Time preprocessing beside nnU-Net v2: read, prepare and store images and labels by one plan.

    benchmarks/run preprocess --data Task04_Hippocampus --peer /path/to/peer/bin/python --keep rows.jsonl

Each side is one process with one thread, which has imported what it needs; processor seconds of all exams together.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from _ground import keep_turns, meet, read_options

from tworulers.schema.settings import PlanOverrides

CONFIGURATIONS = {"preprocess_3d": "3d_fullres", "preprocess_2d": "2d"}
EXAMS = 50
WITHIN = 1e-5


def main() -> None:
    """Let both sides prepare the same exams in turns, once more than is counted."""
    options = read_options(__doc__, list(CONFIGURATIONS), list(CONFIGURATIONS))
    with (
        tempfile.TemporaryDirectory() as folder,
        meet(Path(folder), options.data, EXAMS, options.peer, PlanOverrides()) as ground,
    ):
        for name in options.only:
            turns = [ground.preprocess(CONFIGURATIONS[name]) for _ in range(options.repeats + 1)]
            ours, peers = (np.array(one["exams"]) for one in turns[0])
            apart, labels = np.abs(ours - peers)[:, :2].max(), np.abs(ours - peers)[:, 2].max()
            if apart > WITHIN or labels:
                raise SystemExit(f"{name}: arrays differ by {apart}, labels by {labels} voxels")
            agreed = (
                f"Mean and deviation of {len(ours)} arrays are equal to {apart:.0e}, the number of "
                "labelled voxels exactly"
            )
            mine, theirs = (list(side) for side in zip(*turns[1:], strict=True))
            keep_turns(name, "preprocess", mine, theirs, agreed, options.keep)


if __name__ == "__main__":
    main()
