"""Time prediction beside nnU-Net v2: from the image's file to the label map's, with the same weights.

    benchmarks/run predict --data Task04_Hippocampus --peer /path/to/peer/bin/python --keep rows.jsonl

The weights are those that a network starts from, exported by us and loaded by both: what they draw is noise, which
makes agreement harder and takes as long. `paper` is one exam of 512 x 512 x 15 with the paper's plan, without mirrors.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from _ground import Ground, keep_turns, meet, read_options, write_paper_like
from _sides import Answer

from tworulers.io.label_maps import read_label
from tworulers.schema.settings import PlanOverrides

ROWS = {
    "predict_3d": ("3d_fullres", "cpu", True),
    "predict_2d": ("2d", "cpu", True),
    "predict_3d_bf16": ("3d_fullres", "cpu_bf16", True),
    "predict_2d_bf16": ("2d", "cpu_bf16", True),
    "predict_paper": ("3d_fullres", "cpu", False),
    "predict_paper_bf16": ("3d_fullres", "cpu_bf16", False),
}
"""By row the configuration, our trainer, and whether the exam is mirrored."""

EXAMS = 20
EQUAL = {"cpu": 0.99, "cpu_bf16": 0.9}
"""Least share of voxels that have to be labelled alike."""


def measure(ground: Ground, name: str, repeats: int) -> tuple[list[Answer], list[Answer], float]:
    """Let both predict one exam in turns, small ones once more than counts; also the share of voxels labelled alike."""
    configuration, trainer, mirror = ROWS[name]
    model, work = ground.export(configuration), ground.arena.work
    one = work / f"one_{name}"
    one.mkdir()
    image = sorted((ground.arena.raw / "imagesTr").iterdir())[0]
    shutil.copy(image, one)
    ours, peers = [], []
    folders = [work / f"{side}_{name}" for side in ("ours", "peer")]
    given = {"model": model, "images": str(one), "mirror": mirror}
    warming = 0 if "paper" in name else 1  # minutes of network hide what the first call imports
    for _ in range(repeats + warming):
        ours.append(ground.ours.ask("predict", output=str(folders[0]), trainer=trainer, **given))
        peers.append(ground.peer.ask("predict", output=str(folders[1]), **given))
    name = image.name.replace("_0000", "")
    maps = [read_label(folder / name).array for folder in folders]
    return ours[warming:], peers[warming:], float(np.mean(maps[0] == maps[1]))


def main() -> None:
    """Measure the rows that are asked for, those of the paper with an exam of its size."""
    options = read_options(__doc__, list(ROWS), ["predict_3d", "predict_2d"])
    for paper in (False, True):
        asked = [name for name in options.only if ("paper" in name) is paper]
        if not asked:
            continue
        with tempfile.TemporaryDirectory() as folder:
            data = write_paper_like(Path(folder, "data")) if paper else options.data
            work = Path(folder, "work")
            with meet(work, data, EXAMS, options.peer, PlanOverrides()) as ground:
                for name in asked:
                    ours, peers, alike = measure(ground, name, options.repeats)
                    if alike < EQUAL[ROWS[name][1]]:
                        raise SystemExit(f"{name}: {alike:.4%} of voxels are labelled alike")
                    agreed = (
                        f"{alike:.4%} of voxels are labelled alike, with weights nobody trained"
                    )
                    keep_turns(name, "predict", ours, peers, agreed, options.keep)


if __name__ == "__main__":
    main()
