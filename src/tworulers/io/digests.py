"""What files hold, as digests that are computed again only where a file has changed."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from tworulers.io.records import write_json

Progress = Callable[[Iterable[Path], int], Iterable[Path]]


def list_files(folder: Path, hidden: bool = False) -> list[Path]:
    """List the files below a folder, sorted; links are followed, names that begin with a dot are `hidden`."""
    found: list[Path] = []
    visited: set[Path] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if hidden or not name.startswith(".")]
        if Path(place).resolve() in visited:
            folders.clear()
            continue
        visited.add(Path(place).resolve())
        found += [Path(place) / name for name in names if hidden or not name.startswith(".")]
    return sorted(found)


def digest_files(
    paths: Iterable[Path], known: Path, progress: Progress | None = None
) -> dict[Path, str]:
    """Return the SHA-256 of every file's bytes.

    Parameters
    ----------
    paths : the files.
    known : a JSON file that keeps digests with the size, times and inode of the file they were computed of, so that
        only a file that is new or was written to is read; it can be deleted at any time.
    progress : shows how far the reading of such files is.
    """
    kept = _read_known(known)
    stamps = {path: stamp_file(path) for path in dict.fromkeys(paths)}
    pending = [path for path, stamp in stamps.items() if kept.get(str(path), [None])[0] != stamp]
    for path in progress(pending, len(pending)) if progress else pending:
        kept[str(path)] = [stamps[path], digest_file(path)]
    if pending:
        write_json(kept, known)
    return {path: str(kept[str(path)][1]) for path in stamps}


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stamp_file(path: Path) -> list[int]:
    """Say what changes when a file is written to, replaced, or copied over with its old time."""
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]


def _read_known(path: Path) -> dict[str, list[object]]:
    try:
        known: dict[str, list[object]] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
