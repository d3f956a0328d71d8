"""Which names stand for exams and patients where their own must not be seen: keyed hashes of them."""

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from tworulers.ingest.faults import Fault
from tworulers.schema.table_models import Cohort

LENGTH = 16
"""Hexadecimal digits of a pseudonym: 64 bits, so that two of a million names meet once in 40 million cohorts."""

SHORTEST_KEY = 16


def read_key(path: Path, results: Iterable[Path]) -> bytes:
    """Read the key of the pseudonyms.

    Parameters
    ----------
    path : a file of at least 16 bytes that nobody else has.
    results : folders that are passed on, in which the key must not lie.

    Raises
    ------
    ValueError : there is no such file, it is too short, or it lies among the results.
    """
    make = f"make one with: openssl rand -hex 32 > {path}"
    if not path.is_file():
        raise ValueError(f"dataset.reading.pseudonym_key: there is no {path}; {make}")
    within = [folder for folder in results if path.resolve().is_relative_to(folder.resolve())]
    if within:
        raise ValueError(
            f"dataset.reading.pseudonym_key: {path} lies in {within[0]}, with the results it is to protect; "
            "keep it elsewhere"
        )
    key = path.read_bytes().strip()
    if len(key) < SHORTEST_KEY:
        raise ValueError(
            f"dataset.reading.pseudonym_key: {path} has {len(key)} bytes, too few; {make}"
        )
    return key


def rename_person(name: str, key: bytes) -> str:
    """Return the pseudonym of an exam or patient: HMAC-SHA-256 of the name (RFC 2104), cut."""
    return hmac.new(key, name.encode(), hashlib.sha256).hexdigest()[:LENGTH]


def hide_names(table: pd.DataFrame, key: bytes) -> pd.DataFrame:
    """Put pseudonyms in place of the exams and patients of a table.

    Raises
    ------
    ValueError : two names have one pseudonym.
    """
    for column in ("exam_id", "patient_id"):
        if column in table:
            new = table[column].map(lambda name: rename_person(str(name), key))
            if new.nunique() != table[column].nunique():
                raise ValueError(f"two names of {column} have one pseudonym; use another key")
            table = table.assign(**{column: new})
    return table


def keep_columns(
    cohort: pd.DataFrame, used: Iterable[str | None]
) -> tuple[pd.DataFrame, list[str]]:
    """Keep what every cohort has and the columns that something is asked of.

    Parameters
    ----------
    cohort : with any further columns of a table of people.
    used : columns that groupings and splits are made of.

    Returns
    -------
    The cohort, and the columns left out.
    """
    known = {*Cohort.to_schema().columns, *used}
    dropped = [str(name) for name in cohort if name not in known]
    return cohort.drop(columns=dropped), dropped


def tell_kinds(exclusions: pd.DataFrame, faults: Iterable[Fault]) -> pd.DataFrame:
    """Say of excluded exams what kind of fault they have, since the reasons in words name files and cells."""
    kinds: dict[str, set[str]] = {}
    for fault in faults:
        kinds.setdefault(fault.exam, set()).add(str(fault.kind))
    told = [
        ", ".join(sorted(kinds.get(exam, {"left out by the settings"})))
        for exam in exclusions["exam_id"]
    ]
    return exclusions.assign(reason=pd.Series(told, index=exclusions.index, dtype="str"))
