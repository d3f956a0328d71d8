"""How far the groups of each pair are shifted, with intervals that hold together."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats

from tworulers.schema.metric import DECIMALS
from tworulers.stats.selection import median_of_differences, quantile_of_differences
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
    found = []
    for a, b in combinations(range(k), 2):
        x, y = values[codes == a], values[codes == b]
        whose = patients[codes == a], patients[codes == b]
        shift = median_of_differences(y, x)
        if min(len(np.unique(one)) for one in whose) < FEWEST:
            reason = f"a group has fewer than {FEWEST} patients"
            found.append(PairShift(a, b, shift, np.nan, np.nan, reason))
            continue
        error, freedom = _measure_error(x, y - shift if np.isfinite(shift) else y, *whose)
        reach = _critical(level, k, freedom) * error
        count = len(x) * len(y)
        place = int(np.floor(count * (0.5 - reach) + 0.5))
        bounds = (-np.inf, np.inf)
        if place >= 1:
            ranks = place - 1, count - place
            bounds = (
                quantile_of_differences(y, x, ranks[0]),
                quantile_of_differences(y, x, ranks[1]),
            )
        found.append(PairShift(a, b, shift, *bounds))
    return found


def _critical(level: float, k: int, freedom: float) -> float:
    if k == 2:
        return float(stats.t.ppf((1 + level) / 2, freedom))
    from statsmodels.stats.libqsturng import qsturng

    return float(qsturng(level, k, max(freedom, 2.0)) / np.sqrt(2))


def _measure_error(
    x: FloatArray, y: FloatArray, of_x: IntArray, of_y: IntArray
) -> tuple[float, float]:
    """Standard error of the share of pairs in which y lies above x, and its degrees of freedom."""
    parts, people = [], []
    for mine, other, whose in ((x, y, of_x), (y, x, of_y)):
        ordered = np.sort(np.round(other, DECIMALS))
        here = np.round(mine, DECIMALS)
        below, up_to = (np.searchsorted(ordered, here, side) for side in ("left", "right"))
        placed = (below + up_to) / (2 * len(ordered))
        unit = np.unique(whose, return_inverse=True)[1]
        summed = np.bincount(unit, weights=placed - placed.mean())
        m = len(summed)
        parts.append(float(summed @ summed) * m / (m - 1) / len(mine) ** 2)
        people.append(m)
    total = sum(parts)
    if total <= 0:
        return 0.0, float(sum(people) - 2)
    # A placement is near uniform, whose sample variance is surer than that of normal values.
    certain = [2 * m / (1.8 - (m - 3) / (m - 1)) for m in people]
    freedom = total**2 / sum(part**2 / df for part, df in zip(parts, certain, strict=True))
    return float(np.sqrt(total)), float(freedom)
