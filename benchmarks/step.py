"""Time training steps beside nnU-Net v2: a batch loaded, augmented, run forward and backward, and the weights changed.

    benchmarks/run step --data Task04_Hippocampus --peer /path/to/peer/bin/python --keep rows.jsonl

The network, patch and batch of one plan, one thread; `paper` is the paper's network on an eighth of its patch and one
exam a batch. Rows in bf16 hold our `trainer=cpu_bf16` against the peer in 32 bits, which it alone has on a processor.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from _ground import EIGHTH, Ground, keep_turns, meet, read_options, step_settings, write_paper_like
from _sides import Answer

from tworulers.schema.settings import PlanOverrides

ROWS = {
    "step_3d": ("3d_fullres", "cpu", 2),
    "step_2d": ("2d", "cpu", 8),
    "step_paper": ("3d_fullres", "cpu", 1),
    "step_3d_bf16": ("3d_fullres", "cpu_bf16", 2),
    "step_2d_bf16": ("2d", "cpu_bf16", 8),
    "step_paper_bf16": ("3d_fullres", "cpu_bf16", 1),
}
"""By row the configuration, our trainer, and the steps of a repeat."""

BATCHES = {"3d_fullres": 2, "2d": 12}
"""Samples a batch of the small exams: as many as a step on a processor is worth."""

EXAMS = 20
FIRST_LOSS = 0.5
"""Weights, samples and augmentations are drawn apart, so first losses tell no more than that both add up the same."""


def measure(ground: Ground, name: str, repeats: int) -> tuple[list[Answer], list[Answer]]:
    """Let both sides train in turns."""
    configuration, trainer, steps = ROWS[name]
    settings = step_settings(ground.arena, configuration)
    given = {"work": ground.work, "configuration": configuration, "trainer": trainer}
    ours, peers = [], []
    for repeat in range(repeats):
        ours.append(ground.ours.ask("step", steps=steps, **given, **ground.plans))
        peers.append(ground.peer.ask("step", settings=settings, steps=steps, anew=not repeat))
    return ours, peers


def main() -> None:
    """Measure the rows that are asked for, those of the paper with its own exams."""
    options = read_options(__doc__, list(ROWS), ["step_3d", "step_2d"])
    for paper in (False, True):
        asked = [name for name in options.only if ("paper" in name) is paper]
        if not asked:
            continue
        with tempfile.TemporaryDirectory() as folder:
            data = write_paper_like(Path(folder, "data")) if paper else options.data
            plan = PlanOverrides(batch_size={"3d_fullres": 1}, patch_size=EIGHTH)
            work = Path(folder, "work")
            plan = plan if paper else PlanOverrides(batch_size=BATCHES)
            with meet(work, data, EXAMS, options.peer, plan) as ground:
                for configuration in dict.fromkeys(ROWS[name][0] for name in asked):
                    ground.preprocess(configuration)
                for name in asked:
                    ours, peers = measure(ground, name, options.repeats)
                    first = [float(side[0]["losses"][0]) for side in (ours, peers)]
                    if np.ptp(first) > FIRST_LOSS:
                        raise SystemExit(f"{name}: first losses {first}")
                    agreed = f"First losses, of weights and samples drawn apart: {first[0]:.2f} and {first[1]:.2f}"
                    keep_turns(name, "step", ours, peers, agreed, options.keep)


if __name__ == "__main__":
    main()
