"""Where results of files that a person names go: one folder holds one content, however often a name is used."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from tworulers.ingest.nnunet_results import list_summaries
from tworulers.io.digests import digest_file, list_files
from tworulers.io.holding import hold
from tworulers.io.paths import Layout
from tworulers.io.records import write_json
from tworulers.io.resume import (
    DIGEST,
    STAMP,
    Stamp,
    digest,
    list_settings,
    list_values,
    read_stamp,
    tell_difference,
)
from tworulers.progress import say
from tworulers.runner.tracking.record import RECORD
from tworulers.schema.settings import Settings
from tworulers.schema.sources import ScoreTable


def digest_settings(settings: Settings, group: str, *without: str) -> Stamp:
    """List a digest of every setting of a group, but for those named: where a file lies, say, which says nothing."""
    values = list_values(getattr(settings, group))
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
        file = Path(str(spec.file))
        made_from |= digest_named(f"{group}.file", list_summaries(file) or [file])
        made_from |= digest_named(f"{group}.cohort", [spec.cohort])
    return made_from


def describe_question(settings: Settings) -> Stamp:
    """List what is asked of scores: the settings of the audit, and the groups."""
    audit = {
        **list_settings(settings, "audit"),
        "audit.locked": digest(asdict(settings.audit.locked)),
    }
    return {**audit, **digest_settings(settings, "attributes")}


def describe_judging(settings: Settings, pairs: Mapping[tuple[str, str], pd.DataFrame]) -> Stamp:
    """List what a judgement depends on: all label maps by their bytes, who they are of, and what is asked.

    Parameters
    ----------
    settings : with the predictions and what judges them.
    pairs : by model and reference, `exam_id`, `prediction` and `reference` (paths), one row a pair.
    """
    given = settings.predictions
    maps = {
        f"{model * bool(given.models)}/{name}/{row.exam_id}": [
            digest([digest_file(file) for file in list_files(Path(str(path)))])
            if Path(str(path)).is_dir()
            else digest_file(Path(str(path)))
            for path in row[1:]
        ]
        for (model, name), table in pairs.items()
        for row in table[["exam_id", "prediction", "reference"]].itertuples(index=False)
    }
    references = {name: {**asdict(one), "folder": ""} for name, one in given.references.items()}
    models = {name: {**asdict(one), "folder": ""} for name, one in given.models.items()}
    return {
        **digest_settings(
            settings, "predictions", "name", "folder", "models", "references", "cohort"
        ),
        "predictions.models": digest(models),
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
            f"{layout.show(named)} holds another result of this name and is kept ({changed}); this one goes to "
            f"{layout.show(place)}"
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


def find_same_scores(named: Path, made_from: Stamp, settings: Settings) -> list[Path]:
    """List the folders of all results of a name that were made from the same table or label maps.

    They are looked for where primary questions are asked, which other questions may have been asked before.
    """
    data = ("scores.file", "label maps")
    if not settings.audit.locked.questions:
        return []
    return [
        place
        for place in list_places(named)
        if (before := read_stamp(place / STAMP))
        and all(before.get(name) == made_from.get(name) for name in data)
    ]
