"""How far groups lie apart: differences and ratios of a value by group, undefined as soon as one group is."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

DIFFERENCE, RATIO, EXTREMES = "difference", "ratio", "lowest over highest"
"""Contrasts of a pair of groups, and the ratio of the extremes of all of them, whose bounds allow for the choice."""

ABOUT = ("grouping", "model", "ruler", "structure", "metric")
"""Columns that say what a value by group is a value of, as far as a table has them."""

Row = dict[str, Any]


def list_keys(table: pd.DataFrame) -> list[str]:
    """Name the columns of a table that say what its values are of."""
    return [name for name in ABOUT if name in table]


def contrast_groups(
    by_group: pd.DataFrame,
    intervals: pd.DataFrame,
    of: str,
    contrast: str,
    reference: Mapping[str, str],
    *,
    skip_undefined: bool = False,
    pairs: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Contrast groups by one of their values: highest minus lowest, lowest over highest, or each with a reference.

    Parameters
    ----------
    by_group : one row a group: `group`, the columns of `ABOUT`, and the column `of`.
    intervals : contrasts with bounds: columns of `ABOUT`, `of`, `contrast`, `group`, `against`, `low`, `high`.
    of : the column that is contrasted.
    contrast : `difference` or `ratio`.
    reference : by grouping, the group that the others are contrasted with; groupings without one contrast extremes.
    skip_undefined : contrast the groups that have a value, whatever the others.
    pairs : contrast every two groups, the later one in order with the earlier, instead of extremes.

    Returns
    -------
    Indexed by what the value is of: `group`, `against`, `difference` or `ratio`, `low`, `high`. And a sentence for each
    contrast that is undefined, naming the groups. Extremes of more than two groups were chosen after the fact: their
    difference has no bounds; their ratio has those of the lowest over the highest, where there are any.
    """
    keys = list_keys(by_group)
    rows, faults = [], []
    for key, part in by_group.groupby(keys, sort=False, dropna=False):
        about: Row = dict(zip(keys, key, strict=True))
        values = {str(g): float(v) for g, v in zip(part["group"], part[of], strict=True)}
        known = {group: value for group, value in values.items() if np.isfinite(value)}
        asked = reference.get(about["grouping"])
        undefined = [group for group in values if group not in known]
        if (undefined and not skip_undefined) or len(known) < 2 or asked in undefined:
            what = ", ".join(str(about[name]) for name in keys)
            why = (
                f"no finite value in {', '.join(undefined)}"
                if undefined
                else "fewer than two groups"
            )
            mend = " (skip_undefined=True contrasts the others)" if len(known) > 1 else ""
            faults.append(f"{contrast} of {of} ({what}) is undefined: {why}{mend}")
            rows.append(about | {"group": "", "against": "", contrast: np.nan})
            continue
        bounded = _take_bounds(intervals, about, of, contrast)
        extremes = list(_take_bounds(intervals, about, of, EXTREMES).values())
        for group, against in _pair(known, asked, contrast, pairs):
            value = _contrast(known[group], known[against], contrast)
            row = about | {"group": group, "against": against, contrast: value}
            if asked is None and not pairs and contrast == RATIO and extremes:
                row |= extremes[0]
            elif asked is not None or pairs or len(values) == 2:
                row |= bounded.get((group, against), {})
            rows.append(row)
    columns = [*keys, "group", "against", contrast, "low", "high"]
    return pd.DataFrame(rows, columns=columns).set_index(keys), faults


def _pair(
    known: Mapping[str, float], reference: str | None, contrast: str, pairs: bool
) -> list[tuple[str, str]]:
    """List the pairs to contrast: each group with the reference, every two, or the two extremes."""
    if reference is not None:
        return [(group, reference) for group in known if group != reference]
    if pairs:
        return [(group, against) for against, group in combinations(known, 2)]
    first, *others = known
    lowest = min(known, key=known.__getitem__)
    highest = max((name for name in [*others, first] if name != lowest), key=known.__getitem__)
    return [(highest, lowest) if contrast == DIFFERENCE else (lowest, highest)]


def _contrast(value: float, against: float, contrast: str) -> float:
    if contrast == DIFFERENCE:
        return value - against
    # With a negative or no denominator a ratio is no share of anything.
    return value / against if against > 0 and value >= 0 else np.nan


def _take_bounds(
    intervals: pd.DataFrame, about: Row, of: str, contrast: str
) -> dict[tuple[str, str], dict[str, float]]:
    """Return the bounds of each pair, in both directions."""
    rows = intervals[(intervals["of"] == of) & (intervals["contrast"] == contrast)]
    for name, value in about.items():
        rows = rows[rows[name] == value]
    found = {}
    for row in rows[["group", "against", "low", "high"]].to_dict("records"):
        pair, low, high = (row["group"], row["against"]), row["low"], row["high"]
        found[pair] = {"low": low, "high": high}
        if contrast == DIFFERENCE:
            found[pair[::-1]] = {"low": -high, "high": -low}
        elif contrast == RATIO:
            found[pair[::-1]] = {"low": 1 / high, "high": 1 / low}
    return found
