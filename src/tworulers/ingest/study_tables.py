"""The study that ready score tables make: one table, or two of the same exams by two rulers or of two models."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tworulers.cohort.spelling import fold_spelling, is_blank
from tworulers.cohort.ungrouped import keep_possible
from tworulers.ingest.faults import Fault, IngestError, refuse
from tworulers.ingest.measures import require_same_measures
from tworulers.ingest.score_table import REGIME, read_score_table
from tworulers.metrics.asked import list_asked
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, ScoreTable
from tworulers.sides import Side
from tworulers.study import Reference, Study

GROUPS = ("scores", "against")
"""The settings of a table and of the other."""


def load_tables(specs: Sequence[ScoreTable], settings: Audit, attributes: Attributes) -> Study:
    """Read ready score tables, each once, into a study.

    A reference is called after its provenance. Two tables that name one model are by two references, whatever their
    provenance; two that name different models and one provenance are by one. Two of one provenance have to name models.

    Parameters
    ----------
    specs : one table or two, the base first.
    settings : the battery that is going to be asked.
    attributes : how exams are grouped.

    Raises
    ------
    IngestError : as of `read_score_table`.
    ValueError : the tables describe an exam or a metric differently.
    """
    specs = [
        spec if spec.file is None or Path(spec.file).name else replace(spec, file=str(Path.cwd()))
        for spec in specs
    ]  # `.` has no name that a sentence could say
    models = [spec.model or REGIME for spec in specs]
    rulers = _name_rulers(specs, models)
    tables, faults = [], []
    for group, spec, ruler, model in zip(GROUPS, specs, rulers, models, strict=False):
        try:
            tables.append(read_score_table(spec, ruler, model, settings.macro))
        except IngestError as error:
            faults += [_name_settings(fault, group) for fault in error.faults]
    refuse(*faults)
    require_same_measures(tables[0].metrics, tables[-1].metrics)
    files = _name_files(specs)
    require_same_people(tables[0].cohort, tables[-1].cohort, files, attributes)
    scores = pd.concat([table.scores for table in tables], ignore_index=True)
    people = pd.concat([table.cohort for table in tables], ignore_index=True)
    people = people.drop_duplicates("exam_id").reset_index(drop=True)
    attributes, left_out = keep_possible(people, attributes)
    asked = [metric for metric in list_asked(settings) if metric not in set(scores["metric"])]
    lacking = [f"the table holds no {', '.join(asked)}: asked for, not audited"] if asked else []
    called = dict(zip(zip(models, rulers, strict=True), files, strict=True))
    return Study(
        scores=scores,
        people=people,
        attributes=attributes,
        settings=settings,
        references=_refer(specs, rulers),
        models={str(model): str(model) for model in scores["regime"].unique()},
        metrics=tables[0].metrics,
        notes=(
            *dict.fromkeys(note for table in tables for note in table.notes),
            *lacking,
            *left_out,
        ),
        called=called if len(called) > 1 else {},
    )


def _refer(specs: Sequence[ScoreTable], rulers: Sequence[str]) -> dict[str, Reference]:
    """Describe each reference by the files of its scores, and by what the first of these says of it."""
    files: dict[str, list[str]] = {}
    for spec, ruler in zip(specs, rulers, strict=True):
        files.setdefault(ruler, []).append(Path(str(spec.file)).name)
    return {
        ruler: Reference(
            ruler,
            f"the labels of {' and '.join(dict.fromkeys(names))}",
            spec.provenance,
            relation=spec.relation,
            corrected_from=spec.corrected_from,
        )
        for spec, (ruler, names) in zip(specs, files.items(), strict=False)
    }


def _name_settings(fault: Fault, group: str) -> Fault:
    """Name the settings of the table that a fault is of."""
    mend, expected, found = (
        text.replace("scores.", f"{group}.") for text in (fault.mend, fault.expected, fault.found)
    )
    return replace(fault, mend=mend, expected=expected, found=found)


def _name_rulers(specs: Sequence[ScoreTable], models: Sequence[str]) -> list[str]:
    """Name what judged by its provenance; two references of one provenance are numbered."""
    names = [spec.provenance or "unnamed" for spec in specs]
    named = any(spec.model or "model" in spec.columns for spec in specs)
    if len(names) == 2 and names[0] == names[1] and not named:
        files = [f"{names[0]}:{spec.file}" for spec in specs]
        raise ValueError(
            f"both tables are by {names[0]} labels: are they of two models, or by two sets of labels of one model?\n"
            f"  two models: --scores v1={files[0]} --scores v2={files[1]} (scores.model=v1 against.model=v2)\n"
            f"  one model: --scores v1={files[0]} --scores v1={files[1]} (scores.model=v1 against.model=v1)"
        )
    if len(names) == 2 and names[0] == names[1] and models[0] == models[1]:
        return [f"{name}_{place}" for place, name in enumerate(names, 1)]
    return names


def _name_files(specs: Sequence[ScoreTable]) -> list[str]:
    """Name tables by their files, with the folder where the files are called alike."""
    files = [str(spec.file) for spec in specs]
    names = [Path(file).name for file in files]
    return names if len(set(names)) == len(names) else files


def require_same_people(
    base: pd.DataFrame, other: pd.DataFrame, names: Sequence[str], attributes: Attributes
) -> None:
    """Refuse two tables that say different things of one exam: whose it is, or what its groups are made of.

    Parameters
    ----------
    base, other : one row an exam; exams and columns that one of them lacks are not compared.
    names : what the tables are called.
    attributes : the groupings, whose columns have to agree.

    Raises
    ------
    ValueError : naming the columns, some exams and what either table says.
    """
    first = base[base["exam_id"].isin(other["exam_id"])].set_index("exam_id")
    second = other.set_index("exam_id").reindex(first.index)
    used = dict.fromkeys(g.column for g in attributes.groupings.values() if g.column)
    used |= {"patient_id": None} | ({"age_over_89": None} if "age" in used else {})
    faults = []
    for column in (name for name in used if name in first and name in second):
        sides = first[column], second[column]
        if column == "patient_id" and any((side == first.index).all() for side in sides):
            continue  # a table without patients counts every exam as one
        known = ~is_blank(sides[0]) & ~is_blank(sides[1])
        apart = known & (sides[0].map(fold_spelling) != sides[1].map(fold_spelling))
        if apart.any():
            exam = str(first.index[apart][0])
            faults.append(
                f"{column} differs in {int(apart.sum())} exams: {exam} has {sides[0][exam]!r} in {names[0]} and "
                f"{sides[1][exam]!r} in {names[-1]}"
            )
    if faults:
        raise ValueError(
            "the two tables describe the same exams differently; correct one, or give both the same table of exams "
            "(scores.cohort, against.cohort):\n  " + "\n  ".join(faults)
        )


def pair_sides(study: Study, columns: Mapping[str, str]) -> tuple[Side, Side]:
    """Choose what is compared in ready tables.

    Raises
    ------
    ValueError : there is one side alone, or more than two, or two that differ in the model and in the ruler.
    """
    sides = study.sides
    listed = "; ".join(f"{model} by {name}" for model, name in sides)
    if len(sides) == 1:
        raise ValueError(
            "a comparison needs two tables of the same exams: give against.file=... and against.provenance=... beside "
            "scores.file; for two models by one ruler name both (scores.model=v1 against.model=v2), or the column that "
            "does in one table (scores.columns.model=<column>)"
        )
    if len(sides) > 2:
        column = columns.get("model", "<column>")
        raise ValueError(
            f"two are compared at a time, found {listed}; choose them with 'scores.filters={{{column}: [...]}}'"
        )
    first, second = sides
    if first[0] != second[0] and first[1] != second[1]:
        raise ValueError(
            f"the tables differ in the model and in the ruler ({listed}), so nothing can be told apart; give one "
            "scores.model to both, or one provenance"
        )
    return first, second
