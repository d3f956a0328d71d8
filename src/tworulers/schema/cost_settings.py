"""What computing is said to cost: one configuration group."""

from dataclasses import dataclass

from tworulers.schema.sources import UNSET


@dataclass
class Cost:
    """What computing draws, for an estimate."""

    name: str = UNSET
    title: str = ""
    board_watts: float | None = None
    """Full power of a board in W; unknown where null."""
    core_watts: float = 12.0
    """Full power of a core in W."""
    pue: float = 1.58
    """What a data centre draws for each unit that computes."""
    grams_per_kwh: float = 475.0
    """The CO2e of a kWh of its grid, in grams."""
