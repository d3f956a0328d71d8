"""What the structures of label maps made elsewhere are called: as asked, by `dataset.json`, or after their values."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tworulers.ingest.dataset_json import read_dataset_json
from tworulers.ingest.faults import refuse
from tworulers.ingest.labels import expand_label_map
from tworulers.io.label_values import ValueMap
from tworulers.schema_sources import Predictions

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
    maps = [given.label_map, *(reference.label_map for reference in given.references.values())]
    if any(maps):
        named = ", ".join(
            dict.fromkeys(name for one in maps for name in one if name != "background")
        )
        raise ValueError(
            f"predictions.structures is not set: a label_map needs the value of each structure it names ({named}), "
            "such as predictions.structures={vb: 1, disc: 2}"
        )
    folders = [str(given.folder), *(reference.folder for reference in given.references.values())]
    declared = {path: _read_declared(path) for path in _find_declarations(folders)}
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


def name_after_values(values: Iterable[int]) -> tuple[dict[str, int], str]:
    """Call the values found in label maps `label_1`, `label_2`, ..., and say so."""
    structures = {f"label_{value}": value for value in sorted(set(values))}
    example = ", ".join(f"<name>: {value}" for value in structures.values())
    return structures, (
        f"{_count(structures)}, named after their values; name them with predictions.structures={{{example}}}"
    )


def number(structures: Mapping[str, int]) -> dict[str, int]:
    """Return the values of structures while they are scored: their own, or their places where one is too large."""
    if all(value <= 255 for value in structures.values()):
        return dict(structures)
    return {name: place for place, name in enumerate(structures, 1)}


def interpret(label_map: Mapping[str, list[str]], structures: Mapping[str, int]) -> ValueMap:
    """Say what stored values stand for: as a label map says, else each structure's own value."""
    numbers = number(structures)
    if label_map:
        return expand_label_map(label_map, numbers)
    return ValueMap({0: 0} | {value: numbers[name] for name, value in structures.items()})


def _check_asked(structures: Mapping[str, int]) -> None:
    """Refuse a structure without a value of its own."""
    faults = [
        f"{name}: {value} is background's or no value"
        for name, value in structures.items()
        if value < 1
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
