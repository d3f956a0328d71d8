"""How unequal a score's ranking is between groups: every AUC fairness metric, each appraised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from tworulers.stats.auc import FEW, AucMatrix
from tworulers.stats.auc_intervals import (
    AucCovariance,
    Estimate,
    estimate_auc,
    estimate_difference,
)
from tworulers.stats.auc_uses import APPRAISALS, AucMetric

FloatArray = NDArray[np.float64]
NAN = float("nan")


@dataclass(frozen=True)
class _Row:
    metric: AucMetric
    group_a: str
    group_b: str
    value: float
    estimate: Estimate
    flags: str = ""


def tabulate_cells(uncertain: AucCovariance, *, level: float) -> pd.DataFrame:
    """List the matrix: one row a cell, with its pairs, weight, interval and flags.

    Columns: events_of, non_events_of, auc, se, low, high, n_events, n_non_events, n_pairs, weight,
    remarks, undefined_because.
    """
    matrix = uncertain.matrix
    rows = []
    for g, h in np.ndindex(matrix.cells.shape):
        estimate = estimate_auc(uncertain, _cell(matrix, g, h), level=level)
        n1, n0 = int(matrix.n_events[g]), int(matrix.n_non_events[h])
        rows.append(
            {
                "events_of": matrix.groups[g],
                "non_events_of": matrix.groups[h],
                "auc": estimate.value,
                "se": estimate.se,
                "low": estimate.low,
                "high": estimate.high,
                "n_events": n1,
                "n_non_events": n0,
                "n_pairs": n1 * n0,
                "weight": matrix.pair_weights[g, h],
                "remarks": _flags(matrix, [g], [h], estimate),
                "undefined_because": estimate.undefined_because,
            }
        )
    return pd.DataFrame(rows)


def measure_fairness(uncertain: AucCovariance, *, level: float) -> pd.DataFrame:
    """Compute every metric for each pair of groups, and the largest over all pairs.

    One row a metric and pair (or group). `signed` is the first group minus the second, in the
    order of the groups, and carries the interval and p; `value` is what the metric is defined as
    (an absolute difference, the smaller over the larger). Rows whose group_a is "max" hold the
    largest difference (for the ratio the smallest) over the pairs that are defined; such an
    extreme has no interval of its own.

    Columns: metric, group_a, group_b, value, signed, se, low, high, p, better, remarks,
    undefined_because, appraisal, why.

    Source: the metrics of Kallus and Zhou 2019 (xAUC), Beutel et al. 2019 (pairwise), Luo et al.
    2024 (equity-scaled); appraisals are ours.
    """
    rows = [*_pair_rows(uncertain, level), *_group_rows(uncertain, level)]
    rows += list(_scalar_rows(uncertain, rows))
    return pd.DataFrame(
        [
            {
                "metric": str(row.metric),
                "group_a": row.group_a,
                "group_b": row.group_b,
                "value": row.value,
                "signed": row.estimate.value,
                "se": row.estimate.se,
                "low": row.estimate.low,
                "high": row.estimate.high,
                "p": row.estimate.p,
                "better": _name_better(row),
                "remarks": row.flags,
                "undefined_because": row.estimate.undefined_because,
                "appraisal": str(APPRAISALS[row.metric].appraisal),
                "why": APPRAISALS[row.metric].why,
            }
            for row in rows
        ]
    )


def compare_within_groups(tables: Mapping[str, AucCovariance], *, level: float) -> pd.DataFrame:
    """Test signed within-group parity for every pair of every grouping, as one family.

    Adds a row a grouping (group_a "all") with the chi-square test that all its groups are ranked
    equally well, adjusted over the groupings. A test that cannot be computed keeps its reason
    and stays out of the family; the family's size stands in `family_size`. The z-test of a pair
    with fewer than ten events in a group rejects too often and is remarked on.

    Columns: grouping, group_a, group_b, n_groups, difference, se, statistic, p, p_fdr, family,
    family_size, remarks, undefined_because.

    Source: Benjamini and Hochberg 1995.
    """
    rows: list[dict[str, object]] = []
    for grouping, uncertain in tables.items():
        rows += _parity_tests(grouping, uncertain, level)
    frame = pd.DataFrame(rows)
    frame["p_fdr"] = NAN
    frame["family_size"] = 0
    for _, index in frame.groupby("family").groups.items():
        p = frame.loc[index, "p"].astype(float)
        valid = p.index[p.notna()]
        frame.loc[index, "family_size"] = len(valid)
        if len(valid):
            frame.loc[valid, "p_fdr"] = stats.false_discovery_control(p[valid].to_numpy())
    return frame


def describe_overall(matrix: AucMatrix) -> str:
    """Say in words where the overall AUC lies among the within-group ones, and why."""
    within = matrix.within
    defined = np.flatnonzero(~np.isnan(within))
    if np.isnan(matrix.overall) or defined.size == 0:
        return "The overall AUC cannot be set beside within-group values: one side is undefined."
    share = float(np.trace(matrix.pair_weights))
    low = defined[np.argmin(within[defined])]
    high = defined[np.argmax(within[defined])]
    span = (
        f"{within[low]:.4f} ({matrix.groups[low]})"
        if low == high
        else f"{within[low]:.4f} ({matrix.groups[low]}) to "
        f"{within[high]:.4f} ({matrix.groups[high]})"
    )
    between = f"{1 - share:.1%} of the event/non-event pairs join different groups"
    if matrix.overall < within[low] - 1e-12 or matrix.overall > within[high] + 1e-12:
        side = "below" if matrix.overall < within[low] else "above"
        return (
            f"The overall AUC {matrix.overall:.4f} lies {side} the within-group values ({span}): "
            f"it is no mean of them, for {between}."
        )
    return (
        f"The overall AUC {matrix.overall:.4f} lies among the within-group values ({span}); "
        f"{between}, so it need not."
    )


def _pair_rows(uncertain: AucCovariance, level: float) -> Iterator[_Row]:
    matrix = uncertain.matrix
    contrasts: dict[AucMetric, Callable[[int, int], FloatArray]] = {
        AucMetric.WITHIN_DIFFERENCE: lambda a, b: _cell(matrix, a, a) - _cell(matrix, b, b),
        AucMetric.CROSS_DIFFERENCE: lambda a, b: _cell(matrix, a, b) - _cell(matrix, b, a),
        AucMetric.XAUC1_DIFFERENCE: lambda a, b: _xauc1(matrix, a) - _xauc1(matrix, b),
        AucMetric.XAUC0_DIFFERENCE: lambda a, b: _xauc0(matrix, a) - _xauc0(matrix, b),
    }
    for a, b in combinations(range(len(matrix.groups)), 2):
        for metric, contrast in contrasts.items():
            estimate = estimate_difference(uncertain, contrast(a, b), level=level)
            flags = _flags(matrix, [a, b], [a, b], estimate)
            yield _row(matrix, metric, a, b, abs(estimate.value), estimate, flags)
        ratio = _within_ratio(uncertain, a, b, level)
        smaller = min(ratio.value, 1 / ratio.value) if ratio.value > 0 else ratio.value
        flags = _flags(matrix, [a, b], [a, b], ratio)
        yield _row(matrix, AucMetric.WITHIN_RATIO, a, b, smaller, ratio, flags)


def _within_ratio(uncertain: AucCovariance, a: int, b: int, level: float) -> Estimate:
    """First within-group AUC over the second, with the interval of its logarithm."""
    matrix = uncertain.matrix
    first, second = matrix.cells[a, a], matrix.cells[b, b]
    both = estimate_difference(uncertain, _cell(matrix, a, a) - _cell(matrix, b, b), level=level)
    if np.isnan(first) or np.isnan(second):
        return Estimate(NAN, NAN, NAN, NAN, NAN, both.undefined_because)
    if second == 0.0:
        return Estimate(NAN, NAN, NAN, NAN, NAN, f"AUC 0 in {matrix.groups[b]}")
    ratio = float(first / second)
    if first == 0.0 or not both.se > 0:
        reason = both.undefined_because or ("AUC 0" if first == 0.0 else "degenerate")
        return Estimate(ratio, NAN, NAN, NAN, NAN, reason, both.degenerate)
    scaled = _cell(matrix, a, a) / first - _cell(matrix, b, b) / second
    error = estimate_difference(uncertain, scaled, level=level).se
    half = stats.norm.isf((1 - level) / 2) * error
    p = float(2 * stats.norm.sf(abs(np.log(ratio)) / error))
    return Estimate(ratio, ratio * error, ratio * np.exp(-half), ratio * np.exp(half), p)


def _group_rows(uncertain: AucCovariance, level: float) -> Iterator[_Row]:
    matrix = uncertain.matrix
    for g in range(len(matrix.groups)):
        x1 = estimate_auc(uncertain, _xauc1(matrix, g), level=level)
        x0 = estimate_auc(uncertain, _xauc0(matrix, g), level=level)
        gap = estimate_difference(uncertain, matrix.pair_weights - _cell(matrix, g, g), level=level)
        flags1 = _flags(matrix, [g], [], x1)
        flags0 = _flags(matrix, [], [g], x0)
        yield _row(matrix, AucMetric.XAUC1, g, None, x1.value, x1, flags1)
        yield _row(matrix, AucMetric.XAUC0, g, None, x0.value, x0, flags0)
        flags = _flags(matrix, [g], [g], gap)
        yield _row(matrix, AucMetric.GAP_TO_OVERALL, g, None, abs(gap.value), gap, flags)


def _scalar_rows(uncertain: AucCovariance, rows: Iterable[_Row]) -> Iterator[_Row]:
    matrix = uncertain.matrix
    known = list(rows)
    extremes: dict[AucMetric, float] = {}
    pairwise = (
        AucMetric.WITHIN_DIFFERENCE,
        AucMetric.WITHIN_RATIO,
        AucMetric.CROSS_DIFFERENCE,
        AucMetric.XAUC1_DIFFERENCE,
        AucMetric.XAUC0_DIFFERENCE,
    )
    for metric in pairwise:
        values = [row.value for row in known if row.metric == metric and not np.isnan(row.value)]
        worst = min if metric == AucMetric.WITHIN_RATIO else max
        extremes[metric] = worst(values) if values else NAN
        reason = "" if values else "no pair of groups has both values"
        yield _Row(metric, "max", "", extremes[metric], _plain(extremes[metric], reason))
    within = matrix.within[~np.isnan(matrix.within)]
    lowest = float(within.min()) if within.size else NAN
    parity = matrix.overall / (1 + extremes[AucMetric.WITHIN_DIFFERENCE])
    gaps = matrix.overall / (1 + np.abs(matrix.overall - within).sum()) if within.size else NAN
    none = "" if within.size else "no group has a within-group AUC"
    no_pair = "" if not np.isnan(parity) else "no pair of groups has both values"
    yield _Row(AucMetric.EQUITY_SCALED_PARITY, "all", "", parity, _plain(parity, no_pair))
    yield _Row(AucMetric.EQUITY_SCALED_GAPS, "all", "", float(gaps), _plain(float(gaps), none))
    yield _Row(AucMetric.MINIMUM, "all", "", lowest, _plain(lowest, none))


def _parity_tests(grouping: str, uncertain: AucCovariance, level: float) -> list[dict[str, object]]:
    matrix = uncertain.matrix
    rows: list[dict[str, object]] = []
    estimates = {}
    for a, b in combinations(range(len(matrix.groups)), 2):
        difference = _cell(matrix, a, a) - _cell(matrix, b, b)
        estimate = estimate_difference(uncertain, difference, level=level)
        estimates[a, b] = estimate
        rows.append(
            {
                "grouping": grouping,
                "group_a": matrix.groups[a],
                "group_b": matrix.groups[b],
                "n_groups": 2,
                "difference": estimate.value,
                "se": estimate.se,
                "statistic": estimate.value / estimate.se if estimate.se > 0 else NAN,
                "p": estimate.p,
                "family": "pairs",
                "remarks": _flags(matrix, [a, b], [a, b], estimate),
                "undefined_because": estimate.undefined_because,
            }
        )
    return [*rows, _omnibus_test(grouping, uncertain)]


def _omnibus_test(grouping: str, uncertain: AucCovariance) -> dict[str, object]:
    """Chi-square test that the within-group AUCs are equal, of the groups with enough rows.

    On the logit scale, and without groups of fewer than ten events or non-events: with three events
    the plain test rejects a true null in one case of four.
    """
    matrix = uncertain.matrix
    variance = np.diagonal(uncertain.cell_errors()) ** 2
    smaller = np.minimum(matrix.n_events, matrix.n_non_events)
    used = np.flatnonzero((smaller >= FEW) & (variance > 1e-16))
    left_out = [
        f"{name} ({n1} events, {n0} non-events)"
        for k, (name, n1, n0) in enumerate(
            zip(matrix.groups, matrix.n_events, matrix.n_non_events, strict=True)
        )
        if k not in used
    ]
    row: dict[str, object] = {
        "grouping": grouping,
        "group_a": "all",
        "group_b": "",
        "n_groups": int(used.size),
        "difference": NAN,
        "se": NAN,
        "statistic": NAN,
        "p": NAN,
        "family": "groupings",
        "remarks": f"without {', '.join(left_out)}" if left_out else "",
        "undefined_because": "",
    }
    if used.size < 2:
        row["undefined_because"] = "fewer than two groups with enough rows and a variance"
        return row
    # Differences to the first group keep the covariance that clusters bring between groups.
    diagonal = used * len(matrix.groups) + used
    slope = 1 / (matrix.within[used] * (1 - matrix.within[used]))
    covariance = uncertain.covariance[np.ix_(diagonal, diagonal)] * np.outer(slope, slope)
    contrast = np.hstack([-np.ones((used.size - 1, 1)), np.eye(used.size - 1)])
    differences = contrast @ special.logit(matrix.within[used])
    spread = contrast @ covariance @ contrast.T
    statistic = float(differences @ np.linalg.solve(spread, differences))
    row["statistic"] = statistic
    row["p"] = float(stats.chi2.sf(statistic, used.size - 1))
    return row


def _cell(matrix: AucMatrix, g: int, h: int) -> FloatArray:
    chosen = np.zeros(matrix.cells.shape)
    chosen[g, h] = 1.0
    return chosen


def _xauc1(matrix: AucMatrix, g: int) -> FloatArray:
    chosen = np.zeros(matrix.cells.shape)
    chosen[g, :] = matrix.non_event_shares
    return chosen


def _xauc0(matrix: AucMatrix, h: int) -> FloatArray:
    chosen = np.zeros(matrix.cells.shape)
    chosen[:, h] = matrix.event_shares
    return chosen


def _row(
    matrix: AucMatrix,
    metric: AucMetric,
    a: int,
    b: int | None,
    value: float,
    estimate: Estimate,
    flags: str,
) -> _Row:
    second = "" if b is None else matrix.groups[b]
    return _Row(metric, matrix.groups[a], second, float(value), estimate, flags)


def _plain(value: float, reason: str) -> Estimate:
    return Estimate(value, NAN, NAN, NAN, NAN, reason)


def _flags(matrix: AucMatrix, events: list[int], non_events: list[int], estimate: Estimate) -> str:
    """Name what weakens a value: small counts of the named sides (none: all groups)."""
    n1, n0, names = matrix.n_events, matrix.n_non_events, matrix.groups
    flags = [f"few_events in {names[g]} ({n1[g]})" for g in events if 0 < n1[g] < FEW]
    flags += [f"few_non_events in {names[h]} ({n0[h]})" for h in non_events if 0 < n0[h] < FEW]
    everyone = list(range(len(names)))
    if matrix.no_variation[np.ix_(events or everyone, non_events or everyone)].all():
        flags.append("no_variation")
    if estimate.degenerate:
        flags.append("degenerate")
    return "; ".join(flags)


def _name_better(row: _Row) -> str:
    """The group that the score serves better; a cross-group difference has no better side."""
    if not row.group_b or np.isnan(row.estimate.value) or row.metric == AucMetric.CROSS_DIFFERENCE:
        return ""
    ahead = row.estimate.value - (1.0 if row.metric == AucMetric.WITHIN_RATIO else 0.0)
    if abs(ahead) < 1e-12:
        return "equal"
    return row.group_a if ahead > 0 else row.group_b
