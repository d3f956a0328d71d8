"""How the cells of the AUC matrix vary together: DeLong's covariance, of rows and of patients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tworulers.auc.matrix import AucMatrix, AucSample, Stratum, compute_matrix
from tworulers.stats.types import FloatArray, IntArray


@dataclass(frozen=True)
class Side:
    """What the events (or the non-events) bring to the variance of every cell, and how many they are.

    Attributes
    ----------
    part : covariance of the cells as far as these rows bring it, each row for itself, shape (K*K, K*K).
    sizes : rows of each group, shape (K,); with weights the number of equal rows that tell as much.
    patients : patients of each group, shape (K,); as `sizes` where every row stands alone.
    """

    part: FloatArray
    sizes: FloatArray
    patients: FloatArray


@dataclass(frozen=True)
class _Summed:
    """The events (or non-events) of group `k`: which clusters have any, (m,), and what they add to K cells, (m, K)."""

    k: int
    events: bool
    owners: IntArray
    sums: FloatArray


@dataclass(frozen=True)
class AucCovariance:
    """The matrix with the covariance of its K*K cells, cell (g, h) at position g*K + h.

    Attributes
    ----------
    matrix : the cells.
    covariance : shape (K*K, K*K), of patients where a `cluster` was given, else of rows.
    events, non_events : the two sides of the rows.
    """

    matrix: AucMatrix
    covariance: FloatArray
    events: Side
    non_events: Side

    def cell_errors(self) -> FloatArray:
        """Standard error of every cell, shape (K, K)."""
        side = len(self.matrix.groups)
        variance = np.diagonal(self.covariance).reshape(side, side)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def compute_covariance(
    sample: AucSample, matrix: AucMatrix | None = None, *, cluster: ArrayLike | None = None
) -> AucCovariance:
    """Estimate the covariance of all cells from placement values.

    A cell's placement of an event is the weighted share of non-events it beats. Cells share an
    event side if they are in one row and a non-event side if they are in one column. A group with
    fewer than two events (non-events) has no variance in its row (column): NaN.

    Parameters
    ----------
    sample : the stratified scores.
    matrix : the cells of `sample`, computed here if not given.
    cluster : shape of the caller's arrays; rows of one cluster are not independent.

    Source: DeLong, DeLong and Clarke-Pearson 1988; for clusters Obuchowski 1997.
    """
    table = compute_matrix(sample) if matrix is None else matrix
    owner = None if cluster is None else _name_owners(sample, cluster)
    events, sums = _measure_side(sample, table, owner, events=True)
    non_events, others = _measure_side(sample, table, owner, events=False)
    if owner is None:
        return AucCovariance(table, events.part + non_events.part, events, non_events)
    covariance = _covariance_of_clusters([*sums, *others], len(table.groups))
    return AucCovariance(table, covariance, events, non_events)


def _name_owners(sample: AucSample, cluster: ArrayLike) -> IntArray:
    """Number the clusters of the valid rows from 0."""
    names = pd.Series(np.asarray(cluster, dtype=object)[sample.rows])
    if names.isna().any():
        raise ValueError(f"{int(names.isna().sum())} rows name no cluster: every row needs one")
    return np.asarray(pd.factorize(names)[0], dtype=np.int64)


def _measure_side(
    sample: AucSample, matrix: AucMatrix, owner: IntArray | None, *, events: bool
) -> tuple[Side, list[_Summed]]:
    """Measure one side, and with owners what each stratum adds to every one of them."""
    side = len(matrix.groups)
    strata = sample.event_rows if events else sample.non_event_rows
    part, sums = np.zeros((side, side, side, side)), []
    for k, rows in enumerate(strata):
        centred = _placements(sample, matrix, k, events=events)
        spread = _spread(centred, sample, rows)
        if events:
            part[k, :, k, :] += spread
        else:
            part[:, k, :, k] += spread
        if owner is not None:
            sums.append(_Summed(k, events, *_sum_by_owner(sample, centred, rows, owner)))
    sizes = np.array([_count_equal(sample, rows) for rows in strata])
    patients = (
        sizes if owner is None else np.array([np.unique(owner[rows]).size for rows in strata])
    )
    whole = part.reshape(side**2, side**2)
    return Side(whole, sizes, np.asarray(patients, dtype=np.float64)), sums


def _count_equal(sample: AucSample, rows: IntArray) -> float:
    """Number of rows of one weight that tell as much as these (Kish)."""
    if sample.weight is None or rows.size == 0:
        return float(rows.size)
    weight = sample.weight[rows]
    return float(weight.sum() ** 2 / (weight @ weight))


def _placements(sample: AucSample, matrix: AucMatrix, k: int, *, events: bool) -> FloatArray:
    """Centred placements of one stratum against every group of the other outcome, shape (n, K)."""
    own = sample.score[(sample.event_rows if events else sample.non_event_rows)[k]]
    others = sample.non_event_rows if events else sample.event_rows
    centre = matrix.cells[k, :] if events else matrix.cells[:, k]
    centred = np.full((own.size, len(others)), np.nan)
    for h, rows in enumerate(others):
        if rows.size == 0:
            continue
        stratum = Stratum.of(sample, rows)
        below = stratum.mass_below(own) / stratum.mass
        centred[:, h] = (below if events else 1 - below) - centre[h]
    return centred


def _spread(centred: FloatArray, sample: AucSample, rows: IntArray) -> FloatArray:
    """Covariance of the mean placement, with the n - 1 denominator."""
    size = rows.size
    if size < 2:
        return np.full((centred.shape[1], centred.shape[1]), np.nan)
    weighted = centred if sample.weight is None else centred * sample.weight[rows][:, None]
    mass = sample.total(rows)
    return np.asarray(weighted.T @ weighted * (size / (size - 1)) / mass**2)


def _covariance_of_clusters(strata: list[_Summed], side: int) -> FloatArray:
    """Sum every row's influence on every cell within its cluster, then multiply the sums.

    Each side carries the root of its own small-sample factor, c1/(c1 - 1) of the clusters with events and c0/(c0 - 1)
    of those with non-events, so that clusters of one row give the covariance of rows. The cross term of events and
    non-events of one cluster thus carries the geometric mean of the two, where Obuchowski (1997) takes c/(c - 1) of
    all clusters: up to 4 % of the variance with a third of c clusters on one side, and nothing where each has both.

    Two strata share few clusters, and touch a row or a column of cells each: no array of cells by clusters is formed.
    """
    found = np.zeros((side, side, side, side))
    last = max((int(one.owners.max(initial=-1)) for one in strata), default=-1)
    place = np.full(last + 1, -1)
    for position, one in enumerate(strata):
        place[one.owners] = np.arange(one.owners.size)
        for other in strata[position:]:
            shared = place[other.owners]
            both = shared >= 0
            together = one.sums[shared[both]].T @ other.sums[both]
            if min(one.owners.size, other.owners.size) < 2:
                together = np.full((side, side), np.nan)
            _cells_of(found, one, other)[...] += together
            if other is not one:
                _cells_of(found, other, one)[...] += together.T
        place[one.owners] = -1
    return found.reshape(side**2, side**2)


def _cells_of(covariance: FloatArray, one: _Summed, other: _Summed) -> FloatArray:
    """View what two strata bring to the covariance (K, K, K, K): the cells of the one, (K,), by those of the other."""
    mine = covariance[one.k] if one.events else covariance[:, one.k]
    return mine[:, other.k] if other.events else mine[:, :, other.k]


def _sum_by_owner(
    sample: AucSample, centred: FloatArray, rows: IntArray, owner: IntArray
) -> tuple[IntArray, FloatArray]:
    """Sum the influence of a stratum's rows on its K cells within clusters: which clusters, (m,), and sums, (m, K)."""
    owners, unit = np.unique(owner[rows], return_inverse=True)
    if sample.weight is not None:
        centred = centred * sample.weight[rows][:, None]
    if owners.size > 1:
        centred = centred * (np.sqrt(owners.size / (owners.size - 1)) / sample.total(rows))
    sums = np.zeros((owners.size, centred.shape[1]))
    np.add.at(sums, unit, centred)
    return owners, sums
