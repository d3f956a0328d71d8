"""Which part of a change in the Kruskal-Wallis statistic is due to the gap, and which to the noise
of the other ruler?
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tworulers.schema.metric import DECIMALS
from tworulers.stats.draw import BLOCK, draw_exchanges
from tworulers.stats.groups import GroupedSample, group_means, group_medians
from tworulers.stats.permute import SwapTest, summarise_null
from tworulers.stats.ranks import compare_ranks, kruskal_h, kruskal_rows
from tworulers.stats.types import BoolArray, FloatArray, IntArray

MULTIPLIERS = np.round(np.arange(0, 5.005, 0.01), 2)
"""The grid on which the equivalent gap multiplier is looked for."""

ROWS_AT_A_TIME = 500
"""Most rows of ranks or coins in a block."""

RANKED = 10_000
"""Ranks up to which all that is made of some rows stays in the processor's cache."""


@dataclass(frozen=True)
class Decomposition:
    """H of the four tables that pair the gap of one ruler with the noise of one, their p, and the
    two parts. Each p is that of the audit's own rank test: Mann-Whitney's for two groups.

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


def decompose_h(sample: GroupedSample, *, location: str = "median") -> Decomposition:
    """Split H(other) - H(base) into a part made by the gap and a part made by the noise.

    Parameters
    ----------
    sample : scores (2, n) of the same exams, base first.
    location : `median` or `mean`, where a group is; one outlier can reverse a cell with means.

    Notes
    -----
    A table takes the group locations of one ruler and the residuals of a ruler, y = m + e. The
    parts average the two orders in which gap and noise can be exchanged (Shapley), so they always
    sum to the change of H.
    """
    locate = group_means if location == "mean" else group_medians
    at = locate(sample)[:, sample.codes]
    noise = sample.values - at
    tables = np.stack([at[gap] + noise[source] for gap, source in ((0, 0), (1, 0), (0, 1), (1, 1))])
    h = kruskal_of_values(tables, sample.codes)
    p = [compare_ranks(replace(sample, values=np.round(table, DECIMALS))).p for table in tables]
    cells = ("base_base", "other_base", "base_other", "other_other")
    figures = {f"h_{cell}": float(value) for cell, value in zip(cells, h, strict=True)}
    figures |= {f"p_{cell}": float(value) for cell, value in zip(cells, p, strict=True)}
    return Decomposition(
        **figures,
        delta_h=float(h[3] - h[0]),
        gap_part=float(0.5 * (h[1] - h[0] + h[3] - h[2])),
        noise_part=float(0.5 * (h[2] - h[0] + h[3] - h[1])),
    )


def find_equivalent_gap(sample: GroupedSample) -> float:
    """Return the smallest factor, 0 to 5 by .01, that makes the base ruler's gap reach the other
    ruler's H.

    Parameters
    ----------
    sample : scores (2, n) of the same exams, base first.

    Notes
    -----
    Group medians are stretched about the overall median, residuals kept. NaN if no factor on the
    grid is enough.
    """
    base, other = sample.values
    medians = group_medians(sample)[0, sample.codes]
    centre = np.median(base)
    wanted = kruskal_of_values(other[None], sample.codes)[0]
    rows = _rows_at_a_time(len(base))
    for factors in (MULTIPLIERS[at : at + rows] for at in range(0, len(MULTIPLIERS), rows)):
        stretched = centre + factors[:, None] * (medians - centre) + (base - medians)
        reached = kruskal_of_values(stretched, sample.codes) >= wanted - 1e-9
        if reached.any():
            return float(factors[np.argmax(reached)])
    return np.nan


def swap_rulers(sample: GroupedSample, *, draws: int, rng: np.random.Generator) -> SwapTest:
    """Test whether H(other) - H(base) is more than exchanging the rulers unit by unit (exam or
    patient) would give.

    Parameters
    ----------
    sample : scores (2, n) of the same exams, base first.
    draws : number of exchanges.
    rng : source of the draws.

    Notes
    -----
    Mid-ranks are taken within each ruler, exchanged with probability one half, and ranked again;
    two-sided.
    """
    doubled = np.stack([_double_ranks(side) for side in sample.values])
    # numbered without gaps, so that there is little to count in, and group by group
    order = np.argsort(sample.codes, kind="stable")
    levels = np.unique(doubled, return_inverse=True)[1].reshape(doubled.shape)[:, order]
    counts, sizes = np.bincount(levels.ravel()), np.bincount(sample.codes)
    sizes = sizes[sizes > 0]
    rows, few = _rows_at_a_time(len(order)), max(1, RANKED // len(order))
    null = []
    for start in range(0, draws, rows):
        block = min(rows, draws - start)
        exchange = draw_exchanges(sample.units, draws=block, rng=rng)[:, order]
        null += [
            _change_h(levels, counts, sizes, exchange[at : at + few]) for at in range(0, block, few)
        ]
    observed = _change_h(levels, counts, sizes, np.zeros((1, len(order)), dtype=np.bool_))
    return summarise_null(float(observed[0]), np.concatenate([np.empty(0), *null]))


def kruskal_of_values(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return the tie-corrected Kruskal-Wallis H of each row of (rows, n) values, 0 where a row does
    not vary.

    Values are rounded to nine decimals before they are ranked.
    """
    return kruskal_rows(stats.rankdata(np.round(values, DECIMALS), axis=1), codes)


def _double_ranks(values: FloatArray) -> NDArray[np.int32]:
    return np.asarray(2 * stats.rankdata(np.round(values, DECIMALS)), dtype=np.int32)


def _rows_at_a_time(n: int) -> int:
    """Choose how many rows of n ranks to hold; a multiple of four, so that blocks of coins go on in whole words."""
    return max(4, min(ROWS_AT_A_TIME, BLOCK // max(n, 1)) // 4 * 4)


def _change_h(
    levels: IntArray, counts: IntArray, sizes: IntArray, exchange: BoolArray
) -> FloatArray:
    """Give H of the second side less that of the first, (rows,), after the exams in question changed sides.

    Parameters
    ----------
    levels : doubled ranks of each side, (2, n), numbered from 0 and exams sorted by group.
    counts : of each level on both sides together.
    sizes : exams of each group, (K,).
    exchange : (rows, n).
    """
    rows, width = len(exchange), len(counts)
    offset = (np.arange(rows) * width)[:, None]
    first, second = (np.where(exchange, *pair) + offset for pair in (levels[::-1], levels))
    held = np.bincount(first.ravel(), minlength=rows * width).reshape(rows, width)
    # what one side does not hold of a level, the other does
    return _kruskal_of_counts(second, counts - held, sizes) - _kruskal_of_counts(first, held, sizes)


def _kruskal_of_counts(cells: IntArray, held: IntArray, sizes: IntArray) -> FloatArray:
    """H of each row of scores, given by their cells among the counts (rows, levels) of scores that tie.

    Small integers are ranked by counting: ten times faster than sorting every row, in whole numbers twice the ranks.
    """
    doubled = 2 * np.cumsum(held, axis=1) - held + 1
    starts = np.cumsum(sizes) - sizes
    sums = np.add.reduceat(np.take(doubled.ravel(), cells), starts, axis=1) / 2
    ties = np.einsum("ij,ij,ij->i", held, held, held)
    return kruskal_h(sums, sizes, (int(sizes.sum()) ** 3 - ties) / 12)
