"""Train and predict with the paper's own plan on a GPU, within six minutes; on a CPU a rehearsal with a small network.

    benchmarks/run gpu --keep rows.jsonl
    benchmarks/run gpu --trainer cpu --steps 3

The plan is the one that the paper's training printed (16 x 512 x 512, batch of 2, 177 M parameters), the exams are made
ones of its size. Each variant (precision, memory layout, compiled or not) trains in a process of its own; a step is the
median over those after the first fifth, beside it how long it waited for the loader and for the augmentation on the
device, and the most memory of the device. Then one exam is predicted, in full and fast. Variants for which no time is
left are named. On a CPU the same runs at a small patch, and two processes (gloo) and accumulation with it; its rows are
a rehearsal and are not kept.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import yaml
from _arena import load_recipe
from _made import SPINE, SPINE_SHAPE, SPINE_SPACING, make_spine
from _rows import WALL, Row, describe_machine, keep_row

from tworulers.recipe.axes import reverse_axes
from tworulers.recipe.fingerprint import Fingerprint
from tworulers.recipe.override import override_plans
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.plan_json import (
    facts_from_json,
    facts_to_json,
    plans_from_json,
    plans_to_json,
)
from tworulers.recipe.planner import plan_dataset
from tworulers.recipe.predict import choose_device
from tworulers.recipe.preprocess import preprocess_image, preprocess_label
from tworulers.recipe.store import store_image, store_label
from tworulers.recipe.task import FoldTask, task_from_json
from tworulers.schema.running import Inference
from tworulers.schema.settings import PlanOverrides, Recipe, Trainer

HERE = Path(__file__).resolve().parent
PAPER = HERE.parent / "tests" / "golden" / "nnunet_paper_plan.json.gz"
CONFIGURATION = "3d_fullres"
EXAMS = ("one", "two", "three", "four")
BUDGET_S, LEAST_S = 340, 20
SMALL = PlanOverrides(
    patch_size={CONFIGURATION: [16, 64, 64]}, base_features=8, max_features=32, blocks_per_stage=1
)
"""What a CPU rehearses with."""

STEPS: dict[str, dict[str, Any]] = {
    "gpu_step": {},
    "gpu_step_bf16": {"precision": "bf16-mixed"},
    "gpu_step_channels_last": {"channels_last": True},
    "gpu_step_compiled": {"compile": True},
    "gpu_step_compiled_channels_last": {"compile": True, "channels_last": True},
}
"""Variants of a training step by row: settings of the trainer, and the memory layout of the network."""

ON_CPU: dict[str, dict[str, Any]] = {
    "two processes": {"devices": 2, "strategy": "ddp"},
    "in two parts": {"gradient_accumulation": 2},
}
PREDICTIONS = {
    "gpu_predict": Inference("full"),
    "gpu_predict_fast": Inference("fast", mirror=False, tile_step=0.75, precision="bf16-mixed"),
}


def plan_paper(overrides: PlanOverrides) -> tuple[Plans, DatasetFacts]:
    """Plan as the paper's training did, and change what a rehearsal does with."""
    case = json.loads(gzip.decompress(PAPER.read_bytes()))["case"]
    facts = DatasetFacts(
        "Spine", tuple(case["channel_names"]), {"background": 0, **SPINE}, case["num_training"]
    )
    spacings, shapes = ((tuple(case[f"{x}_every_case"]),) * 2 for x in ("spacing", "shape"))
    size = case["median_relative_size_after_cropping"]
    planned = plan_dataset(
        Fingerprint(spacings, shapes, {}, size),
        facts,
        "L",
        spacing=case.get("overwrite_target_spacing"),
    )
    return override_plans(planned, overrides), facts


def prepare(work: Path, recipe: Recipe, edge: int) -> None:
    """Write plans and prepared exams, cut to `edge` voxels in the plane."""
    plans, facts = plan_paper(recipe.plan)
    (work / "plans.json").write_text(json.dumps(plans_to_json(plans)))
    (work / "dataset.json").write_text(json.dumps(facts_to_json(facts)))
    low = [max(0, (n - edge) // 2) for n in SPINE_SHAPE[:2]]
    cut = tuple(slice(start, start + edge) for start in low)
    for seed, exam in enumerate(EXAMS):
        label = reverse_axes(make_spine(seed)[1][cut])
        noise = torch.rand(label.shape, generator=torch.Generator().manual_seed(seed)).numpy()
        image = (200.0 * label + 100 * noise)[None]
        array, geometry = preprocess_image(image, SPINE_SPACING[::-1], plans, CONFIGURATION)
        store_image(work / "images", exam, array, geometry, recipe.store_dtype)
        prepared = preprocess_label(label, geometry, facts.foreground)
        store_label(work / "labels", exam, prepared, label)


def describe_task(work: Path, recipe: Recipe, trainer: Trainer) -> FoldTask:
    """Describe a fold of three exams to learn from and one to validate on."""
    return FoldTask(
        name="paper",
        plans=str(work / "plans.json"),
        dataset=str(work / "dataset.json"),
        configuration=CONFIGURATION,
        recipe=recipe,
        trainer=trainer,
        train=EXAMS[:-1],
        val=EXAMS[-1:],
        images=str(work / "images"),
        labels=str(work / "labels"),
        scratch=str(work / "scratch"),
        output=str(work / "output"),
    )


def read_plans(task: FoldTask, channels_last: bool | None) -> tuple[Plans, DatasetFacts]:
    """Read plans back, with a memory layout of one's own where one is asked for."""
    plans = plans_from_json(json.loads(Path(task.plans).read_text()))
    facts = facts_from_json(json.loads(Path(task.dataset).read_text()))
    if channels_last is not None:
        plan = replace(plans.configuration(CONFIGURATION), channels_last=channels_last)
        plans = replace(plans, configurations={**plans.configurations, CONFIGURATION: plan})
    return plans, facts


def wait_for(device: torch.device) -> float:
    """Let a device finish what it was given, and read the clock."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def measure_peak(device: torch.device) -> float:
    """Return the most memory so far, MB: of the device, or of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def time_steps(task: FoldTask, channels_last: bool) -> dict[str, Any] | None:
    """Train one epoch as a fold is trained, and time its steps; None in all processes but the first."""
    import pytorch_lightning as pl

    from tworulers.recipe.data import Batch, FoldData
    from tworulers.recipe.module import SegmentationModule

    plans, facts = read_plans(task, channels_last)
    plan, device = plans.configuration(CONFIGURATION), choose_device(task.trainer)
    torch.set_num_threads(task.trainer.threads)
    times: list[dict[str, float]] = []
    ended = time.perf_counter()

    class Clock(pl.Callback):
        def on_train_batch_start(self, *_: Any) -> None:
            times[-1]["begun"] = wait_for(device)

        def on_train_batch_end(self, *_: Any) -> None:
            nonlocal ended
            ended = times[-1]["ended"] = wait_for(device)

    class TimedData(FoldData):
        def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:  # noqa: ARG002
            if self.trainer is not None and self.trainer.training:
                times.append({"asked": ended, "arrived": time.perf_counter()})
            return batch

    module = SegmentationModule(
        plan, task.recipe, task.trainer, len(facts.channel_names), facts.n_classes
    )
    folders = Path(task.images), Path(task.labels)
    data = TimedData(*folders, task.train, task.val, plan, task.recipe, task.trainer, task.seed)
    trainer = pl.Trainer(
        accelerator=task.trainer.accelerator,
        devices=task.trainer.devices,
        strategy=task.trainer.strategy,
        precision=task.trainer.precision,
        max_epochs=1,
        accumulate_grad_batches=task.trainer.gradient_accumulation,
        gradient_clip_val=task.recipe.gradient_clip or None,
        logger=False,
        callbacks=[Clock()],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        limit_val_batches=0,
        use_distributed_sampler=False,
        benchmark=device.type == "cuda",
    )
    trainer.fit(module, data)
    return sum_up(times, measure_peak(device)) if trainer.is_global_zero else None


def sum_up(times: list[dict[str, float]], peak_mb: float) -> dict[str, Any]:
    """Take the steps after the first fifth: how long each took, and which share of the time was no training."""
    whole = [one for one in times if "ended" in one]
    kept = whole[len(whole) // 5 :] if len(whole) > 4 else whole[-1:]
    spent = sum(one["ended"] - one["asked"] for one in kept)
    return {
        "seconds": [one["ended"] - one["asked"] for one in kept],
        "waited": sum(one["arrived"] - one["asked"] for one in kept) / spent,
        "augmented": sum(one["begun"] - one["arrived"] for one in kept) / spent,
        "first": whole[0]["ended"] - whole[0]["begun"],
        "peak_mb": peak_mb,
    }


def time_prediction(task: FoldTask, inference: Inference) -> dict[str, Any]:
    """Predict the exam that was not learnt from, twice; the second is counted."""
    from tworulers.recipe.inference import predict_with
    from tworulers.recipe.interop import Member
    from tworulers.recipe.network import build_network
    from tworulers.recipe.predict import ExamPredictor, PreparedImage
    from tworulers.recipe.store import load_geometry, open_image

    plans, facts = read_plans(task, None)
    architecture = plans.configuration(CONFIGURATION).architecture
    network = build_network(architecture, len(facts.channel_names), facts.n_classes)
    recipe, trainer = predict_with(inference, task.recipe, task.trainer)
    members = {CONFIGURATION: [Member(network, (0, 1, 2))]}
    predictor = ExamPredictor(plans, facts, members, recipe, trainer)
    folder, exam = Path(task.images), task.val[0]
    seconds = []
    for _ in range(2):
        start = wait_for(predictor.device)
        arrays = {CONFIGURATION: (open_image(folder, exam), load_geometry(folder, exam))}
        next(predictor.predict_exams([PreparedImage(exam, arrays)]))
        seconds.append(wait_for(predictor.device) - start)
    return {"seconds": seconds[1:], "first": seconds[0], "peak_mb": measure_peak(predictor.device)}


def do_job(path: Path) -> None:
    """Do the job that a file describes, and write what it took beside it."""
    job = json.loads(path.read_text())
    task = task_from_json(job["task"])
    told = (
        time_prediction(task, Inference(**job["inference"]))
        if "inference" in job
        else time_steps(task, job["channels_last"])
    )
    if told is not None:
        path.with_suffix(".told").write_text(json.dumps(told))


def list_jobs(work: Path, recipe: Recipe, trainer: Trainer) -> dict[str, dict[str, Any]]:
    """List what is measured, the most telling first."""
    jobs: dict[str, dict[str, Any]] = {}
    on_cpu = trainer.accelerator == "cpu"
    for name, changes in {**STEPS, **(ON_CPU if on_cpu else {})}.items():
        settings = {key: value for key, value in changes.items() if key != "channels_last"}
        task = describe_task(work, recipe, replace(trainer, **{"compile": False, **settings}))
        jobs[name] = {"task": asdict(task), "channels_last": "channels_last" in changes}
    task = describe_task(work, recipe, trainer)
    predictions = {
        name: {"task": asdict(task), "inference": asdict(inference)}
        for name, inference in PREDICTIONS.items()
    }
    first = next(iter(jobs))
    return {first: jobs.pop(first), **predictions, **jobs}


def run_job(name: str, job: dict[str, Any], work: Path, left: float) -> dict[str, Any] | None:
    """Do a job in a process of its own; None, and a line that says why, where it came to nothing."""
    path = work / f"{name.replace(' ', '_')}.json"
    path.write_text(json.dumps(job))
    command = [sys.executable, str(Path(__file__)), "--job", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left, check=False)
    except subprocess.TimeoutExpired:
        print(f"{name}: stopped, no time is left", flush=True)
        return None
    if done.returncode != 0:
        print(f"{name}: failed\n{done.stderr[-2000:]}", flush=True)
        return None
    told: dict[str, Any] = json.loads(path.with_suffix(".told").read_text())
    return told


def make_row(name: str, told: dict[str, Any], trainer: Trainer) -> Row:
    """Make a row of what a job took, with what it did meanwhile."""
    said = f"the first took {told['first']:.3g} s"
    if "waited" in told:
        said = f"{told['waited']:.1%} waiting for the loader, {told['augmented']:.1%} augmenting; {said}"
    gpu = torch.cuda.get_device_name() if trainer.accelerator != "cpu" else ""
    seconds, machine = tuple(told["seconds"]), describe_machine(gpu)
    if len(seconds) > 1:  # One number a step would fill a page.
        seconds = (min(seconds), statistics.median(seconds), max(seconds))
    return Row(
        name,
        "benchmarks/run gpu",
        seconds,
        peak_mb=told["peak_mb"],
        agreed=said,
        unit=WALL,
        machine=machine,
    )


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trainer", default="gpu", help="a trainer of conf/trainer")
    parser.add_argument("--steps", type=int, default=50, help="training steps of a variant")
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="seconds in all")
    parser.add_argument("--only", nargs="*", default=[], help="variants by name; all where none")
    parser.add_argument("--keep", type=Path, help="file of rows to add to")
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.keep and options.trainer.startswith("cpu"):
        parser.error("rows of a CPU are a rehearsal with a small network and are not kept")
    return options


def main() -> int:
    """Prepare, measure what there is time for, and keep it."""
    options = read_options()
    if options.job:
        do_job(options.job)
        return 0
    began = time.monotonic()
    settings = yaml.safe_load(
        (HERE.parent / "conf" / "trainer" / f"{options.trainer}.yaml").read_text()
    )
    trainer, failed = Trainer(**settings), 0
    on_cpu = trainer.accelerator == "cpu"
    try:
        choose_device(trainer)
    except ValueError as error:
        print(f"error: {error} Here that is --trainer cpu.", file=sys.stderr)
        return 2
    changes: dict[str, Any] = {"epochs": 1, "iterations": options.steps, "validation_iterations": 1}
    recipe = load_recipe("resenc_l", **changes, **({"plan": SMALL} if on_cpu else {}))
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        prepare(work, recipe, 96 if on_cpu else SPINE_SHAPE[0])
        print(f"prepared after {time.monotonic() - began:.0f} s", flush=True)
        for name, job in list_jobs(work, recipe, trainer).items():
            if options.only and name not in options.only:
                continue
            left = options.budget - (time.monotonic() - began)
            told = run_job(name, job, work, left) if left > LEAST_S else None
            if told is not None:
                keep_row(make_row(name, told, trainer), options.keep)
            failed += told is None
    print(f"done after {time.monotonic() - began:.0f} s, {failed} variants without a result")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
