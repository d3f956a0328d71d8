"""Which references judge predictions made elsewhere: their files paired by name, and who the exams are of."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.cohort.grouping import GroupingError
from tworulers.ingest.faults import Fault, FaultKind, IngestError
from tworulers.ingest.predictions import Pairing, check_pairs, pair_predictions
from tworulers.ingest.score_table import read_exam_table
from tworulers.ingest.value_census import Census, check_values, note_absent, take_census
from tworulers.io.label_values import ValueMap
from tworulers.io.owned import remove_folder
from tworulers.schema import Provenance, Ruler
from tworulers.schema_sources import Attributes, Predictions
from tworulers.stages._structures import find_names, interpret, name_after_values, number
from tworulers.stages.audit import tell_groups


@dataclass(frozen=True)
class Judge:
    """One reference: its files paired with the predictions, and what its stored values stand for once that is known."""

    ruler: Ruler
    pairing: Pairing
    stands_for: ValueMap = field(default_factory=lambda: ValueMap({}))

    @property
    def exams(self) -> list[str]:
        """Return the exams that can be scored."""
        return list(self.pairing.pairs["exam_id"])

    def path_of(self, exam: str) -> Path:
        """Return the reference of an exam."""
        return Path(str(self.pairing.pairs.set_index("exam_id").at[exam, "reference"]))


@dataclass(frozen=True)
class Prepared:
    """All that is known before the first score.

    Attributes
    ----------
    judges : the references, the base first.
    people : one row an exam.
    structures : value of each structure while it is scored.
    naming : where the structures' names are from, in a sentence; empty where they were asked for.
    stands_for : what the stored values of the predictions stand for.
    notes : what is worth knowing.
    """

    judges: dict[str, Judge]
    people: pd.DataFrame
    structures: dict[str, int]
    naming: str
    stands_for: ValueMap
    notes: list[Fault]


def prepare(given: Predictions, attributes: Attributes, processes: int) -> Prepared:
    """Find out what can be scored, refusing what cannot: names and table first, then headers, then values.

    Raises
    ------
    ValueError : with every fault of the first of these that has any.
    """
    require_given(given)
    structures, naming = find_names(given)
    judges = pair_references(given)
    people, told = describe_exams(given, judges, attributes)
    notes = [*list_gaps(judges, given.incomplete), *told]
    refuse_gaps(notes)
    notes += check_grids(judges, given.trust_grid)
    refuse_gaps(notes)
    censuses = count_values(given, judges, processes)
    if not structures:
        values = [value for census in censuses.values() for value in census.values]
        structures, naming = name_after_values(values)
    stands_for, judges, found = interpret_values(given, judges, censuses, structures)
    refuse_gaps(found)
    return Prepared(judges, people, number(structures), naming, stands_for, [*notes, *found])


def require_given(given: Predictions) -> None:
    """Refuse predictions without a folder, a name or a reference, all in one message."""
    faults = []
    if not given.folder:
        faults.append("predictions.folder, the folder of the predicted label maps")
    if not given.references:
        faults.append("predictions.references, such as {expert: {folder: /e, provenance: gold}}")
    if not re.fullmatch(r"\w[\w.-]*", given.name):
        faults.append(f"predictions.name, a plain word to file results under, not {given.name!r}")
    if faults:
        raise ValueError("not set: " + "; ".join(faults))


def pair_references(given: Predictions) -> dict[str, Judge]:
    """Pair the predictions with every reference folder by name.

    The reference that the others are compared with comes first: the first by experts, else the first.
    """
    judges = {}
    for name, reference in given.references.items():
        title = reference.title or f"the labels in {Path(reference.folder).name}"
        ruler = Ruler(name, title, "folder", reference.provenance, folder=reference.folder)
        folders = Path(str(given.folder)), Path(reference.folder)
        pairing = pair_predictions(*folders, patterns=(given.pattern, reference.pattern))
        judges[name] = Judge(ruler, pairing)
    gold = (name for name, one in judges.items() if one.ruler.provenance == Provenance.GOLD)
    base = next(gold, next(iter(judges)))
    return {base: judges[base], **judges}


def list_gaps(judges: Mapping[str, Judge], incomplete: bool) -> list[Fault]:
    """List what is wrong with the names of the files, and what is worth knowing of them.

    Exams without a prediction are faults, or notes where an incomplete set was asked for.
    """
    found: dict[tuple[str, str, str], Fault] = {}
    for name, one in judges.items():
        faults = list(one.pairing.faults)
        if one.pairing.pairs.empty:
            mend = "files pair by name: the predictions' and the reference's have to be the same"
            faults.append(Fault(FaultKind.PAIRING, "names in common", "none", mend, name))
        for fault in faults:
            missing = fault.exam in one.pairing.missing and fault.kind == FaultKind.PAIRING
            if missing and incomplete:
                fault = replace(fault, mend=f"scored without it: {one.pairing.share}", note=True)
            elif missing:
                mend = f"{fault.mend}, or predictions.incomplete=true to score {one.pairing.share}"
                fault = replace(fault, mend=mend)
            found[fault.file, fault.exam, fault.found] = fault
    return list(found.values())


def describe_exams(
    given: Predictions, judges: Mapping[str, Judge], attributes: Attributes
) -> tuple[pd.DataFrame, list[Fault]]:
    """Read who the scored exams are of; without a table each exam is a patient of its own.

    Returns
    -------
    One row an exam, empty where the table cannot be used; and its faults and notes, values that are in no group too.
    """
    exams = sorted({exam for one in judges.values() for exam in one.exams})
    notes: list[str] = []
    people = pd.DataFrame({"exam_id": exams, "patient_id": exams, "age_over_89": False})
    try:
        if given.cohort is None:
            notes.append("no table (predictions.cohort): every exam counts as a patient")
        else:
            columns = dict(given.cohort_columns)
            people = read_exam_table(given.cohort, columns, given.missing, exams, notes)
        notes += tell_groups(people, attributes)
    except IngestError as error:
        return people, error.faults
    except GroupingError as error:
        return people, [Fault(FaultKind.GROUPS, "", str(error))]
    return people, [Fault(FaultKind.TABLE, "", note, note=True) for note in notes]


def check_grids(judges: Mapping[str, Judge], trust_grid: bool) -> list[Fault]:
    """List the pairs that do not lie on one grid, and what is worth knowing of the others, each once."""
    faults = [
        fault
        for one in judges.values()
        for fault in check_pairs(one.pairing, trust_grid=trust_grid)
    ]
    return list({(fault.file, fault.exam, fault.found): fault for fault in faults}.values())


def refuse_gaps(faults: Sequence[Fault]) -> None:
    """Raise all faults, and what is worth knowing of single exams, as one error where any of them is a fault."""
    if any(not fault.note for fault in faults):
        raise IngestError([fault for fault in faults if fault.exam or not fault.note])


def count_values(
    given: Predictions, judges: Mapping[str, Judge], processes: int
) -> dict[str, Census]:
    """Count the values of all label maps that are scored: those of each reference, and `` of the predictions."""
    predicted: dict[str, Path] = {}
    censuses = {}
    for name, one in judges.items():
        pairs = one.pairing.pairs.set_index("exam_id")
        predicted |= {str(exam): Path(str(path)) for exam, path in pairs["prediction"].items()}
        files = {str(exam): Path(str(path)) for exam, path in pairs["reference"].items()}
        censuses[name] = take_census(Path(str(one.ruler.folder)).name, files, processes)
    return {"": take_census(Path(str(given.folder)).name, predicted, processes), **censuses}


def interpret_values(
    given: Predictions,
    judges: Mapping[str, Judge],
    censuses: Mapping[str, Census],
    structures: dict[str, int],
) -> tuple[ValueMap, dict[str, Judge], list[Fault]]:
    """Say what the stored values of the predictions and of each reference stand for, and list those that do not fit."""
    numbers = number(structures)
    stands_for = interpret(given.label_map, structures)
    judges = {
        name: replace(one, stands_for=interpret(given.references[name].label_map, structures))
        for name, one in judges.items()
    }
    meanings = {"": stands_for, **{name: one.stands_for for name, one in judges.items()}}
    faults = [
        fault
        for name, census in censuses.items()
        for fault in check_values(census, meanings[name], numbers)
    ]
    faults += note_absent([(censuses[name], meanings[name]) for name in censuses], numbers)
    return stands_for, judges, faults


def drop_stale(folder: Path, judges: Mapping[str, Judge]) -> None:
    """Remove what an earlier run left of references that are not asked for any more."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and path.name not in judges:
            remove_folder(path)


def list_pairs(judges: Mapping[str, Judge], notes: list[Fault]) -> dict[str, Any]:
    """Name the exams that were not paired, and what was noted of the others; this stays with the results."""
    return {
        "references": {
            name: {
                "folder": str(one.ruler.folder),
                "missing_predictions": one.pairing.missing,
                "without_reference": one.pairing.extra,
            }
            for name, one in judges.items()
        },
        "notes": [asdict(note) for note in notes],
    }
