"""Tables and JSON on disk: written beside and renamed into place, strict, and checked when read.

The libraries of tables are imported by what reads a table: commands that read none start in a third of the time.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tworulers.io.holding import hold
from tworulers.io.owned import mark_folder, remove_folder, require_ours

if TYPE_CHECKING:
    import pandas as pd
    import pandera.pandas as pa


class MissingInputError(FileNotFoundError):
    """A stage's input is not there; the message names the stage that makes it."""


def require(path: Path, made_by: str) -> Path:
    """Return the path if it exists.

    Raises
    ------
    MissingInputError : it does not; `made_by` is the stage, or the setting, that provides it.
    """
    if not path.exists():
        raise MissingInputError(f"{path} is missing; {made_by} provides it")
    return path


def made_by(stage: str) -> str:
    """Say which command makes an input, for the message of `require`."""
    return f"`python -m tworulers.stages.{stage}` (or `dvc repro`)"


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Give a temporary file beside `path`; it takes the name on success and is removed on failure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def folder_written_beside(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside `path`; it replaces the folder on success and is removed on failure.

    Raises
    ------
    ForeignFolderError : a folder stands at `path` that is none of ours.
    HeldError : another run is writing it.
    """
    hold(path)
    require_ours(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        mark_folder(temporary)
        remove_folder(path)
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as Parquet, beside and renamed into place."""
    with written_beside(path) as temporary:
        frame.to_parquet(temporary, index=False)


def read_table(
    path: Path, stage: str, model: type[pa.DataFrameModel] | None = None
) -> pd.DataFrame:
    """Read a Parquet table that `stage` made, checked against its contract where one is given."""
    import pandas as pd

    from tworulers.tables import check_table

    frame = pd.read_parquet(require(path, made_by(stage)))
    return frame if model is None else check_table(frame, model, str(path))


def write_json(content: Mapping[str, Any] | Sequence[Any], path: Path) -> None:
    """Write strict JSON: a non-finite number becomes null.

    The reason of a null stands in the content itself, beside the number; see `undefined_because`.
    """
    with written_beside(path) as temporary:
        temporary.write_text(json.dumps(finite_or_null(content), indent=2, allow_nan=False) + "\n")


def read_json(path: Path, stage: str) -> dict[str, Any]:
    """Read a JSON object that `stage` made."""
    content: dict[str, Any] = json.loads(require(path, made_by(stage)).read_text())
    return content


def write_text(text: str, path: Path) -> None:
    """Write a text file, beside and renamed into place."""
    with written_beside(path) as temporary:
        temporary.write_text(text)


def finite_or_null(content: Any) -> Any:
    """Turn numpy scalars into Python's and non-finite floats into None, at any depth."""
    if isinstance(content, Mapping):
        return {str(key): finite_or_null(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [finite_or_null(value) for value in content]
    if hasattr(content, "item") and not isinstance(content, str):
        content = content.item()
    if isinstance(content, float) and not math.isfinite(content):
        return None
    if isinstance(content, Path):
        return content.as_posix()
    return content
