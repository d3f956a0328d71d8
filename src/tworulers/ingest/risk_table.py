"""Tables of risk scores made elsewhere to one checked frame, refusing what would be guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from tworulers.cohort.grouping import assign_groups
from tworulers.cohort.kinds import MAX_GROUPS
from tworulers.cohort.numbers import note_decimal_commas, read_numbers
from tworulers.cohort.spelling import count_codes, fold_spelling, merge_spellings
from tworulers.cohort.ungrouped import require_groups
from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.people import clean_attributes, tell_codes
from tworulers.ingest.text_table import keep_rows, read_text_table
from tworulers.schema.sources import RiskJoin, RiskTable

UNIT, CLUSTER, SCORE, OUTCOME = "unit_id", "cluster_id", "score", "outcome"
"""Columns of the frame; every grouping adds one of its own name, and source columns keep theirs."""

NEEDED = {
    "file": "the table of scores",
    "score": "the column of the score",
    "outcome": "the column of the outcome",
}
MANY, FEW = 10, 5
"""Most levels, and most faulty cells or keys, that a message lists."""


@dataclass(frozen=True)
class RiskRecords:
    """What was read.

    Attributes
    ----------
    frame : one row a usable unit: `unit_id`, `cluster_id`, `score`, `outcome` (1 event, 0 not),
        one column a grouping of `groups` (missing where blank), and the columns that
        `groupings` are made from.
    groups : by grouping, the group of every row of `frame`; missing where it has none.
    excluded : one row an excluded unit: `unit_id`, `reason`, `value`.
    notes : sentences on everything that was left out, joined or translated.
    """

    frame: pd.DataFrame
    groups: dict[str, pd.Series]
    excluded: pd.DataFrame
    notes: list[str]


@dataclass
class _Reading:
    """What is known while a table is read: its description, codes for no value, faults and notes."""

    spec: RiskTable
    codes: set[str]
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def find(self, expected: str, found: str, mend: str = "", file: str | None = None) -> None:
        """Add a fault of the table, or of another file."""
        name = self.spec.file if file is None else file
        self.faults.append(Fault(FaultKind.TABLE, expected, found, mend, name))

    def refuse(self) -> None:
        """Raise the faults found so far, if any."""
        refuse(*self.faults)

    def read(self, file: str) -> pd.DataFrame:
        """Read one of the tables as text."""
        return read_text_table(_path(self.spec, file), self.notes)

    def is_coded(self, text: pd.Series) -> pd.Series:
        """Tell which cells hold a code for no value."""
        return text.isin([one for one in text.unique() if fold_spelling(one) in self.codes])

    def merge(self, name: str, text: pd.Series) -> pd.Series:
        """Give spellings that differ in case and blanks alone one name, and say so."""
        merged, changes = merge_spellings(text)
        self.notes += [
            f"{name} {row.spelling!r} taken as {row.merged_into!r} in {row.exams} rows"
            for row in changes.itertuples()
        ]
        return merged.astype(object)


def read_risk_table(spec: RiskTable) -> RiskRecords:
    """Read a table of scores and outcomes as its description says.

    Every cell is read as text, so that keys keep their zeros, `> 89` stays an age and scientific
    notation a number. Rows with a declared code or without a score or outcome are excluded and
    listed; rows without a group stay, for the overall value. Spellings of a group or an outcome
    that differ in case and blanks alone are one, and are named.

    Raises
    ------
    IngestError : with every fault: a missing file or column, an event level that is not named or not there, outcome
        levels nobody named, one outcome class only, scores that are no numbers or lie outside the declared range, units
        that stand there twice, a grouping of more groups than can be told apart.
    GroupingError : nobody is in a grouping.
    """
    reading = _Reading(spec, {fold_spelling(code) for code in ("", *spec.missing)})
    _find_gaps(reading)
    table = reading.read(spec.file)
    for join in spec.joins:
        table = _join(table, join, reading)
    _find_missing_columns(table, reading)
    table = keep_rows(table, spec.filters, spec.file, "risk.filters", reading.notes)
    units = (
        table[spec.unit]
        if spec.unit
        else pd.Series(range(1, len(table) + 1), dtype=object).astype(str)
    )
    unnamed = reading.is_coded(units) | units.map(lambda unit: not re.search(r"\w", unit))
    if unnamed.any():
        reading.notes.append(
            f"{int(unnamed.sum())} rows name no {spec.unit}; they count as the others do"
        )
    score, reasons = _read_scores(table[spec.score], units, reading)
    outcome, event = _read_outcomes(table[spec.outcome], reasons, reading)
    used = reasons == ""
    _find_repeated(units, str(spec.unit), "units", "choose one row each with risk.filters", reading)
    events = int(outcome[used].sum())
    if not reading.faults and events in (0, int(used.sum())):
        expected = f"both classes of {spec.outcome!r} among the rows with a score"
        found = f"{events} events and {int(used.sum()) - events} non-events"
        reading.find(expected, found, "an AUC needs both")
    frame = pd.DataFrame({UNIT: units, CLUSTER: units, SCORE: score, OUTCOME: outcome})
    if spec.cluster:
        frame[CLUSTER] = _read_clusters(table[spec.cluster], units, used, reading)
    for name, column in spec.groups.items():
        frame[name] = _read_groups(name, table[column], used, reading)
    frame = _add_source_columns(frame, table, reading)
    reading.refuse()
    values = table[spec.score] + " / " + table[spec.outcome]
    excluded = pd.DataFrame({UNIT: units, "reason": reasons, "value": values})
    excluded = excluded[~used].reset_index(drop=True)
    for reason, n in excluded["reason"].value_counts(sort=False).items():
        reading.notes.append(f"{n} rows excluded, {reason}")
    reading.notes.append(f"{int(used.sum())} rows used, {events} events ({spec.outcome} = {event})")
    frame = frame[used].reset_index(drop=True)
    return RiskRecords(frame, _group_rows(frame, reading), excluded, reading.notes)


def _find_gaps(reading: _Reading) -> None:
    """Refuse a description that leaves open what has to be said."""
    spec = reading.spec
    for key, meaning in NEEDED.items():
        if not getattr(spec, key):
            reading.find("", f"risk.{key} is not set: {meaning}")
    if not spec.groups and not spec.groupings:
        mend = "name a grouping and its column, such as risk.groups.sex=gender"
        reading.find("", "risk.groups is empty", mend)
    for name in {UNIT, CLUSTER, SCORE, OUTCOME} & set(spec.groups):
        reading.find("", f"risk.groups: {name!r} is the name of a column of ours", "rename it")
    for name in sorted(set(spec.groups) & set(spec.groupings)):
        reading.find("", f"{name!r} is in risk.groups and in risk.groupings", "rename one")
    for file in (spec.file, *(join.file for join in spec.joins)):
        if file and not _path(spec, file).is_file():
            reading.find("a table", "no such file", "correct the path", str(_path(spec, file)))
    reading.refuse()


def _find_missing_columns(table: pd.DataFrame, reading: _Reading) -> None:
    spec = reading.spec
    wanted = {key: getattr(spec, key) for key in ("score", "outcome", "unit", "cluster")}
    wanted |= {f"groups.{name}": column for name, column in spec.groups.items()}
    wanted |= {f"groupings.{name}": grouping.column for name, grouping in spec.groupings.items()}
    wanted |= {f"filters.{column}": column for column in spec.filters}
    for key, column in wanted.items():
        if column and column not in table.columns:
            expected = f"column {column!r} (risk.{key})"
            reading.find(expected, _shorten(table.columns, 40), f"correct risk.{key}")
    reading.refuse()


def _join(left: pd.DataFrame, join: RiskJoin, reading: _Reading) -> pd.DataFrame:
    right = reading.read(join.file)
    key = join.right_key or join.key
    if join.key not in left.columns:
        reading.find(f"the join key {join.key!r}", "no such column")
    for column in (key, *join.filters):
        if column not in right.columns:
            reading.find(f"column {column!r}", "no such column", "correct risk.joins", join.file)
    reading.refuse()
    right = keep_rows(right, join.filters, join.file, "risk.joins", reading.notes)
    mend = "filter it to one row a key, or start from that table"
    _find_repeated(right[key], key, "of them", mend, reading, join.file)
    matched = left[join.key].isin(set(right[key]))
    if len(left) and not matched.any():
        reading.find(f"the {join.key} of {join.file}", "none of them", "is this its key?")
    reading.refuse()
    if (~matched).any():
        reading.notes.append(
            f"{int((~matched).sum())} rows of {reading.spec.file} have no row in {join.file}: its columns "
            "are blank there"
        )
    right = right.rename(columns={key: join.key})
    shared = [c for c in right.columns if c in left.columns and c != join.key]
    right = right.rename(columns={c: f"{Path(join.file).stem}.{c}" for c in shared})
    return left.merge(right, on=join.key, how="left", validate="many_to_one").fillna("")


def _read_scores(
    text: pd.Series, units: pd.Series, reading: _Reading
) -> tuple[pd.Series, pd.Series]:
    """Return scores as numbers, and by row the reason why it has none (empty where it has)."""
    spec = reading.spec
    blank = reading.is_coded(text)
    number = read_numbers(text.mask(blank))
    reading.notes += note_decimal_commas(text.mask(blank), spec.score)
    codes = pd.Series([str(code) for code in spec.sentinels], dtype="str")
    sentinel = ~blank & (text.isin(codes) | number.isin(read_numbers(codes).dropna()))
    unread = ~blank & ~sentinel & ~number.between(-np.inf, np.inf, inclusive="neither")
    low = -np.inf if spec.low is None else spec.low
    high = np.inf if spec.high is None else spec.high
    outside = ~(blank | sentinel | unread | number.between(low, high))
    for wrong, expected, found, mend in (
        (unread, f"numbers in column {spec.score!r}", "values that are none", "declare a code for no value in "
         "risk.sentinels"),
        (outside, f"column {spec.score!r} within the declared [{low:g}, {high:g}]", "scores outside", "if such a value "
         "is a code for not computed, declare it in risk.sentinels; if it is a score, widen risk.low or risk.high"),
    ):  # fmt: skip
        if wrong.any():
            cells = zip(text[wrong], units[wrong], strict=True)
            shown = _shorten((f"{value!r} in {unit}" for value, unit in cells), FEW)
            reading.find(expected, f"{int(wrong.sum())} {found} ({shown})", mend)
    reasons = pd.Series("", index=text.index, dtype=object)
    reasons[blank] = f"no {spec.score}"
    reasons[sentinel] = f"{spec.score} holds a declared code for not computed"
    reasons[unread | outside] = "faulty"
    return number, reasons


def _read_outcomes(text: pd.Series, reasons: pd.Series, reading: _Reading) -> tuple[pd.Series, str]:
    """Return 1 for the event, 0 for its named or only alternative, and the event as the table spells it.

    Blanks get their reason. The event is looked up whatever its case, as a command line turns `TRUE` into a truth
    value.
    """
    spec = reading.spec
    named = {fold_spelling(level) for level in spec.non_event}
    event = fold_spelling(spec.event or "")
    blank = reading.is_coded(text) & ~text.map(fold_spelling).isin({*named, event} - {""})
    spelled = reading.merge(spec.outcome, text.mask(blank))
    counts = spelled.value_counts()
    folded = {str(level): fold_spelling(level) for level in counts.index}
    levels = _shorten((f"{level} ({n})" for level, n in counts.items()), MANY)
    others = [level for level, key in folded.items() if key != event]
    if spec.event is None:
        mend = f"name the level of {spec.outcome!r} that is the event"
        reading.find("", f"risk.event is not set; it holds: {levels}", mend)
    elif event not in folded.values():
        reading.find(f"level {spec.event!r} in column {spec.outcome!r}", levels, "name another")
    elif (named or len(others) > 1) and (
        unnamed := [one for one in others if folded[one] not in named]
    ):
        more = f" and {len(unnamed) - MANY} more" if len(unnamed) > MANY else ""
        reading.find(
            f"one level beside the event {spec.event!r} in column {spec.outcome!r}",
            f"levels of which nobody said what they mean: {unnamed[:MANY]}{more}",
            "name the levels without the event in risk.non_event",
        )
    reasons[blank & (reasons == "")] = f"no {spec.outcome}"
    own = next((level for level, key in folded.items() if key == event), "")
    return (spelled == own).astype("int64"), own


def _find_repeated(
    keys: pd.Series, name: str, what: str, mend: str, reading: _Reading, file: str | None = None
) -> None:
    repeated = keys[keys.duplicated()].unique()
    if len(repeated):
        found = f"{len(repeated)} {what} several times ({', '.join(repeated[:FEW])})"
        reading.find(f"each {name} once", found, mend, file)


def _read_clusters(
    text: pd.Series, units: pd.Series, used: pd.Series, reading: _Reading
) -> pd.Series:
    """Return whose row it is; a row that names nobody is its own."""
    blank = reading.is_coded(text)
    if n := int((blank & used).sum()):
        reading.notes.append(f"{n} rows name no {reading.spec.cluster!r}: each counts as its own")
    return text.mask(blank, "row of " + units)


def _read_groups(name: str, text: pd.Series, used: pd.Series, reading: _Reading) -> pd.Series:
    """Return the group of each row, near-duplicate spellings merged; blank is missing."""
    column = reading.spec.groups[name]
    known = text.mask(reading.is_coded(text))
    if counts := count_codes(text[used], reading.spec.missing):
        reading.notes.append(tell_codes({column: counts}))
    n = known.dropna().map(fold_spelling).nunique()
    if n > MAX_GROUPS:
        expected = f"at most {MAX_GROUPS} groups in grouping {name!r}"
        found = f"{n} values in column {column!r}"
        reading.find(expected, found, f"is this the column of {name}?")
        return text
    groups = reading.merge(name, known)
    without = int((groups.isna() & used).sum())
    if used.any() and without == int(used.sum()):
        reading.find(f"groups in column {column!r}", "blanks in every usable row", "correct it")
    elif without:
        reading.notes.append(
            f"{without} rows have no {name} (column {column!r}): they count in the overall value "
            "and in no group"
        )
    return groups


def _add_source_columns(
    frame: pd.DataFrame, table: pd.DataFrame, reading: _Reading
) -> pd.DataFrame:
    """Keep the columns that groupings are made from, read as those of a cohort: an age such as `> 89` is a flag."""
    spec = reading.spec
    columns = dict.fromkeys(g.column for g in spec.groupings.values() if g.column)
    own = table[list(columns)].assign(**{UNIT: frame[UNIT]})
    people, faults = clean_attributes(own, UNIT, spec.missing, spec.file)
    reading.faults += [fault for fault in faults if not fault.note]
    reading.notes += [fault.found for fault in faults if fault.note]
    if "age_over_89" in people and (above := int(people["age_over_89"].sum())):
        reading.notes.append(f"{above} rows have an age only known to be above 89")
    return frame.assign(**{str(name): people[name] for name in people if name not in frame})


def _group_rows(frame: pd.DataFrame, reading: _Reading) -> dict[str, pd.Series]:
    """Give every grouping's group of each row: columns as they are, then groupings made of them."""
    spec = reading.spec
    cohort = frame.rename(columns={UNIT: "exam_id", CLUSTER: "patient_id"})
    reading.notes += require_groups(cohort, spec.groupings)
    made = {
        name: assign_groups(cohort, grouping, spec.groupings).set_axis(frame.index)
        for name, grouping in spec.groupings.items()
    }
    return {name: frame[name] for name in spec.groups} | made


def _shorten(texts: Iterable[str], most: int) -> str:
    """List some texts, and show that there are more."""
    listed = list(texts)
    return ", ".join(listed[:most]) + (", ..." if len(listed) > most else "")


def _path(spec: RiskTable, file: str) -> Path:
    return Path(spec.root or ".") / file
