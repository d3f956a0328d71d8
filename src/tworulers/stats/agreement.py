"""How far two raters agree on the same exams: intraclass correlation, concordance, limits of agreement."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tworulers.schema.metric import DECIMALS
from tworulers.stats.dispersion import name_undefined
from tworulers.stats.types import FloatArray, IntArray

REACH = 1.96
"""Standard deviations from the mean difference to a limit of agreement (Bland and Altman 1986)."""

LEAST = 3
"""Exams, or patients, below which no agreement is given."""


@dataclass(frozen=True)
class Agreement:
    """How far two ratings of the same exams agree, each figure with its interval.

    Attributes
    ----------
    n, n_patients : exams, and patients where exams of one are not independent.
    icc : ICC(2,1), the share of the variance that is between exams, in absolute agreement of raters drawn from many.
    ccc : Lin's concordance, the correlation about the line of equal values.
    bias : mean difference, second minus first; the limits hold 95 % of differences if these are normal.
    undefined_because : why there are no figures, else None.
    """

    n: int
    n_patients: int
    icc: float
    icc_low: float
    icc_high: float
    ccc: float
    ccc_low: float
    ccc_high: float
    bias: float
    bias_low: float
    bias_high: float
    lower_limit: float
    lower_limit_low: float
    lower_limit_high: float
    upper_limit: float
    upper_limit_low: float
    upper_limit_high: float
    undefined_because: str | None


@dataclass(frozen=True)
class Moments:
    """Sums that every figure of agreement is made of; arrays of one shape for many samples at once."""

    n: FloatArray
    first: FloatArray
    second: FloatArray
    first_squared: FloatArray
    second_squared: FloatArray
    product: FloatArray

    def central(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums of squares of both ratings about their means, and of their products."""
        return (
            self.first_squared - self.first**2 / self.n,
            self.second_squared - self.second**2 / self.n,
            self.product - self.first * self.second / self.n,
        )


def measure_agreement(
    first: FloatArray, second: FloatArray, *, level: float = 0.95, patients: IntArray | None = None
) -> Agreement:
    """Measure how far two raters, or scores of one model under two references, agree exam by exam.

    Parameters
    ----------
    first, second : (n,) finite values of the same exams, in one unit.
    level : coverage of the intervals.
    patients : (n,) number of each exam's patient, 0 and up; None where every exam is a patient's only one.

    Notes
    -----
    With one exam a patient the intervals are: of the ICC by F (McGraw and Wong 1996), of Lin's concordance by Fisher's
    z (Lin 1989, 2000), of bias and limits by t (Bland and Altman 1986). Where a patient has several, all are by the
    jackknife over patients (of Fisher's z for the correlations), since no exam is then drawn alone.

    Source: Shrout and Fleiss 1979; Lin 1989; Bland and Altman 1986.

    Examples
    --------
    >>> import numpy as np
    >>> from tworulers.stats.agreement import measure_agreement
    >>> first = np.array([0.90, 0.85, 0.93, 0.70, 0.88, 0.95])
    >>> found = measure_agreement(first, first + np.array([0.01, 0.03, 0.02, 0.0, 0.02, 0.01]))
    >>> round(found.icc, 2), round(found.bias, 3)
    (0.98, 0.015)
    >>> round(found.lower_limit, 3), round(found.upper_limit, 3)
    (-0.006, 0.036)
    """
    n, units = len(first), len(first) if patients is None else len(np.unique(patients))
    varies = any(np.ptp(np.round(values, DECIMALS)) > 0 for values in (first, second) if n)
    because = "no_variation" if not varies else None
    if units < LEAST:
        because = f"fewer than {LEAST} patients"
    if because:
        nothing = name_undefined(Agreement)
        return Agreement(n=n, n_patients=units, **nothing, undefined_because=because)
    # Sums of squares lose digits far from zero.
    centre = (first.mean() + second.mean()) / 2
    parts = _list_parts(first - centre, second - centre)
    whole = Moments(*parts.sum(axis=1))
    if patients is None or units == n:
        bounds = _bound_by_exams(whole, level)
    else:
        bounds = _bound_by_patients(parts, patients, level)
    figures = {}
    for name, measure in FIGURES.items():
        figures[name] = float(measure(whole))
        figures[f"{name}_low"], figures[f"{name}_high"] = bounds[name]
    return Agreement(n=n, n_patients=units, **figures, undefined_because=None)


def _list_parts(first: FloatArray, second: FloatArray) -> FloatArray:
    """List what each exam adds to the sums, shape (6, n)."""
    return np.array([np.ones_like(first), first, second, first**2, second**2, first * second])


def _mean_squares(sums: Moments) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean squares between exams, between the two raters, and of what is left."""
    n = sums.n
    one, other, product = sums.central()
    between = (one + other + 2 * product) / (2 * (n - 1))
    left = (one + other - 2 * product) / (2 * (n - 1))
    return between, (sums.first - sums.second) ** 2 / (2 * n), left


def _icc(sums: Moments) -> FloatArray:
    between, raters, left = _mean_squares(sums)
    return np.asarray((between - left) / (between + left + 2 * (raters - left) / sums.n))


def _ccc(sums: Moments) -> FloatArray:
    one, other, product = sums.central()
    return np.asarray(2 * product / (one + other + (sums.first - sums.second) ** 2 / sums.n))


def _bias(sums: Moments) -> FloatArray:
    return np.asarray((sums.second - sums.first) / sums.n)


def _sd(sums: Moments) -> FloatArray:
    """Standard deviation of the differences."""
    return np.asarray(np.sqrt(np.maximum(2 * _mean_squares(sums)[2], 0.0)))


FIGURES: dict[str, Callable[[Moments], FloatArray]] = {
    "icc": _icc,
    "ccc": _ccc,
    "bias": _bias,
    "lower_limit": lambda sums: np.asarray(_bias(sums) - REACH * _sd(sums)),
    "upper_limit": lambda sums: np.asarray(_bias(sums) + REACH * _sd(sums)),
}

Bounds = dict[str, tuple[float, float]]


def _bound_by_exams(sums: Moments, level: float) -> Bounds:
    n, sd = float(sums.n), float(_sd(sums))
    t = float(stats.t.isf((1 - level) / 2, n - 1))
    bounds = {"icc": _bound_icc(sums, level), "ccc": _bound_ccc(sums, level)}
    for name, factor in (("bias", 1.0), ("lower_limit", 3.0), ("upper_limit", 3.0)):
        value, half = float(FIGURES[name](sums)), t * sd * (factor / n) ** 0.5
        bounds[name] = value - half, value + half
    return bounds


def _bound_icc(sums: Moments, level: float) -> tuple[float, float]:
    """Bound ICC(2,1) of two raters by F with approximate degrees of freedom (McGraw and Wong 1996)."""
    n, icc = float(sums.n), float(_icc(sums))
    between, raters, left = (float(one) for one in _mean_squares(sums))
    if left <= 0:
        # Ratings that differ by a constant leave nothing to compare with.
        return (icc, icc) if raters <= 0 else (float("nan"), float("nan"))
    ratio = raters / left
    exams = n * (1 + icc) - 2 * icc
    freedom = (n - 1) * (2 * icc * ratio + exams) ** 2
    freedom /= (n - 1) * 4 * icc**2 * ratio**2 + exams**2
    upper = float(stats.f.isf((1 - level) / 2, n - 1, freedom))
    lower = float(stats.f.isf((1 - level) / 2, freedom, n - 1))
    low = n * (between - upper * left) / (upper * (2 * raters + (n - 2) * left) + n * between)
    high = n * (lower * between - left) / (2 * raters + (n - 2) * left + n * lower * between)
    return low, high


def _bound_ccc(sums: Moments, level: float) -> tuple[float, float]:
    """Bound Lin's concordance by Fisher's z (Lin 1989, as corrected in 2000)."""
    n, c = float(sums.n), float(_ccc(sums))
    one, other, product = (float(part) for part in sums.central())
    if one * other <= 0 or abs(c) >= 1:
        return (c, c) if abs(c) >= 1 else (float("nan"), float("nan"))
    r = product / (one * other) ** 0.5
    if r == 0:
        return float("nan"), float("nan")
    shift = float((sums.first - sums.second) ** 2) / n / (one * other) ** 0.5
    variance = (1 - r**2) * c**2 / ((1 - c**2) * r**2)
    variance += 2 * c**3 * (1 - c) * shift / (r * (1 - c**2) ** 2)
    variance -= c**4 * shift**2 / (2 * r**2 * (1 - c**2) ** 2)
    half = float(stats.norm.isf((1 - level) / 2)) * (max(variance, 0.0) / (n - 2)) ** 0.5
    return float(np.tanh(np.arctanh(c) - half)), float(np.tanh(np.arctanh(c) + half))


def _bound_by_patients(parts: FloatArray, patients: IntArray, level: float) -> Bounds:
    """Bound every figure by its values without each patient in turn."""
    _, owner = np.unique(patients, return_inverse=True)
    own = np.array([np.bincount(owner, part) for part in parts])
    units, sums = own.shape[1], parts.sum(axis=1)
    whole, without = Moments(*sums), Moments(*(sums[:, None] - own))
    t = float(stats.t.isf((1 - level) / 2, units - 1))
    bounds = {}
    for name, measure in FIGURES.items():
        correlation = name in ("icc", "ccc")
        value, left_out = measure(whole), measure(without)
        if correlation:
            with np.errstate(divide="ignore"):
                value, left_out = (np.arctanh(np.clip(x, -1.0, 1.0)) for x in (value, left_out))
        with np.errstate(invalid="ignore"):
            squared = np.sum((left_out - left_out.mean()) ** 2)
            half = t * float(np.sqrt((units - 1) / units * squared))
        low, high = float(value) - half, float(value) + half
        bounds[name] = (float(np.tanh(low)), float(np.tanh(high))) if correlation else (low, high)
    return bounds
