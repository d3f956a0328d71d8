"""How uncertain the AUC matrix is: DeLong covariance of all cells, and a bootstrap as a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tworulers.stats.auc import AucMatrix, AucSample, compute_matrix

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A number with its uncertainty.

    Attributes:
        value: the estimate; `se` its standard error; `low` to `high` its interval.
        p: two-sided p of "the difference is 0"; NaN for a plain AUC.
        undefined_because: reason where `value` or its interval is NaN, else empty.
        degenerate: the standard error is 0, so the interval does not rest on it.
    """

    value: float
    se: float
    low: float
    high: float
    p: float
    undefined_because: str = ""
    degenerate: bool = False


@dataclass(frozen=True)
class AucCovariance:
    """The matrix with the covariance of its K*K cells, cell (g, h) at position g*K + h.

    `resampling_unit` is "row", or "cluster" where rows of one cluster (patient) were kept together.
    """

    matrix: AucMatrix
    covariance: FloatArray
    resampling_unit: str

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

    Parameters:
        sample: the stratified scores.
        matrix: the cells of `sample`, computed here if not given.
        cluster: shape of the caller's arrays; rows of one cluster are not independent.

    Source: DeLong, DeLong and Clarke-Pearson 1988; for clusters Obuchowski 1997.
    """
    table = compute_matrix(sample) if matrix is None else matrix
    if cluster is None:
        return AucCovariance(table, _covariance_of_rows(sample, table), "row")
    return AucCovariance(table, _covariance_of_clusters(sample, table, cluster), "cluster")


def estimate_overall(
    sample: AucSample, *, level: float, cluster: ArrayLike | None = None
) -> Estimate:
    """Give the AUC over all valid rows, whatever their group, with its interval.

    Group sizes are not held fixed here, so a group with one event does not undo the interval.
    """
    order = np.argsort(sample.score)
    pooled = replace(
        sample,
        groups=("all",),
        event_rows=(order[sample.event[order]],),
        non_event_rows=(order[~sample.event[order]],),
        n_without_group=0,
    )
    uncertain = compute_covariance(pooled, cluster=cluster)
    return estimate_auc(uncertain, np.ones((1, 1)), level=level)


def estimate_auc(uncertain: AucCovariance, coefficients: ArrayLike, *, level: float) -> Estimate:
    """Give a weighted mean of cells (a cell, an xAUC, the overall AUC) with a logit interval.

    The logit keeps the interval inside (0, 1). Where every pair is ordered alike the standard
    error is 0 and the bound is exact but wide: m disjoint pairs are all in order with chance A^m,
    hence A >= (alpha/2)^(1/m), m the smaller of the numbers of events and non-events (of a
    single cell; for a mean of cells a close approximation).

    Parameters:
        coefficients: shape (K, K), not negative, summing to 1.
        level: confidence level, such as 0.95.
    """
    weights = np.asarray(coefficients, dtype=np.float64)
    value, se, reason = _contrast(uncertain, weights)
    nan = float("nan")
    if reason or np.isnan(value):
        return Estimate(value, nan, nan, nan, nan, reason)
    tail = (1 - level) / 2
    if se == 0.0:
        low, high = _bound_perfect(uncertain.matrix, weights, value, tail)
        return Estimate(value, se, low, high, nan, "", degenerate=True)
    spread = stats.norm.isf(tail) * se / (value * (1 - value))
    centre = np.log(value / (1 - value))
    low, high = 1 / (1 + np.exp(-(centre - spread))), 1 / (1 + np.exp(-(centre + spread)))
    return Estimate(value, se, float(low), float(high), nan)


def estimate_difference(
    uncertain: AucCovariance, coefficients: ArrayLike, *, level: float
) -> Estimate:
    """Give a signed contrast of cells with its Wald interval and the p of "no difference".

    Equal constants on both sides give p = 1; a standard error of 0 with a difference gives no p.
    """
    weights = np.asarray(coefficients, dtype=np.float64)
    value, se, reason = _contrast(uncertain, weights)
    nan = float("nan")
    if reason or np.isnan(value):
        return Estimate(value, nan, nan, nan, nan, reason)
    if se == 0.0:
        touched = weights != 0
        constant = bool(uncertain.matrix.no_variation[touched].all())
        if constant and abs(value) < 1e-12:
            return Estimate(value, se, value, value, 1.0, "", degenerate=True)
        return Estimate(value, se, nan, nan, nan, "degenerate: standard error 0", degenerate=True)
    half = stats.norm.isf((1 - level) / 2) * se
    p = 2 * stats.norm.sf(abs(value) / se)
    return Estimate(value, se, value - half, value + half, float(p))


def bootstrap_matrices(sample: AucSample, *, draws: int, seed: int | Sequence[int]) -> FloatArray:
    """Draw rows with replacement within every group and outcome, and compute the cells each time.

    Parameters:
        draws: number of resampled matrices.
        seed: of this statistic's own random stream, one number or several.

    Returns:
        Cells of every draw, shape (draws, K, K).

    Raises:
        ValueError: the sample carries weights, for which this resampling is not defined.
    """
    if sample.weight is not None:
        raise ValueError("the bootstrap has no weights: use compute_covariance for weighted rows")
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    levels, position = np.unique(sample.score, return_inverse=True)
    side = len(sample.groups)
    batch = max(1, min(draws, 2_000_000 // (levels.size * max(side, 1))))
    cells = np.empty((draws, side, side))
    for start in range(0, draws, batch):
        size = min(batch, draws - start)
        events = [_draw_counts(rng, position[r], levels.size, size) for r in sample.event_rows]
        for h, rows in enumerate(sample.non_event_rows):
            drawn = _draw_counts(rng, position[rows], levels.size, size)
            below = np.cumsum(drawn, axis=1, dtype=np.float64) - 0.5 * drawn
            for g, event_counts in enumerate(events):
                pairs = sample.event_rows[g].size * rows.size
                wins = np.einsum("bu,bu->b", event_counts, below)
                cells[start : start + size, g, h] = wins / pairs if pairs else np.nan
    return cells


def percentile_interval(
    cells: FloatArray, coefficients: ArrayLike, *, level: float
) -> tuple[float, float]:
    """Percentile interval of a linear combination of bootstrapped cells."""
    weights = np.asarray(coefficients, dtype=np.float64)
    touched = weights != 0
    drawn = cells[:, touched] @ weights[touched]
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


def _contrast(uncertain: AucCovariance, weights: FloatArray) -> tuple[float, float, str]:
    matrix = uncertain.matrix
    touched = np.flatnonzero(weights.ravel())
    side = len(matrix.groups)
    missing = [matrix.undefined_because(int(t) // side, int(t) % side) for t in touched]
    reasons = list(dict.fromkeys(r for r in missing if r))
    if reasons:
        return float("nan"), float("nan"), "; ".join(reasons)
    chosen = weights.ravel()[touched]
    value = float(matrix.cells.ravel()[touched] @ chosen)
    variance = float(chosen @ uncertain.covariance[np.ix_(touched, touched)] @ chosen)
    if np.isnan(variance):
        return value, float("nan"), _name_singletons(matrix, touched)
    # Rounding leaves a variance of nothing at 1e-18 or so, and now and then below 0.
    return value, float(np.sqrt(variance)) if variance > 1e-16 else 0.0, ""


def _name_singletons(matrix: AucMatrix, touched: NDArray[np.intp]) -> str:
    side = len(matrix.groups)
    single = [
        f"one_event in {matrix.groups[t // side]}"
        for t in touched
        if matrix.n_events[t // side] == 1
    ]
    single += [
        f"one_non_event in {matrix.groups[t % side]}"
        for t in touched
        if matrix.n_non_events[t % side] == 1
    ]
    return "; ".join(dict.fromkeys(single)) or "fewer than two clusters"


def _bound_perfect(
    matrix: AucMatrix, weights: FloatArray, value: float, tail: float
) -> tuple[float, float]:
    rows, columns = np.nonzero(weights)
    events = int(matrix.n_events[np.unique(rows)].sum())
    non_events = int(matrix.n_non_events[np.unique(columns)].sum())
    bound = tail ** (1 / min(events, non_events))
    if value > 1 - 1e-12:
        return bound, 1.0
    if value < 1e-12:
        return 0.0, 1 - bound
    return value, value


def _covariance_of_rows(sample: AucSample, matrix: AucMatrix) -> FloatArray:
    side = len(matrix.groups)
    covariance = np.zeros((side, side, side, side))
    for k in range(side):
        row = _spread(_placements(sample, matrix, k, events=True), sample, sample.event_rows[k])
        column = _spread(
            _placements(sample, matrix, k, events=False), sample, sample.non_event_rows[k]
        )
        covariance[k, :, k, :] += row
        covariance[:, k, :, k] += column
    return covariance.reshape(side * side, side * side)


def _placements(sample: AucSample, matrix: AucMatrix, k: int, *, events: bool) -> FloatArray:
    """Centred placements of one stratum against every group of the other outcome, shape (n, K)."""
    own = sample.score[(sample.event_rows if events else sample.non_event_rows)[k]]
    others = sample.non_event_rows if events else sample.event_rows
    centre = matrix.cells[k, :] if events else matrix.cells[:, k]
    centred = np.full((own.size, len(others)), np.nan)
    for h, rows in enumerate(others):
        if rows.size == 0:
            continue
        scores = sample.score[rows]
        left, right = np.searchsorted(scores, own), np.searchsorted(scores, own, side="right")
        if sample.weight is None:
            below = 0.5 * (left + right) / rows.size
        else:
            running = np.concatenate([[0.0], np.cumsum(sample.weight[rows])])
            below = 0.5 * (running[left] + running[right]) / running[-1]
        centred[:, h] = (below if events else 1 - below) - centre[h]
    return centred


def _spread(centred: FloatArray, sample: AucSample, rows: NDArray[np.int64]) -> FloatArray:
    """Covariance of the mean placement, with the n - 1 denominator."""
    size = rows.size
    if size < 2:
        return np.full((centred.shape[1], centred.shape[1]), np.nan)
    weighted = centred if sample.weight is None else centred * sample.weight[rows][:, None]
    mass = sample.total(rows)
    return np.asarray(weighted.T @ weighted * (size / (size - 1)) / mass**2)


def _covariance_of_clusters(sample: AucSample, matrix: AucMatrix, cluster: ArrayLike) -> FloatArray:
    """Sum every row's influence on every cell within its cluster, then multiply the sums.

    The small-sample factor is that of the clusters in the stratum, so that clusters of one row
    give the covariance of rows.
    """
    names = pd.Series(np.asarray(cluster, dtype=object)[sample.rows])
    if names.isna().any():
        raise ValueError(f"{int(names.isna().sum())} rows name no cluster: every row needs one")
    codes, levels = pd.factorize(names)
    side = len(matrix.groups)
    influence = np.zeros((side, side, len(levels)))
    for k in range(side):
        for events in (True, False):
            rows = (sample.event_rows if events else sample.non_event_rows)[k]
            count = np.unique(codes[rows]).size
            target = influence[k, :, :] if events else influence[:, k, :]
            if count < 2:
                target[:] = np.nan
                continue
            centred = _placements(sample, matrix, k, events=events)
            if sample.weight is not None:
                centred = centred * sample.weight[rows][:, None]
            centred = centred * (np.sqrt(count / (count - 1)) / sample.total(rows))
            for h in range(side):
                target[h] += np.bincount(codes[rows], centred[:, h], minlength=len(levels))
    flat = influence.reshape(side * side, len(levels))
    return np.asarray(flat @ flat.T)


def _draw_counts(
    rng: np.random.Generator, position: NDArray[np.int64], n_levels: int, draws: int
) -> NDArray[np.int32]:
    """How often each distinct score is drawn from one stratum, shape (draws, n_levels)."""
    if position.size == 0:
        return np.zeros((draws, n_levels), dtype=np.int32)
    chosen = position[rng.integers(0, position.size, size=(draws, position.size))]
    offset = np.arange(draws)[:, None] * n_levels
    counts = np.bincount((chosen + offset).ravel(), minlength=draws * n_levels)
    return counts.reshape(draws, n_levels).astype(np.int32)
