"""Whether a risk means the same in every group: mean scores, calibration, rates at a threshold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from tworulers.auc.matrix import AucSample
from tworulers.stats.rates import rate_interval, success_rate
from tworulers.stats.types import FloatArray

NAN = float("nan")


def tabulate_mean_scores(sample: AucSample, *, level: float) -> pd.DataFrame:
    """Give the mean score by group, for all its rows and by outcome, with a t interval.

    Equal means over all rows are mean-score parity; equal means within an outcome are balance for
    that class. Unequal prevalence alone makes the first differ.

    Parameters
    ----------
    sample : scores and outcomes; rows without a group are left out.
    level : confidence level.

    Returns
    -------
    One row a group and `outcome` ("all", "event", "non_event"): n, mean, sd, low, high, prevalence (of the group),
    undefined_because.
    """
    rows = []
    for k, name in enumerate(sample.groups):
        own = sample.rows_of(k)
        prevalence = float(sample.event[own].mean()) if own.size else NAN
        for kind, part in (
            ("all", own),
            ("event", own[sample.event[own]]),
            ("non_event", own[~sample.event[own]]),
        ):
            values = sample.score[part]
            mean, sd, half, reason = NAN, NAN, NAN, "one_row" if values.size else "no_rows"
            if values.size:
                mean = float(values.mean())
            if values.size > 1:
                sd, reason = float(values.std(ddof=1)), ""
                half = float(
                    stats.t.isf((1 - level) / 2, values.size - 1) * sd / np.sqrt(values.size)
                )
            rows.append(
                (name, kind, values.size, mean, sd, mean - half, mean + half, prevalence, reason)
            )
    columns = [
        "group",
        "outcome",
        "n",
        "mean",
        "sd",
        "low",
        "high",
        "prevalence",
        "undefined_because",
    ]
    return pd.DataFrame(rows, columns=columns)


def tabulate_calibration(sample: AucSample, *, edges: ArrayLike, level: float) -> pd.DataFrame:
    """Set observed event rates beside expected ones, by group and bin of predicted probability.

    Bins are the same for all groups: [e0, e1), .., the last one closed. Rows with bin "all" hold
    the group as a whole, with observed/expected (calibration in the large) and an exact Poisson
    interval of the observed number.

    Parameters
    ----------
    sample : predicted probabilities in [0, 1] and outcomes; rows without a group are left out.
    edges : ascending bin edges that cover all scores.
    level : confidence level.

    Returns
    -------
    One row a group and bin: n, n_events, expected, observed (rates), low, high (Wilson's interval of the observed
    rate), observed_over_expected, ratio_low, ratio_high, undefined_because.

    Raises
    ------
    ValueError : scores outside [0, 1], which are no probabilities, or outside the edges.
    """
    cuts = np.asarray(edges, dtype=np.float64)
    members = [sample.rows_of(k) for k in range(len(sample.groups))]
    values = sample.score[np.concatenate([np.array([], dtype=np.int64), *members])]
    if values.size and (values.min() < 0 or values.max() > 1):
        raise ValueError(
            f"calibration needs probabilities in [0, 1]; found {values.min():g} to {values.max():g}"
        )
    if values.size and (values.min() < cuts[0] or values.max() > cuts[-1]):
        raise ValueError(
            f"bin edges {cuts[0]:g} to {cuts[-1]:g} do not cover the scores, "
            f"{values.min():g} to {values.max():g}"
        )
    closing = ")" * (cuts.size - 2) + "]"
    labels = [f"[{a:.3g}, {b:.3g}{c}" for a, b, c in zip(cuts, cuts[1:], closing, strict=False)]
    rows = []
    for name, own in zip(sample.groups, members, strict=True):
        position = np.searchsorted(cuts, sample.score[own], side="right") - 1
        position = np.clip(position, 0, cuts.size - 2)
        parts = [own, *(own[position == b] for b in range(cuts.size - 1))]
        for label, part in zip(["all", *labels], parts, strict=True):
            rows.append(
                (name, label, part.size, sample.event[part].sum(), sample.score[part].sum())
            )
    table = pd.DataFrame(rows, columns=["group", "bin", "n", "n_events", "expected"])
    return _add_ratios(table, level)


def choose_bin_edges(score: ArrayLike, *, bins: int) -> FloatArray:
    """Cut [0, 1] at the quantiles of all scores, so that bins hold about equally many rows."""
    values = np.asarray(score, dtype=np.float64)
    inner = np.quantile(values[~np.isnan(values)], np.linspace(0, 1, bins + 1)[1:-1])
    return np.unique(np.concatenate([[0.0], inner, [1.0]]))


def tabulate_rates(
    sample: AucSample, *, thresholds: float | Mapping[str, float], level: float
) -> pd.DataFrame:
    """Give each group's rates when scores at or above a threshold are selected.

    Parameters
    ----------
    sample : scores and outcomes; rows without a group are left out.
    thresholds : one for all groups, or one a group; where it is NaN the group has no rates.
    level : confidence level.

    Returns
    -------
    One row a group and `rate` (selected, sensitivity, false_positive, ppv): threshold, successes, n, value, low, high
    (Wilson), undefined_because.
    """
    rows = []
    for k, name in enumerate(sample.groups):
        threshold = thresholds[name] if isinstance(thresholds, Mapping) else thresholds
        own = sample.rows_of(k)
        selected, event = sample.score[own] >= threshold, sample.event[own]
        for rate, among, chosen, reason in (
            ("selected", np.ones(own.size, dtype=np.bool_), selected, "no_rows"),
            ("sensitivity", event, selected, "no_events"),
            ("false_positive", ~event, selected, "no_non_events"),
            ("ppv", selected, event, "none_selected"),
        ):
            n = 0 if np.isnan(threshold) else int(among.sum())
            because = "no_threshold" if np.isnan(threshold) else reason
            successes = int((among & chosen).sum()) if n else 0
            rows.append((name, threshold, rate, successes, n, "" if n else because))
    columns = ["group", "threshold", "rate", "successes", "n", "undefined_because"]
    table = pd.DataFrame(rows, columns=columns)
    counts, sizes = table["successes"].to_numpy(), table["n"].to_numpy()
    low, high = rate_interval(counts, sizes, level)
    table = table.assign(value=success_rate(counts, sizes), low=low, high=high)
    return table[[*columns[:-1], "value", "low", "high", "undefined_because"]]


def find_group_thresholds(sample: AucSample, *, sensitivity: float) -> dict[str, float]:
    """Find each group's highest threshold that still selects the wanted share of its events.

    NaN for a group without events.
    """
    chosen = {}
    for name, rows in zip(sample.groups, sample.event_rows, strict=True):
        # A hair below the product: 0.9 x 10 must ask for 9 events, not 10.
        needed = max(1, int(np.ceil(sensitivity * rows.size - 1e-9)))
        chosen[name] = float(sample.score[rows[-needed]]) if rows.size else NAN
    return chosen


def _add_ratios(table: pd.DataFrame, level: float) -> pd.DataFrame:
    """Turn expected numbers into rates, and set the observed ones beside them with their intervals."""
    n, events = table["n"].to_numpy(), table["n_events"].to_numpy()
    expected = table["expected"].to_numpy()
    tail = (1 - level) / 2
    fewest = np.where(events > 0, stats.chi2.ppf(tail, 2 * np.maximum(events, 1)) / 2, 0.0)
    most = stats.chi2.isf(tail, 2 * (events + 1)) / 2
    low, high = rate_interval(events, n, level)
    return table.assign(
        expected=success_rate(expected, n),
        observed=success_rate(events, n),
        low=low,
        high=high,
        observed_over_expected=success_rate(events, expected),
        ratio_low=success_rate(fewest, expected),
        ratio_high=success_rate(most, expected),
        undefined_because=np.select([expected > 0, n == 0], ["", "no_rows"], "expected_0"),
    )
