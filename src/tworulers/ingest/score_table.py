"""Which scores a ready table holds, made elsewhere, wide or long: one row an exam, structure,
metric.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tworulers.cohort.numbers import note_decimal_commas, read_numbers
from tworulers.cohort.spelling import find_levels, fold_spelling
from tworulers.ingest.completeness import find_lacking, tell_gaps, tell_lacking
from tworulers.ingest.faults import Fault, FaultKind, IngestError, refuse
from tworulers.ingest.ids import find_id_faults
from tworulers.ingest.measures import declare_metric, tell_metric, tell_range
from tworulers.ingest.people import clean_attributes, collapse_duplicates, rename_columns
from tworulers.ingest.table_macro import add_macro
from tworulers.ingest.text_table import FIRST_ROW, read_text_table
from tworulers.schema import MACRO, METRICS, Metric, Provenance
from tworulers.schema_sources import ScoreTable
from tworulers.tables import Scores, check_table, list_rows

REGIME = "table"
"""Regime of scores whose model is not ours."""

SHOWN = 5


@dataclass(frozen=True)
class ScoreRecords:
    """What a ready table says.

    Attributes
    ----------
    scores : a scores table.
    cohort : one row a scored exam: exam_id, patient_id, and the columns that describe it.
    measures : metrics of the table's own, by name.
    notes : what was computed, left out, or taken as something else, one sentence each.
    """

    scores: pd.DataFrame
    cohort: pd.DataFrame
    measures: dict[str, Metric]
    notes: tuple[str, ...]


def read_score_table(
    spec: ScoreTable, ruler: str, regime: str = REGIME, macro: str = "defined"
) -> ScoreRecords:
    """Read a ready score table and the people it is about, refusing what would be a guess.

    Blank cells and declared codes are undefined scores, kept with that reason; `inf` is the worst
    distance. The macro score is added as the plain mean over the structures where the table has
    several and none of its own.

    Parameters
    ----------
    spec : the table and how to read it.
    ruler, regime : what judged whom, in the result.
    macro : what the macro score is over where a structure is undefined, one of `macro.RULES`.

    Raises
    ------
    IngestError : with every fault at once: missing files or columns, no provenance, values that are
        no numbers or out of range, exams given twice or not described.
    """
    if spec.file is None:
        raise IngestError([_fault("", "a score table", "none", "give scores.file=...")])
    file, known = spec.file, [str(provenance) for provenance in Provenance]
    if spec.provenance not in known:
        mend = "say who drew the reference labels: scores.provenance=gold (experts) or silver"
        found = repr(spec.provenance) if spec.provenance else "none"
        refuse(_fault(file, f"a provenance, one of {', '.join(known)}", found, mend))
    if spec.layout not in ("wide", "long"):
        refuse(_fault(file, "scores.layout wide or long", repr(spec.layout), ""))
    measures = {name: declare_metric(name, measure) for name, measure in spec.measures.items()}
    metrics = {**METRICS, **measures}
    notes = [tell_metric(metric) for metric in measures.values()]
    people = {ours: theirs for ours, theirs in spec.columns.items() if _is_of_people(ours)}
    table = _name_columns(read_text_table(Path(file), notes), people, file, notes)
    table = _filter_rows(table, spec, notes)
    spread = _spread_wide if spec.layout == "wide" else _spread_long
    cells = spread(table, spec, metrics)
    cells = _complete(_merge_structures(cells, spec, notes), notes)
    scores = _read_values(cells, spec, metrics, notes)
    scores = add_macro(scores, macro, notes)
    scores = scores.assign(regime=regime, ruler=ruler, provenance=spec.provenance)
    cohort = _describe_exams(table, scores, spec, metrics, notes)
    ordered = scores[list(Scores.to_schema().columns)].reset_index(drop=True)
    return ScoreRecords(check_table(ordered, Scores, file), cohort, measures, tuple(notes))


def _fault(file: str, expected: str, found: str, mend: str, exam: str = "") -> Fault:
    return Fault(FaultKind.TABLE, expected, found, mend, file, exam)


def _is_of_people(ours: str) -> bool:
    """Tell whether a mapped column describes exams, and is no score."""
    return "/" not in ours and ours not in ("structure", "metric", "value")


def _name_columns(
    table: pd.DataFrame, columns: Mapping[str, str], file: str, notes: list[str]
) -> pd.DataFrame:
    """Give the columns that describe exams the cohort's names; a key `a+b` joins two with an underscore."""
    mapped = dict(columns)
    key = mapped.get("exam_id", "")
    if "+" in key and key not in table:
        parts = [part.strip() for part in key.split("+")]
        absent = [part for part in parts if part not in table]
        if absent:
            refuse(_fault(file, f"columns {absent}", f"{list(table)}", "correct columns.exam_id"))
        joined = table[parts[0]].str.cat(table[parts[1:]], sep="_")
        table = table.assign(**{key: joined})
    table, told = rename_columns(table, mapped, file)
    notes += [fault.describe() for fault in told]
    if "exam_id" not in table:
        mend = "map it: columns.exam_id=<name>"
        refuse(_fault(file, "a column exam_id", f"{list(table)}", mend))
    refuse(*(fault for fault, _ in find_id_faults(table[["exam_id"]], file, FIRST_ROW)))
    return table


def _filter_rows(table: pd.DataFrame, spec: ScoreTable, notes: list[str]) -> pd.DataFrame:
    """Keep the rows whose column holds one of the values, for the filters this table has."""
    ours = {theirs: ours for ours, theirs in spec.columns.items() if _is_of_people(ours)}
    for given, values in spec.filters.items():
        column = ours.get(given, given)
        if column in table:
            kept = table[column].isin(find_levels(table[column], values))
            if not kept.any():
                expected = f"rows with {column} {' or '.join(values)}"
                refuse(_fault(str(spec.file), expected, "none", "correct scores.filters"))
            notes.append(f"{int(kept.sum())} of {len(table)} rows kept, {column} {list(values)}")
            table = table[kept]
    return table.reset_index(drop=True)


def _complete(cells: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Add the scores that other exams have as empty cells, and say what is not there."""
    lacking = find_lacking(cells)
    notes += tell_lacking(lacking, cells["exam_id"].nunique()) + tell_gaps(cells)
    return pd.concat([cells, lacking.assign(cell="", absent=True)], ignore_index=True)


def _spread_wide(table: pd.DataFrame, spec: ScoreTable, metrics: dict[str, Metric]) -> pd.DataFrame:
    """Lay columns of scores out as rows: exam_id, structure, metric, cell."""
    file = str(spec.file)
    named = [(ours, theirs) for ours, theirs in spec.columns.items() if "/" in ours]
    if not named:
        named = _find_columns(list(table.columns), metrics)
    if not named:
        expected = f"columns such as dice_disc (metrics {', '.join(metrics)})"
        mend = "map them: 'scores.columns={disc/dice: <name>}'"
        refuse(_fault(file, expected, f"{list(table)}", mend))
    faults = []
    for ours, theirs in named:
        if theirs not in table:
            faults.append(_fault(file, f"column {theirs!r}", f"{list(table)}", f"for {ours}"))
        if ours.rpartition("/")[2] not in metrics:
            expected = f"a metric, one of {', '.join(metrics)}"
            mend = "declare a measure of your own in scores.measures"
            faults.append(_fault(file, expected, f"{ours.rpartition('/')[2]!r} in {ours}", mend))
    twice = table["exam_id"][table["exam_id"].duplicated()].unique()
    faults += [_fault(file, "one row an exam", "several", "", str(exam)) for exam in twice[:SHOWN]]
    faults += _tell_more(spec, len(twice), "exams with several rows")
    refuse(*faults)
    parts = [
        pd.DataFrame(
            {
                "exam_id": table["exam_id"],
                "structure": ours.rpartition("/")[0],
                "metric": ours.rpartition("/")[2],
                "cell": table[theirs],
            }
        )
        for ours, theirs in named
    ]
    refuse(*_find_same_scores(named, file))
    return pd.concat(parts, ignore_index=True)


def _find_same_scores(named: Sequence[tuple[str, str]], file: str) -> list[Fault]:
    """List the columns that hold one metric of one structure between them."""
    columns: dict[tuple[str, str], list[str]] = {}
    for ours, theirs in named:
        structure, _, metric = ours.rpartition("/")
        columns.setdefault((fold_spelling(structure), metric), []).append(theirs)
    mend = "rename one, or map the one that is meant: 'scores.columns={structure/metric: <name>}'"
    return [
        _fault(file, f"one column of {metric} of {structure}", " and ".join(map(repr, same)), mend)
        for (structure, metric), same in columns.items()
        if len(same) > 1
    ]


def _find_columns(names: Sequence[str], metrics: dict[str, Metric]) -> list[tuple[str, str]]:
    """Understand columns named `dice_disc` or `disc_dice`, and a lone `dice` as that of all."""
    found = []
    for name in names:
        for metric in sorted(metrics, key=len, reverse=True):
            folded = name.casefold()
            if folded == metric:
                found.append((f"all/{metric}", name))
            elif folded.startswith(f"{metric}_"):
                found.append((f"{name[len(metric) + 1 :]}/{metric}", name))
            elif folded.endswith(f"_{metric}"):
                found.append((f"{name[: -len(metric) - 1]}/{metric}", name))
            else:
                continue
            break
    return found


def _spread_long(table: pd.DataFrame, spec: ScoreTable, metrics: dict[str, Metric]) -> pd.DataFrame:
    """Take a table that has one row a score."""
    file = str(spec.file)
    names = {ours: spec.columns.get(ours, ours) for ours in ("structure", "metric", "value")}
    absent = [theirs for theirs in names.values() if theirs not in table]
    if absent:
        mend = "map them in scores.columns"
        refuse(_fault(file, f"columns {absent}", f"{list(table)}", mend))
    cells = pd.DataFrame({ours: table[theirs] for ours, theirs in names.items()})
    cells = cells.rename(columns={"value": "cell"}).assign(exam_id=table["exam_id"])
    cells["metric"] = cells["metric"].str.casefold()
    faults = []
    if unknown := sorted(set(cells["metric"]) - set(metrics)):
        expected = f"metrics {', '.join(metrics)}"
        mend = "declare measures of your own in scores.measures"
        faults.append(_fault(file, expected, ", ".join(map(repr, unknown)), mend))
    refuse(*faults)
    return cells


def _merge_structures(cells: pd.DataFrame, spec: ScoreTable, notes: list[str]) -> pd.DataFrame:
    """Give spellings of one structure one name, and refuse a score that is then given twice."""
    folded = cells["structure"].map(fold_spelling)
    names = {MACRO: MACRO}
    counts = cells["structure"].value_counts()
    for name in sorted(counts.index, key=lambda name: (-counts[name], name.isupper(), name)):
        chosen = names.setdefault(fold_spelling(name), str(name).strip())
        if name != chosen:
            notes.append(f"structure {name!r} taken as {chosen!r}")
    cells = cells.assign(structure=folded.map(names))
    twice = cells[cells.duplicated(["exam_id", "structure", "metric"])]
    faults = [
        _fault(
            str(spec.file), f"one {row.metric} of {row.structure}", "several", "", str(row.exam_id)
        )
        for row in twice.head(SHOWN).itertuples()
    ]
    refuse(*faults, *_tell_more(spec, len(twice), "scores given twice"))
    return cells


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
        faults.append(_fault(str(spec.file), what, repr(row["cell"]), mend, row["exam_id"]))
    faults += _tell_more(spec, int(unread.sum()), "values that are no numbers")
    low, high = (
        cells["metric"].map({name: getattr(m, bound) for name, m in metrics.items()}).astype(float)
        for bound in ("low", "high")
    )
    wrong = (value < low) | (value > high)
    for row in list_rows(cells[wrong].head(SHOWN)):
        metric = metrics[row["metric"]]
        percent = "divide percentages by 100, or " if metric.in_points else ""
        mend = f"{percent}declare the code in scores.missing"
        what = f"{row['metric']} of {row['structure']} {tell_range(metric)}"
        faults.append(_fault(str(spec.file), what, repr(row["cell"]), mend, row["exam_id"]))
    faults += _tell_more(spec, int(wrong.sum()), "values out of range")
    refuse(*faults)
    blank = coded & ~absent
    if blank.any():
        exams = cells["exam_id"][blank].unique()
        shown = ", ".join(map(str, exams[:SHOWN])) + (", ..." if len(exams) > SHOWN else "")
        notes.append(f"{int(blank.sum())} scores are missing and stay undefined: {shown}")
    reason = pd.Series("missing in the table", index=cells.index).where(coded)
    reason[absent] = "not in the table"
    return cells.drop(columns=["cell", "absent"]).assign(value=value, undefined_because=reason)


def _tell_more(spec: ScoreTable, n: int, what: str) -> list[Fault]:
    """Count the faults of one kind that are not listed one by one."""
    return [_fault(str(spec.file), "", f"{n - SHOWN} more {what}", "")] if n > SHOWN else []


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
        return read_exam_table(spec.cohort, spec.cohort_columns, spec.missing, exams, notes)
    used = set(spec.columns.values()) | {"structure", "metric", "value"}
    used |= {name for _, name in _find_columns(list(table.columns), metrics)}
    people = table.drop(columns=[c for c in table if c in used and c not in scores])
    people = people.drop(columns=[c for c in ("structure", "metric", "value") if c in people])
    return _describe(people.drop_duplicates(), exams, spec.missing, str(spec.file), notes)


def read_exam_table(
    file: str,
    columns: dict[str, str],
    missing: Sequence[str],
    exams: Sequence[str],
    notes: list[str],
) -> pd.DataFrame:
    """Read who scored exams are of from a table of exams.

    Parameters
    ----------
    file : the table.
    columns : the cohort's column names to the table's; a key of two columns is written `a+b`.
    missing : codes for no value.
    exams : the exams that have to be described, in the order of the result.
    notes : is added to, a sentence each.

    Returns
    -------
    One row an exam: exam_id, patient_id, and the columns that describe it.

    Raises
    ------
    IngestError : missing columns, exams that are not described, contradicting rows.
    """
    people = _name_columns(read_text_table(Path(file), notes), columns, file, notes)
    return _describe(people, exams, missing, file, notes)


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
    faults += repeated
    absent = sorted(set(exams) - set(people["exam_id"]))
    faults += [
        _fault(file, "a row that describes the exam", "none", "add it", exam)
        for exam in absent[:SHOWN]
    ]
    if len(absent) > SHOWN:
        faults.append(_fault(file, "", f"{len(absent) - SHOWN} more exams are not described", ""))
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
