"""What a sweep asks for: its runs in Hydra's order, the choices that tell them apart, and where they write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from tworulers.runner.checks.overrides import ASSIGNMENT, is_sweep, list_grid
from tworulers.runner.sweeps.devices import list_devices

NAMED = ("dataset", "regime", "ruler", "configuration", "configuration.fold", "paths.outputs")
"""Choices that a result's own name, or its place, tells already."""


@dataclass(frozen=True)
class Asked:
    """The keys that a sweep goes over, the choices of each run, as `key=value`, and the accelerators it may use."""

    keys: tuple[str, ...]
    runs: tuple[tuple[str, ...], ...]
    devices: tuple[str, ...] = ()

    def tell(self, number: int) -> str:
        """Name the choices of one run."""
        return " ".join(self.runs[number]) if number < len(self.runs) else ""


def list_asked(arguments: Sequence[str]) -> Asked:
    """List the runs of a sweep, in the order in which Hydra numbers them.

    Parameters
    ----------
    arguments : of the command, without its own name.
    """
    swept = {override.key_or_group: list(_list_values(override)) for override in _parse(arguments)}
    runs = (
        tuple(f"{key}={value}" for key, value in zip(swept, values, strict=True))
        for values in product(*swept.values())
    )
    return Asked(tuple(swept), tuple(runs), tuple(list_devices()))


def name_choices(overrides: Sequence[str], keys: Sequence[str]) -> str:
    """Name what tells a run from the others of its sweep, but for what its result's name says.

    Parameters
    ----------
    overrides : the choices of the run, as Hydra keeps them.
    keys : those that the sweep goes over.
    """
    told = [key for key in keys if key not in NAMED]
    given = (override.lstrip("+") for override in overrides)
    return ", ".join(one for one in given if one.partition("=")[0] in told)


def place_beside(arguments: Sequence[str], grid: Mapping[str, Any]) -> list[str]:
    """Add `paths=sweep` to a sweep over more than the pipeline's grid, unless it says where it writes."""
    given = {argument.partition("=")[0] for argument in arguments}
    lists = list_grid(grid)
    beyond = [
        override
        for override in (_parse(arguments) if is_sweep(arguments) else [])
        if not set(_list_values(override)) <= set(lists.get(override.key_or_group, []))
    ]
    if not beyond or {"paths", "paths.outputs"} & given:
        return list(arguments)
    first = next(n for n, one in enumerate(arguments) if ASSIGNMENT.match(one))
    return [*arguments[:first], "paths=sweep", *arguments[first:]]


def _parse(arguments: Sequence[str]) -> list[Override]:
    """Read the choices that name several values."""
    parser = OverridesParser.create()
    read = [parser.parse_override(one) for one in arguments if ASSIGNMENT.match(one)]
    return [override for override in read if override.is_sweep_override()]


def _list_values(override: Override) -> list[str]:
    return [str(value) for value in override.sweep_string_iterator()]
