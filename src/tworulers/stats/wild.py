"""Linear models of exams whose patients repeat: the wild cluster bootstrap, and its intervals."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tworulers.stats.types import FloatArray, IntArray

Weights = NDArray[np.float64] | NDArray[np.int8]

CHUNK = 4_000_000
"""Numbers held in memory at a time."""

MANY = 12
"""Patients from which signs alone are drawn (Rademacher's weights); below them, Webb's six."""

SIGNS = (-1.0, 1.0)
WEBB = tuple(sign * np.sqrt(size / 2) for sign in SIGNS for size in (1, 2, 3))

DOUBLINGS = 40
"""How often a bound of an interval is looked for twice as far away, and then halved towards."""

ALONE = 1 - 1e-9
"""Leverage from which a patient alone determines a coefficient."""


@dataclass(frozen=True)
class PatientFit:
    """What can be said of the coefficients of a linear model with patients as units.

    Attributes
    ----------
    errors : standard error of each coefficient, robust for patients (Liang and Zeger 1986; scaled by
        G / (G - 1) (n - 1) / (n - k) for G patients and k coefficients), shape (k,).
    p : of each coefficient being 0, shape (k,).
    low, high : interval of each coefficient, all values that p would not reject, shape (k,);
        infinite where no value on that side is rejected.
    joint_p : of all coefficients but the first being 0.
    weights : what residuals are multiplied with, `rademacher` or `webb`.
    draws : how many vectors of weights, all there are or as many as were asked for.
    undefined_because : why there is none of this, or None.
    """

    errors: FloatArray
    p: FloatArray
    low: FloatArray
    high: FloatArray
    joint_p: float
    weights: str
    draws: int
    undefined_because: str | None = None


def fit_by_patient(
    y: FloatArray,
    X: FloatArray,
    patients: IntArray,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
    only: int | None = None,
) -> PatientFit:
    """Test the coefficients of a least-squares fit by the wild cluster bootstrap.

    Residuals of the model under the null are multiplied by one weight a patient, and the statistic
    (robust for patients) is computed anew (Cameron, Gelbach and Miller 2008). Weights are
    Rademacher's from 12 patients on, Webb's (2014) six below; where there are no more vectors of
    them than `draws`, all are used. Intervals invert the test of each coefficient.

    Parameters
    ----------
    y : shape (n,).
    X : the first column is the intercept, shape (n, k), of full rank.
    patients : number of each exam's patient, shape (n,).
    draws : vectors of weights.
    rng : source of chance.
    level : of the intervals.
    only : position of the one coefficient that is asked for, the others and `joint_p` being NaN.
    """
    _, unit = np.unique(patients, return_inverse=True)
    count, k = int(unit.max()) + 1, X.shape[1]
    nothing = np.full(k, np.nan)
    scale = np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)
    # A long column must not hide a short one from the inverse; statistics do not feel the scale.
    X = np.asarray(X / scale)
    bread = np.asarray(np.linalg.inv(X.T @ X), dtype=np.float64)
    inner = np.zeros((count, k, k))
    np.add.at(inner, unit, X[:, :, None] * X[:, None, :])
    fault = "no draws were asked for" if draws < 1 else _name_fault(inner, bread)
    if fault:
        return PatientFit(nothing, nothing, nothing, nothing, np.nan, "", 0, fault)
    weights, name, complete = draw_weights(count, draws, rng)
    wanted = range(k) if only is None else (only,)
    found = np.full((4, k), np.nan)
    model = _Model(y, X, unit, bread, inner)
    for j in wanted:
        found[:, j] = _test_one(model, j, weights, complete, level)
    found[0] *= np.sqrt(count / (count - 1) * (len(y) - 1) / max(len(y) - k, 1))
    joint = _test_all(model, weights, complete) if only is None and k > 1 else np.nan
    found[[0, 2, 3]] /= scale
    errors, p, low, high = found
    return PatientFit(errors, p, low, high, joint, name, len(weights))


def draw_weights(count: int, draws: int, rng: np.random.Generator) -> tuple[Weights, str, bool]:
    """Draw one weight a patient, or list all vectors of weights where they are few.

    Returns
    -------
    The weights, (draws, count), signs as one byte each, their name, and whether they are all there
    are.
    """
    signs = np.array(SIGNS, dtype=np.int8)
    name, values = ("rademacher", signs) if count >= MANY else ("webb", np.array(WEBB))
    if count * np.log(len(values)) <= np.log(draws):
        return np.array(list(product(values, repeat=count)), dtype=values.dtype), name, True
    chosen = rng.integers(0, len(values), size=(draws, count), dtype=np.int8)
    return values[chosen], name, False


@dataclass(frozen=True)
class _Model:
    y: FloatArray
    X: FloatArray
    unit: IntArray
    bread: FloatArray
    inner: FloatArray

    def sum(self, values: FloatArray) -> FloatArray:
        """Sum values (n,) or (n, m) over the exams of each patient."""
        total = np.zeros((len(self.inner), *values.shape[1:]))
        np.add.at(total, self.unit, values)
        return total


def _name_fault(inner: FloatArray, bread: FloatArray) -> str | None:
    """Say why patients cannot be the units of a model, or None."""
    count, k = inner.shape[:2]
    if count <= k + 1:
        return f"{count} patients for {k - 1} regressors"
    if np.linalg.eigvals(inner @ bread).real.max() > ALONE:
        return "one patient alone determines a coefficient"
    return None


def _test_all(model: _Model, weights: Weights, complete: bool) -> float:
    """Test by Wald's statistic that all coefficients but the intercept are 0."""
    residual = model.y - model.y.mean()
    score = model.sum(model.X * residual[:, None])
    count, k = score.shape
    walds = []
    for weight in (np.ones((1, count)), *_split(weights, count * k)):
        moved = (weight @ score) @ model.bread
        left = weight[:, :, None] * score - np.einsum("gij,dj->dgi", model.inner, moved)
        left = left @ model.bread[:, 1:]
        spread = np.einsum("dgi,dgj->dij", left, left)
        inverse = np.linalg.pinv(spread, hermitian=True)
        walds.append(np.einsum("di,dij,dj->d", moved[:, 1:], inverse, moved[:, 1:]))
    observed, drawn = float(walds[0][0]), np.concatenate(walds[1:])
    return _share(int((drawn >= observed * (1 - 1e-9)).sum()), len(drawn), complete)


def _test_one(
    model: _Model, j: int, weights: Weights, complete: bool, level: float
) -> tuple[float, float, float, float]:
    """Give the unscaled standard error of one coefficient, its p, and its interval.

    Every part of the statistic under the null that the coefficient is b is linear in b, so that the
    draws are made once for all b.
    """
    y, X, bread = model.y, model.X, model.bread
    others = np.delete(X, j, axis=1)
    share = X @ bread[j]
    pull = model.sum(share[:, None] * X)
    estimate = float(share @ y)
    fitted = model.sum(share * (y - X @ (bread @ (X.T @ y))))
    error = float(np.sqrt(fitted @ fitted))
    parts, sums = [], []
    for values in (y, X[:, j]):
        residual = values - others @ np.linalg.lstsq(others, values, rcond=None)[0]
        parts.append(model.sum(share * residual))
        sums.append(model.sum(X * residual[:, None]) @ bread)
    left = [np.concatenate([part[:, None] * pull for part in parts], axis=1), *sums]
    wide = np.column_stack([*parts, *left])
    found = np.concatenate([weight @ wide for weight in _split(weights, len(wide))])
    tops, k = found.T[:2], X.shape[1]
    crossed, moved = (
        (found[:, 2 + at : 2 + at + k], found[:, 2 + at + k : 2 + at + 2 * k]) for at in (0, 2 * k)
    )
    inner = pull.T @ pull
    squares = []
    for g, h in ((0, 0), (0, 1), (1, 1)):
        own = [weight**2 @ (parts[g] * parts[h]) for weight in _split(weights, len(wide))]
        both = np.einsum("di,di->d", crossed[g], moved[h])
        both += np.einsum("di,di->d", crossed[h], moved[g])
        squares.append(
            np.concatenate(own) - both + np.einsum("di,ij,dj->d", moved[g], inner, moved[h])
        )

    def p_of(b: float) -> float:
        top = tops[0] - b * tops[1]
        below = squares[0] - 2 * b * squares[1] + b * b * squares[2]
        reached = top**2 * error**2 >= (estimate - b) ** 2 * below * (1 - 1e-9)
        return _share(int(reached.sum()), len(reached), complete)

    low, high = (_bound(p_of, estimate, side * error, 1 - level) for side in (-1, 1))
    return error, p_of(0.0), low, high


def _split(weights: Weights, width: int) -> Iterator[FloatArray]:
    """Give the weights some draws at a time, each of which takes so many numbers."""
    step = max(1, CHUNK // width)
    for start in range(0, len(weights), step):
        yield weights[start : start + step].astype(np.float64)


def _bound(p_of: Callable[[float], float], estimate: float, step: float, alpha: float) -> float:
    """Find where p falls to alpha, going from the estimate by steps that double."""
    inside, outside = estimate, estimate + step
    if step == 0:
        return estimate
    for _ in range(DOUBLINGS):
        if p_of(outside) < alpha:
            break
        inside, outside = outside, estimate + 2 * (outside - estimate)
    else:
        return float(np.copysign(np.inf, step))
    for _ in range(DOUBLINGS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if p_of(middle) < alpha else (middle, outside)
    return inside


def _share(reached: int, draws: int, complete: bool) -> float:
    """Share of draws as extreme as the data, which are one of them where they are all there are."""
    return reached / draws if complete else (1 + reached) / (1 + draws)
