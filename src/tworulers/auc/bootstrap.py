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

KINDS = 31
"""Groups' outcomes that are told apart by the bits of one number."""


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
    alone = np.array([units[0] for units in strata if units.size == 1], dtype=np.int64)
    strata = [units for units in strata if units.size > 1]
    cells = np.full((draws, side, side), np.nan)
    places = _place_events(sample)
    batch = max(1, min(draws, BATCH // max(size, 1)))
    for start in range(0, draws, batch):
        count = min(batch, draws - start)
        times = np.zeros((int(owner.max(initial=-1)) + 1, count))
        times[alone] = 1
        for units in strata:
            drawn = rng.integers(0, units.size, size=(count, units.size))
            drawn += units.size * np.arange(count)[:, None]
            tally = np.bincount(drawn.ravel(), minlength=count * units.size)
            times[units] = tally.reshape(count, units.size).T
        cells[start : start + count] = _weigh_cells(sample, places, times[owner])
    return cells


def _number(cluster: ArrayLike, sample: AucSample) -> IntArray:
    return np.asarray(pd.factorize(np.asarray(cluster, dtype=object)[sample.rows])[0])


def _list_strata(sample: AucSample, owner: IntArray) -> list[IntArray]:
    """List the units (rows or patients) that have rows of the same groups and outcomes."""
    kinds = (*sample.event_rows, *sample.non_event_rows)
    stratum = np.zeros(int(owner.max(initial=-1)) + 1, dtype=np.int64)
    for first in range(0, len(kinds), KINDS):
        key = np.zeros(stratum.size, dtype=np.int64)
        for place, rows in enumerate(kinds[first : first + KINDS]):
            key[owner[rows]] |= 1 << (KINDS - 1 - place)
        stratum = np.unique((stratum << KINDS) | key, return_inverse=True)[1].astype(np.int64)
    ends = np.cumsum(np.bincount(stratum))[:-1]
    return np.split(np.argsort(stratum, kind="stable"), ends)


def _place_events(sample: AucSample) -> list[tuple[IntArray, IntArray]]:
    """Count, for each group, its non-events below and up to the score of every event, each (events,) by group."""
    score = sample.score[np.concatenate(sample.event_rows)]
    found = []
    for rows in sample.non_event_rows:
        others = sample.score[rows]
        low, high = np.searchsorted(others, score, "left"), np.searchsorted(others, score, "right")
        found.append((low, high))
    return found


def _weigh_cells(
    sample: AucSample, places: list[tuple[IntArray, IntArray]], times: FloatArray
) -> FloatArray:
    """Compute the cells of every draw, each row counting as often as drawn (n, draws), shape (draws, K, K)."""
    sizes = np.array([rows.size for rows in sample.event_rows])
    there, draws = np.flatnonzero(sizes), times.shape[1]
    cells = np.full((draws, len(sizes), len(sizes)), np.nan)
    if not there.size:
        return cells
    starts = (np.cumsum(sizes) - sizes)[there]
    own = times[np.concatenate(sample.event_rows)]
    drawn = np.add.reduceat(own, starts, axis=0)
    for h, (others, (below, up_to)) in enumerate(zip(sample.non_event_rows, places, strict=True)):
        running = np.zeros((others.size + 1, draws))
        np.cumsum(times[others], axis=0, out=running[1:])
        wins = np.add.reduceat(own * (running[below] + running[up_to]), starts, axis=0) / 2
        pairs = drawn * running[-1]
        empty = np.full(pairs.shape, np.nan)
        cells[:, there, h] = np.divide(wins, pairs, out=empty, where=pairs > 0).T
    return cells
