"""Tables of risk scores made elsewhere to one checked frame, refusing what would be guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from tworulers.schema_sources import RiskJoin, RiskTable

UNIT, CLUSTER, SCORE, OUTCOME = "unit_id", "cluster_id", "score", "outcome"
"""Columns of the frame; every grouping adds one of its own name, and source columns keep theirs."""

MISSING = ("", "na", "n/a", "nan", "<na>", "null")
"""Texts that hold no value in any table, whatever their case."""

SHOWN = 10


class RiskTableError(ValueError):
    """A table of risks cannot be audited as described; the message lists every fault."""


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


def read_risk_table(spec: RiskTable) -> RiskRecords:
    """Read a table of scores and outcomes as its description says.

    Every cell is read as text, so that keys keep their zeros, `> 89` stays an age and scientific
    notation a number. Rows with a declared code or without a score or outcome are excluded and
    listed; rows without a group stay, for the overall value.

    Raises:
        RiskTableError: with one line a fault: a missing file or column, an event level that is not
            named or not there, outcome levels nobody named, one outcome class only, scores that
            are no numbers or lie outside the declared range, units that stand there twice.
    """
    faults = _find_gaps(spec)
    if faults:
        raise _error(spec, faults)
    notes: list[str] = []
    table = _join_all(spec, notes)
    faults = _find_missing_columns(spec, table)
    if faults:
        raise _error(spec, faults)
    table = _apply_filters(table, spec.filters, spec.file, faults, notes)
    missing = {text.casefold() for text in (*MISSING, *spec.missing)}
    units = table[spec.unit] if spec.unit else pd.Series(range(1, len(table) + 1)).astype(str)
    units = units.set_axis(table.index)
    score, reasons = _read_scores(table[spec.score], spec, missing, units, faults)
    outcome = _read_outcomes(table[spec.outcome], spec, missing, reasons, faults)
    _refuse_repeated_units(units, spec, faults)
    used = reasons == ""
    _refuse_one_class(outcome[used], spec, faults)
    if faults:
        raise _error(spec, faults)

    frame = pd.DataFrame({UNIT: units, CLUSTER: units, SCORE: score, OUTCOME: outcome})
    if spec.cluster:
        frame[CLUSTER] = table[spec.cluster]
        blank = _is_missing(frame[CLUSTER], missing)
        frame.loc[blank, CLUSTER] = "row of " + units[blank]
        if (blank & used).any():
            notes.append(
                f"{int((blank & used).sum())} rows name no {spec.cluster!r}: each counts as its own"
            )
    for name, column in spec.groups.items():
        frame[name] = table[column].mask(_is_missing(table[column], missing)).astype(object)
        blank = frame.loc[used, name].isna()
        if blank.all():
            faults.append(f"grouping {name!r}: column {column!r} is blank in every usable row")
        elif blank.any():
            listed = ", ".join(units[used][blank].head(SHOWN))
            more = ", ..." if blank.sum() > SHOWN else ""
            notes.append(
                f"{int(blank.sum())} rows have no {name} (column {column!r}; {listed}{more}): they "
                "count in the overall value and in no group"
            )
    if faults:
        raise _error(spec, faults)
    frame = _add_source_columns(frame, table, spec, missing, notes)
    excluded = pd.DataFrame(
        {
            UNIT: units[~used],
            "reason": reasons[~used],
            "value": table[spec.score][~used] + " / " + table[spec.outcome][~used],
        }
    ).reset_index(drop=True)
    for reason, part in excluded.groupby("reason"):
        listed = ", ".join(part[UNIT].head(SHOWN)) + (", ..." if len(part) > SHOWN else "")
        notes.append(f"{len(part)} rows excluded, {reason}: {listed}")
    notes.append(
        f"{int(used.sum())} rows used, {int(outcome[used].sum())} events "
        f"({spec.outcome} = {spec.event})"
    )
    return RiskRecords(frame[used].reset_index(drop=True), excluded, notes)


def _find_gaps(spec: RiskTable) -> list[str]:
    """List what the description itself leaves open."""
    faults = [
        f"risk.{key} is not set: {meaning}"
        for key, meaning in (
            ("file", "the table of scores"),
            ("score", "the column of the score"),
            ("outcome", "the column of the outcome"),
        )
        if not getattr(spec, key)
    ]
    if not spec.groups and not spec.groupings:
        faults.append(
            "risk.groups is empty: name a grouping and its column, such as +risk.groups.sex=gender"
        )
    reserved = {UNIT, CLUSTER, SCORE, OUTCOME} & set(spec.groups)
    faults += [f"risk.groups: {name!r} is the name of a column of ours" for name in reserved]
    files = [spec.file, *(join.file for join in spec.joins)]
    faults += [
        f"file {_path(spec, f)} is missing" for f in files if f and not _path(spec, f).is_file()
    ]
    return faults


def _find_missing_columns(spec: RiskTable, table: pd.DataFrame) -> list[str]:
    wanted = {"score": spec.score, "outcome": spec.outcome, "unit": spec.unit or spec.score}
    wanted |= {"cluster": spec.cluster or spec.score}
    wanted |= {f"groups.{name}": column for name, column in spec.groups.items()}
    wanted |= {f"groupings.{n}": g.column for n, g in spec.groupings.items() if g.column}
    wanted |= {f"filters.{column}": column for column in spec.filters}
    there = ", ".join(table.columns[:40]) + (", ..." if table.shape[1] > 40 else "")
    return [
        f"column {column!r} (risk.{key}) is not in the table; it has: {there}"
        for key, column in wanted.items()
        if column not in table.columns
    ]


def _join_all(spec: RiskTable, notes: list[str]) -> pd.DataFrame:
    table = _read_text(_path(spec, spec.file))
    for join in spec.joins:
        table = _join(table, join, spec, notes)
    return table


def _join(left: pd.DataFrame, join: RiskJoin, spec: RiskTable, notes: list[str]) -> pd.DataFrame:
    right = _read_text(_path(spec, join.file))
    right_key = join.right_key or join.key
    faults = []
    if join.key not in left.columns:
        faults.append(f"join key {join.key!r} is not a column of {spec.file}")
    if right_key not in right.columns:
        faults.append(f"join key {right_key!r} is not a column of {join.file}")
    faults += [
        f"filter column {c!r} is not in {join.file}" for c in join.filters if c not in right.columns
    ]
    if faults:
        raise _error(spec, faults)
    right = _apply_filters(right, join.filters, join.file, faults, notes)
    repeated = right.loc[right[right_key].duplicated(), right_key].unique()
    if len(repeated):
        faults.append(
            f"{join.file}: {len(repeated)} values of {right_key!r} stand there more than once "
            f"({', '.join(repeated[:5])}): filter it to one row a key, or start from that table"
        )
    found = left[join.key].isin(set(right[right_key]))
    if len(left) and not found.any():
        faults.append(f"no {join.key!r} of {spec.file} is in {join.file}")
    if faults:
        raise _error(spec, faults)
    if (~found).any():
        notes.append(
            f"{int((~found).sum())} rows of {spec.file} have no row in {join.file}: its columns "
            "are blank there"
        )
    right = right.rename(columns={right_key: join.key})
    shared = [c for c in right.columns if c in left.columns and c != join.key]
    right = right.rename(columns={c: f"{Path(join.file).stem}.{c}" for c in shared})
    return left.merge(right, on=join.key, how="left", validate="many_to_one").fillna("")


def _apply_filters(
    table: pd.DataFrame,
    filters: Mapping[str, Sequence[str]],
    file: str,
    faults: list[str],
    notes: list[str],
) -> pd.DataFrame:
    for column, values in filters.items():
        wanted = {str(value) for value in values}
        kept = table[column].isin(wanted)
        if not kept.any():
            levels = ", ".join(sorted(table[column].unique())[:SHOWN])
            faults.append(f"filter {column} = {sorted(wanted)} keeps no row; it holds: {levels}")
            continue
        notes.append(
            f"{file}: {int(kept.sum())} of {len(table)} rows kept, {column} = {sorted(wanted)}"
        )
        table = table[kept]
    return table.reset_index(drop=True)


def _read_scores(
    text: pd.Series, spec: RiskTable, missing: set[str], units: pd.Series, faults: list[str]
) -> tuple[pd.Series, pd.Series]:
    """Return scores as numbers, and by row the reason why it has none (empty where it has)."""
    reasons = pd.Series("", index=text.index, dtype=object)
    blank = _is_missing(text, missing)
    number = pd.to_numeric(text.mask(blank), errors="coerce").astype(float)
    codes = pd.to_numeric(pd.Series(list(spec.sentinels), dtype=object), errors="coerce")
    sentinel = text.isin([str(code) for code in spec.sentinels]) | number.isin(codes.dropna())
    reasons[blank] = f"no {spec.score}"
    reasons[sentinel & ~blank] = f"{spec.score} holds a declared code for not computed"
    unread = ~number.between(-np.inf, np.inf, inclusive="neither") & ~blank & ~sentinel
    if unread.any():
        faults.append(
            f"column {spec.score!r}: {int(unread.sum())} values are no numbers "
            f"({_examples(text, units, unread)}): declare a code for no value in risk.sentinels"
        )
    low = -np.inf if spec.low is None else spec.low
    high = np.inf if spec.high is None else spec.high
    outside = (reasons == "") & ~unread & ~number.between(low, high)
    if outside.any():
        faults.append(
            f"column {spec.score!r}: {int(outside.sum())} scores lie outside the declared "
            f"[{low:g}, {high:g}] ({_examples(text, units, outside)}): if such a value is a code "
            "for not computed, declare it in risk.sentinels; if it is a score, widen risk.low or "
            "risk.high"
        )
    reasons[unread | outside] = "faulty"
    return number, reasons


def _read_outcomes(
    text: pd.Series,
    spec: RiskTable,
    missing: set[str],
    reasons: pd.Series,
    faults: list[str],
) -> pd.Series:
    """Return 1 for the event, 0 for its named or only alternative; blanks get their reason."""
    blank = _is_missing(text, missing)
    counts = text[~blank].value_counts()
    levels = ", ".join(f"{level} ({n})" for level, n in counts.head(SHOWN).items())
    outcome = pd.Series(0, index=text.index, dtype="int64")
    if spec.event is None:
        faults.append(
            f"risk.event is not set: name the level of {spec.outcome!r} that is the event; it "
            f"holds: {levels}"
        )
        return outcome
    event = str(spec.event)
    if event not in counts.index:
        faults.append(f"column {spec.outcome!r} has no level {event!r}; it holds: {levels}")
        return outcome
    others = [str(level) for level in counts.index if level != event]
    unnamed = [level for level in others if level not in spec.non_event] if spec.non_event else []
    if not spec.non_event and len(others) > 1:
        unnamed = others
    if unnamed:
        faults.append(
            f"column {spec.outcome!r}: nobody said what {unnamed} mean beside the event {event!r}: "
            "name the levels without the event in risk.non_event"
        )
    outcome[text == event] = 1
    reasons[blank & (reasons == "")] = f"no {spec.outcome}"
    return outcome


def _refuse_repeated_units(units: pd.Series, spec: RiskTable, faults: list[str]) -> None:
    repeated = units[units.duplicated()].unique()
    if len(repeated):
        faults.append(
            f"{len(repeated)} units ({spec.unit}) stand there more than once "
            f"({', '.join(repeated[:5])}): choose one row each with risk.filters"
        )


def _refuse_one_class(outcome: pd.Series, spec: RiskTable, faults: list[str]) -> None:
    events = int(outcome.sum())
    if not faults and events in (0, len(outcome)):
        faults.append(
            f"column {spec.outcome!r} has one class only among the rows with a score: {events} "
            f"events and {len(outcome) - events} non-events; an AUC needs both"
        )


def _add_source_columns(
    frame: pd.DataFrame, table: pd.DataFrame, spec: RiskTable, missing: set[str], notes: list[str]
) -> pd.DataFrame:
    """Keep the columns that groupings are made from; an age such as `> 89` becomes a flag."""
    for column in dict.fromkeys(g.column for g in spec.groupings.values() if g.column):
        text = table[column].mask(_is_missing(table[column], missing))
        if column == "age":
            above = text.fillna("").str.fullmatch(r"(?:>|over)\s*89|90\+").astype(bool)
            frame["age_over_89"] = above
            text = text.mask(above)
            if above.any():
                notes.append(f"{int(above.sum())} rows have an age only known to be above 89")
        frame[column] = text.astype(object)
    return frame


def _examples(text: pd.Series, units: pd.Series, where: pd.Series) -> str:
    found = [f"{value!r} in {unit}" for value, unit in zip(text[where], units[where], strict=True)]
    return ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")


def _is_missing(text: pd.Series, missing: set[str]) -> pd.Series:
    return text.isna() | text.astype(str).str.casefold().isin(missing)


def _read_text(path: Path) -> pd.DataFrame:
    if path.suffix == ".parquet":
        table = pd.read_parquet(path)
        table = table.map(lambda cell: "" if pd.isna(cell) else str(cell))
    else:
        separator = "\t" if path.suffix in (".tsv", ".txt") else ","
        table = pd.read_csv(
            path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig"
        )
    table.columns = [str(column).strip() for column in table.columns]
    return pd.DataFrame({name: table[name].str.strip() for name in table.columns})


def _path(spec: RiskTable, file: str) -> Path:
    return Path(spec.root or ".") / file


def _error(spec: RiskTable, faults: list[str]) -> RiskTableError:
    name = spec.name or spec.file or "the table of risks"
    lines = "\n".join(f"  {fault}" for fault in faults)
    return RiskTableError(f"{name} cannot be audited, {len(faults)} fault(s):\n{lines}")
