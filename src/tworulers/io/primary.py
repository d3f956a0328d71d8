"""The primary questions of an audit: read from the file that states them, locked beside it, and held to the lock."""

import hashlib
import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from tworulers.battery.questions import MAIN, PRIMARY
from tworulers.io.paths import place_lock
from tworulers.io.records import read_json, write_json
from tworulers.io.resume import digest, tell_difference
from tworulers.metrics.asked import list_unknown_questions
from tworulers.metrics.registry import METRICS
from tworulers.schema.settings import FAILURES, Locked, Settings
from tworulers.schema.view import change_settings

FORM = "questions: [{metric: dice, structure: macro, groupings: [sex, age]}]"
PARTS = {"metric", "structure", "groupings"}
COMMAND = "python -m tworulers.stages.lock audit.primary={}"


class PrimaryError(ValueError):
    """Primary questions cannot be used; the message lists why, with the command that mends it."""


def hold_to_lock(settings: Settings, root: Path) -> Settings:
    """Return settings that hold the primary questions an audit asks, with what their lock says.

    Raises
    ------
    PrimaryError : as of `find_locked`.
    """
    locked = find_locked(settings, root)
    return change_settings(settings, audit=replace(settings.audit, locked=locked))


def find_locked(settings: Settings, root: Path) -> Locked:
    """Return the primary questions that an audit asks, with what their lock says; none for the main family.

    Where there is no lock, `lacking` says so, and the audit refuses together with whatever else is wrong.

    Parameters
    ----------
    settings : what is asked.
    root : the project root.

    Raises
    ------
    PrimaryError : no file of questions is named, or it cannot be read.
    """
    asked = settings.audit
    if asked.family == MAIN:
        return Locked()
    if asked.family != PRIMARY:
        raise PrimaryError(f"audit.family={asked.family}: expected {MAIN} or {PRIMARY}")
    if asked.primary is None:
        raise PrimaryError(
            f"audit.family=primary asks the questions of a file: write `{FORM}` into one, lock it with "
            f"`{COMMAND.format('FILE')}`, and name it here, too: audit.primary=FILE"
        )
    path = root / asked.primary
    questions = read_questions(path)
    now = state_questions(settings, questions)
    found = Locked(questions, digest_questions(now))
    lock = place_lock(path)
    if not lock.is_file():
        how = f"run `{COMMAND.format(asked.primary)}` with the attributes and audit settings of this command"
        return replace(found, lacking=f"audit.primary: {path} is not locked: {how}")
    content = _read_lock(lock)
    stated = content["stated"]
    changed = tell_difference(_flatten(stated), _flatten(now))
    if not changed and digest_questions(stated) != content.get("sha256"):
        changed = f"{lock.name} was edited: its hash is not that of what it states"
    return replace(found, date=str(content.get("date", "")), changed=changed)


def read_questions(path: Path) -> list[list[str]]:
    """Read the questions of a file, each as metric, structure and grouping.

    Raises
    ------
    PrimaryError : no such file, or one that states no questions; the message lists every fault.
    """
    if not path.is_file():
        raise PrimaryError(f"audit.primary: there is no file {path}; write `{FORM}` into it")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise PrimaryError(f"{path} is no YAML: {error}") from error
    stated = content.get("questions") if isinstance(content, dict) and len(content) == 1 else None
    if not isinstance(stated, list) or not stated:
        raise PrimaryError(f"{path} states no questions; expected `{FORM}` and nothing else")
    faults, questions = [], []
    for number, one in enumerate(stated, 1):
        groupings = one.get("groupings") if isinstance(one, dict) else None
        if not groupings or not isinstance(groupings, list) or set(one) != PARTS:
            faults.append(f"{path}, question {number}: expected {', '.join(sorted(PARTS))}")
            continue
        questions += [[str(one["metric"]), str(one["structure"]), str(name)] for name in groupings]
    if faults:
        raise PrimaryError("\n  ".join([*faults, f"the form is `{FORM}`"]))
    return [list(one) for one in dict.fromkeys(map(tuple, questions))]


def state_questions(settings: Settings, questions: list[list[str]]) -> dict[str, Any]:
    """State what belongs to questions, so that nothing of them can change unseen.

    That is level, thresholds, margins, the rule of the macro score, and how their groups are made. What things are
    called does not belong to them.
    """
    audit, known = settings.audit, settings.attributes.groupings
    metrics = {metric for metric, _, _ in questions}
    names = {grouping for _, _, grouping in questions}
    names |= {part for name in names & set(known) for part in known[name].of}
    return {
        "questions": sorted("/".join(one) for one in questions),
        "alpha": audit.alpha,
        "macro": audit.macro,
        "thresholds": {m: t for m, t in audit.thresholds.items() if m in metrics},
        "margin": {m: t for m, t in audit.margin.items() if m in {*metrics, FAILURES}},
        "groupings": {
            name: {key: value for key, value in asdict(known[name]).items() if key != "title"}
            for name in sorted(names & set(known))
        },
    }


def digest_questions(stated: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical text of what is stated: JSON with sorted keys and no blanks."""
    text = json.dumps(stated, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def lock_questions(settings: Settings, root: Path) -> tuple[Path, Locked]:
    """Write the lock of the primary questions beside their file; one that stands there stays as it is.

    Returns
    -------
    Where the lock lies, and what it says.

    Raises
    ------
    PrimaryError : no file is named, it states what is not there, or the questions were locked otherwise before.
    """
    if settings.audit.primary is None:
        raise PrimaryError(f"name the file of the questions: `{COMMAND.format('FILE')}`")
    path = root / settings.audit.primary
    questions = read_questions(path)
    metrics, groupings = [*METRICS, *settings.scores.measures], settings.attributes.groupings
    if faults := list_unknown_questions(questions, metrics, groupings):
        raise PrimaryError("primary questions that cannot be locked:\n  " + "\n  ".join(faults))
    place = place_lock(path)
    if not place.exists():
        stated = state_questions(settings, questions)
        date = datetime.now(UTC).date().isoformat()
        content = {"sha256": digest_questions(stated), "date": date, "stated": stated}
        write_json(content, place)
    asked = replace(settings.audit, family=PRIMARY)
    found = find_locked(change_settings(settings, audit=asked), root)
    if found.changed:
        raise PrimaryError(
            f"{place} was locked on {found.date}, and is not what is asked now: {found.changed}. A lock is not "
            "changed: ask what was locked, or state the new questions in a file of their own"
        )
    return place, found


def note_earlier(locked: Locked, places: list[Path]) -> Locked:
    """Add the hashes that audits of the same result were made with before; an empty one is of none.

    Parameters
    ----------
    locked : what is asked now.
    places : folders where an audit of the same result may stand.
    """
    if not locked.questions:
        return locked
    hashes = list(locked.earlier)
    for place in places:
        if not (place / "audit.json").is_file():
            continue
        before = read_json(place / "audit.json", "audit").get("settings", {})
        lock = before.get("locked", {})
        hashes += [*lock.get("earlier", []), lock.get("sha256", "")]
    others = [one for one in dict.fromkeys(hashes) if one != locked.sha256]
    return replace(locked, earlier=others)


def _read_lock(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PrimaryError(f"{path} is no lock: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("stated"), dict):
        raise PrimaryError(f"{path} is no lock of questions; give them a file of another name")
    return content


def _flatten(stated: dict[str, Any]) -> dict[str, Any]:
    """List what is stated by dotted name; how groups are made as a digest."""
    parts = {name: value for name, value in stated.items() if isinstance(value, dict)}
    flat = {name: value for name, value in stated.items() if name not in parts}
    return flat | {
        f"{part}.{name}": digest(one) if part == "groupings" else one
        for part, values in parts.items()
        for name, one in values.items()
    }
