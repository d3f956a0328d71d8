"""What `dvc.lock` records of outputs, and whether files equal it: hashes as DVC computes them, without DVC."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from tworulers.io.digests import list_files
from tworulers.runner.verify.unequal import Unequal


class LockError(ValueError):
    """A lock cannot be read, or records nothing of a folder."""


def compare_locked(folder: Path, lock: Path) -> list[Unequal]:
    """Compare a folder of results with the hashes of the outputs that lie below it.

    Parameters
    ----------
    folder : results, in a checkout of any place: `artifacts/phantom`, or one of its folders.
    lock : a `dvc.lock`.

    Raises
    ------
    LockError : it is no lock, or records no output below the folder.
    """
    return list(_compare(find_recorded(folder, lock)))


def find_recorded(folder: Path, lock: Path) -> dict[str, tuple[Path, str]]:
    """Find the outputs of a lock that lie below a folder: by name, where each lies and its hash."""
    recorded = read_outputs(lock)
    place = folder.resolve()
    for root in (place, *place.parents):
        below = place.relative_to(root)
        found = {
            name: (root / name, md5)
            for name, md5 in recorded.items()
            if Path(name).is_relative_to(below)
        }
        if found and any(path.exists() for path, _ in found.values()):
            return found
    raise LockError(f"{lock} records no output of {folder}")


def read_outputs(lock: Path) -> dict[str, str]:
    """Read the hash of every output by its path, as seen from where the lock lies."""
    try:
        stages = yaml.load(lock.read_text(encoding="utf-8"), yaml.CSafeLoader)["stages"]
        return {
            out["path"]: out["md5"] for stage in stages.values() for out in stage.get("outs", ())
        }
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise LockError(f"{lock} is no dvc.lock") from error


def hash_output(path: Path) -> str:
    """Hash a file or a folder as DVC does: the MD5 of its bytes, or of the list of its files' MD5s."""
    if path.is_file():
        return _hash_file(path)
    files = {file.relative_to(path).as_posix(): file for file in list_files(path, hidden=True)}
    listed = [{"md5": _hash_file(files[name]), "relpath": name} for name in sorted(files)]
    return f"{hashlib.md5(json.dumps(listed, sort_keys=True).encode()).hexdigest()}.dir"


def _compare(recorded: dict[str, tuple[Path, str]]) -> Iterator[Unequal]:
    for name, (path, md5) in recorded.items():
        if not path.exists():
            yield Unequal(name, "", 1, 1, note="missing")
        elif hash_output(path) != md5:
            yield Unequal(name, "", 1, 1, note="other bytes than recorded")


def _hash_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
