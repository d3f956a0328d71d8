"""How uncertain an AUC, a difference and a ratio of AUCs are: by a score-type interval, DeLong's beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tworulers.auc.covariance import AucCovariance, compute_covariance
from tworulers.auc.matrix import AucMatrix, AucSample
from tworulers.auc.score_type import (
    AucEvidence,
    bound_difference,
    bound_ratio,
    compare_all,
    compare_pair,
    weigh_evidence,
)
from tworulers.stats.types import FloatArray

NAN = float("nan")
NOTHING = 1e-16
"""A variance that is rounding: it leaves 1e-18 or so of nothing, and now and then less than 0."""


@dataclass(frozen=True)
class Estimate:
    """A number with its uncertainty.

    Attributes
    ----------
    value : the estimate; `low` to `high` its interval.
    p : two-sided p of "the difference is 0"; NaN for a plain AUC.
    method : how interval and p were made; empty where there are none.
    se : DeLong's standard error; `delong_low` to `delong_high` the interval by it and `delong_p` its p: published by
        others, too narrow and too small for few events.
    undefined_because : reason where `value` or its interval is NaN, else empty.
    without_delong : reason where there is no standard error, else empty.
    degenerate : the standard error is 0.
    """

    value: float
    se: float = NAN
    low: float = NAN
    high: float = NAN
    p: float = NAN
    method: str = ""
    delong_low: float = NAN
    delong_high: float = NAN
    delong_p: float = NAN
    undefined_because: str = ""
    without_delong: str = ""
    degenerate: bool = False


def estimate_overall(
    sample: AucSample, *, level: float, cluster: ArrayLike | None = None
) -> Estimate:
    """Give the AUC over all valid rows, whatever their group, with its interval.

    Group sizes are not held fixed here, so a group with one event does not undo the standard error.
    """
    uncertain = compute_covariance(sample.pooled(), cluster=cluster)
    return estimate_auc(uncertain, np.ones((1, 1)), level=level)


def estimate_auc(uncertain: AucCovariance, coefficients: ArrayLike, *, level: float) -> Estimate:
    """Give a weighted mean of cells (a cell, an xAUC, the overall AUC) with its score-type interval.

    DeLong's interval beside it is of the logit; it has no bounds where every pair is ordered alike.

    Parameters
    ----------
    coefficients : shape (K, K), not negative, summing to 1; of groups weighted by their rows.
    level : confidence level, such as 0.95.

    Source: Newcombe 2006 (method 5); see `tworulers.auc.score_type`.
    """
    weights = np.asarray(coefficients, dtype=np.float64)
    estimate = _contrast(uncertain, weights)
    if np.isnan(estimate.value):
        return estimate
    low, high = collect_evidence(uncertain, weights).bounds(level)
    estimate = replace(estimate, low=float(low), high=float(high), method="score")
    if not estimate.se > 0:
        return estimate
    odds = np.log(estimate.value / (1 - estimate.value))
    half = estimate.se / (estimate.value * (1 - estimate.value)) * _quantile(level)
    low, high = 1 / (1 + np.exp(-(odds - half))), 1 / (1 + np.exp(-(odds + half)))
    return replace(estimate, delong_low=float(low), delong_high=float(high))


def estimate_difference(
    uncertain: AucCovariance, first: ArrayLike, second: ArrayLike, *, level: float
) -> Estimate:
    """Give the difference of two weighted means of cells with its interval and the p of "no difference".

    Parameters
    ----------
    first, second : shape (K, K), each as in `estimate_auc`.
    level : confidence level, such as 0.95.

    Source: Zou and Donner 2008 (MOVER) of the score-type intervals; p by inversion.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    estimate = _contrast(uncertain, one - other)
    if np.isnan(estimate.value):
        return estimate
    pair = collect_evidence(uncertain, one), collect_evidence(uncertain, other)
    correlation = _correlate(uncertain, [one, other], pair)[0, 1]
    low, high = bound_difference(*pair, correlation, level)
    p = compare_pair(*pair, correlation)
    estimate = replace(estimate, low=float(low), high=float(high), p=p, method="mover")
    if not estimate.se > 0:
        return estimate
    half = _quantile(level) * estimate.se
    z = abs(estimate.value) / estimate.se
    return replace(
        estimate,
        delong_low=estimate.value - half,
        delong_high=estimate.value + half,
        delong_p=float(2 * stats.norm.sf(z)),
    )


def estimate_ratio(
    uncertain: AucCovariance,
    first: ArrayLike,
    second: ArrayLike,
    *,
    level: float,
    difference: Estimate | None = None,
) -> Estimate:
    """Give the ratio of two weighted means of cells with its interval and the p of "the ratio is 1".

    DeLong's interval beside it is of the logarithm. The p is that of the difference, which is estimated here where it
    is not given.

    Source: Donner and Zou 2012.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if difference is None:
        difference = estimate_difference(uncertain, one, other, level=level)
    if np.isnan(difference.value):
        return Estimate(NAN, undefined_because=difference.undefined_because)
    above, below = (_contrast(uncertain, weights).value for weights in (one, other))
    if below == 0.0:
        return Estimate(NAN, undefined_because="divided by an AUC of 0")
    ratio = above / below
    pair = collect_evidence(uncertain, one), collect_evidence(uncertain, other)
    correlation = _correlate(uncertain, [one, other], pair)[0, 1]
    low, high = bound_ratio(*pair, correlation, level)
    found = replace(
        difference, value=ratio, se=NAN, low=low, high=high, delong_low=NAN, delong_high=NAN,
        delong_p=NAN,
    )  # fmt: skip
    if above == 0.0 or not difference.se > 0:
        return found
    error = _contrast(uncertain, one / above - other / below).se
    half = _quantile(level) * error
    return replace(
        found,
        se=ratio * error,
        delong_low=float(ratio * np.exp(-half)),
        delong_high=float(ratio * np.exp(half)),
        delong_p=float(2 * stats.norm.sf(abs(np.log(ratio)) / error)),
    )


def compare_aucs(uncertain: AucCovariance, weights: Sequence[FloatArray]) -> tuple[float, float]:
    """Test that several weighted means of cells are equal; gives the statistic and its p."""
    evidence = [collect_evidence(uncertain, one) for one in weights]
    return compare_all(evidence, _correlate(uncertain, weights, evidence))


def collect_evidence(uncertain: AucCovariance, weights: FloatArray) -> AucEvidence:
    """Gather what the interval of a weighted mean of cells rests on; its value has to be defined.

    Rows of one patient inflate the variance by the ratio of DeLong's of patients to DeLong's of rows, at least 1, and
    by the rows a patient where there is no such ratio.
    """
    touched = np.flatnonzero(weights.ravel())
    chosen = weights.ravel()[touched]
    sides = ((uncertain.events, weights.any(axis=1)), (uncertain.non_events, weights.any(axis=0)))
    counts = tuple(np.asarray(side.sizes[groups].sum()) for side, groups in sides)
    patients = tuple(np.asarray(side.patients[groups].sum()) for side, groups in sides)

    def vary(covariance: FloatArray) -> FloatArray:
        return np.asarray(chosen @ covariance[np.ix_(touched, touched)] @ chosen)

    parts = vary(uncertain.events.part), vary(uncertain.non_events.part)
    by_rows, by_patients = sum(parts), vary(uncertain.covariance)
    inflation = max(float(n / units) for n, units in zip(counts, patients, strict=True))
    estimated = bool(by_rows > NOTHING and np.isfinite(by_patients))
    if estimated:
        inflation = max(float(by_patients / by_rows), 1.0)
    value = np.asarray(uncertain.matrix.cells.ravel()[touched] @ chosen)
    return weigh_evidence(
        np.clip(value, 0.0, 1.0),
        (counts[0], counts[1]),
        parts,
        patients=(patients[0], patients[1]),
        inflation=np.asarray(inflation),
        estimated=estimated and patients != counts,
    )


def _quantile(level: float) -> float:
    return float(stats.norm.isf((1 - level) / 2))


def _correlate(
    uncertain: AucCovariance, weights: Sequence[FloatArray], evidence: Sequence[AucEvidence]
) -> FloatArray:
    """Correlate weighted means of cells by DeLong's covariance; 0 where one of them has no error."""
    flat = np.array([one.ravel() for one in weights])
    touched = np.flatnonzero(flat.any(axis=0))
    chosen = flat[:, touched]
    part = uncertain.covariance[np.ix_(touched, touched)]
    variances = []
    for row, one in zip(chosen, evidence, strict=True):
        own = _multiply(row, part, row)
        variances.append(own if np.isfinite(own) else float(one.variance(one.value)))
    correlation = np.eye(len(flat))
    for i, j in zip(*np.triu_indices(len(flat), 1), strict=True):
        shared = _multiply(chosen[i], part, chosen[j])
        if np.isfinite(shared) and min(variances[i], variances[j]) > NOTHING:
            r = shared / np.sqrt(variances[i] * variances[j])
            correlation[i, j] = correlation[j, i] = float(np.clip(r, -1.0, 1.0))
    return correlation


def _multiply(first: FloatArray, covariance: FloatArray, second: FloatArray) -> float:
    """Covariance of two weighted sums; an entry without value counts only where both sums hold it."""
    weights = np.outer(first, second)
    return float((weights[weights != 0] * covariance[weights != 0]).sum())


def _contrast(uncertain: AucCovariance, weights: FloatArray) -> Estimate:
    """Value and DeLong's standard error of a sum of weighted cells."""
    matrix = uncertain.matrix
    touched = np.flatnonzero(weights.ravel())
    side = len(matrix.groups)
    missing = [matrix.undefined_because(int(t) // side, int(t) % side) for t in touched]
    reasons = list(dict.fromkeys(r for r in missing if r))
    if reasons:
        return Estimate(NAN, undefined_because="; ".join(reasons))
    chosen = weights.ravel()[touched]
    value = float(matrix.cells.ravel()[touched] @ chosen)
    if np.isnan(value):
        return Estimate(value)
    variance = float(chosen @ uncertain.covariance[np.ix_(touched, touched)] @ chosen)
    if np.isnan(variance):
        return Estimate(value, without_delong=_name_singletons(matrix, touched))
    if variance <= NOTHING:
        return Estimate(value, 0.0, without_delong="standard error 0", degenerate=True)
    return Estimate(value, float(np.sqrt(variance)))


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
