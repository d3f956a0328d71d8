"""Which values the label maps of a folder hold, and what that says of the structures that are asked for."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tworulers.ingest.faults import Fault, FaultKind
from tworulers.io.images import ImageError
from tworulers.io.label_maps import count_label_values
from tworulers.io.label_values import ValueMap
from tworulers.io.pool import iterate_in_pool
from tworulers.progress import following

SHOWN, FEW = 20, 5
SETTINGS = "predictions.label_map, predictions.models.<name>.label_map or predictions.references.<name>.label_map"


@dataclass(frozen=True)
class Census:
    """The values of the label maps of one folder.

    Attributes
    ----------
    folder : its name in messages.
    exams : voxels by value, by exam.
    faults : label maps that cannot be read, or hold fractional values.
    """

    folder: str
    exams: Mapping[str, Mapping[int, int]]
    faults: Sequence[Fault]

    @property
    def values(self) -> dict[int, int]:
        """Return the values but 0 with the number of label maps that hold each, in order."""
        files = Counter(value for voxels in self.exams.values() for value in voxels if value)
        return dict(sorted(files.items()))


def take_census(
    folder: str, files: Mapping[str, Path], processes: int, stands_for: ValueMap | None = None
) -> Census:
    """Count the values of label maps, several at a time.

    Parameters
    ----------
    folder : its name in messages.
    files : label map by exam.
    stands_for : masks a structure, or a threshold, where the folder has them.
    processes : worker processes; 1 works in this one.
    """
    exams: dict[str, Mapping[int, int]] = {}
    faults = []
    count = partial(_count, stands_for=stands_for)
    counted = iterate_in_pool(count, list(files.values()), processes)
    with following(f"reading values of {folder}", len(files)) as tell:
        for exam, found in zip(files, counted, strict=True):
            tell(exam)
            if isinstance(found, ImageError):
                fault = Fault(FaultKind.VALUES, "", str(found), exam=exam, details=found.found)
                faults.append(fault)
            else:
                exams[exam] = found
    return Census(folder, exams, faults)


def check_values(
    census: Census, stands_for: ValueMap, structures: Mapping[str, int]
) -> list[Fault]:
    """List the label maps with values that stand for nothing, and a folder without any that is asked for.

    Parameters
    ----------
    census : the values found.
    stands_for : what stored values stand for.
    structures : value that stored ones are replaced by, by structure.
    """
    faults = list(census.faults)
    for exam, voxels in census.exams.items():
        unexpected = {
            value: voxels[value] for value in sorted(voxels) if not stands_for.knows(value)
        }
        if unexpected:
            faults.append(
                Fault(
                    FaultKind.VALUES,
                    f"the label values {_list(sorted(stands_for.named))}",
                    f"{unexpected} (value: voxels)",
                    f"name each value as a structure, or set {_show_map(unexpected, structures)}",
                    census.folder,
                    exam,
                    details={"unexpected": unexpected},
                )
            )
    full = [exam for exam, voxels in census.exams.items() if voxels and 0 not in voxels]
    if full:
        found = f"no background in {len(full)} label maps: {_list(full[:FEW])}"
        faults.append(Fault(FaultKind.VALUES, "", found, "", census.folder, note=True))
    wanted = set(structures.values())
    meant = {stands_for.named.get(value, stands_for.others or 0) for value in census.values}
    if census.exams and not meant & wanted:
        found = f"{_list([0, *census.values])} alone"
        expected = f"label maps that hold {_list(list(structures)) or 'a structure'}"
        mend = "name the structures with predictions.structures, or map the values with a label_map"
        faults.append(Fault(FaultKind.VALUES, expected, found, mend, census.folder))
    return faults


def _show_map(unexpected: Iterable[int], structures: Mapping[str, int]) -> str:
    """Show a label map that takes unexpected values as background, and the settings that it belongs to."""
    known = ", ".join(f"{name}: [{value}]" for name, value in list(structures.items())[:FEW])
    shown = ", ".join(map(str, list(unexpected)[:FEW]))
    if len(structures) == 1:  # 255 for 1, as often as not
        return f"label_map={{{next(iter(structures))}: [{shown}]}} where it is that structure ({SETTINGS})"
    return f"label_map={{{known}, background: [{shown}]}} ({SETTINGS})"


def note_absent(
    censuses: Sequence[tuple[Census, ValueMap]], structures: Mapping[str, int]
) -> list[Fault]:
    """Note the structures that no label map of any folder holds, and those that some of a folder lack."""
    notes = [
        note for census, meaning in censuses for note in _note_lacking(census, meaning, structures)
    ]
    held = {
        stands_for.named.get(value, stands_for.others or 0)
        for census, stands_for in censuses
        for value in census.values
    }
    absent = [name for name, value in structures.items() if value not in held]
    if not absent:
        return notes
    there = _list(sorted({0, *(value for census, _ in censuses for value in census.values)}))
    found = f"no label map holds {', '.join(absent)}, the values found are {there}: scores of it are undefined"
    mend = "leave it out of predictions.structures, or correct its value, if it is not meant"
    return [*notes, Fault(FaultKind.VALUES, "", found, mend, note=True)]


def _note_lacking(
    census: Census, stands_for: ValueMap, structures: Mapping[str, int]
) -> list[Fault]:
    """Note the structures that some label maps of a folder hold and others do not."""
    held = {
        exam: {stands_for.named.get(value, stands_for.others or 0) for value in voxels}
        for exam, voxels in census.exams.items()
    }
    notes = []
    for name, value in structures.items():
        lacking = [exam for exam, values in held.items() if value not in values]
        if 0 < len(lacking) < len(held):
            more = f" and {len(lacking) - FEW} more" if len(lacking) > FEW else ""
            share = f"{len(held) - len(lacking)} of {len(held)} label maps"
            found = f"{name} is in {share}, not in {', '.join(lacking[:FEW])}{more}"
            notes.append(Fault(FaultKind.VALUES, "", found, "", census.folder, note=True))
    return notes


def _list(values: Sequence[object]) -> str:
    more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    return ", ".join(map(str, values[:SHOWN])) + more


def _count(path: Path, stands_for: ValueMap | None) -> Mapping[int, int] | ImageError:
    try:
        return count_label_values(path, stands_for)
    except ImageError as error:
        return error
