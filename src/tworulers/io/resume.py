"""A folder of results that a killed stage goes on with, as long as nothing that decides them has changed."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from tworulers.io.digests import digest_files
from tworulers.io.holding import hold
from tworulers.io.owned import mark_folder, remove_folder, require_ours
from tworulers.io.paths import Layout
from tworulers.io.records import require, write_json
from tworulers.progress import say
from tworulers.schema.settings import Settings, Trainer
from tworulers.schema.view import list_readable

STAMP = "stamp.json"
"""The file that says what the work beside it is made from."""

DIGEST = "sha256:"

UNFINISHED = re.compile(r"\.\d+\.")
"""What the name of a file begins with that a killed process was writing."""

FEW, LONG = 3, 40
"""How many files of other content are named, and how long a value may be where several are told."""

Stamp = dict[str, Any]
"""By what work depends on: the value of a setting, the digest of anything else, or digests by file."""

WITHOUT_EFFECT = {
    "recipe": ("name", "title"),
    "trainer": ("name", "parallel_folds", "workers", "checkpoint_every"),
    "inference": ("name",),
}
"""Settings of networks that cannot change a result: what a choice is called, and how the work is dealt out."""

TRAINER = tuple(
    f"trainer.{field.name}"
    for field in fields(Trainer)
    if field.name not in WITHOUT_EFFECT["trainer"]
)
"""The settings of a trainer that can, as stages declare them."""


def list_settings(settings: Settings, *groups: str) -> Stamp:
    """List the values of groups that a stage reads, `recipe.mirror` and so on, but for those without effect."""
    return {
        f"{group}.{key}": value
        for group in groups
        for key, value in list_values(getattr(settings, group)).items()
        if key not in WITHOUT_EFFECT.get(group, ())
    }


def list_values(group: Any) -> dict[str, Any]:
    """List the values of a group of settings that may be read, as plain ones."""
    return {
        name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for name, value in list_readable(group).items()
    }


def digest(content: Any) -> str:
    """A short text that changes when the content does."""
    text = json.dumps(content, sort_keys=True, default=str)
    return f"{DIGEST}{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def digest_content(paths: Mapping[str, Path], made_by: str, layout: Layout) -> str:
    """A short text that changes when the bytes or the name of any file do.

    Parameters
    ----------
    paths : the files, by a name that does not depend on where they lie.
    made_by : what provides them, for the error about a missing one.
    layout : where digests of files that were read before are kept.
    """
    for path in paths.values():
        require(path, made_by)
    digests = digest_files(paths.values(), layout.digests)
    return digest({name: digests[path] for name, path in paths.items()})


def read_stamp(path: Path) -> Stamp | None:
    """Read what work was made from; None where that is not said, or no longer readable."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def tell_difference(before: Stamp | None, now: Stamp, most: int | None = None) -> str:
    """Say what two stamps differ in, with both values of a setting; nothing where they are equal.

    Of more than `most` differences the first are told, long values cut short, and how many others there are.
    """
    if before is None:
        return f"it is not said what it was made from ({STAMP} is missing or damaged)"
    now = json.loads(json.dumps(now))
    pairs = {name: (before.get(name), now.get(name)) for name in {**before, **now}}
    told = [
        _tell_other(name, was, given)
        if DIGEST in f"{was}{given}"
        else f"{name} was {_cut(was, most)}, now {_cut(given, most)}"
        for name, (was, given) in pairs.items()
        if was != given
    ]
    more = f" and {len(told[most:])} more" if most is not None and told[most:] else ""
    return ", ".join(told[:most]) + more


def _cut(value: Any, most: int | None) -> str:
    text = str(value)
    return text if most is None or len(text) <= LONG else f"{text[:LONG]}..."


def _tell_other(name: str, was: Any, given: Any) -> str:
    """Say that something of which digests are kept is another, and in which of its files, if those are known."""
    if not (isinstance(was, dict) and isinstance(given, dict)):
        return f"other {name}"
    files = [file for file in {**was, **given} if was.get(file) != given.get(file)]
    more = f" and {len(files) - FEW} more" if len(files) > FEW else ""
    return f"other {name} in {', '.join(files[:FEW])}{more}"


@contextmanager
def resumable_folder(result: Path, scratch: Path, made_from: Stamp) -> Iterator[Path]:
    """Give a folder that survives a killed run and takes the place of `result` when all is done.

    Parameters
    ----------
    result : the finished folder; what stood there is replaced.
    scratch : where the work is done.
    made_from : all that the work depends on; work begun from anything else is begun anew, and that is said.

    Raises
    ------
    ForeignFolderError : at either place stands a folder that is none of ours.
    HeldError : another run is writing the result.
    """
    hold(result)
    require_ours(result)
    with resumable_work(scratch, made_from) as work:
        yield work
    result.parent.mkdir(parents=True, exist_ok=True)
    remove_folder(result)
    work.rename(result)
    remove_folder(scratch)


@contextmanager
def resumable_work(scratch: Path, made_from: Stamp) -> Iterator[Path]:
    """Give a folder that survives a killed run, and leave it there; see `resumable_folder`."""
    kept = scratch / STAMP
    changed = tell_difference(read_stamp(kept), made_from)
    if changed:
        if kept.exists():
            say(f"interrupted work in {scratch} is begun anew: {changed}")
        remove_folder(scratch)
        scratch.mkdir(parents=True)
        mark_folder(scratch)
        write_json(made_from, kept)
    work = scratch / "result"
    work.mkdir(parents=True, exist_ok=True)
    mark_folder(work)
    try:
        yield work
    except KeyboardInterrupt as error:
        error.add_note(
            f"what is done is kept in {scratch}, and the same command goes on from there"
        )
        raise
    for path in list(work.rglob(".*")):
        if UNFINISHED.match(path.name):
            path.unlink()
