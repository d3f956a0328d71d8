"""How paired scores are drawn again: within groups with their pairs kept, or with the rulers
exchanged.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class SwapTest:
    """A statistic, and the share of random exchanges of the two rulers, exam by exam, that reach
    it.
    """

    statistic: float
    p: float
    null_sd: float
    draws: int


def summarise_null(observed: float, null: Floats) -> SwapTest:
    """Compare a statistic with its null draws: two-sided p = (1 + as extreme) / (draws + 1).

    Without a draw there is no p (NaN).
    """
    if len(null) == 0:
        return SwapTest(float(observed), np.nan, np.nan, 0)
    reached = int(np.sum(np.abs(null) >= abs(observed) - 1e-9))
    finite = null[np.isfinite(null)]
    return SwapTest(
        float(observed), (1 + reached) / (len(null) + 1), float(np.std(finite)), len(null)
    )


def draw_within_groups(
    codes: Integers, *, draws: int, rng: np.random.Generator, clusters: Integers | None = None
) -> list[Integers]:
    """Draw exams, or whole patients, with replacement within each group.

    Returns
    -------
    One (draws, width) array of exam indices a group; -1 pads draws of patients with fewer exams
    than the widest.
    """
    samples = []
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == code)
        if clusters is None:
            units = members[:, None]
        else:
            units = _stack_clusters(members, clusters[members])
        picked = units[rng.integers(0, len(units), size=(draws, len(units)))]
        samples.append(picked.reshape(draws, -1))
    return samples


def draw_exchanges(
    n: int, *, draws: int, rng: np.random.Generator, clusters: Integers | None = None
) -> NDArray[np.bool_]:
    """Draw (draws, n) fair coins, one an exam, or one a patient shared by all of the patient's
    exams.
    """
    unit = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    units = int(unit.max()) + 1
    width = -(-units // 8)
    coins = np.unpackbits(np.frombuffer(rng.bytes(draws * width), dtype=np.uint8)).view(np.bool_)
    return coins.reshape(draws, 8 * width)[:, unit]


def row_medians(values: Floats) -> Floats:
    """Return the median of each row of (rows, width) values, NaN left out; sorts, so faster than
    `numpy.nanmedian`.
    """
    ordered = np.sort(values, axis=1)
    counts = np.full(len(values), values.shape[1])
    if np.isnan(ordered[:, -1]).any():
        counts = counts - np.isnan(ordered).sum(axis=1)
    rows = np.arange(len(values))
    return np.asarray(0.5 * (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]))


def percentile_interval(draws: Floats, level: float) -> tuple[float, float]:
    """Return the equal-tailed interval of the draws as observed values (infinite ones rank, NaN are
    left out).
    """
    valid = np.sort(draws[~np.isnan(draws)])
    if len(valid) == 0:
        return np.nan, np.nan
    tail = (1 - level) / 2
    ranks = np.clip(
        np.ceil(np.array([tail, 1 - tail]) * len(valid)).astype(int) - 1, 0, len(valid) - 1
    )
    return float(valid[ranks[0]]), float(valid[ranks[1]])


def _stack_clusters(members: Integers, labels: Integers) -> Integers:
    _, unit = np.unique(labels, return_inverse=True)
    order = np.argsort(unit, kind="stable")
    sizes = np.bincount(unit)
    table = np.full((len(sizes), int(sizes.max())), -1, dtype=np.int64)
    column = np.arange(len(members)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table[unit[order], column] = members[order]
    return table
