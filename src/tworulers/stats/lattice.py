"""Scores that were recorded coarsely: the unit they lie on, and how their robust spread is kept off it."""

import numpy as np

from tworulers.schema.metric import DECIMALS
from tworulers.stats.types import FloatArray

UNITS = tuple(sorted((10.0**-d / parts for d in range(4) for parts in (1, 2, 3, 4)), reverse=True))
"""Units of record looked for: up to three decimals, and means of two, three or four such scores."""


def find_unit(values: FloatArray) -> float:
    """Find the coarsest unit that all distances between (n,) finite values are multiples of; NaN where none is."""
    if not len(values) or np.ptp(values) == 0:
        return float("nan")
    distance = values - values.min()
    for unit in UNITS:
        if np.abs(distance - unit * np.rint(distance / unit)).max() < 3 * 10.0**-DECIMALS:
            return unit
    return float("nan")


def spread_ties(values: FloatArray, unit: float, seed: int = 0) -> FloatArray:
    """Spread the values that tie on a lattice evenly over the unit that they stand for.

    A median absolute deviation of coarse values is itself a multiple of the unit, so that ratios of two have bounds of
    exactly 1 or infinity. Spread so it is that of values known more finely, if these are about even within a unit.

    Parameters
    ----------
    values : (n,) finite, multiples of `unit` apart.
    unit : of record; with NaN the values are returned as they are.
    seed : of the order in which tied values are spread.
    """
    if np.isnan(unit):
        return values
    place = np.rint((values - values.min()) / unit)
    shuffled = np.random.default_rng(seed).permutation(len(values))
    order = shuffled[np.argsort(place[shuffled], kind="stable")]
    _, first, count = np.unique(place[order], return_index=True, return_counts=True)
    within = np.arange(len(values)) - np.repeat(first, count)
    spread = np.empty(len(values))
    spread[order] = (within + 0.5) / np.repeat(count, count) - 0.5
    return np.asarray(values + unit * spread)
