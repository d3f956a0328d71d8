"""Results of the pipeline that a person made again by hand: noted, and told of before DVC puts its own back."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tworulers.schema.atomic import written_beside

NOTES = "artifacts/code/by_hand"


def note_making(folder: Path, root: Path, choices: Sequence[str]) -> None:
    """Note that a result of the pipeline was made by hand, with which choices; nothing where DVC had it made."""
    if not folder.is_relative_to(root):
        return
    place = folder.relative_to(root).as_posix()
    note = root / NOTES / f"{place.replace('/', '__')}.json"
    if "DVC_STAGE" in os.environ:
        note.unlink(missing_ok=True)
        return
    note.parent.mkdir(parents=True, exist_ok=True)
    with written_beside(note) as temporary:
        temporary.write_text(
            json.dumps({"folder": place, "choices": [one.lstrip("+") for one in choices]}) + "\n"
        )


def tell_by_hand(root: Path) -> Iterator[str]:
    """Yield a line on every result that is not the one that the lock records, since a person made it by hand.

    The note of one that is the recorded one again is taken away.
    """
    notes = sorted((root / NOTES).glob("*.json"))
    if not notes:
        return
    # Comparing results takes libraries that are slow to import, and mostly there is nothing to compare.
    from tworulers.runner.verify.locked import hash_output, read_outputs

    lock = root / "dvc.lock"
    recorded = read_outputs(lock) if lock.is_file() else {}
    for note in notes:
        content = json.loads(note.read_text())
        place = str(content["folder"])
        folder = root / place
        if place not in recorded or not folder.exists() or hash_output(folder) == recorded[place]:
            note.unlink()
            continue
        choices = " ".join(content["choices"]) or "no choices"
        yield (
            f"{place} was made by hand ({choices}) and is not what the pipeline made: `dvc repro` puts its own back in "
            "that place. To keep both, make it again with paths=sweep"
        )
