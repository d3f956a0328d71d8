"""Which counts and values would tell of single people, by themselves or subtracted from one another."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from tworulers.schema.tables import pack_names, unpack_names

WITHHELD = "–"
SINGLE_COUNT = r"\b[01]/1\b"
"""How the success of a group of one exam is written in a sentence."""

COUNTS = frozenset({"n", "n_a", "n_b", "n_exams", "n_undefined", "n_infinite"})
MANY_GROUPS = 8
"""Up to how many groups every union of them is tried; of more, single groups and runs in their order."""

OUTCOME_KEYS = ["grouping", "metric", "structure", "threshold"]


def hide_single_exams(table: pd.DataFrame) -> pd.DataFrame:
    """Blank what groups of one exam would tell: who knows whose it is would read that person's scores.

    Parameters
    ----------
    table : of groups (`group`, `n` and, for scores, `n_undefined`), of pairs of groups (`n_a`, `n_b`), or with the
        successes of each group (`counts`, or in words, `sentence`); any other is returned as it is.
    """
    columns = set(table.columns)
    if "counts" in columns:
        hidden = table["counts"].map(_hide_single_counts)
        table = table if hidden.equals(table["counts"]) else table.assign(counts=hidden)
    if "sentence" in columns:
        said = table["sentence"].str.replace(SINGLE_COUNT, f"{WITHHELD}/1", regex=True)
        table = table if said.equals(table["sentence"]) else table.assign(sentence=said)
    if {"group", "n"} <= columns:
        alone = (table["n"] + table["n_undefined"] if "n_undefined" in columns else table["n"]) == 1
    elif {"n_a", "n_b"} <= columns:
        alone = (table["n_a"] == 1) | (table["n_b"] == 1)
    else:
        return table
    if not alone.any():
        return table
    values = [str(name) for name in table.select_dtypes("number") if name not in COUNTS]
    return table.assign(**{name: table[name].astype(float).mask(alone) for name in values})


def find_disclosing(
    groups: pd.DataFrame, least: int, patients: "pd.Series[str] | None" = None
) -> list[str]:
    """Name the groupings that single out fewer exams, or exams of fewer people, than may be described.

    A grouping singles them out by a small group, by few exams that it leaves out, or beside another grouping, when
    groups of one lie within groups of the other and few make the difference. Of two such groupings the finer, or the
    later, is named.

    Parameters
    ----------
    groups : (n exams, groupings), the group of each exam; missing where a grouping leaves the exam out.
    least : how many may be described.
    patients : (n exams,), whose each exam is; without it each counts as its own.
    """
    owners = list(groups.index) if patients is None else patients.reindex(groups.index).tolist()
    count = _counter(owners)
    disclosing = []
    kept: list[list[int]] = []
    members = {str(name): list_members(column) for name, column in groups.items()}
    for name, parts in sorted(members.items(), key=lambda item: len(item[1])):
        unions = list_unions(parts)
        if any(0 < count(part) < least for part in parts) or any(
            _isolates(unions, other, least, count) for other in kept
        ):
            disclosing.append(name)
        else:
            kept.append(unions)
    return disclosing


def list_members(groups: "pd.Series[str]") -> list[int]:
    """Write the exams of each group, in the groups' order, and those in none, as the bits of one integer a group."""
    order = (
        list(groups.cat.categories) if hasattr(groups, "cat") else sorted(groups.dropna().unique())
    )
    masks = [*((groups == group).to_numpy(bool) for group in order), groups.isna().to_numpy(bool)]
    bits = [int("0" + "".join("1" if here else "0" for here in mask.tolist()), 2) for mask in masks]
    return [part for part in bits if part]


def list_unions(members: Sequence[int]) -> list[int]:
    """Unite groups in every way, or, of many groups, in every run of their order."""
    if len(members) <= MANY_GROUPS:
        chosen = [c for k in range(1, len(members) + 1) for c in combinations(members, k)]
    else:
        chosen = [tuple(members[a:b]) for a, b in combinations(range(len(members) + 1), 2)]
    return sorted({int(np.bitwise_or.reduce(np.array(c, dtype=object))) for c in chosen})


def find_small_outcomes(rates: pd.DataFrame, least: int) -> pd.DataFrame:
    """List the success rates of which a group has some, but few, successes or failures.

    Parameters
    ----------
    rates : with the columns `grouping`, `metric`, `structure`, `threshold`, `n` and `successes`.
    least : how many exams may be described.

    Returns
    -------
    One row a grouping, score and threshold.
    """
    failures = rates["n"] - rates["successes"]
    few = ((rates["successes"] > 0) & (rates["successes"] < least)) | (
        (failures > 0) & (failures < least)
    )
    return rates.loc[few, OUTCOME_KEYS].drop_duplicates().reset_index(drop=True)


def _isolates(
    mine: Sequence[int], theirs: Sequence[int], least: int, count: Callable[[int], int]
) -> bool:
    """Tell whether a set of one lies within a set of the other, all but a few of it."""
    for a in mine:
        for b in theirs:
            if a != b and a & b in (a, b) and count(a ^ b) < least:
                return True
    return False


def _counter(owners: Sequence[object]) -> Callable[[int], int]:
    """Return what counts the people among the exams of a set: the first exam is its highest bit."""
    if len(set(owners)) == len(owners):
        return int.bit_count
    last = len(owners) - 1

    def count(part: int) -> int:
        return len({owner for place, owner in enumerate(owners) if part >> (last - place) & 1})

    return count


def _hide_single_counts(cell: object) -> object:
    """Take the success of a group of one exam out of a cell of `successes/n` texts."""
    if not isinstance(cell, str) or '/1"' not in cell:
        return cell
    return pack_names(
        f"{WITHHELD}/1" if count.endswith("/1") else count for count in unpack_names(cell)
    )
