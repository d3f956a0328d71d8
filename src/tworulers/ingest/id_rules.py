"""What does not count when exams are told by their names: letter case, endings, zeros, and what surrounds them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pandas as pd

from tworulers.ingest.faults import Fault, FaultKind
from tworulers.io.image_names import IMAGES, stem_of

EXAM = "{exam}"
"""Where a pattern of names has the name of the exam."""


def _drop_ending(name: str) -> str:
    return stem_of(Path(name)) if name.casefold().endswith(IMAGES) else name


def _drop_folder(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def _drop_zeros(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name)


IGNORABLE: Mapping[str, Callable[[str], str]] = {
    "folder": _drop_folder,
    "case": str.casefold,
    "extension": _drop_ending,
    "zeros": _drop_zeros,
}
"""What a setting `id_ignore` may name, and what is then left of a name."""

SHOWN = 5

Item = TypeVar("Item")


def check_rules(ignore: Iterable[str], setting: str) -> None:
    """Refuse words that name nothing that can be ignored.

    Raises
    ------
    ValueError : listing them, and what there is.
    """
    if unknown := [word for word in ignore if word not in IGNORABLE]:
        raise ValueError(f"{setting}: {unknown} are none of {list(IGNORABLE)}")


def simplify(name: str, ignore: Iterable[str], pattern: str = EXAM) -> str:
    """Return what is left of a name once a pattern that fits is taken off, and what does not count.

    Parameters
    ----------
    name : as it stands.
    ignore : of `IGNORABLE`.
    pattern : a name around `{exam}`; names that do not fit it stay whole.
    """
    before, _, after = pattern.partition(EXAM)
    long = len(name) > len(before) + len(after)
    if long and name.startswith(before) and name.endswith(after):
        name = name[len(before) : len(name) - len(after)]
    for word in ignore:
        name = IGNORABLE[word](name)
    return name


@dataclass(frozen=True)
class Naming:
    """How exams are called in tables: what does not count, what surrounds their names, and where that is set."""

    ignore: Sequence[str] = ()
    pattern: str = EXAM
    setting: str = ""


def rename_ids(table: pd.DataFrame, naming: Naming, notes: list[str], file: str) -> pd.DataFrame:
    """Give the exams of a table the names that are left of theirs, and say of how many they differ."""
    check_rules(naming.ignore, f"{naming.setting}.id_ignore")
    named = table["exam_id"].map(lambda name: simplify(str(name), naming.ignore, naming.pattern))
    changed = named != table["exam_id"]
    if changed.any():
        old, new = table["exam_id"][changed].iloc[0], named[changed].iloc[0]
        notes.append(
            f"{Path(file).name}: {int(changed.sum())} exams are called by what id_pattern and id_ignore leave of their "
            f"names, such as {new!r} for {old!r}"
        )
    return table.assign(exam_id=named)


def rename_files(
    files: Mapping[str, Item], ignore: Sequence[str], folder: str
) -> tuple[dict[str, Item], list[Fault]]:
    """Give files the names that are left of theirs; names that meet then are faults."""
    named: dict[str, Item] = {}
    origin: dict[str, str] = {}
    faults = []
    for name, item in files.items():
        new = simplify(name, ignore)
        if new in named:
            found = f"{origin[new]!r} and {name!r}"
            mend = f"rename one, or leave out what makes them one: id_ignore={list(ignore)}"
            faults.append(Fault(FaultKind.DUPLICATES, "one file", found, mend, folder, new))
        named[new], origin[new] = item, name
    return named, faults
