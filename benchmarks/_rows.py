"""One row of the page of benchmarks: what was run, what it took, beside a peer where there is one, and on what.

A benchmark measures and calls `keep_row`; `benchmarks/run document` writes docs/benchmarks.md from what was kept. The
standard library alone, so that every side of a comparison can import it.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CPU, WALL = "CPU s", "wall s"
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
"""Instruction sets that decide how fast the arithmetic is."""


@dataclass(frozen=True)
class Machine:
    """The class of a machine, not which one: processor, what it can do, and how much of it there was."""

    processor: str
    cores: int
    instructions: tuple[str, ...]
    memory_gib: int
    accelerator: str = ""

    def tell(self) -> str:
        """Say it in a line."""
        parts = [self.processor, f"{self.cores} cores", ", ".join(self.instructions)]
        return "; ".join([*parts, f"{self.memory_gib} GiB", *filter(None, [self.accelerator])])


@dataclass(frozen=True)
class Row:
    """What one benchmark measured.

    Attributes
    ----------
    row : its name in `_aims.ROWS`.
    command : what was run, from the root of the project.
    ours, peer : seconds of each repeat (`unit`), taken in turns; no peer where there is none to hold it against.
    peak_mb, peer_peak_mb : the most memory of a process, MB.
    agreed : what was compared first, and how far the results of both agree.
    machine : the class of machine.
    unit : `CPU` (user and system, whole side) or `WALL`.
    """

    row: str
    command: str
    ours: tuple[float, ...]
    peer: tuple[float, ...] = ()
    peak_mb: float | None = None
    peer_peak_mb: float | None = None
    agreed: str = ""
    unit: str = CPU
    machine: Machine = field(default_factory=lambda: describe_machine())

    @property
    def ratios(self) -> list[float]:
        """Peer over ours of each repeat: above 1, ours is faster."""
        return [theirs / own for own, theirs in zip(self.ours, self.peer, strict=bool(self.peer))]


def describe_machine(accelerator: str = "") -> Machine:
    """Describe the class of this machine from what the system says of its processor."""
    told: dict[str, str] = {}
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text().splitlines() if cpuinfo.is_file() else ():
        name, _, value = line.partition(":")
        told.setdefault(name.strip(), value.strip())
    flags = set(told.get("flags", "").split())
    processor = (
        f"{told.get('model name', 'unknown processor')}, family {told.get('cpu family', '?')}"
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    held = tuple(name for name in INSTRUCTIONS if name in flags)
    return Machine(processor, os.cpu_count() or 1, held, round(memory), accelerator)


def keep_row(row: Row, kept: Path | None) -> None:
    """Print what a row came to, and add it to a file of rows (JSON lines) where one is given."""
    print(f"{row.row}: {tell_row(row)}", flush=True)
    if kept is not None:
        with kept.open("a") as stream:
            stream.write(json.dumps(asdict(row)) + "\n")


def read_rows(kept: Path) -> list[Row]:
    """Read a file of rows."""
    return [take_row(json.loads(line)) for line in kept.read_text().splitlines() if line.strip()]


def take_row(told: dict[str, Any]) -> Row:
    """Make a row of what JSON holds of it."""
    told = dict(told)
    machine = dict(told.pop("machine"))
    machine["instructions"] = tuple(machine["instructions"])
    sides = {side: tuple(told.pop(side)) for side in ("ours", "peer")}
    return Row(**told, **sides, machine=Machine(**machine))


def tell_row(row: Row) -> str:
    """Say what a row came to, in a line."""
    said = [f"ours {tell_spread(row.ours)} {row.unit}"]
    if row.peer:
        said += [f"peer {tell_spread(row.peer)}", f"ratio {tell_spread(row.ratios)}"]
    peaks = [f"{peak:.0f}" for peak in (row.peak_mb, row.peer_peak_mb) if peak is not None]
    said += [f"peak {' / '.join(peaks)} MB"] * bool(peaks)
    return "; ".join([*said, *filter(None, [row.agreed])])


def tell_spread(values: Sequence[float]) -> str:
    """Write the median of repeats, with the lowest and highest where there are several."""
    median = statistics.median(values)
    text = _write(median)
    return f"{text} ({_write(min(values))}-{_write(max(values))})" if len(values) > 1 else text


def tell_apart(apart: float, unit: str = "") -> str:
    """Say how far apart two results are: `exactly equal`, or `equal to 3e-08 mm`."""
    return f"equal to {apart:.0e} {unit}".strip() if apart else "exactly equal"


def _write(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
