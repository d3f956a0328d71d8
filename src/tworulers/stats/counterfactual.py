"""Which part of a change in the Kruskal-Wallis statistic is due to the gap, and which to the noise
of the other ruler?
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.redraw import SwapTest, draw_exchanges, summarise_null
from tworulers.stats.spread import DECIMALS, locate_groups

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MULTIPLIERS = np.round(np.arange(0, 5.005, 0.01), 2)
"""The grid on which the equivalent gap multiplier is looked for."""

ROWS_AT_A_TIME = 500


@dataclass(frozen=True)
class Decomposition:
    """H of the four tables that pair the gap of one ruler with the noise of one, their p, and the
    two parts.

    `h_other_base` is the other ruler's gap under the base ruler's noise, `h_base_other` the
    reverse.
    """

    h_base_base: float
    h_other_base: float
    h_base_other: float
    h_other_other: float
    p_base_base: float
    p_other_base: float
    p_base_other: float
    p_other_other: float
    delta_h: float
    gap_part: float
    noise_part: float


def decompose_h(
    base: Floats, other: Floats, codes: Integers, *, location: str = "median"
) -> Decomposition:
    """Split H(other) - H(base) into a part made by the gap and a part made by the noise.

    Parameters
    ----------
    base, other : (n,) scores of the same exams under two rulers.
    codes : (n,) group of each exam, 0..K-1.
    location : `median` or `mean`, where a group is; one outlier can reverse a cell with means.

    Notes
    -----
    A table takes the group locations of one ruler and the residuals of a ruler, y = m + e. The
    parts average the two orders in which gap and noise can be exchanged (Shapley), so they always
    sum to the change of H.
    """
    at = [locate_groups(scores, codes, location)[codes] for scores in (base, other)]
    noise = [base - at[0], other - at[1]]
    tables = np.stack([at[gap] + noise[source] for gap, source in ((0, 0), (1, 0), (0, 1), (1, 1))])
    h = kruskal_rows(tables, codes)
    p = stats.chi2.sf(h, int(codes.max()))
    gap_part = 0.5 * (h[1] - h[0] + h[3] - h[2])
    noise_part = 0.5 * (h[2] - h[0] + h[3] - h[1])
    cells = ("base_base", "other_base", "base_other", "other_other")
    figures = {f"h_{cell}": float(value) for cell, value in zip(cells, h, strict=True)}
    figures |= {f"p_{cell}": float(value) for cell, value in zip(cells, p, strict=True)}
    return Decomposition(
        **figures,
        delta_h=float(h[3] - h[0]),
        gap_part=float(gap_part),
        noise_part=float(noise_part),
    )


def find_equivalent_gap(base: Floats, other: Floats, codes: Integers) -> float:
    """Return the smallest factor, 0 to 5 by .01, that makes the base ruler's gap reach the other
    ruler's H.

    Parameters
    ----------
    base, other : (n,) scores of the same exams.
    codes : (n,) group of each exam, 0..K-1.

    Notes
    -----
    Group medians are stretched about the overall median, residuals kept. NaN if no factor on the
    grid is enough.
    """
    medians = locate_groups(base, codes, "median")[codes]
    centre = np.median(base)
    stretched = centre + MULTIPLIERS[:, None] * (medians - centre) + (base - medians)
    reached = kruskal_rows(stretched, codes) >= kruskal_rows(other[None], codes)[0] - 1e-9
    return float(MULTIPLIERS[np.argmax(reached)]) if reached.any() else np.nan


def swap_rulers(
    base: Floats,
    other: Floats,
    codes: Integers,
    *,
    draws: int,
    rng: np.random.Generator,
    clusters: Integers | None = None,
) -> SwapTest:
    """Test whether H(other) - H(base) is more than exchanging the rulers exam by exam would give.

    Parameters
    ----------
    base, other : (n,) scores of the same exams.
    codes : (n,) group of each exam, 0..K-1.
    draws : number of exchanges.
    rng : source of the draws.
    clusters : (n,) patient of each exam; None exchanges exam by exam.

    Notes
    -----
    Mid-ranks are taken within each ruler, exchanged with probability one half, and ranked again;
    two-sided.
    """
    doubled = np.stack([_double_ranks(base), _double_ranks(other)])
    exchange = draw_exchanges(len(base), draws=draws, rng=rng, clusters=clusters)
    first = np.where(exchange, doubled[1], doubled[0])
    second = doubled.sum(axis=0) - first
    observed = _kruskal_of_integers(doubled, codes)
    null = _kruskal_of_integers(second, codes) - _kruskal_of_integers(first, codes)
    return summarise_null(float(observed[1] - observed[0]), null)


def kruskal_rows(values: Floats, codes: Integers) -> Floats:
    """Return the tie-corrected Kruskal-Wallis H of each row of (rows, n) values, 0 where a row does
    not vary.

    Values are rounded to nine decimals before they are ranked.
    """
    return _kruskal_of_ranks(stats.rankdata(np.round(values, DECIMALS), axis=1), codes)


def _kruskal_of_ranks(ranks: Floats, codes: Integers) -> Floats:
    n = ranks.shape[1]
    sizes = np.bincount(codes)
    member = np.zeros((n, len(sizes)))
    member[np.arange(n), codes] = 1.0
    centred = ranks - (n + 1) / 2
    between = ((centred @ member) ** 2 / sizes).sum(axis=1)
    # The variance of mid-ranks carries the tie correction by itself.
    total = np.einsum("ij,ij->i", centred, centred)
    return np.asarray(
        (n - 1) * np.divide(between, total, out=np.zeros(len(ranks)), where=total > 0)
    )


def _double_ranks(values: Floats) -> NDArray[np.int32]:
    return np.asarray(2 * stats.rankdata(np.round(values, DECIMALS)), dtype=np.int32)


def _kruskal_of_integers(values: NDArray[np.int32], codes: Integers) -> Floats:
    # Small integers are ranked by counting, and few rows at a time stay in the processor's cache:
    # ten times faster
    # than sorting every row.
    parts = [
        _count_ranks(values[start : start + ROWS_AT_A_TIME])
        for start in range(0, len(values), ROWS_AT_A_TIME)
    ]
    return np.concatenate([_kruskal_of_ranks(ranks, codes) for ranks in parts])


def _count_ranks(values: NDArray[np.int32]) -> Floats:
    rows, n = values.shape
    width = 2 * n + 1
    cells = values + (np.arange(rows) * width)[:, None]
    counts = np.bincount(cells.ravel(), minlength=rows * width).reshape(rows, width)
    ranks = np.cumsum(counts, axis=1) - (counts - 1) / 2
    return np.asarray(ranks.ravel()[cells])
