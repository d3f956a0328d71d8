"""What Hydra refuses to compose, told as every other fault is: the setting, what it has to be, what was found."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import hydra._internal.utils as within_hydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from tworulers.runner.faults import say_error
from tworulers.schema.settings import Settings

KINDS = {"Float": "a number", "Integer": "a whole number", "Boolean": "true or false"}
"""What values are called by OmegaConf and by people."""

_report = within_hydra.run_and_report


def tell_refusals() -> None:
    """Let what Hydra cannot compose end in one message; with HYDRA_FULL_ERROR=1 it is shown whole."""
    within_hydra.run_and_report = _run_and_tell


def _run_and_tell(work: Callable[[], Any]) -> Any:
    def told() -> Any:
        try:
            return work()
        except (HydraException, OmegaConfBaseException) as error:
            if os.environ.get("HYDRA_FULL_ERROR") == "1":
                raise
            say_error(ValueError(explain_refusal(str(error), str(error.__cause__ or ""))))
            sys.exit(1)

    return _report(told)


def explain_refusal(text: str, cause: str = "") -> str:
    """Say which setting cannot be composed, what was expected and found, and what it may have meant.

    Parameters
    ----------
    text, cause : of Hydra's error, and of the one that led to it.
    """
    because = cause.partition("\n")[0]
    if found := re.match(r"Error merging override (.+)", text):
        value = re.match(r"Value (.+) of type .+ could not be converted to (\w+)", because)
        kind = KINDS.get(value[2], value[2]) if value else ""
        at, typed = re.search(r"full_key: (\S+)", cause), found[1].lstrip("+")
        whole = f" for {at[1]}" if at and not typed.startswith(f"{at[1]}=") else ""
        return f"{typed}: " + (f"expected {kind}{whole}, found {value[1]}" if value else because)
    if found := re.match(r"Could not override '(.+)'\.", text):
        key = found[1]
        if "in struct" in because:
            return f"there is no {key} yet; to add it, write +{key}=..."
        known = OmegaConf.to_container(OmegaConf.structured(Settings))
        return f"there is no setting {key}{_guess(key, [*_list_settings(known)])}"
    if found := re.search(r"Could not find '(.+)/(.+)'", text):
        group, name = found[1], found[2]
        listed = re.findall(r"^\t(\S+)$", text, flags=re.MULTILINE)
        one_of = f"; it is one of {', '.join(listed)}" if listed else ""
        return f"{group}={name}: there is no {group} {name!r}{_guess(name, listed)}{one_of}"
    return " ".join(text.partition("Config search path")[0].split())


def _list_settings(known: Any, before: str = "") -> Iterator[str]:
    """Yield the dotted names of settings and of their groups."""
    for key, value in known.items() if isinstance(known, dict) else ():
        yield f"{before}{key}"
        yield from _list_settings(value, f"{before}{key}.")


def _guess(name: str, known: Sequence[str]) -> str:
    """Guess what was meant: the name that looks like it, or a setting of that name in another group."""
    same = [key for key in known if key.rpartition(".")[2] == name.rpartition(".")[2]]
    near = same or get_close_matches(name, known, 1)
    return f" (did you mean {near[0]}?)" if near else ""
