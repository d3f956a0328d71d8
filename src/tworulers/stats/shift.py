"""How far one group's scores are shifted against another's, and whether the shift lies below or above a value.

The shift is Hodges and Lehmann's: the median of all differences between an exam of one group and one of the other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from tworulers.schema.metric import DECIMALS
from tworulers.stats.selection import median_of_differences
from tworulers.stats.types import FloatArray, IntArray

STEPS = 44
"""Halvings of the range of differences, which leave 1e-13 of it."""


SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


@dataclass(frozen=True)
class Shift:
    """The shift of a second group against a first, in the unit of the scores.

    Attributes
    ----------
    value : the median of the differences, second minus first; infinite where most are.
    low, high : bounds at the asked level; infinite where infinite scores leave a side open.
    p_below, p_above : one-sided p that the shift is not below the margin, and not above minus the margin.
    """

    value: float
    low: float
    high: float
    p_below: float
    p_above: float

    @property
    def p_inside(self) -> float:
        """Return the p of a shift inside the margin: the larger of both (Schuirmann 1987)."""
        return max(self.p_below, self.p_above)


@dataclass(frozen=True)
class _Pair:
    """Two groups of sorted scores, (n,) each, and the patient of each, numbered over both."""

    first: FloatArray
    second: FloatArray
    of_first: IntArray
    of_second: IntArray

    @property
    def clustered(self) -> bool:
        """Tell whether a patient has several exams."""
        units = np.concatenate([self.of_first, self.of_second])
        return len(np.unique(units)) < len(units)


def measure_shift(
    first: FloatArray,
    second: FloatArray,
    margin: float,
    alpha: float = 0.05,
    patients: tuple[IntArray, IntArray] | None = None,
) -> Shift:
    """Estimate the shift between two groups, with its interval at 1 - 2 alpha and the p of both sides of a margin.

    Bounds and p invert two tests, and the wider of both counts: Brunner and Munzel's (2000), which allows for unequal
    spread, its variance over patients where one has several exams; and Mann and Whitney's, which holds for few exams,
    its variance grown as much as patients grow the other's.

    Parameters
    ----------
    first, second : scores without NaN, shapes (n,) and (m,), at least two each; `inf` takes part as the largest.
    margin : in the unit of the scores, above 0; NaN asks for no p.
    alpha : one-sided level of each bound.
    patients : of the exams of either group, as numbers, (n,) and (m,); every exam is its own patient if None.

    Raises
    ------
    ValueError : a group has fewer than two exams.
    """
    if min(len(first), len(second)) < 2:
        raise ValueError(f"expected two exams a group, found {len(first)} and {len(second)}")
    pair = _sort_pair(first, second, patients)
    ends = _find_ends(pair)
    return Shift(
        round(median_of_differences(pair.second, pair.first), DECIMALS) + 0.0,
        _search(lambda at: _p_of_side(pair, at, 1.0) >= alpha, ends),
        _search(lambda at: _p_of_side(pair, at, -1.0) < alpha, ends),
        _p_of_side(pair, margin, -1.0),
        _p_of_side(pair, -margin, 1.0),
    )


def p_of_margin(
    first: FloatArray,
    second: FloatArray,
    margin: float,
    patients: tuple[IntArray, IntArray] | None = None,
) -> float:
    """Give the p of a shift inside a margin alone, as of `measure_shift`, which also bounds it."""
    pair = _sort_pair(first, second, patients)
    return max(_p_of_side(pair, margin, -1.0), _p_of_side(pair, -margin, 1.0))


def _sort_pair(
    first: FloatArray, second: FloatArray, patients: tuple[IntArray, IntArray] | None
) -> _Pair:
    n = len(first)
    units = np.arange(n + len(second)) if patients is None else np.concatenate(patients)
    units = np.unique(units, return_inverse=True)[1]
    order = np.argsort(first, kind="stable"), np.argsort(second, kind="stable")
    sorted_scores = np.round(first, DECIMALS)[order[0]], np.round(second, DECIMALS)[order[1]]
    return _Pair(*sorted_scores, units[:n][order[0]], units[n:][order[1]])


def _find_ends(pair: _Pair) -> tuple[float, float]:
    """Return two shifts beyond all finite differences."""
    finite = [part[np.isfinite(part)] for part in (pair.first, pair.second)]
    if not len(finite[0]) or not len(finite[1]):
        return -1.0, 1.0
    low, high = finite[1][0] - finite[0][-1], finite[1][-1] - finite[0][0]
    beyond = max(high - low, abs(low), abs(high), 1.0) * 1e-3
    return float(low - beyond), float(high + beyond)


def _place(pair: _Pair, shift: float) -> tuple[FloatArray, FloatArray]:
    """Share of the second group above each exam of the first moved by a shift, and of the moved below each second."""
    moved = np.round(pair.first + shift, DECIMALS)
    n, m = len(moved), len(pair.second)
    left, right = (pair.second.searchsorted(moved, side) for side in SIDES)
    under, upto = (moved.searchsorted(pair.second, side) for side in SIDES)
    return 1 - (left + right) / (2 * m), (under + upto) / (2 * n)


def _p_of_side(pair: _Pair, shift: float, side: float) -> float:
    """One-sided p that the shift is not above (`side` 1), or not below (-1), a value; NaN for NaN."""
    if np.isnan(shift):
        return float("nan")
    above, below = _place(pair, shift)
    n, m = len(above), len(below)
    share = float(above.mean())
    parts = above - share, below - share
    variance, freedom, growth = _spread_over_patients(pair, parts)
    distance = side * (share - 0.5)
    ranks = special.ndtr(-distance / np.sqrt(growth * (n + m + 1) / (12 * n * m)))
    if variance <= 0:
        return float(max(ranks, 1.0 if distance <= 0 else 0.0))
    return float(max(ranks, special.stdtr(freedom, -distance / np.sqrt(variance))))


def _spread_over_patients(
    pair: _Pair, parts: tuple[FloatArray, FloatArray]
) -> tuple[float, float, float]:
    """Variance of the share, its degrees of freedom, and how much larger patients make it than exams alone."""
    sizes = [len(part) for part in parts]
    alone = [float(part @ part) / (n * (n - 1)) for part, n in zip(parts, sizes, strict=True)]
    if not pair.clustered:
        return sum(alone), _satterthwaite(alone, [n - 1 for n in sizes]), 1.0
    of = pair.of_first, pair.of_second
    count = int(max(units.max() for units in of)) + 1
    patients = [len(np.unique(units)) for units in of]
    if min(patients) < 2:
        return float("inf"), 1.0, float("inf")
    sums = [
        np.bincount(units, weights=part, minlength=count) / n
        for units, part, n in zip(of, parts, sizes, strict=True)
    ]
    own = [float(s @ s) * u / (u - 1) for s, u in zip(sums, patients, strict=True)]
    shared = 2 * float(sums[0] @ sums[1]) * count / (count - 1)
    variance = max(sum(own) + shared, 0.0)
    widest = max(n / u for n, u in zip(sizes, patients, strict=True))
    growth = variance / sum(alone) if sum(alone) > 0 else widest
    return variance, _satterthwaite(own, [u - 1 for u in patients]), max(growth, 1.0)


def _satterthwaite(variances: list[float], freedom: list[int]) -> float:
    total = sum(v**2 / f for v, f in zip(variances, freedom, strict=True))
    return sum(variances) ** 2 / total if total > 0 else 1.0


def _search(reached: Callable[[float], bool], ends: tuple[float, float]) -> float:
    """Return the least shift between two ends that reaches something; infinite where it lies beyond them."""
    low, high = ends
    if reached(low):
        return -np.inf
    if not reached(high):
        return np.inf
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return round(high, DECIMALS) + 0.0
