"""Where results of files that a person names go: one folder holds one content, however often a name is used."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.io.console import say
from tworulers.io.digests import digest_file
from tworulers.io.holding import hold
from tworulers.io.paths import Layout
from tworulers.io.records import write_json
from tworulers.schema import Settings
from tworulers.schema_sources import ScoreTable
from tworulers.stages._resume import (
    DIGEST,
    STAMP,
    Stamp,
    digest,
    list_settings,
    read_stamp,
    tell_difference,
)
from tworulers.tracking import RECORD


def digest_settings(settings: Settings, group: str, *without: str) -> Stamp:
    """List a digest of every setting of a group, but for those named: where a file lies, say, which says nothing."""
    values: dict[str, Any] = asdict(settings)[group]
    return {f"{group}.{key}": digest(value) for key, value in values.items() if key not in without}


def digest_named(name: str, paths: Iterable[Path | str | None]) -> Stamp:
    """Digest the bytes of the files that a setting names; those that are not given or not there are left out."""
    files = [Path(path) for path in paths if path]
    return {name: digest([digest_file(path) for path in files if path.is_file()])}


def describe_tables(settings: Settings, *groups: str) -> Stamp:
    """List what an audit of the ready tables that `groups` of settings name depends on."""
    made_from = describe_question(settings)
    for group in groups:
        spec: ScoreTable = getattr(settings, group)
        made_from |= digest_settings(settings, group, "file", "cohort")
        made_from |= digest_named(f"{group}.file", [spec.file])
        made_from |= digest_named(f"{group}.cohort", [spec.cohort])
    return made_from


def describe_question(settings: Settings) -> Stamp:
    """List what is asked of scores: the settings of the audit, and the groups."""
    return {**list_settings(settings, "audit"), **digest_settings(settings, "attributes")}


def describe_judging(settings: Settings, pairs: Mapping[str, pd.DataFrame]) -> Stamp:
    """List what a judgement depends on: all label maps by their bytes, who they are of, and what is asked.

    Parameters
    ----------
    settings : with the predictions and what judges them.
    pairs : by reference, `exam_id`, `prediction` and `reference` (paths), one row a pair.
    """
    given = settings.predictions
    maps = {
        f"{name}/{row.exam_id}": [digest_file(Path(str(path))) for path in row[1:]]
        for name, table in pairs.items()
        for row in table[["exam_id", "prediction", "reference"]].itertuples(index=False)
    }
    references = {name: {**asdict(one), "folder": ""} for name, one in given.references.items()}
    return {
        **digest_settings(settings, "predictions", "name", "folder", "references", "cohort"),
        "predictions.references": digest(references),
        "label maps": digest(maps),
        **digest_named("predictions.cohort", [given.cohort]),
        "dataset.structures": digest(settings.dataset.structures),
        **describe_question(settings),
        **list_settings(settings, "report"),
    }


def write_stamp(made_from: Stamp, folder: Path) -> None:
    """Write into a result what it was made from, if that is to be known."""
    if made_from:
        write_json(made_from, folder / STAMP)


def place_result(named: Path, made_from: Stamp, layout: Layout) -> Path:
    """Return where a result goes: under its name, or beside a finished one of that name made from something else.

    Parameters
    ----------
    named : the folder of its name.
    made_from : all that the result depends on; equal ones share a folder.
    layout : the project's places, for what is said.
    """
    place, _ = _choose_place(named, made_from)
    hold(place)
    # Until it was held, another run may have ended there.
    place, changed = _choose_place(named, made_from)
    hold(place)
    if changed:
        say(
            f"{layout.relative(named)} holds another result of this name and is kept ({changed}); this one goes to "
            f"{layout.relative(place)}"
        )
    return place


def _choose_place(named: Path, made_from: Stamp) -> tuple[Path, str]:
    """Choose between the folder of a name and one beside it; with what a result that stands there differs in."""
    finished = (named / RECORD).is_file()
    changed = tell_difference(read_stamp(named / STAMP), made_from) if finished else ""
    key = digest(made_from).removeprefix(DIGEST)[:8]
    return (named.with_name(f"{named.name}-{key}") if changed else named), changed


def list_places(named: Path) -> list[Path]:
    """List the folders of all results of a name."""
    beside = named.parent.glob(f"{named.name}-{'[0-9a-f]' * 8}")
    return [named, *sorted(beside)]
