"""What a label map holds once a person's replacements of its values are made."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tworulers.io.images import LabelVolume
from tworulers.io.label_maps import read_label
from tworulers.io.label_values import WIDEST_TABLE, ValueMap

BACKGROUND = "background"
OTHERS = "*"
"""The entry of a label map that stands for every value no other entry names."""


_ENTRY = re.compile(r"\s*(?P<first>-?\d+)\s*(?:-\s*(?P<last>-?\d+)\s*)?")


def read_mapped_label(
    path: Path, labels: Iterable[int], label_map: Mapping[int, int]
) -> LabelVolume:
    """Read a label map, replace stored values, and refuse what no structure has.

    Parameters
    ----------
    path : a NIfTI label map.
    labels : the values that structures have.
    label_map : stored value to structure's value, 0 for background; values it does not name stay.

    Raises
    ------
    ImageError : unreadable, or with fractional or unexpected values (with their counts).
    """
    own = {0: 0} | {int(label): int(label) for label in labels}
    replaced = {int(value): int(meant) for value, meant in label_map.items()}
    kept = {value: meant for value, meant in (own | replaced).items() if meant in own}
    return read_label(path, stands_for=ValueMap(kept))


def expand_label_map(
    label_map: Mapping[str, Sequence[str]], structures: Mapping[str, int]
) -> ValueMap:
    """Say what every stored value stands for, where a label map names it.

    Parameters
    ----------
    label_map : structure, or `background`, to its stored values: `5`, `-1`, a range `26-50`, or `*` for
        every value not named. An empty one says that the stored values are the structures' own.
    structures : value of each structure.

    Raises
    ------
    ValueError : with every fault: unknown structures, entries that are no values, values named
        twice, structures without any.
    """
    if not label_map:
        return ValueMap.of_own(structures.values())
    meant = {BACKGROUND: 0, **structures}
    faults = [f"{name!r} is none of {sorted(meant)}" for name in label_map if name not in meant]
    faults += [f"{name!r} has no stored value" for name in structures if not label_map.get(name)]
    stands_for: dict[int, int] = {}
    others: list[str] = []
    for name, entries in label_map.items():
        for entry in map(str, entries):
            if entry.strip() == OTHERS:
                others.append(name)
                continue
            match = _ENTRY.fullmatch(entry)
            if match is None:
                faults.append(f"{entry!r} of {name!r} is no value, no range such as 26-50, no *")
                continue
            first, last = int(match["first"]), int(match["last"] or match["first"])
            if last - first >= WIDEST_TABLE:
                faults.append(
                    f"{entry!r} of {name!r} is a range of more than {WIDEST_TABLE} values"
                )
                continue
            for value in range(first, last + 1):
                taken = stands_for.setdefault(value, meant.get(name, 0))
                if taken != meant.get(name, 0):
                    faults.append(f"{value} is named twice, last for {name!r}")
    if len(others) > 1:
        faults.append(f"* is named twice: {', '.join(others)}")
    if faults:
        raise ValueError("label_map cannot be used:\n  " + "\n  ".join(faults))
    return ValueMap({0: 0} | stands_for, meant[others[0]] if others else None)
