"""Where a ready table holds its scores: in columns named by structure and metric, or a row each."""

from collections.abc import Sequence

import pandas as pd

from tworulers.cohort.spelling import fold_spelling
from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.schema.metric import Metric
from tworulers.schema.settings import MACRO
from tworulers.schema.sources import ScoreTable

MEANS = ("mean", "average", "avg", "foreground mean")
"""What tables call (folded) the mean over their structures."""

APART = (
    "keep one; rows of several models are told apart by a column (scores.columns.model=<column>), rows of several "
    "structures by scores.layout=long"
)
"""What a person can do who has several rows an exam."""

SHOWN = 5
"""Faults of one kind that are listed one by one."""


def spread_cells(table: pd.DataFrame, spec: ScoreTable, metrics: dict[str, Metric]) -> pd.DataFrame:
    """Lay the scores of a wide or long table out as rows: exam_id, structure, metric, cell.

    Raises
    ------
    IngestError : columns that are not there, metrics that nothing knows, scores given twice.
    """
    spread = _spread_wide if spec.layout == "wide" else _spread_long
    return spread(table, spec, metrics)


def _spread_wide(table: pd.DataFrame, spec: ScoreTable, metrics: dict[str, Metric]) -> pd.DataFrame:
    """Lay columns of scores out as rows: exam_id, structure, metric, cell."""
    file = str(spec.file)
    named = [(ours, theirs) for ours, theirs in spec.columns.items() if "/" in ours]
    if not named:
        named = find_columns(list(table.columns), metrics)
    if not named:
        expected = f"columns such as dice_disc (metrics {', '.join(metrics)})"
        mend = "map them: 'scores.columns={disc/dice: <name>}'"
        if {"structure", "metric"} <= set(table):
            mend = "is it a row a score? Then set scores.layout=long"
        refuse(make_fault(file, expected, f"{list(table)}", mend))
    faults = []
    for ours, theirs in named:
        if theirs not in table:
            faults.append(make_fault(file, f"column {theirs!r}", f"{list(table)}", f"for {ours}"))
        if ours.rpartition("/")[2] not in metrics:
            expected = f"a metric, one of {', '.join(metrics)}"
            mend = "declare a measure of your own in scores.measures"
            faults.append(
                make_fault(file, expected, f"{ours.rpartition('/')[2]!r} in {ours}", mend)
            )
    twice = table["exam_id"][table["exam_id"].duplicated()].unique()
    faults += [
        make_fault(file, "one row an exam", "several", APART, str(exam)) for exam in twice[:SHOWN]
    ]
    faults += count_more(spec, len(twice), "exams with several rows")
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
        make_fault(
            file, f"one column of {metric} of {structure}", " and ".join(map(repr, same)), mend
        )
        for (structure, metric), same in columns.items()
        if len(same) > 1
    ]


def find_columns(names: Sequence[str], metrics: dict[str, Metric]) -> list[tuple[str, str]]:
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
        refuse(make_fault(file, f"columns {absent}", f"{list(table)}", mend))
    cells = pd.DataFrame({ours: table[theirs] for ours, theirs in names.items()})
    cells = cells.rename(columns={"value": "cell"}).assign(exam_id=table["exam_id"])
    cells["metric"] = cells["metric"].str.casefold()
    faults = []
    if unknown := sorted(set(cells["metric"]) - set(metrics)):
        expected = f"metrics {', '.join(metrics)}"
        mend = "declare measures of your own in scores.measures"
        faults.append(make_fault(file, expected, ", ".join(map(repr, unknown)), mend))
    refuse(*faults)
    return cells


def merge_structures(cells: pd.DataFrame, spec: ScoreTable, notes: list[str]) -> pd.DataFrame:
    """Give spellings of one structure one name, and refuse a score that is then given twice."""
    folded = cells["structure"].map(fold_spelling)
    names = {MACRO: MACRO}
    if len(set(folded)) > 1:  # of several structures, and not the one there is
        names |= dict.fromkeys(MEANS, MACRO)
    counts = cells["structure"].value_counts()
    for name in sorted(counts.index, key=lambda name: (-counts[name], name.isupper(), name)):
        chosen = names.setdefault(fold_spelling(name), str(name).strip())
        if name != chosen:
            notes.append(f"structure {name!r} taken as {chosen!r}")
    cells = cells.assign(structure=folded.map(names))
    twice = cells[cells.duplicated(["exam_id", "structure", "metric"])]
    faults = [
        make_fault(
            str(spec.file), f"one {row.metric} of {row.structure}", "several", "", str(row.exam_id)
        )
        for row in twice.head(SHOWN).itertuples()
    ]
    refuse(*faults, *count_more(spec, len(twice), "scores given twice"))
    return cells


def make_fault(file: str, expected: str, found: str, mend: str, exam: str = "") -> Fault:
    """Make a fault of a ready table."""
    return Fault(FaultKind.TABLE, expected, found, mend, file, exam)


def count_more(spec: ScoreTable, n: int, what: str) -> list[Fault]:
    """Count the faults of one kind that are not listed one by one."""
    return [make_fault(str(spec.file), "", f"{n - SHOWN} more {what}", "")] if n > SHOWN else []
