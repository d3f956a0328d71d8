"""Whether what a person wrote on the command line means what it looks like, and how to quote it where not."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from yaml import YAMLError

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
            faults.append(f"{argument} names several runs; {_mend_several(override)}")
    if faults:
        raise ValueError("\n  ".join(faults))


def _mend_several(override: Override) -> str:
    """Say how several values are meant: as a run each, as one question, or as one text with a comma."""
    line = str(override.input_line)
    key, _, value = line.partition("=")
    if key == "attributes":
        return f"for all in one audit: attributes.by=[{value}] (--by {value}); for an audit each: -m {line}"
    return f"add -m to run each, or quote one value with a comma: {quote(line)}"


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
    if not is_sweep(arguments):
        return
    given = {argument.partition("=")[0] for argument in arguments}
    if "hydra.sweep.dir" in given:
        raise ValueError(
            "hydra.sweep.dir is given by the command itself: each sweep has a folder of its own below sweeps/; add "
            "paths=sweep to write results there"
        )
    if "paths=sweep" in arguments and "paths.outputs" not in given:
        return
    lists = list_grid(grid)
    parser = OverridesParser.create()
    for argument in filter(ASSIGNMENT.match, arguments):
        override = parser.parse_override(argument)
        if not override.is_sweep_override():
            continue
        swept = set(override.sweep_string_iterator())
        if override.key_or_group == "paths.outputs":
            continue
        if not swept <= set(lists.get(override.key_or_group, [])):
            raise ValueError(
                f"the runs of a sweep over {argument!r} would overwrite one another's results, or the pipeline's: "
                "only the values of its grid (conf/grid.yaml) have a folder each, "
                f"{', '.join(f'{name}: {list(of)}' for name, of in lists.items())}; give paths=sweep without "
                "paths.outputs to write each run into a folder of its own below sweeps/"
            )


def list_grid(grid: Mapping[str, Any]) -> dict[str, list[str]]:
    """List the values of each choice that has a folder of its own among the pipeline's results."""
    lists = {"regime": grid["regimes"], "ruler": grid["rulers"]}
    folds = [str(fold) for fold in grid["folds"]]
    return lists | {
        "configuration": grid["configurations"],
        "configuration.fold": folds,
        "dataset": [grid["dataset"]],
    }


def is_sweep(arguments: Sequence[str]) -> bool:
    """Tell whether several runs are asked for."""
    return bool(set(SWEEP_FLAGS) & set(arguments))


def place_sweep(arguments: Sequence[str], folder: Path) -> list[str]:
    """Add to the arguments of a sweep the folder that it writes to, before the first choice."""
    first = next((n for n, one in enumerate(arguments) if ASSIGNMENT.match(one)), len(arguments))
    return [*arguments[:first], f"hydra.sweep.dir={quote_value(str(folder))}", *arguments[first:]]


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
    """Write an argument as a shell takes it, its value quoted so that it stays text; of a mapping or list each text."""
    key, _, value = argument.partition("=")
    typed = f"{key}={_write_parts(_read_parts(value))}"
    return f'"{typed}"' if not set(typed) & set('$`"\\') else shlex.quote(typed)


def _read_parts(value: str) -> Any:
    """Read a mapping or list that the grammar refuses for single texts in it; anything else is one text."""
    if value[:1] in ("{", "["):
        with suppress(YAMLError):
            found = yaml.safe_load(value)
            if isinstance(found, dict | list):
                return found
    return value


def _write_parts(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{quote_value(str(key))}: {_write_parts(part)}" for key, part in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_write_parts, value))}]"
    return quote_value(value) if isinstance(value, str) else json.dumps(value, default=str)


def quote_value(value: str) -> str:
    """Write a value so that the grammar of choices takes it as text."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


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
