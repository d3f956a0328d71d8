"""Where MLflow shows the audits of every experiment side by side, with the columns that answer for them."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tworulers.io.paths import project_root
from tworulers.runner.tracking.notes import VIEW

NAME = "audits"
"""How the view is called in the address of its page, which MLflow looks up among the experiment's tags."""

TAG = f"mlflow.sharedViewState.{NAME}"
COLUMNS = {
    "tags.`dataset`": 100,
    "tags.`regime`": 80,
    "tags.`ruler`": 90,
    "metrics.`dice/macro/mean`": 130,
    "tags.`answers`": 190,
    "tags.`verdict`": 110,
}
"""The columns, from left to right, with their widths in pixels."""

STATE = json.dumps(
    {
        "searchFilter": "tags.stage = 'audit' and tags.superseded = 'no'",
        "orderByKey": "attributes.start_time",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "selectedColumns": list(COLUMNS),
        "columnOrder": list(COLUMNS),
        "columnWidths": COLUMNS,
    }
)


def keep_view(client: Any, experiment: Any) -> None:
    """Have an experiment hold the view of its audits.

    Parameters
    ----------
    client : MLflow's.
    experiment : as the client gives it.
    """
    if experiment.tags.get(TAG) != STATE:
        client.set_experiment_tag(experiment.experiment_id, TAG, STATE)


def link_audits(experiment: str) -> str:
    """Return the address of the page of an experiment's audits, relative to MLflow's start page."""
    return f"#/experiments/{experiment}/runs?viewStateShareKey={NAME}&{VIEW}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the address of every experiment's audits, for a server that is about to be started."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--host", "-h", default="127.0.0.1")
    parser.add_argument("--port", "-p", default="5000")
    given, _ = parser.parse_known_args(arguments)
    for name, place in list_pages(project_root()).items():
        print(f"{name}: http://{given.host}:{given.port}/{place}", flush=True)


def list_pages(root: Path) -> dict[str, str]:
    """List the pages of audits in the project's own store, by experiment."""
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{root / 'mlruns' / 'mlflow.db'}")
    found = [one for one in client.search_experiments() if one.name != "Default"]
    for one in found:
        keep_view(client, one)
    return {one.name: link_audits(one.experiment_id) for one in found}


if __name__ == "__main__":
    main()
