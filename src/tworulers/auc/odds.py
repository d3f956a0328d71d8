"""How far groups lie apart in who is selected at a threshold: equal opportunity and equalised odds."""

from collections.abc import Mapping
from enum import StrEnum
from itertools import combinations

import numpy as np
import pandas as pd

from tworulers.stats.clustered_rates import design_effect, difference_interval
from tworulers.stats.rates import bound_rate
from tworulers.stats.types import BoolArray, FloatArray, IntArray, Row

Estimate = tuple[float, float, float]


class Odds(StrEnum):
    """The differences by the names that the literature has for them."""

    OPPORTUNITY = "equal_opportunity_difference"
    FALSE_POSITIVE = "false_positive_rate_difference"
    EQUALIZED = "equalized_odds_difference"


def compare_odds(
    score: FloatArray,
    event: BoolArray,
    groups: pd.Series,
    thresholds: Mapping[str, float],
    units: IntArray,
    *,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compare how often the events, and the non-events, of every two groups are selected at a threshold.

    Parameters
    ----------
    score : (n,) in any unit; rows at or above the threshold are selected.
    event : (n,) the outcomes.
    groups : (n,) ordered categorical; missing is in no group.
    thresholds : by group; NaN where a group has none.
    units : (n,) whose each row is; rows of one person count as fewer, by the design effect.
    level : coverage of each interval.

    Returns
    -------
    One row a pair and difference: `metric`, `group`, `against`, `value`, `low`, `high`, `undefined_because`. The equal
    opportunity difference is the sensitivity of `group` less that of `against` (Hardt, Price and Srebro 2016), with
    Newcombe's (1998) interval; likewise the false positive rate. The equalised odds difference is the larger of the two
    without its sign; its interval is what both leave together, each of half the error, and reaches 0 where neither
    excludes it. The largest over all pairs is what `fairlearn` calls by these names.
    """
    names = [str(name) for name in groups.cat.categories]
    inside = [(groups == name).to_numpy() for name in groups.cat.categories]
    rows: list[Row] = []
    for a, b in combinations(range(len(names)), 2):
        about = {"group": names[a], "against": names[b]}
        both = [
            {
                wide: _rate_all(score, event, inside[k], thresholds[names[k]], units, asked)
                for wide, asked in ((False, level), (True, (1 + level) / 2))
            }
            for k in (a, b)
        ]
        because = _why_undefined(event, inside, (a, b), names, thresholds)
        found = [_subtract(both[0][False][side], both[1][False][side]) for side in (0, 1)]
        joint = [_subtract(both[0][True][side], both[1][True][side]) for side in (0, 1)]
        for metric, (value, low, high), reason in (
            (Odds.OPPORTUNITY, found[0], because[0]),
            (Odds.FALSE_POSITIVE, found[1], because[1]),
            (Odds.EQUALIZED, _take_larger(joint), because[0] or because[1]),
        ):
            row = {"metric": str(metric), **about, "value": value, "low": low, "high": high}
            rows.append(row | {"undefined_because": reason})
    columns = ["metric", "group", "against", "value", "low", "high", "undefined_because"]
    return pd.DataFrame(rows, columns=columns)


def _rate_all(
    score: FloatArray,
    event: BoolArray,
    inside: BoolArray,
    threshold: float,
    units: IntArray,
    level: float,
) -> tuple[Estimate, Estimate]:
    """Rate how often events, and non-events, of a group are selected."""
    found = []
    for among in (inside & event, inside & ~event):
        n = int(among.sum())
        if not n or np.isnan(threshold):
            found.append((np.nan, np.nan, np.nan))
            continue
        selected = score[among] >= threshold
        rate = float(selected.mean())
        counted = n / design_effect(selected, units[among])
        found.append((rate, *bound_rate(rate, counted, level)))
    return found[0], found[1]


def _subtract(first: Estimate, second: Estimate) -> Estimate:
    return (first[0] - second[0], *difference_interval(second, first))


def _take_larger(differences: list[Estimate]) -> Estimate:
    """Take the larger difference without its sign, and what intervals of both leave for it."""
    if np.isnan(differences).any():
        return np.nan, np.nan, np.nan
    # An interval that holds 0 reaches down to it.
    nearest = [max(low, -high, 0.0) for _, low, high in differences]
    farthest = [max(abs(low), abs(high)) for _, low, high in differences]
    return max(abs(value) for value, _, _ in differences), max(nearest), max(farthest)


def _why_undefined(
    event: BoolArray,
    inside: list[BoolArray],
    pair: tuple[int, int],
    names: list[str],
    thresholds: Mapping[str, float],
) -> tuple[str, str]:
    reasons: list[str] = []
    for outcome, what in ((event, "events"), (~event, "non-events")):
        lacking = [names[k] for k in pair if not (inside[k] & outcome).any()]
        unset = [names[k] for k in pair if np.isnan(thresholds[names[k]])]
        reason = f"no {what} in {', '.join(lacking)}" if lacking else ""
        reasons.append(reason or (f"no threshold for {', '.join(unset)}" if unset else ""))
    return reasons[0], reasons[1]
