"""Links between runs that belong beside one another: equal in all but one choice."""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlencode

from tworulers.tracking.names import slug
from tworulers.tracking.record import RunRecord
from tworulers.tracking.store import NOTE

VIEW = "workflowType=machine_learning"
"""What makes MLflow show its pages for trained models; by default it shows those for language models."""

BESIDE = "Beside it,"
"""How the paragraph of a run's description begins that links its siblings."""

SHARED_TAGS = ("dataset", "regime", "ruler", "attributes", "configuration", "use")
"""The tags that have to agree, but for the one that siblings differ in."""

PAGE = 1000


def link_siblings(client: Any, experiment: str, record: RunRecord) -> None:
    """Link the runs that differ from a result in its `sibling_tag` alone, in description and tags, both ways.

    Parameters
    ----------
    client : MLflow's.
    experiment : its id.
    record : the result just shown. A sibling has the same stage, the same other choices and parameters, and comes
        from the same sweep, or like it from none. Of several with one value the newest is linked.
    """
    if record.sibling_tag is None:
        return
    runs = find_family(list_runs(client, experiment, record.stage), record)
    for value, this in runs.items():
        links = []
        for other_value, other in runs.items():
            if other_value == value:
                continue
            here, there = this.info.run_id, other.info.run_id
            client.set_tag(here, f"{record.sibling_tag}_{slug(other_value)}", there)
            links.append(
                f"[{other_value}](#/experiments/{experiment}/runs/{there}?{VIEW}) "
                f"([side by side]({link_comparison(experiment, [here, there])}))"
            )
        note = this.data.tags.get(NOTE, "").split("\n\n")
        kept = [part for part in note if not part.startswith(BESIDE)]
        if links:
            # Second, since MLflow folds a long description after a few lines.
            said = f"{BESIDE} with another {record.sibling_tag}: {', '.join(sorted(links))}"
            kept.insert(1, said)
        if kept != note:
            client.set_tag(this.info.run_id, NOTE, "\n\n".join(kept))


def find_family(runs: list[Any], record: RunRecord) -> dict[str, Any]:
    """Choose the runs that differ from a record in its sibling tag alone; by the value of that tag."""
    choice = record.sibling_tag
    assert choice is not None
    wanted = _identity(record.tags, record.params, choice)
    family: dict[str, Any] = {}
    for run in sorted(runs, key=lambda run: run.info.start_time):
        if choice in run.data.tags and (
            _identity(run.data.tags, run.data.params, choice) == wanted
        ):
            family[run.data.tags[choice]] = run
    return family


def list_runs(client: Any, experiment: str, stage: str) -> list[Any]:
    """List all runs of a stage that no newer one supersedes."""
    condition = f"tags.stage = '{slug(stage)}' and tags.superseded = 'no'"
    found: list[Any] = []
    token = None
    while True:
        page = client.search_runs([experiment], condition, max_results=PAGE, page_token=token)
        found += page
        token = page.token
        if not token:
            return found


def link_comparison(experiment: str, runs: list[str]) -> str:
    """Return the address of MLflow's page that compares runs, relative to its start page."""
    chosen = {"runs": json.dumps(runs), "experiments": json.dumps([experiment])}
    return f"#/compare-runs?{urlencode(chosen)}&{VIEW}"


def _identity(tags: Mapping[str, Any], params: Mapping[str, Any], choice: str) -> Any:
    """All that siblings share: choices and parameters without the one they differ in, and the sweep they are of."""
    shared = {name: str(tags[name]) for name in SHARED_TAGS if name in tags and name != choice}
    asked = {
        name: str(value) for name, value in params.items() if not name.startswith(f"{choice}.")
    }
    sweep = PurePosixPath(str(tags["sweep"])).parent.as_posix() if "sweep" in tags else None
    return shared, asked, sweep
