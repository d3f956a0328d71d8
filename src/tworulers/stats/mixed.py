"""A linear model with random effects, fitted by restricted maximum likelihood."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from tworulers.stats.types import FloatArray, IntArray

MOST = 1e3
"""Largest ratio of a random effect's standard deviation to the residual's."""


@dataclass(frozen=True)
class MixedFit:
    """What was fitted.

    Attributes
    ----------
    coefficients : fixed effects, (p,).
    covariance : of them, (p, p).
    residual_sd : within the first factor's levels.
    effect_sds : of the random effects, one a factor.
    criterion : -2 times the restricted log-likelihood.
    """

    coefficients: FloatArray
    covariance: FloatArray
    residual_sd: float
    effect_sds: tuple[float, ...]
    criterion: float


def fit_mixed(y: FloatArray, X: FloatArray, factors: Sequence[IntArray]) -> MixedFit:
    """Fit fixed effects and random intercepts (Laird and Ware 1982; profiled as in Bates et al. 2015).

    Parameters
    ----------
    y : response, (n,).
    X : design of full column rank, (n, p), p < n.
    factors : level of each exam, (n,), for every random intercept: one with many levels first.
        Without any this is least squares.
    """
    problem = _Problem(y, X, factors)
    theta = np.zeros(len(factors))
    if len(factors) == 1:
        grid = np.array([0.0, 0.1, 0.3, 0.6, 1.0, 1.8, 4.0, 10.0])
        best = int(np.argmin([problem.profile(np.array([one])) for one in grid]))
        bounds = grid[max(best - 1, 0)], grid[best + 1] if best + 1 < len(grid) else MOST
        found = optimize.minimize_scalar(
            lambda one: problem.profile(np.array([one])),
            bounds=bounds,
            method="bounded",
            options={"xatol": 1e-8},
        )
        theta = np.array([found.x])
    elif len(factors) > 1:
        result = optimize.minimize(
            problem.profile,
            np.full(len(factors), 0.5),
            method="L-BFGS-B",
            bounds=[(0.0, MOST)] * len(factors),
            options={"ftol": 1e-13, "gtol": 1e-8},
        )
        theta = result.x
    # A bounded search only nears the edge, on which no variance is an answer of its own.
    theta = np.array(min((theta, np.where(theta < 1e-3, 0.0, theta)), key=problem.profile))
    return problem.solve(theta)


class _Problem:
    """The restricted likelihood as a function of the effects' standard deviations over the residual's."""

    def __init__(self, y: FloatArray, X: FloatArray, factors: Sequence[IntArray]) -> None:
        self.n, self.p = X.shape
        self.together = np.column_stack([X, y])
        self.levels = [np.unique(factor, return_inverse=True)[1] for factor in factors]
        self.unit = self.levels[0] if factors else np.arange(self.n)
        self.sizes = np.bincount(self.unit).astype(np.float64)
        more = [np.eye(int(level.max()) + 1)[level] for level in self.levels[1:]]
        self.widths = [part.shape[1] for part in more]
        self.more = np.column_stack(more) if more else np.zeros((self.n, 0))
        everything = np.column_stack([self.together, self.more])
        summed = np.zeros((len(self.sizes), everything.shape[1]))
        np.add.at(summed, self.unit, everything)
        self.cross, self.summed = everything.T @ everything, summed

    def reduce(self, theta: FloatArray) -> tuple[FloatArray, float]:
        """Give (X, y)' V^-1 (X, y) and log |V| for V in units of the residual variance."""
        ratio = theta[0] ** 2 if len(theta) else 0.0
        shrink = ratio / (1 + ratio * self.sizes)
        inner = self.cross - (self.summed * shrink[:, None]).T @ self.summed
        log_determinant = float(np.log1p(ratio * self.sizes).sum())
        q = self.p + 1
        if not self.widths:
            return inner[:q, :q], log_determinant
        scale = np.repeat(theta[1:], self.widths)
        core = np.eye(len(scale)) + scale[:, None] * inner[q:, q:] * scale
        root = linalg.cholesky(core, lower=True)
        half = linalg.solve_triangular(root, scale[:, None] * inner[q:, :q], lower=True)
        log_determinant += 2 * float(np.log(np.diag(root)).sum())
        return inner[:q, :q] - half.T @ half, log_determinant

    def profile(self, theta: FloatArray) -> float:
        """Return -2 times the restricted log-likelihood at its best residual variance."""
        return self.solve(theta).criterion

    def solve(self, theta: FloatArray) -> MixedFit:
        """Solve for the fixed effects and the residual variance."""
        weighted, log_determinant = self.reduce(theta)
        gram, moment = weighted[:-1, :-1], weighted[:-1, -1]
        root = linalg.cho_factor(gram)
        coefficients = linalg.cho_solve(root, moment)
        freedom = self.n - self.p
        variance = max(float(weighted[-1, -1] - moment @ coefficients) / freedom, 1e-300)
        criterion = freedom * (np.log(2 * np.pi * variance) + 1) + log_determinant
        criterion += 2 * float(np.log(np.abs(np.diag(root[0]))).sum())
        inverse = linalg.cho_solve(root, np.eye(self.p))
        sd = float(np.sqrt(variance))
        return MixedFit(
            coefficients, variance * inverse, sd, tuple(sd * float(t) for t in theta), criterion
        )
