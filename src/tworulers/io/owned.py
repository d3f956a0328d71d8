"""Which folders are ours to delete: those that carry our mark, and no others."""

import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

MARK = ".tworulers"
"""The file that every folder of results and of unfinished work carries."""

_NOTE = "Made by tworulers. What lies here is replaced when the stage that made it runs again.\n"


class ForeignFolderError(ValueError):
    """A folder stands where results go, and nothing says that we made it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} would be replaced, but nothing says that it holds results of an earlier run (it has no "
            f"{MARK}); nothing was changed. Move it away, or file the results under another name"
        )


def mark_folder(folder: Path) -> None:
    """Mark a folder as ours, so that a later run may replace it."""
    (folder / MARK).write_text(_NOTE)


def require_ours(folder: Path) -> None:
    """Refuse a path where something stands that we did not make.

    Raises
    ------
    ForeignFolderError : it is a link, a file, or a folder that carries no mark and is not empty.
    """
    if folder.is_symlink() or (folder.exists() and not _is_ours(folder)):
        raise ForeignFolderError(folder)


def remove_folder(folder: Path) -> None:
    """Delete a folder that is ours, if there is one.

    Raises
    ------
    ForeignFolderError : see `require_ours`.
    """
    require_ours(folder)
    if folder.exists():
        shutil.rmtree(folder)


def remove_part(folder: Path) -> None:
    """Delete a folder within one that is ours, if there is one.

    Raises
    ------
    ForeignFolderError : neither the folder nor the one it lies in carries a mark.
    """
    if folder.is_symlink() or not _is_ours(folder.parent):
        require_ours(folder)
    if folder.exists():
        shutil.rmtree(folder)


def _is_ours(folder: Path) -> bool:
    """Tell whether a folder carries a mark, or holds nothing but folders that are ours."""
    if not folder.is_dir():
        return False
    return (folder / MARK).is_file() or all(
        not path.is_symlink() and _is_ours(path) for path in folder.iterdir()
    )


def remove_others(result: Path, kinds: Iterable[str], kept: Collection[tuple[str, str]]) -> None:
    """Remove from a result what an earlier one left below each kind, of models and references that are not kept."""
    for kind in kinds:
        for path in (result / kind).glob("*/*"):
            if path.is_dir() and (path.parent.name, path.name) not in kept:
                remove_folder(path)
