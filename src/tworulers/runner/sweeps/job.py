"""One run of a sweep: which it is, what it says first, the accelerators it sees, and that none waits for MLflow."""

from dataclasses import dataclass
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from tworulers.io.paths import Layout
from tworulers.progress import say
from tworulers.runner.sweeps.asked import Asked
from tworulers.runner.sweeps.devices import take_devices
from tworulers.runner.sweeps.ended import KEPT, SHOWN, UNSHOWN
from tworulers.runner.tracking.showing import show_result
from tworulers.schema.settings import Tracking

SIDE_BY_SIDE = ("JoblibLauncher", "LocalLauncher")
"""Launchers whose runs work at the same time on this machine; a cluster deals out accelerators itself."""


@dataclass(frozen=True)
class Sweep:
    """Where a sweep lies, and which run of it this process is at."""

    folder: Path
    number: int


def find_sweep() -> Sweep | None:
    """Find the sweep that this run is of, if it is of one."""
    hydra = HydraConfig.get()
    if hydra.mode != RunMode.MULTIRUN:
        return None
    return Sweep(Path(hydra.sweep.dir), int(hydra.job.num))


def begin_job(sweep: Sweep, asked: Asked, config: DictConfig) -> None:
    """Say which run begins, and show it its accelerators alone where others run beside it."""
    say(f"run {sweep.number}, of {len(asked.runs)} from 0: {asked.tell(sweep.number)}")
    if str(HydraConfig.get().launcher["_target_"]).endswith(SIDE_BY_SIDE):
        trainer = config.trainer
        each = 1 if trainer.accelerator == "cpu" else int(trainer.devices)
        take_devices(asked.devices, sweep.folder / KEPT / "devices", sweep.number, each)


def show_in_sweep(folder: Path, layout: Layout, settings: Tracking) -> None:
    """Copy a result to MLflow; where that did not answer one run of a sweep, the others do not wait for it."""
    sweep = find_sweep()
    if sweep is None:
        show_result(folder, layout, settings)
    elif not (sweep.folder / KEPT / UNSHOWN).is_file():
        shown = show_result(folder, layout, settings)
        (sweep.folder / KEPT / (SHOWN if shown else UNSHOWN)).touch()
