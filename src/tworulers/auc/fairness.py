"""Every AUC fairness metric, each with its uncertainty and appraisal: how unequally a score ranks between groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from tworulers.auc.covariance import AucCovariance
from tworulers.auc.intervals import (
    NAN,
    Estimate,
    compare_aucs,
    estimate_auc,
    estimate_difference,
    estimate_ratio,
)
from tworulers.auc.matrix import FEW, HALF, AucMatrix
from tworulers.auc.uses import APPRAISALS, AucMetric
from tworulers.stats.families import adjust_within
from tworulers.stats.types import FloatArray, Row

PAIRWISE = (
    AucMetric.WITHIN_DIFFERENCE,
    AucMetric.WITHIN_RATIO,
    AucMetric.CROSS_DIFFERENCE,
    AucMetric.XAUC1_DIFFERENCE,
    AucMetric.XAUC0_DIFFERENCE,
)
"""Metrics of two groups, whose largest disparity over all pairs is listed as well."""


Within = Mapping[tuple[int, int], Estimate]
"""The difference of the within-group AUCs of each pair of groups, by their places."""


@dataclass(frozen=True)
class _Metric:
    metric: AucMetric
    group_a: str
    group_b: str
    value: float
    estimate: Estimate
    flags: str = ""

    def to_row(self) -> Row:
        return {
            "metric": str(self.metric),
            "group_a": self.group_a,
            "group_b": self.group_b,
            "value": float(self.value),
            "signed": self.estimate.value,
            "se": self.estimate.se,
            "low": self.estimate.low,
            "high": self.estimate.high,
            "p": self.estimate.p,
            **_tell_method(self.estimate),
            "delong_p": self.estimate.delong_p,
            "better": self._name_better(),
            "remarks": self.flags,
            "undefined_because": self.estimate.undefined_because,
            "appraisal": str(APPRAISALS[self.metric]),
        }

    def _name_better(self) -> str:
        """The group that the score serves better; a cross-group difference has no better side."""
        signed = self.estimate.value
        if not self.group_b or np.isnan(signed) or self.metric == AucMetric.CROSS_DIFFERENCE:
            return ""
        ahead = signed - (1.0 if self.metric == AucMetric.WITHIN_RATIO else 0.0)
        if abs(ahead) < 1e-12:
            return "equal"
        return self.group_a if ahead > 0 else self.group_b


def tabulate_cells(uncertain: AucCovariance, *, level: float) -> pd.DataFrame:
    """List the matrix with intervals and flags.

    Returns
    -------
    One row a cell: events_of, non_events_of, auc, se, low, high, method, delong_low, delong_high, below_half, n_events,
    n_non_events, n_pairs, weight, remarks, undefined_because.
    """
    matrix = uncertain.matrix
    rows = []
    for g, h in np.ndindex(matrix.cells.shape):
        estimate = estimate_auc(uncertain, matrix.coefficients(g, h), level=level)
        n1, n0 = int(matrix.n_events[g]), int(matrix.n_non_events[h])
        rows.append(
            {
                "events_of": matrix.groups[g],
                "non_events_of": matrix.groups[h],
                "auc": estimate.value,
                "se": estimate.se,
                "low": estimate.low,
                "high": estimate.high,
                **_tell_method(estimate),
                "below_half": bool(estimate.value < HALF),
                "n_events": n1,
                "n_non_events": n0,
                "n_pairs": n1 * n0,
                "weight": matrix.pair_weights[g, h],
                "remarks": _flags(matrix, [g], [h], estimate),
                "undefined_because": estimate.undefined_because,
            }
        )
    return pd.DataFrame(rows)


def estimate_within(uncertain: AucCovariance, *, level: float) -> Within:
    """Estimate the difference of the within-group AUCs of every pair of groups, first minus second."""
    of = uncertain.matrix.coefficients
    return {
        (a, b): estimate_difference(uncertain, of(a, a), of(b, b), level=level)
        for a, b in combinations(range(len(uncertain.matrix.groups)), 2)
    }


def measure_fairness(
    uncertain: AucCovariance,
    *,
    level: float,
    wanted: Collection[AucMetric] = tuple(AucMetric),
    within: Within | None = None,
) -> pd.DataFrame:
    """Compute metrics for each pair of groups, and the largest over all pairs.

    `signed` is the first group minus the second, in the order of the groups, and carries the
    interval and p, and DeLong's beside them; `value` is what the metric is defined as (an absolute
    difference, the smaller over the larger). Rows whose group_a is "max" hold the largest
    difference (for the ratio the smallest) over the pairs that are defined; such an extreme has no
    interval of its own.

    Parameters
    ----------
    uncertain : the cells.
    level : confidence level.
    wanted : metrics that are computed; many groups have very many pairs.
    within : as `estimate_within` gives it, done here if not given.

    Returns
    -------
    One row a metric and pair (or group): metric, group_a, group_b, value, signed, se, low, high, p, method, delong_low,
    delong_high, delong_p, better, remarks, undefined_because, appraisal.

    Source: the metrics of Kallus and Zhou 2019 (xAUC), Beutel et al. 2019 (pairwise), Luo et al.
    2024 (equity-scaled); appraisals are ours.
    """
    asked = set(wanted)
    if AucMetric.EQUITY_SCALED_PARITY in asked:
        asked.add(AucMetric.WITHIN_DIFFERENCE)
    if within is None:
        within = estimate_within(uncertain, level=level)
    pairs = list(_measure_pairs(uncertain, level, asked, within))
    groups = _measure_groups(uncertain, level, asked)
    rows = [*pairs, *groups, *_measure_all(uncertain.matrix, pairs)]
    return pd.DataFrame([row.to_row() for row in rows if row.metric in wanted])


def compare_within_groups(
    tables: Mapping[str, AucCovariance],
    *,
    level: float,
    within: Mapping[str, Within] | None = None,
) -> pd.DataFrame:
    """Test signed within-group parity for every pair of every grouping, as one family.

    Adds a row a grouping (group_a "all") with the chi-square test that all its groups are ranked
    equally well, adjusted over the groupings. A test that cannot be computed keeps its reason
    and stays out of the family; the family's size stands in `family_size`. DeLong's z and its p
    stand beside: with three events they reject a true null in one case of four.

    Parameters
    ----------
    tables : the cells of each grouping.
    level : confidence level.
    within : by grouping, as `estimate_within` gives it, done here if not given.

    Returns
    -------
    One row a test: grouping, group_a, group_b, n_groups, difference, se, low, high, p, method, statistic, delong_p,
    family, remarks, undefined_because, p_fdr, family_size.

    Source: Zou and Donner 2008; Benjamini and Hochberg 1995.
    """
    rows: list[Row] = []
    for grouping, uncertain in tables.items():
        pairs = estimate_within(uncertain, level=level) if within is None else within[grouping]
        rows += [{"grouping": grouping, **row} for row in _test_parity(uncertain, pairs)]
    frame = pd.DataFrame(rows)
    frame["p_fdr"] = adjust_within(frame["p"], frame["family"])
    return frame.assign(family_size=frame.groupby("family")["p"].transform("count"))


def _measure_pairs(
    uncertain: AucCovariance, level: float, asked: Collection[AucMetric], within: Within
) -> Iterator[_Metric]:
    matrix = uncertain.matrix
    of = matrix.coefficients
    contrasts: dict[AucMetric, Callable[[int, int], tuple[FloatArray, FloatArray]]] = {
        AucMetric.CROSS_DIFFERENCE: lambda a, b: (of(a, b), of(b, a)),
        AucMetric.XAUC1_DIFFERENCE: lambda a, b: (of(a, None), of(b, None)),
        AucMetric.XAUC0_DIFFERENCE: lambda a, b: (of(None, a), of(None, b)),
    }
    for a, b in combinations(range(len(matrix.groups)), 2):
        names = (matrix.groups[a], matrix.groups[b])
        found = {AucMetric.WITHIN_DIFFERENCE: within[a, b]}
        for metric, contrast in contrasts.items():
            if metric in asked:
                found[metric] = estimate_difference(uncertain, *contrast(a, b), level=level)
        for metric, estimate in found.items():
            flags = _flags(matrix, [a, b], [a, b], estimate)
            yield _Metric(metric, *names, abs(estimate.value), estimate, flags)
        if AucMetric.WITHIN_RATIO not in asked:
            continue
        own = of(a, a), of(b, b)
        ratio = estimate_ratio(uncertain, *own, level=level, difference=within[a, b])
        smaller = min(ratio.value, 1 / ratio.value) if ratio.value > 0 else ratio.value
        flags = _flags(matrix, [a, b], [a, b], ratio)
        yield _Metric(AucMetric.WITHIN_RATIO, *names, smaller, ratio, flags)


def _measure_groups(
    uncertain: AucCovariance, level: float, asked: Collection[AucMetric]
) -> Iterator[_Metric]:
    matrix = uncertain.matrix
    if not {AucMetric.XAUC1, AucMetric.XAUC0, AucMetric.GAP_TO_OVERALL} & set(asked):
        return
    for g, name in enumerate(matrix.groups):
        x1 = estimate_auc(uncertain, matrix.coefficients(g, None), level=level)
        x0 = estimate_auc(uncertain, matrix.coefficients(None, g), level=level)
        gap = estimate_difference(
            uncertain, matrix.coefficients(), matrix.coefficients(g, g), level=level
        )
        for metric, value, estimate, events, non_events in (
            (AucMetric.XAUC1, x1.value, x1, [g], []),
            (AucMetric.XAUC0, x0.value, x0, [], [g]),
            (AucMetric.GAP_TO_OVERALL, abs(gap.value), gap, [g], [g]),
        ):
            flags = _flags(matrix, events, non_events, estimate)
            yield _Metric(metric, name, "", value, estimate, flags)


def _measure_all(matrix: AucMatrix, pairs: list[_Metric]) -> Iterator[_Metric]:
    extremes: dict[AucMetric, float] = {}
    no_pair = "no pair of groups has both values"
    for metric in PAIRWISE:
        values = [row.value for row in pairs if row.metric == metric and not np.isnan(row.value)]
        worst = min if metric == AucMetric.WITHIN_RATIO else max
        extremes[metric] = worst(values, default=NAN)
        yield _without_interval(metric, "max", extremes[metric], no_pair)
    within = matrix.within[~np.isnan(matrix.within)]
    lowest, gaps = NAN, NAN
    if within.size:
        lowest = float(within.min())
        gaps = float(matrix.overall / (1 + np.abs(matrix.overall - within).sum()))
    parity = matrix.overall / (1 + extremes[AucMetric.WITHIN_DIFFERENCE])
    none = "no group has a within-group AUC"
    yield _without_interval(AucMetric.EQUITY_SCALED_PARITY, "all", parity, no_pair)
    yield _without_interval(AucMetric.EQUITY_SCALED_GAPS, "all", gaps, none)
    yield _without_interval(AucMetric.MINIMUM, "all", lowest, none)


def _test_parity(uncertain: AucCovariance, within: Within) -> Iterator[Row]:
    matrix = uncertain.matrix
    for (a, b), estimate in within.items():
        yield {
            "group_a": matrix.groups[a],
            "group_b": matrix.groups[b],
            "n_groups": 2,
            "difference": estimate.value,
            "se": estimate.se,
            "low": estimate.low,
            "high": estimate.high,
            "p": estimate.p,
            **_tell_method(estimate),
            "statistic": estimate.value / estimate.se if estimate.se > 0 else NAN,
            "delong_p": estimate.delong_p,
            "family": "pairs",
            "remarks": _flags(matrix, [a, b], [a, b], estimate),
            "undefined_because": estimate.undefined_because,
        }
    yield _test_all_equal(uncertain)


def _test_all_equal(uncertain: AucCovariance) -> Row:
    """Test that the within-group AUCs are equal, of all groups that have one."""
    matrix = uncertain.matrix
    used = np.flatnonzero(~np.isnan(matrix.within))
    counts = zip(matrix.groups, matrix.n_events, matrix.n_non_events, strict=True)
    left_out = [
        f"{name} ({n1} events, {n0} non-events)"
        for k, (name, n1, n0) in enumerate(counts)
        if k not in used
    ]
    statistic, p, reason = NAN, NAN, "fewer than two groups with events and non-events"
    if used.size >= 2:
        statistic, p = compare_aucs(uncertain, [matrix.coefficients(int(g), int(g)) for g in used])
        reason = ""
    return {
        "group_a": "all",
        "group_b": "",
        "n_groups": int(used.size),
        "difference": NAN,
        "se": NAN,
        "low": NAN,
        "high": NAN,
        "p": p,
        "method": "" if reason else "score",
        "delong_low": NAN,
        "delong_high": NAN,
        "statistic": statistic,
        "delong_p": NAN,
        "family": "groupings",
        "remarks": f"without {', '.join(left_out)}" if left_out else "",
        "undefined_because": reason,
    }


def _tell_method(estimate: Estimate) -> Row:
    """Name how the interval was made, and give the one by DeLong's standard error."""
    return {
        "method": estimate.method,
        "delong_low": estimate.delong_low,
        "delong_high": estimate.delong_high,
    }


def _without_interval(metric: AucMetric, of: str, value: float, because: str) -> _Metric:
    """A number of all groups, which has no interval."""
    reason = because if np.isnan(value) else ""
    return _Metric(metric, of, "", value, Estimate(value, undefined_because=reason))


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
    elif estimate.without_delong:
        flags.append(f"no standard error: {estimate.without_delong}")
    return "; ".join(flags)
