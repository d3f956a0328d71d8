"""The AUC matrix of resampled rows or patients, as a check beside its intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tworulers.auc.matrix import AucSample
from tworulers.stats.types import FloatArray, IntArray

BATCH = 2_000_000
"""Multiplicities held at once."""


def bootstrap_matrices(
    sample: AucSample,
    *,
    draws: int,
    seed: int | Sequence[int],
    cluster: ArrayLike | None = None,
) -> FloatArray:
    """Draw rows, or patients with all their rows, and compute the cells each time.

    Rows are drawn within every group and outcome; patients among those with rows of the same groups and outcomes, which
    for one row a patient is the same.

    Parameters
    ----------
    sample : the stratified scores.
    draws : number of resampled matrices.
    seed : of this statistic's own random stream, one number or several.
    cluster : shape of the caller's arrays; rows of one cluster are drawn together.

    Returns
    -------
    Cells of every draw, shape (draws, K, K); NaN where a draw lacks events or non-events.

    Raises
    ------
    ValueError : the sample carries weights, for which this resampling is not defined.
    """
    if sample.weight is not None:
        raise ValueError("the bootstrap has no weights: use compute_covariance for weighted rows")
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    size, side = sample.score.size, len(sample.groups)
    owner = np.arange(size) if cluster is None else _number(cluster, sample)
    strata = _list_strata(sample, owner)
    cells = np.full((draws, side, side), np.nan)
    batch = max(1, min(draws, BATCH // max(size, 1)))
    for start in range(0, draws, batch):
        count = min(batch, draws - start)
        times = np.zeros((count, int(owner.max(initial=-1)) + 1))
        for units in strata:
            drawn = rng.integers(0, units.size, size=(count, units.size))
            drawn += units.size * np.arange(count)[:, None]
            tally = np.bincount(drawn.ravel(), minlength=count * units.size)
            times[:, units] = tally.reshape(count, units.size)
        cells[start : start + count] = _weigh_cells(sample, times[:, owner])
    return cells


def _number(cluster: ArrayLike, sample: AucSample) -> IntArray:
    return np.asarray(pd.factorize(np.asarray(cluster, dtype=object)[sample.rows])[0])


def _list_strata(sample: AucSample, owner: IntArray) -> list[IntArray]:
    """List the units (rows or patients) that have rows of the same groups and outcomes."""
    kinds = (*sample.event_rows, *sample.non_event_rows)
    has = np.zeros((int(owner.max(initial=-1)) + 1, len(kinds)), dtype=np.bool_)
    for kind, rows in enumerate(kinds):
        has[owner[rows], kind] = True
    _, stratum = np.unique(has, axis=0, return_inverse=True)
    return [np.flatnonzero(stratum == one) for one in np.unique(stratum)]


def _weigh_cells(sample: AucSample, times: FloatArray) -> FloatArray:
    """Compute the cells of every draw, each row counting as often as drawn, shape (draws, K, K)."""
    side = len(sample.groups)
    cells = np.full((len(times), side, side), np.nan)
    for h, others in enumerate(sample.non_event_rows):
        running = np.cumsum(times[:, others], axis=1)
        running = np.concatenate([np.zeros((len(times), 1)), running], axis=1)
        for g, rows in enumerate(sample.event_rows):
            own, score = times[:, rows], sample.score[others]
            left = np.searchsorted(score, sample.score[rows], side="left")
            right = np.searchsorted(score, sample.score[rows], side="right")
            wins = (own * (running[:, left] + running[:, right])).sum(axis=1) / 2
            pairs = own.sum(axis=1) * running[:, -1]
            cells[:, g, h] = np.divide(wins, pairs, out=cells[:, g, h].copy(), where=pairs > 0)
    return cells
