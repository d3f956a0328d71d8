"""How far two rates lie apart at most, held against a margin: exact bounds of each, combined."""

from collections.abc import Callable

import numpy as np
from scipy import special

from tworulers.stats.types import BoolArray, FloatArray, IntArray

STEPS = 40
"""Halvings of the range of p, which leave 1e-12 of it."""


def bound_difference(
    rates: FloatArray, n: FloatArray, alpha: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Bound the difference of two rates, second minus first, each side at a one-sided level.

    Newcombe's hybrid (1998, method 10) of Clopper and Pearson's bounds instead of Wilson's: those of a group without
    any failure are too narrow for a one-sided claim (0 of 25 would exclude 10 %, which happens to 7 % of such groups).

    Parameters
    ----------
    rates : shares from 0 to 1, shape (..., 2).
    n : exams that either rest on, shape (..., 2); fewer than there are, and no whole number, where patients repeat.
    alpha : level of each bound, up to 0.5, shape (...).
    """
    count = rates * n
    tail = np.broadcast_to(np.asarray(alpha, dtype=np.float64)[..., None], count.shape)
    none, all_of = count <= 1e-9, count >= n - 1e-9
    low = special.betaincinv(np.where(none, 1.0, count), n - count + 1, tail)
    high = special.betaincinv(count + 1, np.where(all_of, 1.0, n - count), 1 - tail)
    down = rates - np.where(none, 0.0, low)
    up = np.where(all_of, 1.0, high) - rates
    difference = rates[..., 1] - rates[..., 0]
    return (
        np.asarray(difference - np.hypot(down[..., 1], up[..., 0])),
        np.asarray(difference + np.hypot(up[..., 1], down[..., 0])),
    )


def p_inside(rates: FloatArray, n: FloatArray, margin: float) -> FloatArray:
    """Give the p of a difference inside a margin, shape (...): the level at which the wider bound reaches it.

    Parameters
    ----------
    rates, n : as of `bound_difference`.
    margin : a difference of shares, above 0.
    """
    below = _invert(lambda alpha: bound_difference(rates, n, alpha)[1] >= margin, rates.shape[:-1])
    above = _invert(lambda alpha: bound_difference(rates, n, alpha)[0] <= -margin, rates.shape[:-1])
    return np.asarray(np.maximum(below, above))


def count_independent(units: IntArray) -> float:
    """Return how many exams that stand alone tell as much as these, n, if all exams of a patient fail together.

    Nothing but failures tells how much they go together, and a claim of few of them must not rest on a guess: Kish's
    number, n^2 / sum of squared exams a patient (1965).
    """
    _, count = np.unique(units, return_counts=True)
    return float(count.sum() ** 2 / (count**2).sum())


def _invert(reaches: Callable[[FloatArray], BoolArray], shape: tuple[int, ...]) -> FloatArray:
    """Find the largest alpha, (...), up to .5 at which a bound still reaches the margin; 1 where it does at .5."""
    low, high = np.zeros(shape), np.full(shape, 0.5)
    beyond = reaches(high)
    for _ in range(STEPS):
        middle = (low + high) / 2
        still = reaches(middle)
        low, high = np.where(still, middle, low), np.where(still, high, middle)
    return np.asarray(np.where(beyond, 1.0, high), dtype=np.float64)
