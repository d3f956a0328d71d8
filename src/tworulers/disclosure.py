"""Which counts and values would tell of single people, by themselves or subtracted from one another."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

COUNTS = frozenset({"n", "n_exams", "n_undefined", "n_infinite"})
MANY_GROUPS = 8
"""Up to how many groups every union of them is tried; of more, single groups and runs in their order."""

OUTCOME_KEYS = ["grouping", "metric", "structure", "threshold"]


def hide_single_exams(table: pd.DataFrame) -> pd.DataFrame:
    """Blank the values of groups of one exam: who knows whose it is would read that person's scores.

    Parameters
    ----------
    table : with columns `group`, `n` and, for scores, `n_undefined`; a table without them is returned as it is.
    """
    if not {"group", "n"} <= set(table.columns):
        return table
    size = table["n"].add(table["n_undefined"]) if "n_undefined" in table.columns else table["n"]
    alone = size == 1
    if not alone.any():
        return table
    values = [str(name) for name in table.select_dtypes("number") if name not in COUNTS]
    return table.assign(**{name: table[name].astype(float).mask(alone) for name in values})


def find_disclosing(groups: pd.DataFrame, least: int) -> list[str]:
    """Name the groupings whose counts single out fewer exams than may be described.

    A grouping singles them out by a small group, by few exams that it leaves out, or beside another grouping, when
    groups of one lie within groups of the other and few exams make the difference. Of two such groupings the finer,
    or the later, is named.

    Parameters
    ----------
    groups : (n exams, groupings), the group of each exam; missing where a grouping leaves the exam out.
    least : how many exams may be described.
    """
    disclosing = []
    kept: list[list[int]] = []
    members = {str(name): list_members(column) for name, column in groups.items()}
    for name, parts in sorted(members.items(), key=lambda item: len(item[1])):
        unions = list_unions(parts)
        if any(0 < part.bit_count() < least for part in parts) or any(
            _isolates(unions, other, least) for other in kept
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


def _isolates(mine: Sequence[int], theirs: Sequence[int], least: int) -> bool:
    """Tell whether a set of one lies within a set of the other, all but a few exams of it."""
    for a in mine:
        for b in theirs:
            if a & b in (a, b) and 0 < (a ^ b).bit_count() < least:
                return True
    return False
