"""Results cut short, emptied or with a byte changed: whoever reads them next names the file and what mends it.

Which files a command reads is watched, so no file that one comes to read is left out: some of them here, all of them
by `./scripts/campaign damage`.
"""

import contextlib
import io
import os
import random
import re
import shutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from finished_line import READERS
from small_line import BASE
from test_damaged_files import WAYS, damage, say_of

from tworulers.io.paths import Layout
from tworulers.io.resume import STAMP
from tworulers.runner import run
from tworulers.runner.faults import STOPPING, explain_error
from tworulers.runner.tracking.record import RECORD, list_results, read_record
from tworulers.runner.tracking.shown import list_shown, reduce_table
from tworulers.schema.settings import Settings
from tworulers.schema.view import view_settings

pytestmark = pytest.mark.slow

MADE = ("scores", "audits", "comparisons", "judged", "risk")
"""Folders of the results that are damaged."""

MOST_FILES = 1
"""So many files are damaged a command, unless all are asked for."""


@contextmanager
def watching(project: Path) -> Iterator[list[Path]]:
    """List the files of damaged kinds that are read."""
    found: list[Path] = []
    on = [True]

    def note(event: str, details: tuple[object, ...]) -> None:
        if not on or event != "open" or details[1] not in ("r", "rb"):
            return
        path = Path.cwd() / str(details[0])
        if path.is_relative_to(project / "artifacts") and set(MADE) & set(path.parts):
            found.append(path)

    sys.addaudithook(note)
    try:
        yield found
    finally:
        on.clear()


def read_numbers(project: Path) -> dict[str, bytes]:
    """Read every result, but for what says when and by what it was made."""
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in sorted((project / "artifacts").rglob("*"))
        if path.suffix in (".parquet", ".csv", ".html") or path.name == "summary.json"
    }


def list_ways(path: Path) -> list[str]:
    """List how a file is damaged: text that people may edit carries no seal."""
    return [way for way in WAYS if way != "changed" or path.suffix == ".parquet"]


def say_within(stage: Any, settings: Settings, layout: Layout) -> tuple[int, str]:
    """Run a stage as its command does, without composing its settings anew: a damaged file is often read at once."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            stage(settings, layout)
        except STOPPING as error:
            return 1, f"{said.getvalue()}{explain_error(error)}"
        except Exception:
            return 2, traceback.format_exc()
    return 0, said.getvalue()


def find_fault(path: Path, status: int, said: str, project: Path, whole: dict[str, bytes]) -> str:
    """Say what is wrong with how a command ended that read a damaged file; nothing where it is as it should be."""
    name = path.relative_to(project).as_posix()
    if "Traceback" in said:
        return f"a traceback: {said[-600:]}"
    if status:
        mended = re.search(r"again with `python -m tworulers\.stages\.\w+`", said)
        return "" if name in said and mended else said[-300:]
    if path.name == STAMP:
        return "" if f"{STAMP} is missing or damaged" in said else f"nothing said: {said[-300:]}"
    now = read_numbers(project)
    other = [one for one in whole if one != name and now.get(one) != whole[one]]
    return f"other {other}" if other else ""


@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_result_is_named_or_changes_nothing(
    reader: str, finished_line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, seen = finished_line, []

    def keep(*given: Any) -> Settings:
        seen.append(view_settings(*given))
        return seen[-1]

    monkeypatch.setattr(run, "view_settings", keep)
    with watching(project) as opened:
        status, said = say_of(*READERS[reader])
    assert status == 0, said
    read = sorted({path for path in opened if path.is_file()})
    assert read, "nothing is read that another stage left"
    if os.environ.get("TWORULERS_ALL_FILES") != "1":
        read = random.Random(reader).sample(read, min(MOST_FILES, len(read)))
    whole, kept, faults = read_numbers(project), tmp_path / "kept", []
    stage = getattr(import_module(f"tworulers.stages.{reader}"), reader)
    layout = Layout(project, project / BASE, project / BASE)
    for place, path in enumerate(read):
        shutil.copytree(project / "artifacts", kept, symlinks=True)
        ways = list_ways(path)
        damage(path, ways[place % len(ways)], place)
        by_command = place == 0 or reader in ("risk", "judge")
        status, said = (
            say_of(*READERS[reader]) if by_command else say_within(stage, seen[0], layout)
        )
        if fault := find_fault(path, status, said, project, whole):
            faults.append(f"{path}, {ways[place % len(ways)]}: {fault}")
        shutil.rmtree(project / "artifacts")
        kept.rename(project / "artifacts")
    assert not faults, "\n".join(faults)


def test_a_damaged_result_is_not_published(finished_line: Path) -> None:
    faults = []
    for folder in list_results(finished_line / "artifacts"):
        stage = read_record(folder).stage
        for place, path in enumerate([folder / RECORD, *list_shown(folder, row_level=True)]):
            if path.suffix != ".parquet" and path.name != RECORD:
                continue
            kept, ways = path.read_bytes(), list_ways(path)
            damage(path, ways[place % len(ways)], place)
            said = ""
            try:
                for shown in list_shown(folder, row_level=True):
                    reduce_table(shown)
                read_record(folder)
            except ValueError as error:
                said = str(error)
            path.write_bytes(kept)
            if str(path) not in said or "again with `python -m tworulers.stages." not in said:
                faults.append(f"{stage} {path}: {said}")
    assert not faults, "\n".join(faults)
