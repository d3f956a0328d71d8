"""What a configuration may read of the environment: variables of ours, so that no secret ends in a result."""

import os
from typing import Any

from omegaconf import Node, OmegaConf
from omegaconf.errors import InterpolationResolutionError

PREFIX = "TWORULERS_"
_NO_DEFAULT = object()


def limit_environment() -> None:
    """Let `${oc.env:NAME}` read variables called TWORULERS_... alone, from now on."""
    OmegaConf.register_new_resolver("oc.env", _read_variable, replace=True)


def _read_variable(name: str, default: Any = _NO_DEFAULT, *, _node_: Node) -> Any:
    """Return a variable of the environment.

    Raises
    ------
    InterpolationResolutionError : it is not one of ours, or it is not set and has no default.
    """
    key = _node_._get_full_key(None)
    if not name.startswith(PREFIX):
        raise InterpolationResolutionError(
            f"{key} asks for the environment variable {name}; a configuration reads none but {PREFIX}..., since "
            "what it says is kept with the results. Give the value itself, or take it out"
        )
    value = os.environ.get(name, default)
    if value is _NO_DEFAULT:
        raise InterpolationResolutionError(
            f"{key} asks for the environment variable {name}, which is not set"
        )
    return value if value is None else str(value)
