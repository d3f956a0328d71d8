"""Whether a risk means the same in every group: mean scores, calibration, rates at a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tworulers.stats.auc import encode_groups
from tworulers.stats.rates import wilson_interval

FloatArray = NDArray[np.float64]
NAN = float("nan")


def tabulate_mean_scores(
    score: ArrayLike,
    outcome: ArrayLike,
    group: ArrayLike,
    *,
    level: float,
    group_order: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Give the mean score by group, for all its rows and by outcome, with a t interval.

    Equal means over all rows are mean-score parity; equal means within an outcome are balance for
    that class. Unequal prevalence alone makes the first differ.

    Parameters:
        score, outcome, group: shape (n,); rows without a score, outcome or group are left out.
        level: confidence level.

    Columns: group, outcome ("all", "event", "non_event"), n, mean, sd, low, high, prevalence,
    undefined_because.
    """
    frame, names = _frame(score, outcome, group, group_order)
    rows = []
    for k, name in enumerate(names):
        own = frame[frame["group"] == k]
        prevalence = float(own["event"].mean()) if len(own) else NAN
        for kind, part in (
            ("all", own),
            ("event", own[own["event"] == 1]),
            ("non_event", own[own["event"] == 0]),
        ):
            values = part["score"].to_numpy()
            mean = float(values.mean()) if values.size else NAN
            sd = float(values.std(ddof=1)) if values.size > 1 else NAN
            half = (
                float(stats.t.isf((1 - level) / 2, values.size - 1) * sd / np.sqrt(values.size))
                if values.size > 1
                else NAN
            )
            reason = "" if values.size > 1 else ("one_row" if values.size else "no_rows")
            rows.append(
                {
                    "group": name,
                    "outcome": kind,
                    "n": values.size,
                    "mean": mean,
                    "sd": sd,
                    "low": mean - half,
                    "high": mean + half,
                    "prevalence": prevalence,
                    "undefined_because": reason,
                }
            )
    return pd.DataFrame(rows)


def tabulate_calibration(
    score: ArrayLike,
    outcome: ArrayLike,
    group: ArrayLike,
    *,
    edges: ArrayLike,
    level: float,
    group_order: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Set observed event rates beside expected ones, by group and bin of predicted probability.

    Bins are the same for all groups: [e0, e1), .., the last one closed. Rows with bin "all" hold
    the group as a whole, with observed/expected (calibration in the large) and an exact Poisson
    interval of the observed number.

    Parameters:
        score: predicted probabilities in [0, 1].
        edges: ascending bin edges that cover all scores.

    Columns: group, bin, n, n_events, expected, observed, low, high, observed_over_expected,
    ratio_low, ratio_high, undefined_because. `expected` and `observed` are rates; `low` to `high`
    is the Wilson interval of the observed rate.

    Raises:
        ValueError: scores outside [0, 1], which are no probabilities, or outside the edges.
    """
    frame, names = _frame(score, outcome, group, group_order)
    cuts = np.asarray(edges, dtype=np.float64)
    values = frame["score"].to_numpy()
    if values.size and (values.min() < 0 or values.max() > 1):
        raise ValueError(
            f"calibration needs probabilities in [0, 1]; found {values.min():g} to {values.max():g}"
        )
    if values.size and (values.min() < cuts[0] or values.max() > cuts[-1]):
        raise ValueError(
            f"bin edges {cuts[0]:g} to {cuts[-1]:g} do not cover the scores, "
            f"{values.min():g} to {values.max():g}"
        )
    position = np.clip(np.searchsorted(cuts, values, side="right") - 1, 0, cuts.size - 2)
    rows = []
    for k, name in enumerate(names):
        own = (frame["group"] == k).to_numpy()
        rows.append(_observed_row(frame[own], name, "all", level))
        for b in range(cuts.size - 1):
            closing = "]" if b == cuts.size - 2 else ")"
            label = f"[{cuts[b]:.3g}, {cuts[b + 1]:.3g}{closing}"
            rows.append(_observed_row(frame[own & (position == b)], name, label, level))
    return pd.DataFrame(rows)


def choose_bin_edges(score: ArrayLike, *, bins: int) -> FloatArray:
    """Cut [0, 1] at the quantiles of all scores, so that bins hold about equally many rows."""
    values = np.asarray(score, dtype=np.float64)
    inner = np.quantile(values[~np.isnan(values)], np.linspace(0, 1, bins + 1)[1:-1])
    return np.unique(np.concatenate([[0.0], inner, [1.0]]))


def tabulate_rates(
    score: ArrayLike,
    outcome: ArrayLike,
    group: ArrayLike,
    *,
    thresholds: float | Mapping[str, float],
    level: float,
    group_order: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Give each group's rates when scores at or above a threshold are selected.

    Parameters:
        thresholds: one for all groups, or one a group; where it is NaN the group has no rates.

    Columns: group, threshold, rate (selected, sensitivity, false_positive, ppv), successes, n,
    value, low, high (Wilson), undefined_because.
    """
    frame, names = _frame(score, outcome, group, group_order)
    rows = []
    for k, name in enumerate(names):
        threshold = thresholds[name] if isinstance(thresholds, Mapping) else thresholds
        own = frame[frame["group"] == k]
        selected = (own["score"] >= threshold).to_numpy()
        event = (own["event"] == 1).to_numpy()
        counts = {
            "selected": (selected.sum(), selected.size, "no_rows"),
            "sensitivity": ((selected & event).sum(), event.sum(), "no_events"),
            "false_positive": ((selected & ~event).sum(), (~event).sum(), "no_non_events"),
            "ppv": ((selected & event).sum(), selected.sum(), "none_selected"),
        }
        for rate, (successes, n, reason) in counts.items():
            if np.isnan(threshold):
                successes, n, reason = 0, 0, "no_threshold"
            low, high = _wilson(int(successes), int(n), level)
            rows.append(
                {
                    "group": name,
                    "threshold": threshold,
                    "rate": rate,
                    "successes": int(successes),
                    "n": int(n),
                    "value": successes / n if n else NAN,
                    "low": low,
                    "high": high,
                    "undefined_because": "" if n else reason,
                }
            )
    return pd.DataFrame(rows)


def find_group_thresholds(
    score: ArrayLike,
    outcome: ArrayLike,
    group: ArrayLike,
    *,
    sensitivity: float,
    group_order: Sequence[str] | None = None,
) -> dict[str, float]:
    """Find each group's highest threshold that still selects the wanted share of its events.

    NaN for a group without events.
    """
    frame, names = _frame(score, outcome, group, group_order)
    chosen = {}
    for k, name in enumerate(names):
        events = np.sort(frame.loc[(frame["group"] == k) & (frame["event"] == 1), "score"])[::-1]
        # A hair below the product: 0.9 x 10 must ask for 9 events, not 10.
        needed = max(1, int(np.ceil(sensitivity * events.size - 1e-9)))
        chosen[name] = float(events[needed - 1]) if events.size else NAN
    return chosen


def _frame(
    score: ArrayLike, outcome: ArrayLike, group: ArrayLike, group_order: Sequence[str] | None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    codes, names = encode_groups(group, group_order)
    frame = pd.DataFrame(
        {
            "score": np.asarray(score, dtype=np.float64),
            "event": np.asarray(outcome, dtype=np.float64),
            "group": codes,
        }
    )
    return frame[frame["score"].notna() & frame["event"].notna() & (frame["group"] >= 0)], names


def _observed_row(part: pd.DataFrame, group: str, label: str, level: float) -> dict[str, object]:
    n = len(part)
    events = int(part["event"].sum())
    expected = float(part["score"].sum())
    low, high = _wilson(events, n, level)
    tail = (1 - level) / 2
    fewest = float(stats.chi2.ppf(tail, 2 * events) / 2) if events else 0.0
    most = float(stats.chi2.isf(tail, 2 * (events + 1)) / 2)
    usable = expected > 0
    return {
        "group": group,
        "bin": label,
        "n": n,
        "n_events": events,
        "expected": expected / n if n else NAN,
        "observed": events / n if n else NAN,
        "low": low,
        "high": high,
        "observed_over_expected": events / expected if usable else NAN,
        "ratio_low": fewest / expected if usable else NAN,
        "ratio_high": most / expected if usable else NAN,
        "undefined_because": "" if usable else ("no_rows" if n == 0 else "expected_0"),
    }


def _wilson(successes: int, n: int, level: float) -> tuple[float, float]:
    low, high = wilson_interval(np.array([successes]), np.array([n]), level)
    return float(low[0]), float(high[0])
