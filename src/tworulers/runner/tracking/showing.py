"""A finished result copied to MLflow, and what is said where that cannot be done."""

import re
import sys
from pathlib import Path

from tworulers.io.paths import Layout
from tworulers.runner.checks.overrides import quote
from tworulers.runner.tracking.publishing import publish
from tworulers.runner.tracking.record import list_results
from tworulers.runner.tracking.store import TrackingError
from tworulers.schema.file_names import escape_controls
from tworulers.schema.settings import Tracking

PLAIN = re.compile(r"[\w./=-]+", re.ASCII)
"""What needs no quoting on a command line."""


def show_result(folder: Path, layout: Layout, settings: Tracking) -> bool:
    """Copy a result and the results within it to MLflow; where that fails, warn once and leave it.

    Returns
    -------
    Whether all of them are shown. The result on disk is finished either way.
    """
    for place in list_results(folder):
        try:
            publish(place, layout.root, settings)
        except (TrackingError, ValueError) as error:
            print(
                f"warning: MLflow does not show this result: {escape_controls(str(error))}\n"
                f"  The result is whole in {layout.show(folder)}; publish it later with: "
                f"{write_command(layout.show(folder), settings)}",
                file=sys.stderr,
                flush=True,
            )
            return False
    return True


def write_command(folder: str, settings: Tracking) -> str:
    """Write the command that publishes one result folder."""
    choices = [
        f"tracking.folder={folder}",
        f"tracking.experiment={settings.experiment}",
        *([f"tracking={settings.name}"] if settings.name != "local" else []),
    ]
    written = [choice if PLAIN.fullmatch(choice) else quote(choice) for choice in choices]
    return " ".join(["python -m tworulers.stages.publish", *written])
