"""A finished result copied to MLflow, and what is said where that cannot be done."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig

from tworulers.io.paths import Layout
from tworulers.runner.checks.overrides import quote
from tworulers.runner.extras import is_installed
from tworulers.runner.tracking.publishing import publish
from tworulers.runner.tracking.record import list_results
from tworulers.runner.tracking.store import TrackingError
from tworulers.schema.file_names import escape_controls
from tworulers.schema.settings import Tracking

PLAIN = re.compile(r"[\w./=-]+", re.ASCII)
"""What needs no quoting on a command line."""

NAMING = re.compile(r"dataset|experiment|tracking\.experiment")
"""Choices that the name of an experiment hangs on."""


def is_wanted(settings: Tracking, typed: Sequence[str]) -> bool:
    """Tell whether runs are to be shown: where MLflow is not installed, only if somebody asked for them.

    Parameters
    ----------
    settings : where results are shown.
    typed : the overrides of the command.
    """
    asked = any(one.lstrip("+~").startswith("tracking") for one in typed)
    served = settings.uri or os.environ.get("MLFLOW_TRACKING_URI") or settings.name != "local"
    return settings.enabled and (is_installed("mlflow") or asked or bool(served))


def show_result(folder: Path, layout: Layout, settings: Tracking) -> bool:
    """Copy a result and the results within it to MLflow; where that fails, warn once and leave it.

    Returns
    -------
    Whether all of them are shown. The result on disk is finished either way.
    """
    if not is_installed("mlflow"):
        return _warn(
            "MLflow is not installed, so no run shows this result: pip install 'tworulers[track]'"
        )
    for place in list_results(folder):
        try:
            publish(place, layout.root, settings)
        except (TrackingError, ValueError) as error:
            return _warn(
                f"MLflow does not show this result: {escape_controls(str(error))}\n"
                f"  The result is whole in {layout.show(folder)}; publish it later with: "
                f"{write_command(layout.show(folder), settings)}"
            )
    return True


def _warn(text: str) -> bool:
    print(f"warning: {text}", file=sys.stderr, flush=True)
    return False


def write_command(folder: str, settings: Tracking) -> str:
    """Write the command that publishes one result folder; it names no experiment that it would take anyway."""
    chosen = [one.lstrip("+~").partition("=")[0] for one in HydraConfig.get().overrides.task]
    choices = [
        f"tracking.folder={folder}",
        *[f"tracking.experiment={settings.experiment}"] * any(map(NAMING.fullmatch, chosen)),
        *([f"tracking={settings.name}"] if settings.name != "local" else []),
    ]
    written = [choice if PLAIN.fullmatch(choice) else quote(choice) for choice in choices]
    return " ".join(["python -m tworulers.stages.publish", *written])
