"""Which scores a ready table holds, made elsewhere, wide or long: one row an exam, structure,
metric.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tworulers.cohort.numbers import note_decimal_commas, read_numbers
from tworulers.cohort.spelling import fold_spelling
from tworulers.ingest.completeness import find_lacking, tell_gaps, tell_lacking
from tworulers.ingest.exam_column import name_columns
from tworulers.ingest.faults import Fault, IngestError, refuse
from tworulers.ingest.id_rules import EXAM, Naming
from tworulers.ingest.lookalikes import find_cause
from tworulers.ingest.measures import declare_metric, tell_metric, tell_range
from tworulers.ingest.nnunet_results import read_summaries
from tworulers.ingest.people import (
    clean_attributes,
    collapse_duplicates,
    index_lookalikes,
    strip_id,
)
from tworulers.ingest.score_cells import (
    SHOWN,
    count_more,
    find_columns,
    make_fault,
    merge_structures,
    spread_cells,
)
from tworulers.ingest.table_macro import add_macro, name_structures
from tworulers.ingest.text_table import keep_rows, read_text_table
from tworulers.metrics.registry import METRICS
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Provenance
from tworulers.schema.sources import ScoreTable
from tworulers.schema.tables import list_rows

MOST_SLIP = 1.5
"""A score out of [0, 1] up to here is no percentage."""

REGIME = "table"
"""Regime of scores whose model is not ours."""


@dataclass(frozen=True)
class ScoreRecords:
    """What a ready table says.

    Attributes
    ----------
    scores : a scores table.
    cohort : one row a scored exam: exam_id, patient_id, and the columns that describe it.
    metrics : what is known of every metric, by name: those of the table's own, too.
    notes : what was computed, left out, or taken as something else, one sentence each.
    """

    scores: pd.DataFrame
    cohort: pd.DataFrame
    metrics: dict[str, Metric]
    notes: tuple[str, ...]


def read_score_table(
    spec: ScoreTable,
    ruler: str,
    regime: str = REGIME,
    macro: str = "defined",
) -> ScoreRecords:
    """Read a ready score table and the people it is about, refusing what would be a guess.

    Blank cells and declared codes are undefined scores, kept with that reason; `inf` is the worst
    distance. The macro score is added as the plain mean over the structures where the table has
    several and none of its own.

    Parameters
    ----------
    spec : the table and how to read it.
    ruler, regime : what judged whom, in the result; a column of models names whom row by row.
    macro : what the macro score is over where a structure is undefined, one of `macro.RULES`.

    Raises
    ------
    IngestError : with every fault at once: missing files or columns, no provenance, values that are
        no numbers or out of range, exams given twice or not described.
    """
    if spec.file is None:
        raise IngestError([make_fault("", "a score table", "none", "give scores.file=...")])
    file, drawn_by = spec.file, [str(provenance) for provenance in Provenance]
    if spec.provenance not in drawn_by:
        mend = "say who drew the reference labels: scores.provenance=gold (experts) or silver"
        found = repr(spec.provenance) if spec.provenance else "none"
        refuse(make_fault(file, f"a provenance, one of {', '.join(drawn_by)}", found, mend))
    if spec.layout not in ("wide", "long"):
        refuse(make_fault(file, "scores.layout wide or long", repr(spec.layout), ""))
    measures = {name: declare_metric(name, measure) for name, measure in spec.measures.items()}
    metrics = {**METRICS, **measures}
    notes = [tell_metric(metric) for metric in measures.values()]
    people = {ours: theirs for ours, theirs in spec.columns.items() if _is_of_people(ours)}
    path = Path(file)
    of_nnunet = path.is_dir() or path.suffix.casefold() == ".json"
    table = read_summaries(path, notes) if of_nnunet else read_text_table(path, notes)
    naming = Naming(spec.id_ignore, spec.id_pattern, "scores")
    table = name_columns(table, people, file, "scores.columns", notes, naming)
    table = _filter_rows(table, spec, notes)
    parts = []
    for model, rows in _split_models(table, spec, regime).items():
        told: list[str] = []
        parts.append(_read_rows(rows, spec, metrics, macro, told).assign(regime=model))
        notes += told if model == regime else [f"{model}: {note}" for note in told]
    notes.append(_tell_read(parts, file))
    scores = pd.concat(parts, ignore_index=True)
    scores = scores.assign(ruler=ruler, provenance=spec.provenance)
    cohort = _describe_exams(table, scores, spec, metrics, notes)
    from tworulers.schema.table_models import Scores, check_table

    ordered = scores[list(Scores.to_schema().columns)].reset_index(drop=True)
    return ScoreRecords(check_table(ordered, Scores, file), cohort, metrics, tuple(notes))


def _tell_read(parts: Sequence[pd.DataFrame], file: str) -> str:
    """Say how many exams were read, and which scores of them."""
    scores = pd.concat(parts)[["exam_id", "structure", "metric"]]
    metrics: dict[str, list[str]] = {}
    for structure, metric in scores[["structure", "metric"]].drop_duplicates().values.tolist():
        metrics.setdefault(metric, []).append(structure)
    listed = "; ".join(f"{metric} of {name_structures(names)}" for metric, names in metrics.items())
    return f"{Path(file).name}: {scores['exam_id'].nunique()} exams with {listed}"


def _split_models(table: pd.DataFrame, spec: ScoreTable, regime: str) -> dict[str, pd.DataFrame]:
    """Part the rows of a table by the model whose scores they hold, where a column names it."""
    column = spec.columns.get("model")
    if column is None:
        return {regime: table}
    file = str(spec.file)
    if column not in table:
        refuse(make_fault(file, f"column {column!r}", f"{list(table)}", "correct columns.model"))
    names = table[column].fillna("").astype(str).str.strip()
    if (names == "").any():
        exam = str(table["exam_id"][names == ""].iloc[0])
        refuse(make_fault(file, f"a model in column {column!r}", "none", "name it", exam))
    return {str(name): table[names == name].reset_index(drop=True) for name in names.unique()}


def _read_rows(
    table: pd.DataFrame, spec: ScoreTable, metrics: dict[str, Metric], macro: str, notes: list[str]
) -> pd.DataFrame:
    """Read the scores of one model: exam_id, structure, metric, value, undefined_because."""
    cells = merge_structures(spread_cells(table, spec, metrics), spec, notes)
    scores = _read_values(_complete(cells, notes), spec, metrics, notes)
    return add_macro(scores, macro, notes)


def _is_of_people(ours: str) -> bool:
    """Tell whether a mapped column describes exams, and is no score."""
    return "/" not in ours and ours not in ("structure", "metric", "value", "model")


def _filter_rows(table: pd.DataFrame, spec: ScoreTable, notes: list[str]) -> pd.DataFrame:
    """Keep the rows whose column holds one of the values, for the filters this table has."""
    ours = {theirs: ours for ours, theirs in spec.columns.items() if _is_of_people(ours)}
    filters = {ours.get(given, given): values for given, values in spec.filters.items()}
    there = {column: values for column, values in filters.items() if column in table}
    return keep_rows(table, there, str(spec.file), "scores.filters", notes)


def _complete(cells: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Add the scores that other exams have as empty cells, and say what is not there."""
    lacking = find_lacking(cells)
    notes += tell_lacking(lacking, cells["exam_id"].nunique()) + tell_gaps(cells)
    return pd.concat([cells, lacking.assign(cell="", absent=True)], ignore_index=True)


def _read_values(
    cells: pd.DataFrame, spec: ScoreTable, metrics: dict[str, Metric], notes: list[str]
) -> pd.DataFrame:
    """Read cells as numbers; declared codes are undefined, all else that is no number a fault."""
    codes = {fold_spelling(code) for code in spec.missing}
    text = cells["cell"].fillna("").astype(str)
    absent = cells["absent"].eq(True)
    coded = text.map(fold_spelling).isin(codes) | absent
    value = pd.Series(float("nan"), index=cells.index)
    for (structure, metric), part in text.where(~coded).groupby(
        [cells["structure"], cells["metric"]], sort=False
    ):
        value[part.index] = read_numbers(part)
        notes += note_decimal_commas(part, f"{metric} of {structure}")
    faults = []
    unread = ~coded & value.isna()
    for row in list_rows(cells[unread].head(SHOWN)):
        mend = "correct it, or declare it in scores.missing"
        what = f"a number for {row['metric']} of {row['structure']}"
        faults.append(make_fault(str(spec.file), what, repr(row["cell"]), mend, row["exam_id"]))
    faults += count_more(spec, int(unread.sum()), "values that are no numbers")
    low, high = (
        cells["metric"].map({name: getattr(m, bound) for name, m in metrics.items()}).astype(float)
        for bound in ("low", "high")
    )
    wrong = (value < low) | (value > high)
    for row in list_rows(cells.assign(value=value)[wrong].head(SHOWN)):
        metric = metrics[row["metric"]]
        over = metric.in_points and row["value"] > MOST_SLIP
        percent = "divide percentages by 100, or " if over else ""
        mend = f"{percent}declare the code in scores.missing"
        what = f"{row['metric']} of {row['structure']} {tell_range(metric)}"
        faults.append(make_fault(str(spec.file), what, repr(row["cell"]), mend, row["exam_id"]))
    faults += count_more(spec, int(wrong.sum()), "values out of range")
    refuse(*faults)
    blank = coded & ~absent
    if blank.any():
        exams = cells["exam_id"][blank].unique()
        shown = ", ".join(map(str, exams[:SHOWN])) + (", ..." if len(exams) > SHOWN else "")
        notes.append(f"{int(blank.sum())} scores are missing and stay undefined: {shown}")
    reason = pd.Series("missing in the table", index=cells.index).where(coded)
    reason[absent] = "not in the table"
    return cells.drop(columns=["cell", "absent"]).assign(value=value, undefined_because=reason)


def _describe_exams(
    table: pd.DataFrame,
    scores: pd.DataFrame,
    spec: ScoreTable,
    metrics: dict[str, Metric],
    notes: list[str],
) -> pd.DataFrame:
    """Read who the exams are of, from a table of exams or from the score table itself."""
    exams = list(dict.fromkeys(scores["exam_id"]))
    if spec.cohort is not None:
        naming = Naming(spec.id_ignore, spec.id_pattern, "scores")
        return read_exam_table(spec.cohort, spec.cohort_columns, spec.missing, exams, notes, naming)
    used = set(spec.columns.values()) | {"structure", "metric", "value"}
    used |= {name for _, name in find_columns(list(table.columns), metrics)}
    people = table.drop(columns=[c for c in table if c in used and c not in scores])
    people = people.drop(columns=[c for c in ("structure", "metric", "value") if c in people])
    return _describe(people.drop_duplicates(), exams, spec.missing, str(spec.file), notes)


def read_exam_table(
    file: str,
    columns: dict[str, str],
    missing: Sequence[str],
    exams: Sequence[str],
    notes: list[str],
    naming: Naming | None = None,
) -> pd.DataFrame:
    """Read who scored exams are of from a table of exams.

    Parameters
    ----------
    file : the table.
    columns : the cohort's column names to the table's; a key of two columns is written `a+b`.
    missing : codes for no value.
    exams : the exams that have to be described, in the order of the result.
    notes : is added to, a sentence each.
    naming : what does not count in the names of exams.

    Returns
    -------
    One row an exam: exam_id, patient_id, and the columns that describe it.

    Raises
    ------
    IngestError : missing columns, exams that are not described, contradicting rows.
    """
    naming = naming or Naming()
    people, setting = read_text_table(Path(file), notes), f"{naming.setting}.cohort_columns"
    people = name_columns(people, columns, file, setting, notes, naming)
    refuse(*_explain_names(people["exam_id"], exams, naming, file))
    return _describe(people, exams, missing, file, notes)


def _explain_names(ids: pd.Series, exams: Sequence[str], naming: Naming, file: str) -> list[Fault]:
    """Say in one fault why a table describes few of the exams, where what surrounds its ids is why."""
    described = set(ids) & set(exams)
    cause = find_cause(list(ids), list(exams)) if len(described) < len(set(exams)) else None
    if cause is None:
        return []
    options = []
    if cause.first != EXAM:
        options.append(f"{naming.setting}.id_pattern='{cause.first}'")
    if cause.second != EXAM:
        options.append(f"a pattern of the files, such as pattern='{cause.second}'")
    if cause.ignore:
        options.append(f"{naming.setting}.id_ignore=[{','.join(cause.ignore)}]")
    found = (
        f"of {len(described)}: {cause.describe(Path(file).name, 'the scored exams')}, such as {min(ids)!r} and "
        f"{min(exams)!r}"
    )
    expected = f"a row of each of {len(set(exams))} exams"
    return [make_fault(file, expected, found, f"set {' and '.join(options)}")]


def _describe(
    people: pd.DataFrame,
    exams: Sequence[str],
    missing: Sequence[str],
    file: str,
    notes: list[str],
) -> pd.DataFrame:
    """Clean a table of exams and take the rows of the exams that are scored, none of them absent."""
    people, faults = clean_attributes(people, "exam_id", missing, file)
    people, repeated = collapse_duplicates(people, "exam_id", file)
    return pick_described(people, exams, file, notes, [*faults, *repeated])


def pick_described(
    people: pd.DataFrame,
    exams: Sequence[str],
    file: str,
    notes: list[str],
    faults: Sequence[Fault] = (),
) -> pd.DataFrame:
    """Take the rows of the exams that are scored, none of them absent, from a clean table.

    Parameters
    ----------
    people : one row an exam.
    exams : the exams that have to be described, in the order of the result.
    file : the table's name in messages.
    notes : is added to, a sentence each.
    faults : of the table.

    Raises
    ------
    IngestError : the table has faults, or an exam is not described.
    """
    faults = list(faults)
    absent = sorted(set(exams) - set(people["exam_id"]))
    alike = index_lookalikes(people["exam_id"]) if absent else {}
    for exam in absent[:SHOWN]:
        near = alike.get(strip_id(exam))
        mend = f"the table has {near!r}: write both the same" if near else "add it"
        faults.append(make_fault(file, "a row that describes the exam", "none", mend, exam))
    if len(absent) > SHOWN:
        faults.append(
            make_fault(file, "", f"{len(absent) - SHOWN} more exams are not described", "")
        )
    refuse(*faults)
    notes += [fault.describe() for fault in faults]
    spare = len(set(people["exam_id"]) - set(exams))
    if spare:
        notes.append(f"{spare} rows of {Path(file).name} describe exams without scores")
    cohort = people.set_index("exam_id").loc[list(exams)].reset_index()
    if "patient_id" not in cohort:
        cohort.insert(1, "patient_id", cohort["exam_id"])
        notes.append("the table names no patients: every exam counts as a patient")
    if "age_over_89" not in cohort:
        cohort["age_over_89"] = False
    return cohort
