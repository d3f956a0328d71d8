"""How a command runs: who works on exams, how closely sources are looked at, and how trained networks predict."""

from dataclasses import dataclass, field

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


PRECISIONS = ("32-true", "16-mixed", "bf16-mixed", "16-true", "bf16-true")
MAPS = ("probability", "uncertainty")


@dataclass
class Inference:
    """How networks that are trained predict, as far as it is not as recipe and trainer say; `full` is as they say.

    What is faster may draw other label maps, so every result that follows names it.
    """

    name: str = UNSET
    mirror: bool = True
    """Whether mirror images are predicted and averaged, where the recipe mirrors; without them it takes an eighth (3D)
    or a quarter (2D) of the time."""
    tile_step: float | None = None
    """Step between tiles as a share of a tile, 1 without overlap; `recipe.tile_overlap` where none is given."""
    precision: str | None = None
    """`32-true`, `16-mixed`, `bf16-mixed`, `16-true` or `bf16-true`; `trainer.precision` where none is given."""
    maps: list[str] = field(default_factory=list)
    """What is written beside the label maps of test exams: `probability`, a map a structure, and `uncertainty`."""

    def __post_init__(self) -> None:
        """Refuse what is no precision or no map; the message lists those there are."""
        faults = [
            f"inference.{name}: {word!r} is unknown; there are {', '.join(known)}"
            for name, words, known in (
                ("precision", [self.precision] if self.precision is not None else [], PRECISIONS),
                ("maps", self.maps, MAPS),
            )
            for word in words
            if word not in known
        ]
        if faults:
            raise ValueError("\n  ".join(faults))
