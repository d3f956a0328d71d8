"""The command that compares two results: `python -m tworulers.runner.verify A B`, or `./scripts/verify`."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from tworulers.progress import say
from tworulers.runner.faults import say_error
from tworulers.runner.verify.gist import (
    Gist,
    Tolerance,
    compare_gists,
    load_gist,
    read_gist,
    write_gist,
)
from tworulers.runner.verify.locked import compare_locked
from tworulers.runner.verify.near import Level
from tworulers.runner.verify.processor import (
    POINTS,
    hold_across,
    name_processor,
    read_processor,
)
from tworulers.runner.verify.unequal import Unequal, compare_files
from tworulers.runner.verify.versions import find_other_versions

ALIKE, UNEQUAL, UNUSABLE = range(3)
"""Exit statuses."""

LOCK_ENDING = ".lock"
ABOUT = """\
Compare two results: folders such as artifacts/phantom or audits/mix/gold, or a folder and what is recorded of it.

Across machines, as it is without --exact: the means of all scores, overall and by group, within tolerances, and the
same words in answers, verdicts and sentences, their numbers left apart. Words that a p near its level settled, in A
or B, are listed and count as the same. B may be a record that --record wrote; of one made on another kind of
processor, where networks learn otherwise, only means over all exams are held, and the rest is listed.
On one machine, with --exact: every file byte by byte. B may be a dvc.lock, whose hashes the files have to have.
"""
STATUSES = "Exit status: 0 the same, 1 different, 2 nothing that can be compared."


class UnusableError(ValueError):
    """There is nothing to compare, or not so."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare what the command line names, list the differences, and return the exit status."""
    asked = read_arguments(arguments)
    try:
        if asked.record:
            gist = open_gist(asked.one)
            write_gist(gist, asked.record)
            say(f"{asked.record} records the means and words of {count(len(gist), 'table')}")
            return ALIKE
        if asked.other is None:
            raise UnusableError("give a second result to compare with, or --record FILE")
        across = "" if asked.exact else find_other_processor(asked.other)
        points = max(asked.points, POINTS) if across else asked.points
        tolerance, level = Tolerance(points, asked.share), Level(asked.level, asked.factor)
        found = (
            compare_exactly(asked.one, asked.other)
            if asked.exact
            else compare_gists(open_gist(asked.one), open_gist(asked.other), tolerance, level)
        )
        found = hold_across(found) if across else found
    except (ValueError, OSError) as error:
        say_error(error)
        return UNUSABLE
    how = (
        "byte by byte"
        if asked.exact
        else f"means {'over all exams ' * bool(across)}within {tolerance.points:g} (beyond 1: within "
        f"{tolerance.share:.0%}){', the same words' * (not across)}"
    )
    told = f"{asked.one} and {asked.other}, {how}"
    unequal, near = ([one for one in found if one.near is is_near] for is_near in (False, True))
    say(f"{told}: {count(len(unequal), 'difference') if unequal else 'the same'}")
    for line in list_lines(unequal):
        say(line)
    if near:
        say(
            across
            or f"near its level, and no difference: words that a p within a factor of {level.factor:g} of "
            f"{level.level:g} settled, in either"
        )
        for line in list_lines(near):
            say(line)
    return UNEQUAL if unequal else ALIKE


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read what is asked for."""
    parser = argparse.ArgumentParser(
        "verify",
        description=ABOUT,
        epilog=STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("one", metavar="A", type=Path, help="a folder of results")
    parser.add_argument("other", metavar="B", type=Path, nargs="?", help="what A is compared with")
    parser.add_argument("--exact", action="store_true", help="byte by byte, on one machine")
    parser.add_argument(
        "--points", type=float, default=0.01, help="tolerance of means up to 1 (default .01)"
    )
    parser.add_argument(
        "--share", type=float, default=0.05, help="tolerance of larger ones, of their size (.05)"
    )
    parser.add_argument("--level", type=float, default=0.05, help="that p are held to (.05)")
    parser.add_argument(
        "--factor", type=float, default=2.0, help="by which a p near its level may miss it (2)"
    )
    parser.add_argument(
        "--record", metavar="FILE", type=Path, help="write the means and words of A"
    )
    return parser.parse_args(arguments)


def open_gist(place: Path) -> Gist:
    """Read the means and words of a folder of results, or of a record of them.

    Raises
    ------
    UnusableError : it is neither; it holds no table of a result, or tables of another schema version.
    """
    if place.suffix == LOCK_ENDING:
        raise UnusableError(
            f"{place} records hashes, which say whether files are equal and no more: add --exact, or compare with a "
            "record of means and words"
        )
    if place.is_file():
        return load_gist(place)
    require_folder(place)
    gist = read_gist(place)
    if not gist:
        raise UnusableError(f"{place} holds no table with means or words of a result")
    return gist


def find_other_processor(record: Path) -> str:
    """Say that a record is of another processor than this one; nothing where it is not, or does not say."""
    if not record.is_file() or record.suffix == LOCK_ENDING:
        return ""
    there, here = read_processor(record), name_processor()
    if there in ("", here):
        return ""
    return f"recorded on another processor ({there}; here {here}), so listed and not held:"


def compare_exactly(one: Path, other: Path) -> list[Unequal]:
    """Compare a folder of results with another or with a lock, byte by byte."""
    require_folder(one)
    if other.suffix == LOCK_ENDING:
        return compare_locked(one, other)
    require_folder(other)
    return compare_files(one, other)


def require_folder(place: Path) -> None:
    """Refuse what is no folder of results of today's schema version.

    Raises
    ------
    UnusableError : naming the folder, or its first tables of another version.
    """
    if not place.is_dir():
        raise UnusableError(f"{place} is not there, or no folder of results")
    old = list(find_other_versions(place))
    if old:
        shown = ", ".join(
            f"{name} (version {found}, expected {expected})" for name, found, expected in old[:3]
        )
        raise UnusableError(
            f"{place} holds {count(len(old), 'table')} of another schema version: {shown}; make them again with "
            "today's code (`dvc repro`), or compare both results by the code that made them"
        )


def list_lines(found: Sequence[Unequal]) -> list[str]:
    """Write differences as lines with columns: table, column, rows, largest difference, and the first or largest."""
    if not found:
        return []
    cells = [("table", "column", "rows", "largest", "")]
    for one in found:
        rows = f"{one.rows} of {one.of}" if one.column else ""
        largest = "" if math.isnan(one.largest) else f"{one.largest:.4g}"
        cells.append((one.table, one.column, rows, largest, one.note))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            f"{cell:{width}}" for cell, width in zip(row, widths, strict=True) if width
        ).rstrip()
        for row in cells
    ]


def count(number: int, word: str) -> str:
    """Write a number of things."""
    return f"{number} {word}{'' if number == 1 else 's'}"
