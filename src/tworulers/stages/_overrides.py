"""Whether what a person wrote on the command line means what it looks like, and how to quote it where not."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf

ASSIGNMENT = re.compile(r"[+~]{0,2}[\w./@-]+=")
"""What a choice starts with; any other argument is a flag of the command."""

SWEEP_FLAGS = ("-m", "--multirun")


def check_overrides(arguments: Sequence[str]) -> None:
    """Refuse choices that the grammar cannot read, and sweeps that nobody asked for.

    Parameters
    ----------
    arguments : of the command, without its own name.

    Raises
    ------
    ValueError : with every such argument, and the quoted form that works.
    """
    parser = OverridesParser.create()
    faults = []
    for argument in arguments:
        if not ASSIGNMENT.match(argument):
            continue
        try:
            override = parser.parse_override(argument)
        except HydraException:
            faults.append(f"cannot read {argument}; quote the value: {quote(argument)}")
            continue
        if override.is_sweep_override() and not set(SWEEP_FLAGS) & set(arguments):
            faults.append(
                f"{argument} names several runs; add -m to run each, or quote one value with a "
                f"comma: {quote(argument)}"
            )
    if faults:
        raise ValueError("\n  ".join(faults))


def check_sweep(arguments: Sequence[str], grid: Mapping[str, Any]) -> None:
    """Refuse a sweep whose runs would overwrite the pipeline's results, or one another's.

    Parameters
    ----------
    arguments : of the command, without its own name.
    grid : the lists the pipeline is expanded over; sweeping over those has a folder for each run.

    Raises
    ------
    ValueError : with the choice that is not in the grid, and where a sweep over it may write.
    """
    if not set(SWEEP_FLAGS) & set(arguments) or "paths=sweep" in arguments:
        return
    lists = {"regime": grid["regimes"], "ruler": grid["rulers"]}
    lists |= {"configuration": grid["configurations"], "dataset": [grid["dataset"]]}
    parser = OverridesParser.create()
    for argument in filter(ASSIGNMENT.match, arguments):
        override = parser.parse_override(argument)
        if not override.is_sweep_override():
            continue
        swept = set(override.sweep_string_iterator())
        if not swept <= set(lists.get(override.key_or_group, [])):
            raise ValueError(
                f"a sweep over {argument!r} would overwrite results of the pipeline, whose grid (conf/grid.yaml) "
                f"has {', '.join(f'{name}: {list(of)}' for name, of in lists.items())}; add paths=sweep to write "
                "below sweeps/"
            )


def check_texts(overrides: Sequence[str], config: DictConfig) -> None:
    """Refuse texts that were read as numbers and would be written otherwise: 1e3 becomes 1000.0.

    Parameters
    ----------
    overrides : the choices of this run.
    config : what they were composed to.

    Raises
    ------
    ValueError : with the argument, and the quoted form that keeps the text.
    """
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        line = override.input_line or ""
        value = _value_of(override)
        place = OmegaConf.select(config, override.key_or_group, throw_on_missing=False)
        if value is not None and _changed(value, place, line.partition("=")[2]):
            several = isinstance(value, (list, Mapping))
            mend = "each text in it, such as '007'" if several else f"it: {quote(line)}"
            raise ValueError(f"{line} would be taken as a number; quote {mend}")


def quote(argument: str) -> str:
    """Write an argument as a shell takes it, its value quoted so that it stays text."""
    key, _, value = argument.partition("=")
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"\"{key}='{escaped}'\""


def _value_of(override: Override) -> Any:
    return None if override.is_sweep_override() else override.value()


def _changed(value: Any, place: Any, text: str) -> bool:
    """Tell whether a number landed where text belongs, in another spelling than it was given."""
    if isinstance(value, Mapping) and isinstance(place, DictConfig):
        return any(_changed(v, place.get(str(k)), text) for k, v in value.items())
    if isinstance(value, list) and isinstance(place, ListConfig):
        return any(_changed(v, p, text) for v, p in zip(value, place, strict=False))
    if isinstance(value, (str, QuotedString, bool)) or not isinstance(value, (int, float)):
        return False
    return isinstance(place, str) and place not in text
