"""Time scoring beside surface-distance and MONAI, and `judge` on large label maps.

    benchmarks/run score --repeats 5 --keep rows.jsonl
    benchmarks/run score --only many judge

`one` scores a made exam of 512 x 512 x 15 in memory: all our metrics against the one of each peer. `many` reads and
scores exams of that size by two rulers, as whole processes. `judge` judges made exams of 512 x 512 x 200 with 30
structures by two rulers, from the command to the page, in wall seconds. Values are compared before they are kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from _made import SPINE, SPINE_SPACING, make_blocks, make_spine, write_map
from _rows import WALL, Row, keep_row, tell_apart
from _score_side import RULERS
from _sides import Side, find_peak, list_seconds, take_turns
from _timing import Cost, run_process

HERE = Path(__file__).resolve().parent
PEERS = {"surface_distance": "hd95", "monai": "hd95_voxel"}
"""The metric of ours that each peer's value has to equal."""

WITHIN_MM = {"surface_distance": 1e-9, "monai": 1e-5}
"""How closely: MONAI keeps distances in 32 bits."""

TIMES = 5
JUDGED, SHAPE, STRUCTURES = 5, (512, 512, 200), 30


def measure_one(options: argparse.Namespace, folder: Path) -> None:
    """Time one exam in memory, all of ours against one metric of each peer."""
    prediction, reference = make_spine(0)
    exam = folder / "exam.npz"
    held = {"prediction": prediction, "reference": reference, "spacing": SPINE_SPACING}
    np.savez(exam, labels=list(SPINE.values()), **held)
    side = HERE / "_score_side.py"
    for peer, metric in PEERS.items():
        python = options.surface_distance if peer == "surface_distance" else sys.executable
        with Side([sys.executable, side, "ours"]) as ours, Side([python, side, peer]) as other:
            sides = {"ours": ours, "peer": other}
            first = {name: one.ask("score", file=str(exam), times=1) for name, one in sides.items()}
            values, theirs = (first[name][metric] for name in sides)
            apart = float(np.abs(np.subtract(values, theirs)).max())
            if apart > WITHIN_MM[peer]:
                raise SystemExit(f"{metric}: ours {values}, {peer} {theirs}")
            answers = take_turns(sides, "score", options.repeats, file=str(exam), times=TIMES)
        seconds = {
            name: tuple(one / TIMES for one in list_seconds(told)) for name, told in answers.items()
        }
        agreed = f"{metric} of both structures ({values[0]:.4g} and {values[1]:.4g} mm) is {tell_apart(apart, 'mm')}"
        keep_row(
            Row(
                f"score_{peer}",
                f"benchmarks/run score --only one --repeats {options.repeats}",
                seconds["ours"],
                seconds["peer"],
                find_peak(answers["ours"]),
                find_peak(answers["peer"]),
                agreed,
            ),
            options.keep,
        )


def measure_many(options: argparse.Namespace, folder: Path) -> None:
    """Time exams read and scored by two rulers, as whole processes with workers."""
    made = [make_spine(seed) for seed in range(6)]
    for exam in range(options.exams):
        prediction, reference = made[exam % len(made)]
        shifted = np.roll(prediction, 1, axis=0)
        maps = {"prediction": prediction, "expert": reference, "machine": shifted}
        for name, array in maps.items():
            write_map(folder / name / f"e{exam:03}.nii.gz", array, SPINE_SPACING)
    costs: dict[str, list[Cost]] = {"ours": [], "peer": []}
    values = {}
    for repeat in range(options.repeats):
        for name in list(costs) if repeat % 2 == 0 else list(costs)[::-1]:
            python = sys.executable if name == "ours" else options.surface_distance
            out = folder / f"{name}.json"
            command = [python, HERE / "_score_side.py", f"{name}_many", folder, 2, out]
            costs[name].append(run_process([str(part) for part in command], folder / "log.txt"))
            values[name] = json.loads(out.read_text())
    apart = max(np.abs(np.subtract(*(values[x][ruler] for x in costs))).max() for ruler in RULERS)
    if apart > WITHIN_MM["surface_distance"]:
        raise SystemExit(f"HD95 of both sides differ by {apart}")
    command = (
        f"benchmarks/run score --only many --exams {options.exams} --repeats {options.repeats}"
    )
    compared = f"HD95 of {options.exams} exams by {len(RULERS)} rulers is {tell_apart(apart, 'mm')}"
    seconds = [tuple(one.cpu_seconds for one in costs[name]) for name in costs]
    peaks = [max(one.peak_gib for one in costs[name]) * 1024 for name in costs]
    keep_row(Row("score_228", command, *seconds, *peaks, compared), options.keep)


def measure_judge(options: argparse.Namespace, folder: Path) -> None:
    """Time `judge` on large label maps, from the command to the page."""
    for exam in range(JUDGED):
        prediction, expert = make_blocks(SHAPE, STRUCTURES, exam)
        maps = {"prediction": prediction, "expert": expert}
        maps["machine"] = make_blocks(SHAPE, STRUCTURES, 100 + exam)[0]
        for name, array in maps.items():
            write_map(folder / name / f"e{exam}.nii.gz", array, (0.8, 0.8, 1.5))
    rows = [f"e{exam},{'FM'[exam % 2]}" for exam in range(JUDGED)]
    (folder / "exams.csv").write_text("\n".join(["exam_id,sex", *rows]))
    structures = ", ".join(f"s{value}: {value}" for value in range(1, STRUCTURES + 1))
    references = (
        "expert: {folder: expert, provenance: gold}, machine: {folder: machine, provenance: silver}"
    )
    command = [
        *(sys.executable, "-m", "tworulers.stages.judge", "processes=2"),
        *(
            "predictions.name=large",
            "predictions.folder=prediction",
            "predictions.cohort=exams.csv",
        ),
        *(f"predictions.structures={{{structures}}}", "attributes.by=[sex]"),
        f"predictions.references={{{references}}}",
    ]
    cost = run_process(command, folder / "log.txt", folder=folder)
    page = next(folder.rglob("report/index.html"))
    agreed = f"No peer; the page has {len(page.read_text()) / 1e6:.1f} MB."
    told = "benchmarks/run score --only judge"
    row = Row("judge_large", told, (cost.seconds,), (), cost.peak_gib * 1024, None, agreed, WALL)
    keep_row(row, options.keep)


MEASURED = {"one": measure_one, "many": measure_many, "judge": measure_judge}


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=MEASURED, default=["one"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--exams", type=int, default=228, help="of `many`")
    parser.add_argument("--surface-distance", default=sys.executable, help="python that has it")
    parser.add_argument("--keep", type=Path, help="a file that the rows are added to (JSON lines)")
    options = parser.parse_args()
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            MEASURED[name](options, Path(folder))


if __name__ == "__main__":
    main()
