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
    events = _measure_side(sample, table, owner, events=True)
    non_events = _measure_side(sample, table, owner, events=False)
    if owner is None:
        return AucCovariance(table, events.part + non_events.part, events, non_events)
    return AucCovariance(table, _covariance_of_clusters(sample, table, owner), events, non_events)


def _name_owners(sample: AucSample, cluster: ArrayLike) -> IntArray:
    """Number the clusters of the valid rows from 0."""
    names = pd.Series(np.asarray(cluster, dtype=object)[sample.rows])
    if names.isna().any():
        raise ValueError(f"{int(names.isna().sum())} rows name no cluster: every row needs one")
    return np.asarray(pd.factorize(names)[0], dtype=np.int64)


def _measure_side(
    sample: AucSample, matrix: AucMatrix, owner: IntArray | None, *, events: bool
) -> Side:
    side = len(matrix.groups)
    strata = sample.event_rows if events else sample.non_event_rows
    part = np.zeros((side, side, side, side))
    for k, rows in enumerate(strata):
        spread = _spread(_placements(sample, matrix, k, events=events), sample, rows)
        if events:
            part[k, :, k, :] += spread
        else:
            part[:, k, :, k] += spread
    sizes = np.array([_count_equal(sample, rows) for rows in strata])
    patients = (
        sizes if owner is None else np.array([np.unique(owner[rows]).size for rows in strata])
    )
    return Side(part.reshape(side**2, side**2), sizes, np.asarray(patients, dtype=np.float64))


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


def _covariance_of_clusters(sample: AucSample, matrix: AucMatrix, owner: IntArray) -> FloatArray:
    """Sum every row's influence on every cell within its cluster, then multiply the sums.

    Each side carries the root of its own small-sample factor, c1/(c1 - 1) of the clusters with events and c0/(c0 - 1)
    of those with non-events, so that clusters of one row give the covariance of rows. The cross term of events and
    non-events of one cluster thus carries the geometric mean of the two, where Obuchowski (1997) takes c/(c - 1) of
    all clusters: up to 4 % of the variance with a third of c clusters on one side, and nothing where each has both.
    """
    side = len(matrix.groups)
    strata = [
        (k, events, *_sum_by_owner(sample, matrix, owner, k, events=events))
        for events in (True, False)
        for k in range(side)
    ]
    found = np.zeros((side, side, side, side))
    place = np.full(int(owner.max(initial=-1)) + 1, -1)
    for k, events, owners, sums in strata:
        place[owners] = np.arange(owners.size)
        for other, others_events, others, theirs in strata:
            shared = place[others]
            both = shared >= 0
            together = sums[shared[both]].T @ theirs[both]
            lacking = min(owners.size, others.size) < 2
            _cells_of(found, k, events, other, others_events)[...] += (
                np.nan if lacking else together
            )
        place[owners] = -1
    return found.reshape(side**2, side**2)


def _cells_of(
    covariance: FloatArray, k: int, events: bool, other: int, others_events: bool
) -> FloatArray:
    """View what two strata bring to the covariance (K, K, K, K): the cells of the one, (K,), by those of the other."""
    if events:
        return covariance[k, :, other, :] if others_events else covariance[k, :, :, other]
    return covariance[:, k, other, :] if others_events else covariance[:, k, :, other]


def _sum_by_owner(
    sample: AucSample, matrix: AucMatrix, owner: IntArray, k: int, *, events: bool
) -> tuple[IntArray, FloatArray]:
    """Sum the influence of a stratum's rows on its K cells within clusters: which clusters, (m,), and sums, (m, K)."""
    rows = (sample.event_rows if events else sample.non_event_rows)[k]
    owners, unit = np.unique(owner[rows], return_inverse=True)
    centred = _placements(sample, matrix, k, events=events)
    if sample.weight is not None:
        centred = centred * sample.weight[rows][:, None]
    if owners.size > 1:
        centred *= np.sqrt(owners.size / (owners.size - 1)) / sample.total(rows)
    sums = np.zeros((owners.size, centred.shape[1]))
    np.add.at(sums, unit, centred)
    return owners, sums
