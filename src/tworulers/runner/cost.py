"""What a stage costs: seconds, hours of boards and cores, energy and CO2e, kept apart from results."""

import json
import math
import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from tworulers.io.digests import digest_file
from tworulers.runner.tracking.record import RECORD
from tworulers.schema.cost_settings import Cost
from tworulers.schema.settings import Trainer

KEPT = Path("mlruns") / "costs.jsonl"
"""A line a finished run, below the project root: beside MLflow's store, which may be deleted without it."""

NO_BOARD = "cpu"
PATIENCE_S = 4
WATTS, GRAMS = 1000, 1000


@dataclass(frozen=True)
class Spent:
    """What one finished run took, or several together.

    `seconds` are the wall's, `board_hours` those that accelerators were held, `core_hours` those that processor cores
    worked. `kwh` and `kg` (CO2e) are NaN where a board's power is not known. `made` is the digest of the result's
    record, `commit` that of the project; a run that `failed` names the dataset's folder, since it has no result.
    """

    stage: str
    folder: str
    began: float
    seconds: float
    board_hours: float
    core_hours: float
    kwh: float
    kg: float
    runs: int = 1
    made: str = ""
    commit: str = ""
    failed: bool = False


def estimate_energy(
    board_hours: float,
    core_hours: float,
    *,
    board_watts: float | None,
    core_watts: float,
    pue: float,
) -> float:
    """Estimate the energy (kWh) of computing at full power: power x hours x PUE.

    Parameters
    ----------
    board_hours, core_hours : how long accelerators were held and processor cores worked.
    board_watts, core_watts : full power of one; without a board's, board hours make the energy undefined (NaN).
    pue : power usage effectiveness: what a data centre draws for each unit that computes.
    """
    if board_hours and board_watts is None:
        return math.nan
    return (board_hours * (board_watts or 0.0) + core_hours * core_watts) * pue / WATTS


def estimate_emission(kwh: float, grams_per_kwh: float) -> float:
    """Estimate the emission (kg CO2e) of an energy from the carbon intensity of the grid."""
    return kwh * grams_per_kwh / GRAMS


REFUSED_S = 5.0
"""A run that failed sooner was refused: it leaves nothing behind, not even what it cost."""


@contextmanager
def timing(
    root: Path, stage: str, cost: Cost, trainer: Trainer | None, home: str = ""
) -> Iterator[list[str]]:
    """Time a run, and keep what it cost once its result is named in the list that is given, or it failed.

    Parameters
    ----------
    root : the project's.
    stage : what runs.
    cost : powers and grid.
    trainer : which devices it holds; None of a stage without networks.
    home : the dataset's folder below the root, which a run that fails is of; without one that is not kept, nor is one
        that was refused before it did any work.
    """
    began, clock, busy = time.time(), time.monotonic(), _count_core_seconds()
    commit, folders, failed = find_commit(root), list[str](), True
    try:
        yield folders
        failed = False
    finally:
        seconds = time.monotonic() - clock
        held = trainer is not None and trainer.accelerator != NO_BOARD
        boards = seconds * trainer.devices / 3600 if held and trainer is not None else 0.0
        cores = (_count_core_seconds() - busy) / 3600
        kwh = estimate_energy(
            boards,
            cores,
            board_watts=cost.board_watts,
            core_watts=cost.core_watts,
            pue=cost.pue,
        )
        kg = estimate_emission(kwh, cost.grams_per_kwh)
        ended = [home] * (bool(home) and seconds >= REFUSED_S)
        for folder in ended if failed else folders:
            spent = Spent(stage, folder, began, seconds, boards, cores, kwh, kg, commit=commit)
            made = "" if failed else digest_record(root / folder)
            keep_spent(root, replace(spent, made=made, failed=failed))


def digest_record(folder: Path) -> str:
    """Return a short digest of a result's record; nothing where it has none."""
    record = folder / RECORD
    return digest_file(record)[:16] if record.is_file() else ""


def find_commit(root: Path) -> str:
    """Find the commit of the project, marked where its code or settings are changed; nothing where there is none."""
    git = ["git", "-C", str(root)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        changed = subprocess.run(
            [*git, "diff", "--quiet", "HEAD", "--", "src", "conf", "own"],
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return head.stdout.strip() + "-dirty" * bool(changed.returncode)


def keep_spent(root: Path, spent: Spent) -> None:
    """Add a line to what runs of the project have cost."""
    path = root / KEPT
    content = {key: None if value != value else value for key, value in asdict(spent).items()}
    with suppress(OSError):  # a finished result is whole without it
        path.parent.mkdir(exist_ok=True)
        lock = FileLock(path.with_name(".costs.lock"), timeout=PATIENCE_S)
        with lock, path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(content) + "\n")


def read_spent(root: Path) -> list[Spent]:
    """Read what every finished run has cost, oldest first; a line that is damaged is passed over."""
    try:
        lines = (root / KEPT).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            content: dict[str, Any] = json.loads(line)
            values: dict[str, Any] = {
                key: math.nan if one is None else one for key, one in content.items()
            }
            found.append(Spent(**values))
        except (ValueError, TypeError, AttributeError):
            continue
    return found


def sum_spent(spent: Sequence[Spent], stage: str) -> Spent:
    """Add up what several runs cost, under one name."""
    return Spent(
        stage,
        "",
        max((one.began for one in spent), default=math.nan),
        sum(one.seconds for one in spent),
        sum(one.board_hours for one in spent),
        sum(one.core_hours for one in spent),
        sum(one.kwh for one in spent),
        sum(one.kg for one in spent),
        sum(one.runs for one in spent),
    )


def find_spent(root: Path, folder: str) -> Spent | None:
    """Find the run that made a result as it is now, or the one that it is part of; None where it is not known."""
    spent = [one for one in read_spent(root) if not one.failed]
    for place in (Path(folder), *Path(folder).parents):
        made = [one for one in spent if one.folder == place.as_posix()]
        if made:
            digest = digest_record(root / place)
            return next((one for one in reversed(made) if one.made in ("", digest)), None)
    return None


def name_costs(root: Path, folder: str) -> dict[str, float]:
    """Name what the last run that made a result cost, as metrics; nothing where that is not known."""
    last = find_spent(root, folder)
    if last is None or last.folder != folder:
        return {}
    return {
        "cost/seconds": last.seconds,
        "cost/gpu_hours": last.board_hours,
        "cost/core_hours": last.core_hours,
        "cost/kwh": last.kwh,
        "cost/kg_co2e": last.kg,
    }


def expect_seconds(root: Path, home: str) -> float:
    """Add up how long each result below a folder took when it was last made."""
    last = {one.folder: one.seconds for one in read_spent(root) if not one.failed}
    return sum(took for folder, took in last.items() if Path(folder).is_relative_to(home))


def _count_core_seconds() -> float:
    """Return how long processor cores have worked for this process and those it waited for."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)
