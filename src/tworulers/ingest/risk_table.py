"""Tables of risk scores made elsewhere to one checked frame, refusing what would be guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from tworulers.cohort.naming import MAX_GROUPS
from tworulers.cohort.numbers import note_decimal_commas, read_numbers
from tworulers.cohort.spelling import find_levels, fold_spelling, merge_spellings
from tworulers.ingest.ages import AgeStatus, read_age
from tworulers.ingest.faults import Fault, FaultKind, refuse
from tworulers.ingest.text_table import read_text_table
from tworulers.schema_sources import RiskJoin, RiskTable

UNIT, CLUSTER, SCORE, OUTCOME = "unit_id", "cluster_id", "score", "outcome"
"""Columns of the frame; every grouping adds one of its own name, and source columns keep theirs."""

SHOWN = 10


@dataclass(frozen=True)
class RiskRecords:
    """What was read.

    Attributes:
        frame: one row a usable unit: `unit_id`, `cluster_id`, `score`, `outcome` (1 event, 0 not),
            one column a grouping of `groups` (missing where blank), and the columns that
            `groupings` and filters name.
        excluded: one row an excluded unit: `unit_id`, `reason`, `value`.
        notes: sentences on everything that was left out, joined or translated.
    """

    frame: pd.DataFrame
    excluded: pd.DataFrame
    notes: list[str] = field(default_factory=list)


@dataclass
class _Reading:
    """What is known while a table is read: its description, codes for no value, faults and notes."""

    spec: RiskTable
    codes: set[str]
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    event: str = ""
    """The event as the table spells it."""

    def find(self, expected: str, found: str, mend: str = "", file: str | None = None) -> None:
        """Add a fault of the table, or of another file."""
        name = self.spec.file if file is None else file
        self.faults.append(Fault(FaultKind.TABLE, expected, found, mend, name))

    def refuse(self) -> None:
        """Raise the faults found so far, if any."""
        refuse(*self.faults)

    def is_coded(self, text: pd.Series) -> pd.Series:
        """Tell which cells hold a code for no value."""
        return text.map(fold_spelling).isin(self.codes)


def read_risk_table(spec: RiskTable) -> RiskRecords:
    """Read a table of scores and outcomes as its description says.

    Every cell is read as text, so that keys keep their zeros, `> 89` stays an age and scientific
    notation a number. Rows with a declared code or without a score or outcome are excluded and
    listed; rows without a group stay, for the overall value. Spellings of a group or an outcome
    that differ in case and blanks alone are one, and are named.

    Raises:
        IngestError: with every fault: a missing file or column, an event level that is not named
            or not there, outcome levels nobody named, one outcome class only, scores that are no
            numbers or lie outside the declared range, units that stand there twice, a grouping of
            more groups than can be told apart.
    """
    reading = _Reading(spec, {fold_spelling(code) for code in ("", *spec.missing)})
    _find_gaps(reading)
    table = _join_all(reading)
    _find_missing_columns(table, reading)
    table = _apply_filters(table, spec.filters, spec.file, reading)
    units = table[spec.unit] if spec.unit else pd.Series(range(1, len(table) + 1)).astype(str)
    units = units.set_axis(table.index)
    score, reasons = _read_scores(table[spec.score], units, reading)
    outcome = _read_outcomes(table[spec.outcome], reasons, reading)
    _refuse_repeated_units(units, reading)
    used = reasons == ""
    _refuse_one_class(outcome[used], reading)
    frame = pd.DataFrame({UNIT: units, CLUSTER: units, SCORE: score, OUTCOME: outcome})
    if spec.cluster:
        frame[CLUSTER] = _read_clusters(table[spec.cluster], units, used, reading)
    for name, column in spec.groups.items():
        frame[name] = _read_groups(name, table[column], used, reading)
    frame = _add_source_columns(frame, table, reading)
    reading.refuse()
    excluded = pd.DataFrame(
        {
            UNIT: units[~used],
            "reason": reasons[~used],
            "value": table[spec.score][~used] + " / " + table[spec.outcome][~used],
        }
    ).reset_index(drop=True)
    notes = reading.notes
    notes += [
        f"{n} rows excluded, {reason}"
        for reason, n in excluded["reason"].value_counts(sort=False).items()
    ]
    notes.append(
        f"{int(used.sum())} rows used, {int(outcome[used].sum())} events "
        f"({spec.outcome} = {reading.event})"
    )
    return RiskRecords(frame[used].reset_index(drop=True), excluded, notes)


def _find_gaps(reading: _Reading) -> None:
    """Refuse a description that leaves open what has to be said."""
    spec = reading.spec
    for key, meaning in (
        ("file", "the table of scores"),
        ("score", "the column of the score"),
        ("outcome", "the column of the outcome"),
    ):
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
    wanted = {"score": spec.score, "outcome": spec.outcome, "unit": spec.unit or spec.score}
    wanted |= {"cluster": spec.cluster or spec.score}
    wanted |= {f"groups.{name}": column for name, column in spec.groups.items()}
    wanted |= {f"groupings.{n}": g.column for n, g in spec.groupings.items() if g.column}
    wanted |= {f"filters.{column}": column for column in spec.filters}
    there = ", ".join(table.columns[:40]) + (", ..." if table.shape[1] > 40 else "")
    for key, column in wanted.items():
        if column not in table.columns:
            reading.find(f"column {column!r} (risk.{key})", there, f"correct risk.{key}")
    reading.refuse()


def _join_all(reading: _Reading) -> pd.DataFrame:
    spec = reading.spec
    table = read_text_table(_path(spec, spec.file), reading.notes)
    for join in spec.joins:
        table = _join(table, join, reading)
    return table


def _join(left: pd.DataFrame, join: RiskJoin, reading: _Reading) -> pd.DataFrame:
    spec = reading.spec
    right = read_text_table(_path(spec, join.file), reading.notes)
    right_key = join.right_key or join.key
    if join.key not in left.columns:
        reading.find(f"the join key {join.key!r}", "no such column")
    for column in (right_key, *join.filters):
        if column not in right.columns:
            reading.find(f"column {column!r}", "no such column", "correct risk.joins", join.file)
    reading.refuse()
    right = _apply_filters(right, join.filters, join.file, reading)
    repeated = right.loc[right[right_key].duplicated(), right_key].unique()
    if len(repeated):
        found = f"{len(repeated)} of them several times ({', '.join(repeated[:5])})"
        mend = "filter it to one row a key, or start from that table"
        reading.find(f"each {right_key} once", found, mend, join.file)
    matched = left[join.key].isin(set(right[right_key]))
    if len(left) and not matched.any():
        reading.find(f"the {join.key} of {join.file}", "none of them", "is this its key?")
    reading.refuse()
    if (~matched).any():
        reading.notes.append(
            f"{int((~matched).sum())} rows of {spec.file} have no row in {join.file}: its columns "
            "are blank there"
        )
    right = right.rename(columns={right_key: join.key})
    shared = [c for c in right.columns if c in left.columns and c != join.key]
    right = right.rename(columns={c: f"{Path(join.file).stem}.{c}" for c in shared})
    return left.merge(right, on=join.key, how="left", validate="many_to_one").fillna("")


def _apply_filters(
    table: pd.DataFrame, filters: Mapping[str, Sequence[str]], file: str, reading: _Reading
) -> pd.DataFrame:
    for column, values in filters.items():
        kept = table[column].isin(find_levels(table[column], values))
        if not kept.any():
            there = table[column].unique()
            levels = ", ".join(map(repr, sorted(there)[:SHOWN])) + (
                ", ..." if len(there) > SHOWN else ""
            )
            reading.find(f"rows with {column} {list(values)}", levels, "correct the filter", file)
            continue
        reading.notes.append(
            f"{file}: {int(kept.sum())} of {len(table)} rows kept, {column} = {list(values)}"
        )
        table = table[kept]
    return table.reset_index(drop=True)


def _read_scores(
    text: pd.Series, units: pd.Series, reading: _Reading
) -> tuple[pd.Series, pd.Series]:
    """Return scores as numbers, and by row the reason why it has none (empty where it has)."""
    spec = reading.spec
    reasons = pd.Series("", index=text.index, dtype=object)
    blank = reading.is_coded(text)
    number = read_numbers(text.mask(blank))
    reading.notes += note_decimal_commas(text.mask(blank), spec.score)
    codes = read_numbers(pd.Series([str(code) for code in spec.sentinels], dtype="str"))
    sentinel = text.isin([str(code) for code in spec.sentinels]) | number.isin(codes.dropna())
    reasons[blank] = f"no {spec.score}"
    reasons[sentinel & ~blank] = f"{spec.score} holds a declared code for not computed"
    unread = ~number.between(-np.inf, np.inf, inclusive="neither") & ~blank & ~sentinel
    if unread.any():
        reading.find(
            f"numbers in column {spec.score!r}",
            f"{int(unread.sum())} values that are none ({_examples(text, units, unread)})",
            "declare a code for no value in risk.sentinels",
        )
    low = -np.inf if spec.low is None else spec.low
    high = np.inf if spec.high is None else spec.high
    outside = (reasons == "") & ~unread & ~number.between(low, high)
    if outside.any():
        reading.find(
            f"column {spec.score!r} within the declared [{low:g}, {high:g}]",
            f"{int(outside.sum())} scores outside ({_examples(text, units, outside)})",
            "if such a value is a code for not computed, declare it in risk.sentinels; if it is a "
            "score, widen risk.low or risk.high",
        )
    reasons[unread | outside] = "faulty"
    return number, reasons


def _read_outcomes(text: pd.Series, reasons: pd.Series, reading: _Reading) -> pd.Series:
    """Return 1 for the event, 0 for its named or only alternative; blanks get their reason.

    The event is looked up whatever its case, as a command line turns `TRUE` into a truth value.
    """
    spec = reading.spec
    folded = text.map(fold_spelling)
    levels_given = [fold_spelling(level) for level in (*spec.non_event, spec.event or "") if level]
    blank = reading.is_coded(text) & ~folded.isin(levels_given)
    outcome = pd.Series(0, index=text.index, dtype="int64")
    spellings = _list_spellings(text[~blank], folded[~blank])
    counts = folded[~blank].value_counts()
    levels = ", ".join(f"{spellings[str(key)][0]} ({n})" for key, n in counts.head(SHOWN).items())
    levels += ", ..." if len(counts) > SHOWN else ""
    if spec.event is None:
        mend = f"name the level of {spec.outcome!r} that is the event"
        reading.find("", f"risk.event is not set; it holds: {levels}", mend)
        return outcome
    event = fold_spelling(spec.event)
    if event not in counts.index:
        reading.find(f"level {spec.event!r} in column {spec.outcome!r}", levels, "name another")
        return outcome
    named = {fold_spelling(level) for level in spec.non_event}
    others = [str(key) for key in counts.index if key != event]
    unnamed = [key for key in others if key not in named] if named or len(others) > 1 else []
    if unnamed:
        shown = [spellings[key][0] for key in unnamed[:SHOWN]]
        more = f" and {len(unnamed) - SHOWN} more" if len(unnamed) > SHOWN else ""
        reading.find(
            f"one level beside the event {spec.event!r} in column {spec.outcome!r}",
            f"levels of which nobody said what they mean: {shown}{more}",
            "name the levels without the event in risk.non_event",
        )
    for names in spellings.values():
        for name in names[1:]:
            reading.notes.append(f"{spec.outcome} {name!r} taken as {names[0]!r}")
    reading.event = spellings[event][0]
    outcome[folded == event] = 1
    reasons[blank & (reasons == "")] = f"no {spec.outcome}"
    return outcome


def _list_spellings(text: pd.Series, folded: pd.Series) -> dict[str, list[str]]:
    """Return the spellings of each level, the most frequent first."""
    pairs = pd.DataFrame({"key": folded, "name": text}).value_counts().reset_index()
    spellings: dict[str, list[str]] = {}
    for key, name in zip(pairs["key"], pairs["name"], strict=True):
        spellings.setdefault(str(key), []).append(str(name))
    return spellings


def _refuse_repeated_units(units: pd.Series, reading: _Reading) -> None:
    repeated = units[units.duplicated()].unique()
    if len(repeated):
        found = f"{len(repeated)} units several times ({', '.join(repeated[:5])})"
        mend = "choose one row each with risk.filters"
        reading.find(f"each {reading.spec.unit} once", found, mend)


def _refuse_one_class(outcome: pd.Series, reading: _Reading) -> None:
    events = int(outcome.sum())
    if not reading.faults and events in (0, len(outcome)):
        reading.find(
            f"both classes of {reading.spec.outcome!r} among the rows with a score",
            f"{events} events and {len(outcome) - events} non-events",
            "an AUC needs both",
        )


def _read_clusters(
    text: pd.Series, units: pd.Series, used: pd.Series, reading: _Reading
) -> pd.Series:
    """Return whose row it is; a row that names nobody is its own."""
    blank = reading.is_coded(text)
    if (blank & used).any():
        n = int((blank & used).sum())
        reading.notes.append(f"{n} rows name no {reading.spec.cluster!r}: each counts as its own")
    return text.mask(blank, "row of " + units)


def _read_groups(name: str, text: pd.Series, used: pd.Series, reading: _Reading) -> pd.Series:
    """Return the group of each row, near-duplicate spellings merged; blank is missing."""
    column = reading.spec.groups[name]
    blank = reading.is_coded(text)
    n = text[~blank].map(fold_spelling).nunique()
    if n > MAX_GROUPS:
        expected = f"at most {MAX_GROUPS} groups in grouping {name!r}"
        found = f"{n} values in column {column!r}"
        reading.find(expected, found, f"is this the column of {name}?")
        return text
    groups, changes = merge_spellings(text.mask(blank))
    reading.notes += [
        f"{name} {row.spelling!r} taken as {row.merged_into!r} in {row.exams} rows"
        for row in changes.itertuples()
    ]
    without = int((groups.isna() & used).sum())
    if used.any() and without == int(used.sum()):
        reading.find(f"groups in column {column!r}", "blanks in every usable row", "correct it")
    elif without:
        reading.notes.append(
            f"{without} rows have no {name} (column {column!r}): they count in the overall value "
            "and in no group"
        )
    return groups.astype(object)


def _add_source_columns(
    frame: pd.DataFrame, table: pd.DataFrame, reading: _Reading
) -> pd.DataFrame:
    """Keep the columns that groupings are made from; an age such as `> 89` becomes a flag."""
    columns = [g.column for g in reading.spec.groupings.values() if g.column]
    for column in dict.fromkeys(columns):
        text = table[column].mask(reading.is_coded(table[column]))
        if column != "age":
            frame[column] = text.astype(object)
            continue
        ages = [read_age(cell) for cell in text.fillna("")]
        wrong = [age.status is AgeStatus.IMPLAUSIBLE for age in ages]
        if any(wrong):
            shown = ", ".join(map(repr, text[wrong].unique()[:5]))
            found = f"{sum(wrong)} others ({shown})"
            reading.find("ages of 0 to 120 years", found, "declare codes in risk.missing")
        above = sum(age.status is AgeStatus.OVER_89 for age in ages)
        if above:
            reading.notes.append(f"{above} rows have an age only known to be above 89")
        frame["age_over_89"] = [age.status is AgeStatus.OVER_89 for age in ages]
        frame["age"] = [age.years for age in ages]
    return frame


def _examples(text: pd.Series, units: pd.Series, where: pd.Series) -> str:
    found = [f"{value!r} in {unit}" for value, unit in zip(text[where], units[where], strict=True)]
    return ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")


def _path(spec: RiskTable, file: str) -> Path:
    return Path(spec.root or ".") / file
