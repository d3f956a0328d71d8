"""How far the groups of each pair are shifted, with intervals that hold together."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats

from tworulers.schema.metric import DECIMALS
from tworulers.stats.selection import median_of_ordered, order_differences
from tworulers.stats.types import FloatArray, IntArray

FEWEST = 3
"""Patients a group needs for an interval."""


@dataclass(frozen=True)
class PairShift:
    """The Hodges-Lehmann shift of two groups, second less first, with its simultaneous interval."""

    first: int
    second: int
    shift: float
    low: float
    high: float
    undefined_because: str | None = None


def shift_pairs(
    values: FloatArray, codes: IntArray, patients: IntArray, level: float = 0.95
) -> list[PairShift]:
    """Bound the shift of every pair of groups so that all intervals hold at once with the level.

    Parameters
    ----------
    values : scores, (n,), no NaN; infinite ones rank last.
    codes, patients : group and patient of each exam, (n,); every group 0 to k - 1 has exams.
    level : of all intervals together.

    Notes
    -----
    An interval holds the shifts that a rank test of the two groups does not reject (Hodges and
    Lehmann 1963). Its variance is Brunner and Munzel's (2000), of the groups moved onto each other,
    with what a patient adds summed, so that neither equal spreads nor independent exams are taken
    for granted. The critical value is the studentized range's with Satterthwaite's degrees of
    freedom, as in Games and Howell (1976), a variance of placements being surer than one of normal
    values.
    """
    k = int(codes.max()) + 1
    groups = [_Group(values[codes == g], *_number(patients[codes == g])) for g in range(k)]
    found = []
    for a, b in combinations(range(k), 2):
        x, y = groups[a], groups[b]
        count = len(x.values) * len(y.values)
        ordered = order_differences(y.values, x.values)
        shift = median_of_ordered(ordered, count)
        if min(x.patients, y.patients) < FEWEST:
            reason = f"a group has fewer than {FEWEST} patients"
            found.append(PairShift(a, b, shift, np.nan, np.nan, reason))
            continue
        error, freedom = _measure_error(x, y, shift if np.isfinite(shift) else 0.0)
        reach = _critical(level, k, freedom) * error
        place = int(np.floor(count * (0.5 - reach) + 0.5))
        bounds = (-np.inf, np.inf)
        if place >= 1:
            bounds = ordered(place - 1), ordered(count - place)
        found.append(PairShift(a, b, shift, *bounds))
    return found


@dataclass(frozen=True)
class _Group:
    """Scores of a group, (n,), the number of each one's patient, (n,), and of all patients."""

    values: FloatArray
    unit: IntArray
    patients: int


def _number(patients: IntArray) -> tuple[IntArray, int]:
    names, unit = np.unique(patients, return_inverse=True)
    return unit, len(names)


def _critical(level: float, k: int, freedom: float) -> float:
    if k == 2:
        return float(stats.t.ppf((1 + level) / 2, freedom))
    from statsmodels.stats.libqsturng import qsturng

    return float(qsturng(level, k, max(freedom, 2.0)) / np.sqrt(2))


def _measure_error(first: _Group, second: _Group, shift: float) -> tuple[float, float]:
    """Standard error of the share of pairs in which the second, less the shift, lies above the first, and its degrees
    of freedom.
    """
    x, y = np.round(first.values, DECIMALS), np.round(second.values - shift, DECIMALS)
    parts, people = [], []
    for mine, other, whose in ((x, y, first), (y, x, second)):
        ordered = np.sort(other)
        below, up_to = (np.searchsorted(ordered, mine, side) for side in ("left", "right"))
        placed = (below + up_to) / (2 * len(ordered))
        summed, m = np.bincount(whose.unit, weights=placed - placed.mean()), whose.patients
        parts.append(float(summed @ summed) * m / (m - 1) / len(mine) ** 2)
        people.append(m)
    total = sum(parts)
    if total <= 0:
        return 0.0, float(sum(people) - 2)
    # A placement is near uniform, whose sample variance is surer than that of normal values.
    certain = [2 * m / (1.8 - (m - 3) / (m - 1)) for m in people]
    freedom = total**2 / sum(part**2 / df for part, df in zip(parts, certain, strict=True))
    return float(np.sqrt(total)), float(freedom)
