"""The packages that come with an extra of the installation, and what is said where one is needed and not there."""

from collections.abc import Sequence
from importlib.util import find_spec

EXTRAS = {
    "train": ("torch", "pytorch_lightning"),
    "track": ("mlflow",),
    "launchers": (
        "hydra_plugins.hydra_joblib_launcher",
        "hydra_plugins.hydra_submitit_launcher",
    ),
    "dask": ("distributed",),
}
"""Packages of each extra that code of ours asks for; the audit of scores and of label maps needs none of them."""

NEEDS = {"annotate": "train", "predict": "train", "publish": "track", "train": "train"}
"""Extra of each stage that can do nothing without one. Other stages show nothing in MLflow where it is not there."""


class MissingExtraError(ValueError):
    """Something needs packages that this installation lacks; the message names the extra that brings them."""


def require_extras(stage: str, arguments: Sequence[str]) -> None:
    """Refuse a command whose extra is not installed, before it begins.

    Parameters
    ----------
    stage : what is going to run.
    arguments : of the command line.

    Raises
    ------
    MissingExtraError : naming what is missing and the extra.
    """
    if stage in NEEDS:
        require(NEEDS[stage], f"the stage {stage}")
    for argument in arguments:
        if argument.startswith("hydra/launcher=") and not argument.endswith("=basic"):
            require("launchers", argument)


def require(extra: str, what: str) -> None:
    """Refuse what needs an extra that is not installed."""
    if missing := [package for package in EXTRAS[extra] if not is_installed(package)]:
        raise MissingExtraError(
            f"{what} needs {' and '.join(missing)}, not installed here: pip install 'tworulers[{extra}]'"
        )


def is_installed(package: str) -> bool:
    """Tell whether a package can be imported, without importing it."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False
