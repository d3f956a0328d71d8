"""Score-type intervals of AUCs: the bounds are the true values at which the observed one would be just unlikely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import optimize, special

from tworulers.stats.types import FloatArray

ASSUMED_COUNT = 10.0
"""Placements that the assumed spread stands for beside the observed ones.

Fewer, and three events decide on their own spread; more, and a score that spreads more among events than among
non-events is never believed, however many there are.
"""

SAME = 1e-12
WIDEST = 1e60
FARTHEST = 30.0
"""Normal quantile beyond which a p is not told apart from 0."""


@dataclass(frozen=True)
class AucEvidence:
    """What the interval of an AUC rests on; numbers, or arrays of one shape for many AUCs at once.

    Attributes
    ----------
    value : the AUC.
    n_events, n_non_events : rows behind it.
    event_spread, non_event_spread : variance of the placements of events (non-events) over the one assumed.
    inflation : factor on the variance for rows of one patient.
    freedom : degrees of freedom of the variance.
    """

    value: FloatArray
    n_events: FloatArray
    n_non_events: FloatArray
    event_spread: FloatArray
    non_event_spread: FloatArray
    inflation: FloatArray
    freedom: FloatArray

    def variance(self, at: FloatArray) -> FloatArray:
        """Give the variance that the AUC would have if the true one were `at`."""
        return np.asarray(at * (1 - at) * self._variance_of_a_rate(at))

    def bounds(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Solve |value - at| = t sqrt(variance(at)) on both sides.

        Source: Newcombe 2006, method 5, of which the assumed variance is moved towards the observed one.
        """
        tail = (1 - level) / 2
        return self._solve(tail, upper=False), self._solve(tail, upper=True)

    def below(self, tail: float) -> FloatArray:
        """How far below the value the bound lies that leaves out `tail`."""
        return np.asarray(self.value - self._solve(tail, upper=False))

    def above(self, tail: float) -> FloatArray:
        """How far above the value the bound lies that leaves out `tail`."""
        return np.asarray(self._solve(tail, upper=True) - self.value)

    def normal_score(self, at: float) -> FloatArray:
        """Give the normal quantile of the value if the true AUC were `at`, inside (0, 1)."""
        t = (self.value - at) / np.sqrt(self.variance(np.asarray(at)))
        return np.asarray(np.sign(t) * -special.ndtri(special.stdtr(self.freedom, -np.abs(t))))

    def _variance_of_a_rate(self, at: FloatArray) -> FloatArray:
        """Variance over at * (1 - at): one over the number of trials of a rate that were as uncertain."""
        n1, n0 = self.n_events, self.n_non_events
        pairs = (n0 - 1) * self.event_spread + (n1 - 1) * self.non_event_spread
        return np.asarray(self.inflation * (1 + assumed_spread(at) * pairs) / (n1 * n0))

    def _solve(self, tail: float, *, upper: bool) -> FloatArray:
        """Iterate the bound of a rate, whose number of trials hardly moves with the bound."""
        # Beyond the widest quantile the bound is 0 to the last digit, and squares of it leave the range of numbers.
        squared = np.minimum(np.abs(special.stdtrit(self.freedom, tail)), WIDEST) ** 2
        start = 1 - self.value if upper else self.value
        if np.ndim(start) == 0:
            found = self._solve_one(float(start), float(squared), upper=upper)
            return np.asarray(1 - found if upper else found)
        bound = start
        for _ in range(200):
            c = squared * self._variance_of_a_rate(1 - bound if upper else bound)
            following = start**2 / (start + c / 2 + np.sqrt(c * start * (1 - start) + c**2 / 4))
            done = np.max(np.abs(following - bound)) < 1e-14
            bound = following
            if done:
                break
        return np.asarray(1 - bound if upper else bound)

    def _solve_one(self, start: float, squared: float, *, upper: bool) -> float:
        """Iterate one bound with numbers of Python, in a tenth of the time."""
        n1, n0, inflation = float(self.n_events), float(self.n_non_events), float(self.inflation)
        pairs = (n0 - 1) * float(self.event_spread) + (n1 - 1) * float(self.non_event_spread)
        bound = start
        for _ in range(200):
            at = 1 - bound if upper else bound
            spread = ((1 - at) / (2 - at) + at / (1 + at)) / 2
            c = squared * (inflation * (1 + spread * pairs) / (n1 * n0))
            below = start + c / 2 + sqrt(c * start * (1 - start) + c * c / 4)
            if below == 0:
                return float("nan")
            following = start * start / below
            done = abs(following - bound) < 1e-14
            bound = following
            if done:
                break
        return bound


def assumed_spread(at: FloatArray) -> FloatArray:
    """Variance of a placement over at * (1 - at), the same for events and non-events.

    Source: Hanley and McNeil 1982 (exponential scores), averaged over both sides as Newcombe 2006 does.
    """
    return np.asarray(((1 - at) / (2 - at) + at / (1 + at)) / 2)


def weigh_evidence(
    value: FloatArray,
    counts: tuple[FloatArray, FloatArray],
    variances: tuple[FloatArray, FloatArray],
    *,
    patients: tuple[FloatArray, FloatArray],
    inflation: FloatArray,
    estimated: bool = False,
) -> AucEvidence:
    """Move the assumed spread of placements towards the observed one, the further the more there are.

    Parameters
    ----------
    value : AUC.
    counts : numbers of events and of non-events.
    variances : the parts of DeLong's variance that events and non-events bring; NaN where one alone brings none.
    patients : numbers of independent units on both sides: as `counts` where every row is a patient.
    inflation : factor on the variance for rows of one patient.
    estimated : whether the inflation is itself an estimate, of as many degrees of freedom as there are patients.
    """
    assumed = value * (1 - value) * assumed_spread(value)
    spreads, freedoms = [], []
    for n, variance, units in zip(counts, variances, patients, strict=True):
        known = np.isfinite(variance) & (assumed > 0)
        ratio = np.divide(variance * n, assumed, out=np.ones_like(assumed), where=known)
        observed = np.where(known, n - 1, 0.0)
        spreads.append((ASSUMED_COUNT + observed * ratio) / (ASSUMED_COUNT + observed))
        freedoms.append((0.0 if estimated else ASSUMED_COUNT) + np.where(known, units - 1, 0.0))
    parts = [spread / n for spread, n in zip(spreads, counts, strict=True)]
    total = sum(part**2 / freedom for part, freedom in zip(parts, freedoms, strict=True))
    freedom = np.asarray((parts[0] + parts[1]) ** 2 / total)
    return AucEvidence(value, counts[0], counts[1], spreads[0], spreads[1], inflation, freedom)


def bound_difference(
    first: AucEvidence, second: AucEvidence, correlation: FloatArray | float, level: float
) -> tuple[FloatArray, FloatArray]:
    """Give the interval of `first` minus `second` from their own intervals.

    Source: Zou and Donner 2008 (MOVER), of correlated estimates.
    """
    tail = (1 - level) / 2
    difference = first.value - second.value
    low = difference - _join(first.below(tail), second.above(tail), correlation)
    return low, difference + _join(first.above(tail), second.below(tail), correlation)


def compare_pair(first: AucEvidence, second: AucEvidence, correlation: float) -> float:
    """Give the two-sided p of equal AUCs: one minus the level at which the interval would just touch 0."""
    difference = float(first.value - second.value)
    if abs(difference) < SAME:
        return 1.0
    upper, lower = (first, second) if difference > 0 else (second, first)

    def reach(z: float) -> float:
        tail = float(special.ndtr(-z))
        return float(_join(upper.below(tail), lower.above(tail), correlation)) - abs(difference)

    if reach(FARTHEST) <= 0:
        return 0.0
    return float(2 * special.ndtr(-optimize.brentq(reach, 0.0, FARTHEST, xtol=1e-10)))


def bound_ratio(
    first: AucEvidence, second: AucEvidence, correlation: float, level: float
) -> tuple[float, float]:
    """Give the interval of `first` over `second`: the ratios k at which that of first - k second touches 0.

    The upper bound is infinite where that of the second reaches 0.

    Source: Donner and Zou 2012.
    """
    tail = (1 - level) / 2
    a, b = float(first.value), float(second.value)

    def solve(own: float, other: float) -> tuple[float, float, float]:
        """Constant and leading coefficient of the quadratic, and half its linear one plus the root."""
        middle, constant, leading = (
            a * b - correlation * own * other,
            a**2 - own**2,
            b**2 - other**2,
        )
        return constant, leading, middle + max(middle**2 - constant * leading, 0.0) ** 0.5

    constant, _, beyond = solve(float(first.below(tail)), float(second.above(tail)))
    low = constant / beyond if beyond > 0 else 0.0
    _, leading, beyond = solve(float(first.above(tail)), float(second.below(tail)))
    return max(low, 0.0), beyond / leading if leading > SAME else float("inf")


def compare_all(evidence: Sequence[AucEvidence], correlation: FloatArray) -> tuple[float, float]:
    """Test that several AUCs are one: the least sum of squared normal scores over the common value, and its p.

    Parameters
    ----------
    evidence : of K AUCs.
    correlation : of the K estimates, shape (K, K).
    """
    values = [float(one.value) for one in evidence]
    if max(values) - min(values) < SAME:
        return 0.0, 1.0
    inverse = np.linalg.pinv(correlation)

    def distance(at: float) -> float:
        scores = np.array([float(one.normal_score(at)) for one in evidence])
        return float(scores @ inverse @ scores)

    within = (max(min(values), 1e-9), min(max(values), 1 - 1e-9))
    found = optimize.minimize_scalar(distance, bounds=within, method="bounded")
    return float(found.fun), float(special.chdtrc(len(values) - 1, found.fun))


def _join(first: FloatArray, second: FloatArray, correlation: FloatArray | float) -> FloatArray:
    squared = first**2 + second**2 - 2 * correlation * first * second
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))
