"""Tables and JSON on disk: written beside and renamed into place, strict, and checked when read.

The libraries of tables are imported by what reads a table: commands that read none start in a third of the time.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tworulers.io.holding import hold
from tworulers.io.owned import mark_folder, require_ours
from tworulers.schema.atomic import written_beside
from tworulers.schema.damage import made_by as made_by
from tworulers.schema.damage import reading
from tworulers.schema.sealed import require_seal, seal

if TYPE_CHECKING:
    import pandas as pd
    import pandera.pandas as pa


BEFORE = ".before"
"""How the name ends of a folder that is being replaced, for the moment in which another takes its place."""

VERSION = "schema_version"
"""The attribute of a table, and the key of a document, that says what its columns mean."""


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


@contextmanager
def folder_written_beside(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside `path`; it replaces the folder on success and is removed on failure.

    What a killed run left beside it is removed.

    Raises
    ------
    ForeignFolderError : a folder stands at `path` that is none of ours.
    HeldError : another run is writing it.
    """
    hold(path)
    require_ours(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left(path)
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    before = temporary.with_name(f"{temporary.name}{BEFORE}")
    temporary.mkdir()
    try:
        yield temporary
        mark_folder(temporary)
        require_ours(path)
        if path.exists():
            path.rename(before)
        temporary.rename(path)
    finally:
        if before.exists() and not path.exists():
            before.rename(path)
        for place in (temporary, before):
            shutil.rmtree(place, ignore_errors=True)


def _remove_left(path: Path) -> None:
    """Remove what runs that were killed, and this process, left beside a folder that they were writing."""
    left = re.compile(rf"\.(\d+)\.{re.escape(path.name)}({re.escape(BEFORE)})?")
    for place in path.parent.iterdir():
        found = left.fullmatch(place.name)
        if found and (int(found[1]) == os.getpid() or not _is_running(int(found[1]))):
            shutil.rmtree(place, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


class OldTablesError(ValueError):
    """A table was written with columns that mean something else today; it has to be made again."""


def write_table(frame: pd.DataFrame, path: Path, version: int | None = None) -> None:
    """Write a frame as Parquet with its schema version, beside and renamed into place.

    Parameters
    ----------
    frame : the table.
    path : its file.
    version : of what its columns mean; that of tables that come before an audit where none is given.
    """
    from tworulers.schema.tables import BASE_VERSION

    told = frame.copy(deep=False)
    told.attrs = {VERSION: BASE_VERSION if version is None else version}
    with written_beside(path) as temporary:
        told.to_parquet(temporary, index=False)
        seal(temporary)


def read_table(
    path: Path,
    stage: str,
    model: type[pa.DataFrameModel] | None = None,
    version: int | None = None,
) -> pd.DataFrame:
    """Read a Parquet table that `stage` made, checked against its contract where one is given.

    Raises
    ------
    MissingInputError : it is not there.
    DamagedError : it cannot be read.
    OldTablesError : it is of another schema version than `version`, which is as in `write_table`.
    """
    from tworulers.schema.tables import BASE_VERSION

    with reading(require(path, made_by(stage)), stage):
        frame = read_sealed(path)
    require_version(frame.attrs, version or BASE_VERSION, path, stage)
    if model is None:
        return frame
    from tworulers.schema.table_models import check_table

    return check_table(frame, model, str(path))


def read_sealed(path: Path) -> pd.DataFrame:
    """Read a Parquet table of any version and contract, as it was written.

    Raises
    ------
    ValueError : it is cut short, or carries a seal and holds other bytes than were sealed.
    """
    import pandas as pd

    content = path.read_bytes()
    require_seal(content)
    return pd.read_parquet(BytesIO(content))


def require_version(about: Mapping[Any, Any], version: int, path: Path, stage: str) -> None:
    """Refuse tables of another schema version; what says none is of the first.

    Raises
    ------
    OldTablesError : names the versions, and the command that makes the tables again.
    """
    found = about.get(VERSION, 1)
    if found != version:
        raise OldTablesError(
            f"{path}: expected tables of schema version {version}, found {found}, in which columns mean something "
            f"else; make them again with {made_by(stage)}"
        )


def write_json(content: Mapping[str, Any] | Sequence[Any], path: Path) -> None:
    """Write strict JSON: a non-finite number becomes null.

    The reason of a null stands in the content itself, beside the number; see `undefined_because`.
    """
    with written_beside(path) as temporary:
        temporary.write_text(json.dumps(finite_or_null(content), indent=2, allow_nan=False) + "\n")


def read_json(path: Path, stage: str) -> dict[str, Any]:
    """Read a JSON object that `stage` made.

    Raises
    ------
    MissingInputError : it is not there.
    DamagedError : it cannot be read.
    """
    with reading(require(path, made_by(stage)), stage):
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError(f"expected an object, found {type(content).__name__}")
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
