"""What the structures of label maps made elsewhere are called: as asked, by `dataset.json`, or after their values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tworulers.ingest.dataset_json import read_dataset_json
from tworulers.ingest.faults import refuse
from tworulers.ingest.labels import expand_label_map
from tworulers.ingest.nested_folders import name_part
from tworulers.io.label_values import ValueMap
from tworulers.schema.sources import PredictedModel, Predictions, Reference

DECLARATION = "dataset.json"


def find_names(given: Predictions) -> tuple[dict[str, int], str]:
    """Return the structures that are asked for, else those that a `dataset.json` beside the label maps declares.

    Returns
    -------
    Value of each structure, none where nobody names them; and a sentence on where the names are from, if not asked.

    Raises
    ------
    ValueError : values that are no structure's, several files that declare otherwise, or a label map without names.
    """
    if given.structures:
        _check_asked(given.structures)
        return dict(given.structures), ""
    sources: list[PredictedModel | Reference] = [*given.all_models.values()]
    sources += given.references.values()
    maps = [source.label_map for source in sources]
    if any(maps):
        named = ", ".join(
            dict.fromkeys(name for one in maps for name in one if name != "background")
        )
        raise ValueError(
            f"predictions.structures is not set: a label_map needs the value of each structure it names ({named}), "
            "such as predictions.structures={vb: 1, disc: 2}"
        )
    declared = {
        path: _read_declared(path)
        for path in _find_declarations(source.folder for source in sources)
    }
    if not declared:
        return {}, ""
    (path, structures), *others = declared.items()
    for other, otherwise in others:
        if otherwise != structures:
            raise ValueError(
                f"the structures are declared twice: {path} says {structures}, {other} says {otherwise}; say which are "
                "meant with predictions.structures={<name>: <value>, ...}"
            )
    return structures, f"{_count(structures)}, as {path} names them: {_list(structures)}"


def find_ignored(given: Predictions) -> int | None:
    """Return the stored value of voxels that nobody annotated: as asked, else as a `dataset.json` says."""
    if given.ignore is not None or given.structures:
        return given.ignore
    folders = [source.folder for source in given.references.values()]
    values = {read_dataset_json(path.parent).ignore for path in _find_declarations(folders)}
    return values.pop() if len(values) == 1 else None


def leave_out(meaning: ValueMap, ignore: int | None, number: int, folder: str) -> ValueMap:
    """Let a stored value of a reference stand for voxels that nobody annotated.

    Parameters
    ----------
    meaning : what its other values stand for.
    ignore : the stored value; None leaves all as it is.
    number : what it is replaced by while scored.
    folder : of the reference, for the error.

    Raises
    ------
    ValueError : the reference's files have no such value, being masks or probabilities of one structure.
    """
    if ignore is None:
        return meaning
    if meaning.files or meaning.threshold is not None:
        raise ValueError(
            f"predictions.ignore={ignore}: {folder} holds masks or probabilities of one structure, which no value "
            "marks as not annotated; give it as label maps"
        )
    return replace(meaning, named={**meaning.named, ignore: number})


def name_after_values(values: Iterable[int]) -> tuple[dict[str, int], str]:
    """Call the values found in label maps `label_1`, `label_2`, ..., and say so."""
    structures = {f"label_{value}": value for value in sorted(set(values))}
    example = ", ".join(f"<name>: {value}" for value in structures.values())
    return structures, (
        f"{_count(structures)}, named after their values; name them with predictions.structures={{{example}}}"
    )


def number(structures: Mapping[str, int]) -> dict[str, int]:
    """Return the values of structures while they are scored: their own, or their places where one is too large."""
    if all(0 < value <= 255 for value in structures.values()):
        return dict(structures)
    return {name: place for place, name in enumerate(structures, 1)}


def name_after_files(parts: Sequence[Sequence[str]], plain: bool) -> tuple[dict[str, int], str]:
    """Call structures as the files of masks are, where every source has one a structure.

    Parameters
    ----------
    parts : by source, the names of its masks; none where it has label maps.
    plain : whether another source has label maps, whose values nobody names.

    Raises
    ------
    ValueError : a source has label maps, or no name is in all sources.
    """
    held = [names for names in parts if names]
    if not held:
        return {}, ""
    common = [name for name in held[0] if all(name in names for names in held)]
    if plain or not common:
        why = "other folders hold label maps" if plain else "the folders have no name in common"
        example = ", ".join(f"{name}: {n}" for n, name in enumerate(held[0][:2], 1))
        raise ValueError(
            f"predictions.structures is not set, and {why}: say the structures and their values, such as "
            f"predictions.structures={{{example}}}"
        )
    structures = {name: place for place, name in enumerate(common, 1)}
    apart = sorted({name for names in held for name in names} - set(common))
    alone = f"; in one folder alone, and not scored: {', '.join(apart[:20])}" if apart else ""
    return structures, f"{_count(structures)}, named after their files: {', '.join(common)}{alone}"


def interpret(
    source: PredictedModel | Reference, structures: Mapping[str, int], parts: Sequence[str] = ()
) -> ValueMap:
    """Say what the label maps of a folder stand for: as its settings say, else each structure's own value.

    Parameters
    ----------
    source : how its files are to be read.
    structures : value of each structure.
    parts : the names of its masks, where there is one a structure.

    Raises
    ------
    ValueError : a label map that cannot be used, or a threshold for files that hold several structures.
    """
    numbers = number(structures)
    if parts:
        given = source.label_map or {name: [name] for name in numbers}
        if strange := [name for name in given if name not in numbers]:
            raise ValueError(f"label_map: {strange} are none of {sorted(numbers)}")
        files = {
            name_part(source.pattern, str(file)): numbers[name]
            for name, masks in given.items()
            for file in masks
        }
        own = ValueMap.of_own(numbers.values())
        return replace(own, files=files, threshold=source.threshold)
    if source.threshold is not None:
        if len(numbers) != 1:
            raise ValueError(
                f"a threshold is stated for {source.folder}, whose files are then of one structure; found "
                f"{_list(numbers)}. Name the one, or give each structure a file: pattern='{{exam}}/{{structure}}'"
            )
        return ValueMap({0: 0, 1: next(iter(numbers.values()))}, threshold=source.threshold)
    if source.label_map:
        return expand_label_map(source.label_map, numbers)
    return ValueMap({0: 0} | {value: numbers[name] for name, value in structures.items()})


def _check_asked(structures: Mapping[str, int]) -> None:
    """Refuse a structure without a value of its own."""
    faults = [
        f"{name}: 0 is background's value" for name, value in structures.items() if value == 0
    ]
    by_value: dict[int, list[str]] = {}
    for name, value in structures.items():
        by_value.setdefault(value, []).append(name)
    faults += [
        f"{' and '.join(names)} both have {value}"
        for value, names in by_value.items()
        if len(names) > 1
    ]
    if faults:
        raise ValueError("predictions.structures cannot be used: " + "; ".join(faults))


def _find_declarations(folders: Iterable[str]) -> list[Path]:
    """List the `dataset.json` in a folder of label maps, else the one beside it."""
    found = []
    for folder in map(Path, folders):
        near = (folder / DECLARATION, folder.absolute().parent / DECLARATION)
        found += [path for path in near if path.is_file()][:1]
    return list(dict.fromkeys(found))


def _read_declared(path: Path) -> dict[str, int]:
    declared = read_dataset_json(path.parent)
    refuse(*declared.faults)
    return declared.structures


def _count(structures: Mapping[str, int]) -> str:
    return f"{len(structures)} structure{'s' * (len(structures) != 1)}"


def _list(structures: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in structures.items())
