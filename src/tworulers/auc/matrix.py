"""How well a score ranks events above non-events, within and across groups: the AUC matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from tworulers.stats.types import BoolArray, FloatArray, IntArray

FEW = 10
"""Events or non-events of a group below which a cell is flagged."""

HALF = 0.5 - 1e-12
"""Below this a score ranks the wrong way round; rounding does not."""


@dataclass(frozen=True)
class AucSample:
    """Scores sorted by group and outcome: what every AUC computation starts from.

    Attributes
    ----------
    groups : names in the order in which effects are read.
    score : all valid scores, shape (n,).
    event : outcome of each valid row, shape (n,).
    weight : weight of each valid row, or None where every row counts once.
    rows : valid row's position in the caller's arrays, shape (n,).
    event_rows : per group, indices into `score` of its events, ascending in score.
    non_event_rows : the same for non-events.
    n_without_group : valid rows that name no group: in the overall value only.
    """

    groups: tuple[str, ...]
    score: FloatArray
    event: BoolArray
    weight: FloatArray | None
    rows: IntArray
    event_rows: tuple[IntArray, ...]
    non_event_rows: tuple[IntArray, ...]
    n_without_group: int

    def total(self, rows: IntArray) -> float:
        """Weight of some rows: their number where no weights were given."""
        return float(rows.size) if self.weight is None else float(self.weight[rows].sum())

    def rows_of(self, k: int) -> IntArray:
        """Indices into `score` of all rows of a group, ascending."""
        return np.sort(np.concatenate([self.event_rows[k], self.non_event_rows[k]]))

    def pooled(self) -> AucSample:
        """The sample with all valid rows in one group, those without a group included."""
        order = np.argsort(self.score)
        return replace(
            self,
            groups=("all",),
            event_rows=(order[self.event[order]],),
            non_event_rows=(order[~self.event[order]],),
            n_without_group=0,
        )


@dataclass(frozen=True)
class AucMatrix:
    """Cell (g, h): chance that an event of g outscores a non-event of h, ties one half.

    Attributes
    ----------
    groups : K names.
    cells : shape (K, K), rows are events, columns are non-events; NaN where undefined.
    n_events, n_non_events : rows behind each group, shape (K,).
    mass_events, mass_non_events : their weights (equal to the numbers without weights).
    overall : AUC over all rows that name a group: the pair-weighted sum of the cells.
    overall_all : AUC over all valid rows, those without a group included.
    no_variation : shape (K, K), true where all scores behind a cell are equal.
    n_without_group : rows that name no group: in `overall_all` only.
    """

    groups: tuple[str, ...]
    cells: FloatArray
    n_events: IntArray
    n_non_events: IntArray
    mass_events: FloatArray
    mass_non_events: FloatArray
    overall: float
    overall_all: float
    no_variation: BoolArray
    n_without_group: int = 0

    @property
    def event_shares(self) -> FloatArray:
        """Each group's share of all events, shape (K,)."""
        return _shares(self.mass_events)

    @property
    def non_event_shares(self) -> FloatArray:
        """Each group's share of all non-events, shape (K,)."""
        return _shares(self.mass_non_events)

    @property
    def pair_weights(self) -> FloatArray:
        """Share of all event/non-event pairs that a cell holds, shape (K, K)."""
        return np.outer(self.event_shares, self.non_event_shares)

    @property
    def within(self) -> FloatArray:
        """Within-group AUC of every group, shape (K,)."""
        return np.diagonal(self.cells).copy()

    @property
    def xauc1(self) -> FloatArray:
        """Events of g against all non-events, shape (K,)."""
        return _weigh_rows(self.cells, self.non_event_shares)

    @property
    def xauc0(self) -> FloatArray:
        """All events against the non-events of h, shape (K,)."""
        return _weigh_rows(self.cells.T, self.event_shares)

    def coefficients(self, g: int | None = None, h: int | None = None) -> FloatArray:
        """Weights, shape (K, K), that average the cells of events of g and non-events of h; None stands for all."""
        unit = np.eye(len(self.groups))
        events = self.event_shares if g is None else unit[g]
        non_events = self.non_event_shares if h is None else unit[h]
        counted = (events[:, None] != 0) & (non_events[None, :] != 0)
        return np.where(counted, np.outer(events, non_events), 0.0)

    def undefined_because(self, g: int, h: int) -> str:
        """Why cell (g, h) has no value; empty where it has one."""
        reasons = [
            f"no_events in {self.groups[g]}" if self.n_events[g] == 0 else "",
            f"no_non_events in {self.groups[h]}" if self.n_non_events[h] == 0 else "",
        ]
        return "; ".join(r for r in reasons if r)


def stratify_scores(
    score: ArrayLike,
    outcome: ArrayLike,
    group: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    group_order: Sequence[str] | None = None,
) -> AucSample:
    """Check scores, outcomes and groups, and sort them by group and outcome.

    Parameters
    ----------
    score : shape (n,), any real number; higher must mean more suspect, for every group alike.
    outcome : shape (n,), 1 event, 0 non-event, NaN unknown.
    group : shape (n,), names; blank or missing stays out of the matrix but in `overall_all`. An ordered categorical
        Series keeps its order.
    weight : shape (n,), positive sample weights.
    group_order : names in reading order; the categories' or sorted names where not given.

    Raises
    ------
    ValueError : lengths differ, an outcome is not 0 or 1, a weight is not positive, or `group_order`
        misses a group.
    """
    values = np.asarray(score, dtype=np.float64)
    outcomes = np.asarray(outcome)
    if outcomes.dtype != np.bool_:
        outcomes = outcomes.astype(np.float64)
    codes, groups = encode_groups(group, group_order)
    weights = None if weight is None else np.asarray(weight, dtype=np.float64)
    _refuse_bad_arrays(values, outcomes, codes, weights)

    valid = ~np.isnan(values)
    if outcomes.dtype != np.bool_:
        valid &= ~np.isnan(outcomes)
    rows = np.flatnonzero(valid)
    if rows.size < values.size:
        values, outcomes, codes = values[rows], outcomes[rows], codes[rows]
        weights = None if weights is None else weights[rows]
    event = outcomes.astype(np.bool_)
    stratum = codes * 2 + event
    return AucSample(
        groups=groups,
        score=values,
        event=event,
        weight=weights,
        rows=rows,
        event_rows=tuple(_sorted_rows(values, stratum, 2 * k + 1) for k in range(len(groups))),
        non_event_rows=tuple(_sorted_rows(values, stratum, 2 * k) for k in range(len(groups))),
        n_without_group=int((codes < 0).sum()),
    )


def measure_auc_matrix(
    y_true: ArrayLike,
    y_score: ArrayLike,
    group: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    group_order: Sequence[str] | None = None,
) -> AucMatrix:
    """Estimate, for every pair of groups, the chance that an event of one outscores a non-event of the other.

    The path from plain arrays: `stratify_scores`, then `compute_matrix`.

    Parameters
    ----------
    y_true : shape (n,), 1 event, 0 non-event, NaN unknown.
    y_score : shape (n,), any real number; higher must mean more suspect, for every group alike.
    group : shape (n,), names; blank or missing stays out of the matrix but in `overall_all`.
    sample_weight : shape (n,), positive.
    group_order : names in reading order; sorted names where not given.

    Raises
    ------
    ValueError : as `stratify_scores` does.
    """
    return compute_matrix(
        stratify_scores(y_score, y_true, group, weight=sample_weight, group_order=group_order)
    )


def compute_matrix(sample: AucSample) -> AucMatrix:
    """Compute the AUC of every pair of groups: events of one against non-events of the other.

    One sort and a search per pair, O(n log n) for a fixed number of groups; without weights the
    pair counts are exact integers. Undefined cells are NaN (`AucMatrix.undefined_because`).

    Source: Bamber 1975 (ties one half); Kallus and Zhou 2019 (cross-group AUC).
    """
    events = [Stratum.of(sample, rows) for rows in sample.event_rows]
    non_events = [Stratum.of(sample, rows) for rows in sample.non_event_rows]
    cells = np.array([[_share_of_wins(e, n) for n in non_events] for e in events])
    no_variation = np.array([[_is_constant(e, n) for n in non_events] for e in events])
    matrix = assemble_matrix(
        sample.groups,
        cells,
        mass_events=np.array([e.mass for e in events]),
        mass_non_events=np.array([n.mass for n in non_events]),
        n_events=np.array([e.score.size for e in events]),
        n_non_events=np.array([n.score.size for n in non_events]),
        no_variation=no_variation,
    )
    overall_all = matrix.overall
    if sample.n_without_group:
        pooled = sample.pooled()
        sides = (pooled.event_rows[0], pooled.non_event_rows[0])
        overall_all = _share_of_wins(*(Stratum.of(pooled, rows) for rows in sides))
    return replace(matrix, overall_all=overall_all, n_without_group=sample.n_without_group)


def assemble_matrix(
    groups: Sequence[str],
    cells: ArrayLike,
    *,
    mass_events: ArrayLike,
    mass_non_events: ArrayLike,
    n_events: ArrayLike | None = None,
    n_non_events: ArrayLike | None = None,
    no_variation: ArrayLike | None = None,
) -> AucMatrix:
    """Build a matrix from known cells and weights: published, exact or computed ones alike.

    The overall AUC is the sum of the cells weighted by event/non-event pairs, not by group sizes.
    Without `n_events` and `n_non_events` the masses stand for shares of one population, and
    the numbers only say which groups are empty.
    """
    table = np.asarray(cells, dtype=np.float64)
    mass1 = np.asarray(mass_events, dtype=np.float64)
    mass0 = np.asarray(mass_non_events, dtype=np.float64)
    n1 = (mass1 > 0).astype(np.int64) if n_events is None else np.asarray(n_events, dtype=np.int64)
    n0 = mass0 > 0 if n_non_events is None else n_non_events
    overall = float(_weigh_rows(_weigh_rows(table, _shares(mass0))[None, :], _shares(mass1))[0])
    constant = np.zeros(table.shape, dtype=np.bool_) if no_variation is None else no_variation
    return AucMatrix(
        groups=tuple(groups),
        cells=table,
        n_events=n1,
        n_non_events=np.asarray(n0, dtype=np.int64),
        mass_events=mass1,
        mass_non_events=mass0,
        overall=overall,
        overall_all=overall,
        no_variation=np.asarray(constant, dtype=np.bool_),
    )


def encode_groups(
    group: ArrayLike, group_order: Sequence[str] | None = None
) -> tuple[IntArray, tuple[str, ...]]:
    """Turn group names into codes 0..K-1, and -1 for missing or blank ones."""
    if group_order is None and isinstance(getattr(group, "dtype", None), pd.CategoricalDtype):
        group_order = list(pd.Series(group).cat.categories)
    codes, levels = pd.factorize(pd.Series(group).to_numpy(), use_na_sentinel=True)
    names = [str(level).strip() for level in levels]
    found = sorted({name for name in names if name})
    order = found if group_order is None else [str(name) for name in group_order]
    unknown = [name for name in found if name not in order]
    if unknown:
        raise ValueError(
            f"group_order {order} misses the groups {unknown}: add them, or blank them in the data"
        )
    positions = {name: k for k, name in enumerate(order)}
    lookup = np.array([positions.get(name, -1) for name in names] + [-1], dtype=np.int64)
    return lookup[codes], tuple(order)


@dataclass(frozen=True)
class Stratum:
    """Ascending scores of one group and outcome, with running weights where rows weigh."""

    score: FloatArray
    weight: FloatArray | None
    mass: float

    @classmethod
    def of(cls, sample: AucSample, rows: IntArray) -> Stratum:
        """Take rows that ascend in score."""
        weight = None if sample.weight is None else sample.weight[rows]
        return cls(sample.score[rows], weight, sample.total(rows))

    def mass_below(self, thresholds: FloatArray) -> FloatArray:
        """Weight strictly below each threshold plus half the weight at it."""
        left = np.searchsorted(self.score, thresholds, side="left")
        right = left.copy()
        # Only a threshold that is tied with a score needs the second search.
        tied = np.flatnonzero(self.score[np.minimum(left, self.score.size - 1)] == thresholds)
        right[tied] = np.searchsorted(self.score, thresholds[tied], side="right")
        if self.weight is None:
            return np.asarray(0.5 * (left + right), dtype=np.float64)
        running = np.concatenate([[0.0], np.cumsum(self.weight)])
        return np.asarray(0.5 * (running[left] + running[right]))


def _share_of_wins(events: Stratum, non_events: Stratum) -> float:
    if events.score.size == 0 or non_events.score.size == 0:
        return float("nan")
    # The smaller side asks, the larger one is searched: rare events make a search cheap.
    if events.score.size <= non_events.score.size:
        share = non_events.mass_below(events.score)
        wins = share.sum() if events.weight is None else share @ events.weight
        return float(wins / (events.mass * non_events.mass))
    share = events.mass_below(non_events.score)
    losses = share.sum() if non_events.weight is None else share @ non_events.weight
    return float((events.mass * non_events.mass - losses) / (events.mass * non_events.mass))


def _is_constant(events: Stratum, non_events: Stratum) -> bool:
    if events.score.size == 0 or non_events.score.size == 0:
        return False
    lowest = min(events.score[0], non_events.score[0])
    return bool(max(events.score[-1], non_events.score[-1]) == lowest)


def _sorted_rows(score: FloatArray, stratum: IntArray, wanted: int) -> IntArray:
    rows = np.flatnonzero(stratum == wanted)
    return rows[np.argsort(score[rows])]


def _shares(mass: FloatArray) -> FloatArray:
    total = mass.sum()
    share: FloatArray = np.full(mass.shape, np.nan)
    if total > 0:
        share[:] = mass / total
    return share


def _weigh_rows(cells: FloatArray, shares: FloatArray) -> FloatArray:
    """Weighted sum along each row; a cell of no weight does not count, even where it is NaN."""
    if np.isnan(shares).any():
        return np.full(cells.shape[0], np.nan)
    counted = shares > 0
    return np.asarray(cells[:, counted] @ shares[counted])


def _refuse_bad_arrays(
    score: FloatArray,
    outcome: NDArray[np.generic],
    codes: IntArray,
    weight: FloatArray | None,
) -> None:
    sizes = {"score": score.shape, "outcome": outcome.shape, "group": codes.shape}
    if weight is not None:
        sizes["weight"] = weight.shape
    if len(set(sizes.values())) > 1 or score.ndim != 1:
        raise ValueError(f"score, outcome, group and weight need one length; found {sizes}")
    if outcome.dtype != np.bool_:
        strange = outcome[~(np.isnan(outcome) | (outcome == 0) | (outcome == 1))]
        if strange.size:
            raise ValueError(
                f"outcome must be 0, 1 or missing; found {np.unique(strange)[:5].tolist()}: "
                "name the level that means an event"
            )
    if weight is not None and not (np.isfinite(weight).all() and (weight > 0).all()):
        raise ValueError("weights must be positive and finite; leave rows of weight 0 out")
