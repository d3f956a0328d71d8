"""What a sample excludes of a mean, whatever the tail: an interval that needs bounded values and nothing else."""

import numpy as np

from tworulers.stats.types import FloatArray, IntArray

AT_ONCE = 2_000_000
"""Weights drawn together, so that many exams fit into memory."""


def bound_mean(
    values: FloatArray,
    units: IntArray | None = None,
    *,
    low: float,
    high: float,
    level: float = 0.95,
    draws: int = 10_000,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Give an interval of the mean of a population whose values lie between two bounds, without assuming a shape.

    Parameters
    ----------
    values : (n,) finite values of exams.
    units : (n,) whose each is, where patients with several are drawn whole; None where each exam is its own.
    low, high : the least and the largest value there can be.
    level : coverage; each side keeps half of what is left.
    draws : of the weights.
    rng : source of chance.

    Returns
    -------
    The bounds; NaN without values.

    Raises
    ------
    ValueError : a value lies outside its bounds.

    Notes
    -----
    One value is added at the bound, all are weighted by the spacings of uniform draws, and the bound of the mean is a
    quantile of the weighted means (Gaffke 2005; Learned-Miller and Thomas 2019, who call it the bound by order
    statistics). No case of too little coverage is known. A patient counts with all exams, and the one that is added
    with as many as patients have on average.
    """
    if not len(values):
        return float("nan"), float("nan")
    if values.min() < low or values.max() > high:
        raise ValueError(
            f"values from {values.min():g} to {values.max():g}: expected {low:g} to {high:g}"
        )
    place = np.arange(len(values)) if units is None else np.unique(units, return_inverse=True)[1]
    exams = np.bincount(place).astype(np.float64)
    sums = np.bincount(place, weights=values)
    exams, sums = np.append(exams, exams.mean()), np.append(sums, 0.0)
    rows = max(1, AT_ONCE // len(exams))
    below, above = np.empty(draws), np.empty(draws)
    for start in range(0, draws, rows):
        part = slice(start, min(start + rows, draws))
        weights = rng.standard_exponential((part.stop - start, len(exams)))
        total, seen, unseen = weights @ exams, weights @ sums, weights[:, -1] * exams[-1]
        below[part] = (seen + low * unseen) / total
        above[part] = (seen + high * unseen) / total
    tail = (1 - level) / 2
    return float(np.quantile(below, tail)), float(np.quantile(above, 1 - tail))
