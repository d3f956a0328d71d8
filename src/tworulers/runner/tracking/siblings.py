"""Links between runs that belong beside one another: equal in all but one choice."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlencode

from tworulers.runner.tracking.names import slug
from tworulers.runner.tracking.notes import VIEW, link_run, put_paragraph
from tworulers.runner.tracking.record import RunRecord
from tworulers.runner.tracking.store import require_readable

BESIDE = "Beside it,"
"""How the paragraph of a run's description begins that links its siblings."""

SHARED_TAGS = ("dataset", "regime", "ruler", "attributes", "configuration", "use")
"""The tags that have to agree, but for the one that siblings differ in."""

NAMES_FOLDER = ("ruler", "use")
"""The choices that name a result's own folder: siblings lie side by side in the folder above."""

KEYED = re.compile(r"-[0-9a-f]{8}$")
"""How a folder's name ends that is beside another result of its name, made from something else."""

ASKED = "asked"
"""The tag that is equal in runs which differ in nothing but the choice that makes them siblings."""

PAGE = 1000


def link_siblings(client: Any, experiment: str, record: RunRecord, runs: list[Any]) -> None:
    """Link the runs that differ from a result in its `sibling_tag` alone, in description and tags, both ways.

    Parameters
    ----------
    client : MLflow's.
    experiment : its id.
    record : the result just shown. A sibling has the same stage, the same other choices and parameters, lies in the
        same result, and comes from the same sweep, or like it from none. Of several with one value the newest is
        linked.
    runs : of its stage, those that no newer one supersedes.
    """
    if record.sibling_tag is None:
        return
    for family in find_families(runs, record):
        _link(client, experiment, record.sibling_tag, family)


def _link(client: Any, experiment: str, choice: str, runs: Mapping[str, Any]) -> None:
    """Link each run with all others, given by the value of the choice they differ in."""
    for value, this in runs.items():
        links = []
        for other_value, other in runs.items():
            if other_value == value:
                continue
            here, there = this.info.run_id, other.info.run_id
            name = f"{choice}_{slug(other_value)}"
            if this.data.tags.get(name) != there:
                client.set_tag(here, name, there)
            links.append(
                f"{link_run(experiment, there, other_value)} "
                f"([side by side]({link_comparison(experiment, [here, there])}))"
            )
        said = f"with another {choice}: {', '.join(sorted(links))}"
        put_paragraph(client, this, BESIDE, said if links else "")


def find_families(runs: list[Any], record: RunRecord) -> list[dict[str, Any]]:
    """Choose the runs that differ from a record in its sibling tag alone, those of a place by the value of that tag."""
    choice = record.sibling_tag
    assert choice is not None
    wanted = _identity({**record.tags, **identify(record)}, {}, choice, record.stage)
    families: dict[Any, dict[str, Any]] = {}
    for run in sorted(runs, key=lambda run: run.info.start_time):
        tags = run.data.tags
        if choice in tags and _identity(tags, run.data.params, choice, record.stage) == wanted:
            families.setdefault(_find_place(tags, choice), {})[tags[choice]] = run
    return list(families.values())


def identify(record: RunRecord) -> dict[str, str]:
    """Digest all parameters of a result without those of the choice that its siblings differ in, as a tag."""
    if record.sibling_tag is None:
        return {}
    return {ASKED: _digest_asked(record.params, record.sibling_tag)}


def _digest_asked(params: Mapping[str, Any], choice: str) -> str:
    asked = [
        (name, str(value)) for name, value in params.items() if not name.startswith(f"{choice}.")
    ]
    return hashlib.sha256(repr(sorted(asked)).encode()).hexdigest()[:16]


def list_runs(client: Any, experiment: str, stage: str) -> list[Any]:
    """List all shown results of a stage that no newer one supersedes.

    Raises
    ------
    TrackingError : a run was written by a newer version of the project.
    """
    condition = f"tags.stage = '{slug(stage)}' and tags.superseded = 'no'"
    found: list[Any] = []
    token = None
    while True:
        page = client.search_runs([experiment], condition, max_results=PAGE, page_token=token)
        found += page
        token = page.token
        if not token:
            require_readable(found)
            return [run for run in found if "key" in run.data.tags]


def link_comparison(experiment: str, runs: list[str]) -> str:
    """Return the address of MLflow's page that compares runs, relative to its start page."""
    chosen = {"runs": json.dumps(runs), "experiments": json.dumps([experiment])}
    return f"#/compare-runs?{urlencode(chosen)}&{VIEW}"


def _identity(
    tags: Mapping[str, Any], params: Mapping[str, Any], choice: str, stage: str
) -> tuple[Any, ...]:
    """All that siblings share: choices and parameters without the one they differ in, and the sweep they are of."""
    shared = {name: str(tags[name]) for name in SHARED_TAGS if name in tags and name != choice}
    asked = tags.get(ASKED) or _digest_asked(params, choice)
    return shared, asked, _find_sweep(str(tags["sweep"]), stage) if "sweep" in tags else None


def _find_sweep(outputs: str, stage: str) -> str:
    """Return what the runs of one sweep share: the sweep's folder where the stage made it itself, else the whole."""
    place = PurePosixPath(outputs)
    match place.parts:
        case ("sweeps", swept, _, number) if swept == stage and number.isdecimal():
            return place.parent.as_posix()
    return place.as_posix()


def _find_place(tags: Mapping[str, Any], choice: str) -> tuple[str, str] | None:
    """Return the folder that siblings of a named folder share, seen from their run's own, and which result's they are.

    A result beside another of its name was made from something else; what shares its key is of its kind.
    """
    if choice not in NAMES_FOLDER:
        return None
    place, sweep = PurePosixPath(str(tags.get("folder", ""))), str(tags.get("sweep", ""))
    if sweep and place.is_relative_to(sweep):
        place = place.relative_to(sweep)
    key = "" if place.name == tags[choice] else "".join(KEYED.findall(place.name))
    return place.parent.as_posix(), key
