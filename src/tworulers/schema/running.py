"""How a command runs, whatever it computes: who works on exams, and how closely sources are looked at."""

from dataclasses import dataclass

from tworulers.schema.sources import UNSET


@dataclass
class Check:
    """How thoroughly a source is checked before it is used."""

    depth: str = "full"
    """What is read: `headers` alone, or `full` with every voxel."""


@dataclass
class Workers:
    """Who works on exams side by side; no choice changes a result."""

    name: str = UNSET
    backend: str = "loky"
    """`loky`, processes of this machine, or `dask`, the workers of a Dask cluster."""
    scheduler: str | None = None
    """Address of a cluster that runs; without one, Dask starts its workers on this machine."""
