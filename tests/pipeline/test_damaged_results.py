"""Results cut short, emptied or with a byte changed: whoever reads them next names the file and what mends it.

Which files a command reads is watched, so no file that one comes to read is left out here.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from finished_line import READERS
from test_damaged_files import WAYS, damage, say_of

from tworulers.runner.tracking.record import RECORD, list_results, read_record
from tworulers.runner.tracking.shown import list_shown, reduce_table

pytestmark = pytest.mark.slow

MADE = ("scores", "audits", "comparisons", "judged", "risk")
"""Folders of the results that are damaged."""


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


@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_result_is_named_or_changes_nothing(
    reader: str, finished_line: Path, tmp_path: Path
) -> None:
    project = finished_line
    with watching(project) as opened:
        status, said = say_of(*READERS[reader])
    assert status == 0, said
    read = sorted({path for path in opened if path.is_file()})
    assert read, "nothing is read that another stage left"
    whole, kept = read_numbers(project), tmp_path / "kept"
    faults = []
    for place, path in enumerate(read):
        shutil.copytree(project / "artifacts", kept, symlinks=True)
        ways = list_ways(path)
        way = ways[place % len(ways)]
        damage(path, way, place)
        status, said = say_of(*READERS[reader])
        name = path.relative_to(project).as_posix()
        if "Traceback" in said:
            faults.append(f"{name}, {way}: a traceback: {said[-300:]}")
        elif status == 0 and path.name != "stamp.json":
            other = [one for one, content in read_numbers(project).items() if content != whole[one]]
            faults += [f"{name}, {way}: other {one}" for one in other if one != name]
        elif status == 0 and "stamp.json is missing or damaged" not in said:
            faults.append(f"{name}, {way}: it is not said that a stamp is damaged: {said[-300:]}")
        elif status and (
            name not in said
            or not re.search(r"again with `python -m tworulers\.stages\.\w+`", said)
        ):
            faults.append(f"{name}, {way}: {said[-300:]}")
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
