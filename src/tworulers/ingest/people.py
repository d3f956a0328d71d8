"""Who the exams are of: attributes read from a table of people or of exams, cleaned, and joined."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from tworulers.cohort.spelling import count_codes, fold_spelling, is_blank, merge_spellings
from tworulers.ingest.ages import AgeStatus, read_age
from tworulers.ingest.faults import Fault, FaultKind, refuse

ALIASES: dict[str, tuple[str, ...]] = {
    "exam_id": ("exam_id", "exam", "case_id", "case", "image_id", "scan_id", "id"),
    "patient_id": (
        "patient_id",
        "patient",
        "participant_id",
        "subject_id",
        "subject",
        "case_ids",
        "submitter_id",
    ),
    "image": ("image", "image_path", "image_file", "scan"),
    "label": ("label", "label_path", "mask", "segmentation", "reference"),
    "provenance": ("provenance", "label_source", "annotation_method", "annotator"),
    "sex": ("sex", "gender"),
    "age": ("age", "age_years", "age_at_imaging", "age_at_index", "patient_age", "patientage"),
    "age_over_89": (
        "age_over_89",
        "age_gt89",
        "age_at_imaging_gt89",
        "age_at_index_gt89",
        "over_89",
        "gt89",
    ),
    "race": ("race",),
    "ethnicity": ("ethnicity",),
    "manufacturer": ("manufacturer", "vendor", "scanner"),
    "field_strength_t": ("field_strength_t", "field_strength", "magnetic_field_strength"),
}
"""Column names that are understood without being told, by the cohort's column."""

SHOWN = 5
"""Columns that a note names; of more the number is given."""

CATEGORIES = ("sex", "race", "ethnicity", "manufacturer")


def rename_columns(
    table: pd.DataFrame, columns: Mapping[str, str], file: str
) -> tuple[pd.DataFrame, list[Fault]]:
    """Give a table the cohort's column names: those a person mapped, then those understood.

    What a person mapped wins: the table's own column of that name steps aside. Of columns that differ in case or blanks
    alone the exactly written one is taken; the order of the columns does not matter.

    Parameters
    ----------
    table : text cells.
    columns : the cohort's column names to the table's.
    file : the table's name in messages.

    Returns
    -------
    The table, and a note on every column that is not used for another's sake.

    Raises
    ------
    IngestError : a mapped column is not in the table, or two columns are alike and neither is exact.
    """
    absent = [name for name in columns.values() if name not in table]
    if absent:
        mend = "correct dataset.reading.columns"
        refuse(Fault(FaultKind.TABLE, f"columns {absent}", f"{list(table)}", mend, file))
    table = table.rename(columns=str)
    mapped = {ours: table[theirs] for ours, theirs in columns.items()}
    aside = [ours for ours in mapped if ours in table and ours not in columns.values()]
    faults = [
        Fault(
            FaultKind.TABLE,
            "",
            f"column {columns[ours]!r} is taken as {ours}, as mapped; the table's own {ours!r} is not used",
            file=file,
            note=True,
        )
        for ours in aside
    ]
    rest = table.drop(columns=list({*aside, *columns.values()}))
    names, alike = _understand_columns([str(name) for name in rest], set(mapped), file)
    refuse(*alike)
    order = {theirs: ours for ours, theirs in columns.items()} | names
    frame = rest.rename(columns=names).assign(**mapped)
    first = [order.get(name, name) for name in map(str, table) if order.get(name, name) in frame]
    return frame[list(dict.fromkeys([*first, *frame]))], [*faults, *alike]


def _understand_columns(
    table: Sequence[str], taken: set[str], file: str
) -> tuple[dict[str, str], list[Fault]]:
    """Return the cohort's name of the columns that are understood, and what is to be said of their lookalikes."""
    alike: dict[str, list[str]] = {}
    for name in table:
        alike.setdefault(fold_spelling(name).replace(" ", "_"), []).append(name)
    names: dict[str, str] = {}
    faults = []
    for ours, aliases in ALIASES.items():
        alias = next((alias for alias in aliases if alias in alike), None)
        if ours in taken or alias is None:
            continue
        found = sorted(alike[alias], key=lambda name: (name != alias, name))
        names[found[0]] = ours
        if len(found) > 1:
            exact = found[0] == alias
            shown = " and ".join(map(repr, found))
            says = (
                f"{found[0]!r} is taken, being written exactly so"
                if exact
                else "neither is written exactly so"
            )
            mend = f"map the one that is meant: columns.{ours}={found[-1]}"
            text = f"columns {shown} can both be {ours}: {says}"
            faults.append(Fault(FaultKind.TABLE, "", text, mend, file, note=exact))
    return names, faults


def clean_attributes(
    table: pd.DataFrame, key: str, missing: Sequence[str], file: str
) -> tuple[pd.DataFrame, list[Fault]]:
    """Clean the attributes of a table whose columns have the cohort's names.

    Empty cells and declared codes become missing, ages numbers, and near-duplicate spellings one; what
    was changed is noted, and what is implausible is a fault that leaves the cell missing.

    Parameters
    ----------
    table : text cells.
    key : the column that names a row in messages.
    missing : all codes for no value.
    file : the table's name in messages.
    """
    codes = {fold_spelling(code) for code in missing}
    frame = table.copy()
    counts: dict[str, dict[str, int]] = {}
    for column in frame:
        if column in (key, "exam_id", "patient_id", "image", "label"):
            continue
        empty = is_blank(frame[column]) | frame[column].map(fold_spelling).isin(codes)
        blank = int(is_blank(frame[column]).sum())
        coded = ({"": blank} if 0 < blank < len(frame) else {}) | count_codes(
            frame[column], missing
        )
        if coded:
            counts[str(column)] = coded
        frame[column] = frame[column].mask(empty)
    faults: list[Fault] = []
    if "age" in frame:
        frame, found = _clean_ages(frame, key, file)
        faults += found
    if "field_strength_t" in frame:
        text = frame["field_strength_t"].str.replace(",", ".").str.rstrip("Tt ")
        numbers = pd.to_numeric(text, errors="coerce")
        # Some tables give the field in units of 10,000 gauss, others in gauss.
        frame["field_strength_t"] = numbers.mask(numbers > 100, numbers / 10_000)
    for column in CATEGORIES:
        if column in frame:
            frame[column], changes = merge_spellings(frame[column])
            faults += [
                Fault(
                    FaultKind.TABLE,
                    "",
                    f"{column} {row.spelling!r} taken as {row.merged_into!r} in {row.exams} rows",
                    file=file,
                    note=True,
                )
                for row in changes.itertuples()
            ]
    if counts:
        faults.append(Fault(FaultKind.TABLE, "", tell_codes(counts), file=file, note=True))
    return frame, faults


def tell_codes(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Say which codes count as no value, with the number of cells by column; of many columns some are named."""
    told = [
        f"{column} {', '.join(f'{code!r} {n}' for code, n in found.items())}"
        for column, found in counts.items()
    ]
    more = f"; and {len(told) - SHOWN} more columns" if len(told) > SHOWN else ""
    listed = "; ".join(told[:SHOWN]) + more
    return f"cells that count as no value, by code ('missing' lists the codes, [''] has none): {listed}"


def collapse_duplicates(
    table: pd.DataFrame, key: str, file: str
) -> tuple[pd.DataFrame, list[Fault]]:
    """Keep one row a key: repeated rows collapse, and contradicting cells become missing.

    Returns
    -------
    The table, a note on exact repeats, and a fault for each contradiction with all its values.
    """
    faults: list[Fault] = []
    repeated = table[table[key].duplicated(keep=False)]
    conflicts: dict[str, list[str]] = {}
    for name, rows in repeated.groupby(key, sort=True):
        exact = True
        for column in rows.columns.drop(key):
            values = sorted({str(value) for value in rows[column].dropna()})
            if len(values) > 1:
                exact = False
                conflicts.setdefault(str(name), []).append(column)
                faults.append(
                    Fault(
                        FaultKind.DUPLICATES,
                        f"one {column}",
                        f"{' and '.join(values)} in {len(rows)} rows",
                        f"correct the table; until then {column} counts as missing",
                        file,
                        str(name),
                        details={column: values},
                    )
                )
        if exact:
            found = f"{len(rows)} rows that say the same, taken as one"
            faults.append(Fault(FaultKind.DUPLICATES, "", found, "", file, str(name), note=True))
    single = table.groupby(key, sort=False, as_index=False).first()
    for name, columns in conflicts.items():
        single.loc[single[key] == name, columns] = None
    return single[list(table.columns)], faults


def join_people(
    exams: pd.DataFrame, people: pd.DataFrame, file: str
) -> tuple[pd.DataFrame, list[Fault]]:
    """Add the attributes of people to exams, by exam where the table names exams, else by patient.

    Exams without a row keep missing attributes and are faults; rows without an exam are noted.
    """
    key = "exam_id" if "exam_id" in people else "patient_id"
    if key not in people:
        mend = "map one with dataset.reading.columns"
        refuse(
            Fault(FaultKind.TABLE, "a column exam_id or patient_id", f"{list(people)}", mend, file)
        )
    people, faults = collapse_duplicates(people, key, file)
    known, wanted = set(people[key]), set(exams[key])
    alike = index_lookalikes(known)
    if wanted and not wanted & known and not any(strip_id(name) in alike for name in wanted):
        expected = f"a row for each {key} of the exams, such as {min(wanted)!r}"
        found = f"none of {len(wanted)} in {len(known)} rows"
        mend = f"is this the column of {key}? Map it with the columns of the table"
        refuse(Fault(FaultKind.TABLE, expected, found, mend, file))
    for name in sorted(wanted - known):
        hint = alike.get(strip_id(name))
        mend = (
            f"the table has {hint!r}: were zeros lost, or letters changed?"
            if hint
            else "add the row"
        )
        faults.append(Fault(FaultKind.TABLE, f"a row of {key} {name!r}", "none", mend, file, name))
    spare = sorted(known - wanted)
    if spare:
        shown = ", ".join(spare[:5]) + (" ..." if len(spare) > 5 else "")
        found = f"{len(spare)} rows of no exam: {shown}"
        faults.append(Fault(FaultKind.TABLE, "", found, "", file, note=True))
    fresh = people[[key, *(column for column in people if column not in exams)]]
    replaced = [
        column for column in ("patient_id", "provenance") if column in people and column != key
    ]
    joined = exams.merge(fresh, on=key, how="left")
    for column in replaced:
        given = joined[key].map(people.set_index(key)[column])
        joined[column] = given.where(given.notna(), joined[column])
    return joined, faults


def read_root_path(table: str, root: Path) -> Path:
    """Return where a table of the source lies: below the root unless its path is absolute."""
    return Path(table) if Path(table).is_absolute() else root / table


def _clean_ages(frame: pd.DataFrame, key: str, file: str) -> tuple[pd.DataFrame, list[Fault]]:
    """Read ages and flags; an implausible age is a fault and counts as missing."""
    cells = frame["age"].fillna("").astype(str)
    flags = frame["age_over_89"] if "age_over_89" in frame else pd.Series("", index=frame.index)
    ages = [
        read_age(cell, flag) for cell, flag in zip(cells, flags.fillna("").astype(str), strict=True)
    ]
    faults = [
        Fault(
            FaultKind.TABLE,
            "an age of 0 to 120 years",
            repr(cell),
            f"correct it, or list it among the codes for no value (missing=['',NA,'{cell.strip()}'] of the table)",
            file,
            str(name),
            details={"age": cell},
        )
        for name, cell, age in zip(frame[key], cells, ages, strict=True)
        if age.status == AgeStatus.IMPLAUSIBLE
    ]
    told = [
        cell
        for cell, age in zip(cells, ages, strict=True)
        if cell and age.status == AgeStatus.MISSING
    ]
    if told:
        words = ", ".join(dict.fromkeys(map(repr, told)))
        found = f"{len(told)} ages are told by no number ({words}) and count as missing"
        faults.append(Fault(FaultKind.TABLE, "", found, file=file, note=True))
    return (
        frame.assign(
            age=[age.years for age in ages],
            age_over_89=[age.status == AgeStatus.OVER_89 for age in ages],
        ),
        faults,
    )


def index_lookalikes(known: Iterable[str]) -> dict[str, str]:
    """Return the first id of each bare form: ids alike but for leading zeros, a trailing ``.0``, case or blanks."""
    alike: dict[str, str] = {}
    for name in sorted(known):
        alike.setdefault(strip_id(name), name)
    return alike


def strip_id(name: str) -> str:
    """Return what programs leave of an id: no letter case, no leading zeros, no trailing `.0`."""
    return fold_spelling(name).replace(" ", "").lstrip("0").removesuffix(".0")
