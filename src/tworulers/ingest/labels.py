"""What a label map holds once a person's replacements of its values are made."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tworulers.io.images import ImageError, LabelVolume, Volume, read_label

BACKGROUND = "background"
OTHERS = "*"
"""The entry of a label map that stands for every value no other entry names."""


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
    if not label_map:
        return read_label(path, labels)
    stored = read_label(path, None)
    lookup = np.arange(256, dtype=np.uint8)
    for value, replacement in label_map.items():
        lookup[int(value)] = int(replacement)
    mapped = lookup[stored.array]
    values, counts = np.unique(mapped, return_counts=True)
    allowed = {0, *labels}
    unexpected = {
        int(v): int(n) for v, n in zip(values, counts, strict=True) if int(v) not in allowed
    }
    if unexpected:
        raise ImageError(
            f"{path}: unexpected label values {unexpected} (value: voxels) after the replacements "
            f"{dict(label_map)}; expected {sorted(allowed)}",
            "values",
            {"unexpected": unexpected},
        )
    return Volume(mapped, stored.affine, stored.path)


def read_named_values(path: Path, stands_for: Mapping[int, int]) -> LabelVolume:
    """Read a label map whose every stored value is known, and put what it stands for in its place.

    Parameters
    ----------
    path : a NIfTI label map.
    stands_for : stored value to structure's value, 0 for background.

    Raises
    ------
    ImageError : unreadable, or with fractional or unnamed values (with their counts).
    """
    stored = read_label(path, stands_for)
    if all(value == meant for value, meant in stands_for.items()):
        return stored
    lookup = np.zeros(256, dtype=np.uint8)
    lookup[list(stands_for)] = list(stands_for.values())
    return Volume(lookup[stored.array], stored.affine, stored.path)


def expand_label_map(
    label_map: Mapping[str, Sequence[str]], structures: Mapping[str, int]
) -> dict[int, int]:
    """Say what every stored value stands for, where a label map names it.

    Parameters
    ----------
    label_map : structure, or `background`, to its stored values: `5`, a range `26-50`, or `*` for
        every value not named. An empty one says that the stored values are the structures' own.
    structures : value of each structure.

    Returns
    -------
    Stored value to structure's value, 0 for background.

    Raises
    ------
    ValueError : with every fault: unknown structures, entries that are no values, values named
        twice, structures without any.
    """
    if not label_map:
        return {0: 0} | {int(value): int(value) for value in structures.values()}
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
            first, _, last = entry.partition("-")
            if not (first.strip().isdecimal() and (not last or last.strip().isdecimal())):
                faults.append(f"{entry!r} of {name!r} is no value, no range such as 26-50, no *")
                continue
            for value in range(int(first), int(last or first) + 1):
                if value > 255:
                    faults.append(f"{value} of {name!r} is above 255")
                    break
                taken = stands_for.setdefault(value, meant.get(name, 0))
                if taken != meant.get(name, 0):
                    faults.append(f"{value} is named twice, last for {name!r}")
    if len(others) > 1:
        faults.append(f"* is named twice: {', '.join(others)}")
    if faults:
        raise ValueError("label_map cannot be used:\n  " + "\n  ".join(faults))
    rest = {v: meant[name] for name in others for v in range(1, 256) if v not in stands_for}
    return {0: 0} | stands_for | rest
