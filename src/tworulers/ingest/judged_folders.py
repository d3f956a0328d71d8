"""Which references judge predictions made elsewhere: their files paired by name, and who the exams are of."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tworulers.cohort.grouping import GroupingError
from tworulers.cohort.ungrouped import keep_possible, tell_groups
from tworulers.ingest.faults import Fault, FaultKind, IngestError, refuse
from tworulers.ingest.id_rules import Naming, check_rules, rename_ids
from tworulers.ingest.pairing import MISSING, Pairing, pair_predictions
from tworulers.ingest.predictions import check_pairs
from tworulers.ingest.read import find_layout
from tworulers.ingest.score_table import pick_described, read_exam_table
from tworulers.ingest.structure_names import (
    find_ignored,
    find_names,
    interpret,
    leave_out,
    name_after_files,
    name_after_values,
    number,
)
from tworulers.ingest.value_census import Census, check_values, note_absent, take_census
from tworulers.io.label_values import ValueMap
from tworulers.schema.settings import Provenance, Ruler
from tworulers.schema.sources import Attributes, PredictedModel, Predictions, Reading, Reference
from tworulers.sides import Side


@dataclass(frozen=True)
class Judge:
    """One model by one reference: the files of both paired, and what stored values stand for once that is known."""

    model: str
    ruler: Ruler
    pairing: Pairing
    predicted: ValueMap = field(default_factory=lambda: ValueMap({}))
    drawn: ValueMap = field(default_factory=lambda: ValueMap({}))

    @property
    def side(self) -> Side:
        """Return the names of the model and of the reference."""
        return self.model, self.ruler.name

    @property
    def references(self) -> dict[str, Path]:
        """Return the file of the reference by exam."""
        return self._list("reference")

    @property
    def predictions(self) -> dict[str, Path]:
        """Return the file of the prediction by exam."""
        return self._list("prediction")

    def _list(self, column: str) -> dict[str, Path]:
        pairs = self.pairing.pairs
        return {
            str(exam): Path(path)
            for exam, path in zip(pairs["exam_id"], pairs[column], strict=True)
        }


@dataclass(frozen=True)
class Prepared:
    """All that is known before the first score.

    Attributes
    ----------
    judges : by model and reference, the base reference first.
    people : one row an exam.
    structures : value of each structure while it is scored.
    naming : where the structures' names are from, in a sentence; empty where they were asked for.
    notes : what is worth knowing.
    attributes : how exams are grouped, as far as they can be where that was asked for.
    ignore : what stands for voxels that nobody annotated while they are scored, if there are any.
    """

    judges: dict[Side, Judge]
    people: pd.DataFrame
    structures: dict[str, int]
    naming: str
    notes: list[Fault]
    attributes: Attributes
    ignore: int | None = None

    @property
    def base(self) -> str:
        """Return the name of the reference that the others are held against."""
        return next(iter(self.judges))[1]


def prepare(given: Predictions, attributes: Attributes, processes: int) -> Prepared:
    """Find out what can be scored, refusing what cannot: names and table first, then headers, then values.

    Raises
    ------
    ValueError : with every fault of the first of these that has any.
    """
    require_given(given)
    check_rules(given.id_ignore, "predictions.id_ignore")
    structures, naming = find_names(given)
    judges = pair_folders(given)
    people, told, attributes = describe_exams(given, judges, attributes)
    notes = [*list_gaps(judges, given.incomplete), *told]
    refuse_gaps(notes)
    notes += check_grids(judges, given.trust_grid)
    refuse_gaps(notes)
    sources = list_sources(given, judges)
    if not structures:
        parts = [found for _, found in sources.values()]
        structures, naming = name_after_files(parts, plain=not all(parts))
    models, references = count_values(sources, judges, structures, processes)
    if not structures:
        censuses = [*models.values(), *references.values()]
        values = (x for census in censuses for x in census.values if x != given.ignore)
        structures, naming = name_after_values(values)
    own = {name: interpret(*_with(sources[name, ""], structures)) for name in given.all_models}
    numbers, ignored = number(structures), find_ignored(given)
    unseen = max(numbers.values(), default=0) + 1
    maps = {
        name: leave_out(
            interpret(*_with(sources["", name], structures)), ignored, unseen, one.folder
        )
        for name, one in given.references.items()
    }
    counted = [(models[name], own[name]) for name in models]
    counted += [(references[name], maps[name]) for name in references]
    found = [
        fault for census, meaning in counted for fault in check_values(census, meaning, numbers)
    ]
    found += note_absent(counted, numbers)
    refuse_gaps(found)
    judges = {
        (model, name): replace(one, predicted=own[model], drawn=maps[name])
        for (model, name), one in judges.items()
    }
    marked = None if ignored is None else unseen
    return Prepared(judges, people, numbers, naming, [*notes, *found], attributes, marked)


def require_given(given: Predictions) -> None:
    """Refuse predictions without a folder, a name or a reference, all in one message."""
    faults = []
    if not given.all_models:
        faults.append(
            "predictions.folder, the folder of the predicted label maps (--predictions DIR), or predictions.models of "
            "several models"
        )
    elif given.folder and given.models:
        faults.append("one of predictions.folder and predictions.models alone: both are given")
    if not given.references:
        faults.append(
            "predictions.references, such as {expert: {folder: /e, provenance: gold}} (--reference expert=gold:/e)"
        )
    if not re.fullmatch(r"\w[\w.-]*", given.name):
        faults.append(f"predictions.name, a plain word to file results under, not {given.name!r}")
    if faults:
        raise ValueError("not set: " + "; ".join(faults))


def pair_folders(given: Predictions) -> dict[Side, Judge]:
    """Pair the predictions of every model with every reference folder by name.

    The reference that the others are compared with comes first: the first by experts, else the first.
    """
    rulers = {
        name: Ruler(
            name,
            one.title or f"the labels in {Path(one.folder).name}",
            "folder",
            one.provenance,
            folder=one.folder,
            relation=one.relation,
            corrected_from=one.corrected_from,
            caveat=one.caveat,
        )
        for name, one in given.references.items()
    }
    order = sorted(rulers, key=lambda name: rulers[name].provenance != Provenance.GOLD)
    names = [order[0], *(name for name in rulers if name != order[0])]
    return {
        (model, name): Judge(
            model,
            rulers[name],
            pair_predictions(
                Path(one.folder),
                Path(given.references[name].folder),
                patterns=(one.pattern, given.references[name].pattern),
                ignore=given.id_ignore,
                settings=(
                    f"predictions.models.{model}" if given.models else "predictions",
                    f"predictions.references.{name}",
                ),
            ),
        )
        for model, one in given.all_models.items()
        for name in names
    }


def list_gaps(judges: Mapping[Side, Judge], incomplete: bool) -> list[Fault]:
    """List what is wrong with the names of the files, and what is worth knowing of them.

    Exams without a prediction are faults, or notes where an incomplete set was asked for.
    """
    found: dict[tuple[str, str, str], Fault] = {}
    for (_, name), one in judges.items():
        faults = list(one.pairing.faults)
        if one.pairing.pairs.empty and all(fault.note for fault in faults):
            mend = "files pair by name: the predictions' and the reference's have to be the same"
            faults.append(Fault(FaultKind.PAIRING, "names in common", "none", mend, name))
        for fault in faults:
            missing = fault.details.get(MISSING) is True and not one.pairing.pairs.empty
            if missing and incomplete:
                fault = replace(fault, mend=f"scored without it: {one.pairing.share}", note=True)
            elif missing:
                mend = f"{fault.mend}, or predictions.incomplete=true to score {one.pairing.share}"
                fault = replace(fault, mend=mend)
            found[fault.file, fault.exam, fault.found] = fault
    return list(found.values())


def describe_exams(
    given: Predictions, judges: Mapping[Side, Judge], attributes: Attributes
) -> tuple[pd.DataFrame, list[Fault], Attributes]:
    """Read who the scored exams are of; without a table each exam is a patient of its own.

    Returns
    -------
    One row an exam, empty where the table cannot be used; its faults and notes, with values in no group; and the
    groupings that are asked.
    """
    exams = sorted({exam for one in judges.values() for exam in one.predictions})
    named = Naming(given.id_ignore, given.id_pattern, "predictions")
    notes: list[str] = []
    people = pd.DataFrame({"exam_id": exams, "patient_id": exams, "age_over_89": False})
    try:
        if given.cohort is None:
            notes.append("no table (predictions.cohort): every exam counts as a patient")
        elif given.layout:
            people = read_layout_tables(given, exams, notes, named)
        else:
            columns = dict(given.cohort_columns)
            people = read_exam_table(given.cohort, columns, given.missing, exams, notes, named)
        attributes, left_out = keep_possible(people, attributes)
        notes += [*left_out, *tell_groups(people, attributes)]
    except IngestError as error:
        return people, error.faults, attributes
    except GroupingError as error:
        return people, [Fault(FaultKind.GROUPS, "", str(error))], attributes
    return people, [Fault(FaultKind.TABLE, "", note, note=True) for note in notes], attributes


def read_layout_tables(
    given: Predictions, exams: Sequence[str], notes: list[str], naming: Naming
) -> pd.DataFrame:
    """Read who the scored exams are of from the tables of a download, which `cohort` is the folder of.

    Parameters
    ----------
    given : the folder, its layout, columns and codes for no value.
    exams : the exams that have to be described, in the order of the result.
    notes : is added to, a sentence each.
    naming : what does not count in the names of exams.

    Raises
    ------
    IngestError : no such layout, tables that cannot be read, exams that are not described.
    """
    layout, root = find_layout(given.layout, "predictions.layout"), Path(str(given.cohort))
    reading = Reading(columns=dict(given.cohort_columns), missing=list(given.missing))
    people, faults = layout.describe(root, reading)
    refuse(*(fault for fault in faults if not fault.note))
    notes += [fault.describe() for fault in faults]
    people = rename_ids(people, naming, notes, str(root))
    return pick_described(people, exams, str(root), notes)


def check_grids(judges: Mapping[Side, Judge], trust_grid: bool) -> list[Fault]:
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


Source = tuple[PredictedModel | Reference, tuple[str, ...]]
"""How the files of a folder are read, and the names of its masks where there is one a structure."""


def list_sources(given: Predictions, judges: Mapping[Side, Judge]) -> dict[Side, Source]:
    """List the folders of models, as (model, ""), and of references, as ("", reference)."""
    found: dict[Side, Source] = {}
    for (model, name), one in judges.items():
        predicted, drawn = one.pairing.parts
        found[model, ""] = (given.all_models[model], predicted)
        found["", name] = (given.references[name], drawn)
    return found


def count_values(
    sources: Mapping[Side, Source],
    judges: Mapping[Side, Judge],
    structures: Mapping[str, int],
    processes: int,
) -> tuple[dict[str, Census], dict[str, Census]]:
    """Count the values of all label maps that are scored: by model those predicted, and those of each reference."""
    files: dict[Side, dict[str, Path]] = {}
    for (model, name), one in judges.items():
        files.setdefault((model, ""), {}).update(one.predictions)
        files.setdefault(("", name), {}).update(one.references)
    counted = {
        side: take_census(
            Path(source.folder).name, files[side], processes, _read_early(source, parts, structures)
        )
        for side, (source, parts) in sources.items()
    }
    return (
        {model: census for (model, _), census in counted.items() if model},
        {name: census for (_, name), census in counted.items() if name},
    )


def _read_early(
    source: PredictedModel | Reference, parts: Sequence[str], structures: Mapping[str, int]
) -> ValueMap | None:
    """Say how files are read before the names of structures are known, where that is more than their values."""
    if parts:
        return interpret(source, structures, parts)
    return None if source.threshold is None else ValueMap({0: 0, 1: 1}, threshold=source.threshold)


def _with(
    source: Source, structures: Mapping[str, int]
) -> tuple[PredictedModel | Reference, Mapping[str, int], Sequence[str]]:
    return source[0], structures, source[1]


def list_pairs(judges: Mapping[Side, Judge], notes: list[Fault]) -> dict[str, Any]:
    """Name the exams that were not paired, and what was noted of the others; this stays with the results."""
    unpaired = {
        side: {
            "folder": str(one.ruler.folder),
            "missing_predictions": one.pairing.missing,
            "without_reference": one.pairing.extra,
        }
        for side, one in judges.items()
    }
    return {**nest_by_model(unpaired), "notes": [asdict(note) for note in notes]}


def nest_by_model(told: Mapping[Side, dict[str, Any]]) -> dict[str, Any]:
    """Nest what is told of every side by reference, below its model where there are several."""
    by_model: dict[str, dict[str, Any]] = {}
    for (model, name), one in told.items():
        by_model.setdefault(model, {})[name] = one
    if len(by_model) == 1:
        return {"references": next(iter(by_model.values()))}
    return {"models": {model: {"references": one} for model, one in by_model.items()}}
