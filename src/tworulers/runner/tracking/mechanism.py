"""Links between audits and the comparisons that say why they differ, both ways."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from tworulers.runner.tracking.notes import OF, WHY, link_run, put_paragraph

HOMES = ("audits", "comparisons")
"""The folders of audits and comparisons in a dataset's own."""


def link_mechanism(client: Any, experiment: str, place: str, runs: Iterable[Any]) -> None:
    """Link the audits of a dataset's folder with its comparisons, as far as they touch one result.

    Parameters
    ----------
    client : MLflow's.
    experiment : its id.
    place : the folder of the result just shown.
    runs : all audits and comparisons that no newer one supersedes.
    """
    home = find_home(place)
    near = [run for run in runs if home is not None and find_home(run.data.tags["folder"]) == home]
    audits = {_side(run): run for run in near if run.data.tags["stage"] == "audit"}
    compared = [(run, _sides(run)) for run in near if run.data.tags["stage"] == "compare"]
    compared = [(run, sides) for run, sides in compared if sides]
    touched = {place} | {
        run.data.tags["folder"]
        for comparison, sides in compared
        for run in (comparison, *(audits[side] for side in sides if side in audits))
        if place in _places(comparison, sides, audits)
    }
    for comparison, sides in compared:
        if comparison.data.tags["folder"] in touched:
            found = [audits[side] for side in sides if side in audits]
            put_paragraph(client, comparison, OF, _list(experiment, found))
    for side, audit in audits.items():
        if audit.data.tags["folder"] in touched:
            found = [run for run, sides in compared if side in sides]
            put_paragraph(client, audit, WHY, _list(experiment, found))


def find_home(place: str) -> PurePosixPath | None:
    """Find the dataset's folder that an audit or a comparison lies in; None where it lies in none."""
    for folder in PurePosixPath(place).parents:
        if folder.name in HOMES:
            return folder.parent
    return None


def _places(comparison: Any, sides: list[tuple[str, str]], audits: Mapping[Any, Any]) -> set[str]:
    runs = [comparison, *(audits[side] for side in sides if side in audits)]
    return {run.data.tags["folder"] for run in runs}


def _side(run: Any) -> tuple[str, str]:
    tags = run.data.tags
    return tags.get("regime", ""), tags.get("ruler", "")


def _sides(run: Any) -> list[tuple[str, str]]:
    """List regime and ruler of both audits that a comparison is of; nothing of one that gathers others."""
    tags = run.data.tags
    if "base_ruler" in tags:
        return [(tags.get("regime", ""), tags[f"{one}_ruler"]) for one in ("base", "other")]
    if "base_regime" in tags:
        return [(tags[f"{one}_regime"], tags.get("ruler", "")) for one in ("base", "other")]
    return []


def _list(experiment: str, runs: Iterable[Any]) -> str:
    named = sorted((run.info.run_name, run.info.run_id) for run in runs)
    return ", ".join(link_run(experiment, run, name) for name, run in named)
