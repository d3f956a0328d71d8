"""Is the within-group spread under one ruler really smaller than under another, and did the gap
between groups change?

Two rulers score the same exams, so every quantity is paired: `base` is the ruler compared with
(usually the experts' labels), `other` the ruler in question. Ratios of spread are base / other, so
more than 1 says that the other ruler has collapsed the variance; the ratio of gaps is other / base.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.redraw import (
    SwapTest,
    draw_exchanges,
    draw_within_groups,
    percentile_interval,
    row_medians,
    summarise_null,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAD_SCALE = 1.4826
"""Makes the median absolute deviation an estimate of the standard deviation under normal noise."""

DECIMALS = 9
"""Scores are rounded to this many decimals before ranks are taken or differences compared with
zero.
"""


@dataclass(frozen=True)
class Spread:
    """Pooled within-group spread and gap between group locations under both rulers, and their
    ratios.

    A ratio with a zero denominator is NaN and named in `undefined_because`.
    """

    n: int
    sd_base: float
    sd_other: float
    mad_base: float
    mad_other: float
    iqr_base: float
    iqr_other: float
    vcr_sd: float
    vcr_mad: float
    vcr_iqr: float
    gap_base_median: float
    gap_other_median: float
    gap_ratio_median: float
    gap_base_mean: float
    gap_other_mean: float
    gap_ratio_mean: float
    snr_ratio_mad: float
    snr_ratio_sd: float
    undefined_because: str | None


@dataclass(frozen=True)
class SpreadTest:
    """Paired tests of equal within-group spread; a positive statistic says that the base ruler
    spreads wider.
    """

    pitman_morgan_r: float
    pitman_morgan_t: float
    pitman_morgan_df: int
    pitman_morgan_p: float
    hc3_slope: float
    hc3_t: float
    hc3_p: float
    spearman_rho: float
    spearman_p: float
    wilcoxon_p: float
    share_base_wider: float
    undefined_because: str | None


@dataclass(frozen=True)
class SpreadIntervals:
    """Percentile intervals of the ratios and of the change of the gap, and how many draws could not
    be used.

    `growth` is how much further apart the other ruler sees its own best and worst group than the
    base ruler sees the same two; `shrinkage` is how much closer it sees the base ruler's best and
    worst group.
    """

    draws: int
    vcr_sd_low: float
    vcr_sd_high: float
    vcr_mad_low: float
    vcr_mad_high: float
    gap_ratio_low: float
    gap_ratio_high: float
    gap_change_low: float
    gap_change_high: float
    growth_low: float
    growth_high: float
    shrinkage_low: float
    shrinkage_high: float
    draws_without_base_gap: int
    draws_without_other_spread: int


def measure_spread(base: Floats, other: Floats, codes: Integers) -> Spread:
    """Measure the pooled spread within groups and the gap between them under two rulers.

    Parameters
    ----------
    base, other : (n,) finite scores of the same exams under the two rulers.
    codes : (n,) group of each exam, 0..K-1, no group empty.

    Notes
    -----
    Standard deviation: squared deviations from group means over n - K. Median absolute deviation:
    over all exams, from group medians. Gap: largest minus smallest group location. Signal-to-noise
    ratios pair medians with the median absolute deviation, and means with the standard deviation.
    """
    n_groups = int(codes.max()) + 1
    figures: dict[str, float] = {}
    for side, scores in (("base", base), ("other", other)):
        means = locate_groups(scores, codes, "mean")
        medians = locate_groups(scores, codes, "median")
        from_mean, from_median = scores - means[codes], scores - medians[codes]
        freedom = len(scores) - n_groups
        variance = float(from_mean @ from_mean) / freedom if freedom > 0 else np.nan
        figures[f"sd_{side}"] = float(np.sqrt(variance))
        figures[f"mad_{side}"] = MAD_SCALE * float(np.median(np.abs(from_median)))
        figures[f"iqr_{side}"] = float(np.subtract(*np.quantile(from_median, [0.75, 0.25])))
        figures[f"gap_{side}_median"] = float(np.ptp(medians))
        figures[f"gap_{side}_mean"] = float(np.ptp(means))
    for kind in ("sd", "mad", "iqr"):
        figures[f"vcr_{kind}"] = divide(figures[f"{kind}_base"], figures[f"{kind}_other"])
    for kind, spread in (("median", "mad"), ("mean", "sd")):
        ratio = divide(figures[f"gap_other_{kind}"], figures[f"gap_base_{kind}"])
        figures[f"gap_ratio_{kind}"] = ratio
        figures[f"snr_ratio_{spread}"] = ratio * figures[f"vcr_{spread}"]
    without_spread = _is_zero(figures["sd_other"]) or _is_zero(figures["mad_other"])
    undefined = [
        reason
        for reason, absent in (
            ("no_spread_other", without_spread),
            ("no_gap_base", n_groups > 1 and _is_zero(figures["gap_base_median"])),
            ("one_group", n_groups == 1),
        )
        if absent
    ]
    return Spread(n=len(base), **figures, undefined_because=", ".join(undefined) or None)


def compare_paired_spreads(base: Floats, other: Floats, codes: Integers) -> SpreadTest:
    """Test whether two rulers spread the same exams equally within groups.

    Parameters
    ----------
    base, other : (n,) finite scores of the same exams.
    codes : (n,) group of each exam, 0..K-1.

    Notes
    -----
    With residuals a and b, a - b and a + b are uncorrelated exactly when the variances are equal
    (Pitman 1939, Morgan 1939; n - K - 1 degrees of freedom). Under heavy tails the slope of a - b
    on a + b with the HC3 covariance (MacKinnon and White 1985) holds its level better; it carries
    the verdict. Spearman's correlation of the same pair and Wilcoxon's test of |a| - |b| use
    residuals from group medians.
    """
    n, n_groups = len(base), int(codes.max()) + 1
    from_mean = [scores - locate_groups(scores, codes, "mean")[codes] for scores in (base, other)]
    from_median = [
        scores - locate_groups(scores, codes, "median")[codes] for scores in (base, other)
    ]
    difference, total = from_mean[0] - from_mean[1], from_mean[0] + from_mean[1]
    reason = _why_untestable(difference, total, n - n_groups - 1)
    if reason is not None:
        return SpreadTest(
            pitman_morgan_df=max(n - n_groups - 1, 0),
            **name_undefined(SpreadTest),
            undefined_because=reason,
        )
    freedom = n - n_groups - 1
    r = float(difference @ total / np.sqrt((difference @ difference) * (total @ total)))
    t = r * np.sqrt(freedom / (1 - r * r)) if abs(r) < 1 else np.copysign(np.inf, r)
    slope, slope_t = _regress_hc3(difference, total)
    rho = stats.spearmanr(
        np.round(from_median[0] - from_median[1], DECIMALS),
        np.round(from_median[0] + from_median[1], DECIMALS),
    )
    wider = np.round(np.abs(from_median[0]) - np.abs(from_median[1]), DECIMALS)
    signed = stats.wilcoxon(wider) if np.any(wider) else None
    return SpreadTest(
        pitman_morgan_r=r,
        pitman_morgan_t=float(t),
        pitman_morgan_df=freedom,
        pitman_morgan_p=float(2 * stats.t.sf(abs(t), freedom)),
        hc3_slope=slope,
        hc3_t=slope_t,
        hc3_p=float(2 * stats.t.sf(abs(slope_t), n - 2)),
        spearman_rho=float(rho.statistic),
        spearman_p=float(rho.pvalue),
        wilcoxon_p=float(signed.pvalue) if signed is not None else 1.0,
        share_base_wider=float(np.mean(wider > 0)),
        undefined_because=None,
    )


def bootstrap_spread(
    base: Floats,
    other: Floats,
    codes: Integers,
    *,
    draws: int,
    rng: np.random.Generator,
    clusters: Integers | None = None,
    level: float = 0.95,
) -> SpreadIntervals:
    """Give percentile intervals for the ratios of spread and gap: units drawn within groups, pairs
    kept.

    Parameters
    ----------
    base, other : (n,) finite scores of the same exams.
    codes : (n,) group of each exam, 0..K-1.
    draws : number of bootstrap samples.
    rng : source of the draws.
    clusters : (n,) patient of each exam, any integers; None draws exams.
    level : nominal coverage.

    Notes
    -----
    The ratio of gaps is that of medians. Draws whose base gap is zero have no ratio of gaps; they
    are left out of its interval and counted. A draw without spread under the other ruler counts as
    an infinite ratio.
    """
    samples = draw_within_groups(codes, draws=draws, rng=rng, clusters=clusters)
    squares, mads, gaps, locations = [], [], [], []
    for scores in (base, other):
        padded = np.append(scores, np.nan)
        values = [padded[index] for index in samples]
        medians = [row_medians(part) for part in values]
        absolute = np.concatenate(
            [np.abs(v - m[:, None]) for v, m in zip(values, medians, strict=True)], axis=1
        )
        mads.append(row_medians(absolute))
        located = np.stack(medians, axis=1)
        locations.append(located)
        gaps.append(np.round(located.max(axis=1) - located.min(axis=1), DECIMALS + 3))
        squares.append(sum(_row_squares(part) for part in values))
    with np.errstate(divide="ignore", invalid="ignore"):
        vcr_sd = np.sqrt(squares[0] / squares[1])
        vcr_mad = np.round(mads[0], DECIMALS + 3) / np.round(mads[1], DECIMALS + 3)
        gap_ratio = gaps[1] / gaps[0]
    has_gap = gaps[0] > 0
    # How far apart the other ruler's own best and worst group lie, less how far the base ruler sees
    # them, and the same with the rulers changed.
    growth = _contrast(locations[1], other, codes) - _contrast(locations[0], other, codes)
    shrinkage = _contrast(locations[0], base, codes) - _contrast(locations[1], base, codes)
    bounds: dict[str, float] = {}
    for name, drawn in (
        ("vcr_sd", vcr_sd),
        ("vcr_mad", vcr_mad),
        ("gap_ratio", gap_ratio[has_gap]),
        ("gap_change", gaps[1] - gaps[0]),
        ("growth", np.round(growth, DECIMALS + 3)),
        ("shrinkage", np.round(shrinkage, DECIMALS + 3)),
    ):
        bounds[f"{name}_low"], bounds[f"{name}_high"] = percentile_interval(drawn, level)
    return SpreadIntervals(
        draws=draws,
        **bounds,
        draws_without_base_gap=int(np.sum(~has_gap)),
        draws_without_other_spread=int(np.sum(~np.isfinite(vcr_mad))),
    )


def permute_spread(
    base: Floats,
    other: Floats,
    codes: Integers,
    *,
    draws: int,
    rng: np.random.Generator,
    clusters: Integers | None = None,
) -> SwapTest:
    """Test log(SD base / SD other) by exchanging the two residuals of an exam with probability one
    half.

    Parameters
    ----------
    base, other : (n,) finite scores of the same exams.
    codes : (n,) group of each exam.
    draws : number of exchanges.
    rng : source of the draws.
    clusters : (n,) patient of each exam; None exchanges exam by exam.
    """
    squared = [
        (scores - locate_groups(scores, codes, "mean")[codes]) ** 2 for scores in (base, other)
    ]
    total, excess = squared[0].sum() + squared[1].sum(), squared[0] - squared[1]
    # spread that is rounding alone is none
    if total == 0 or _is_zero(float(np.sqrt(min(part.sum() for part in squared) / total))):
        return SwapTest(np.nan, np.nan, np.nan, draws)
    exchanged = draw_exchanges(len(base), draws=draws, rng=rng, clusters=clusters)
    share = (excess.sum() - 2.0 * (exchanged @ excess)) / total
    with np.errstate(divide="ignore"):
        null = np.arctanh(np.clip(share, -1, 1))
    observed = float(np.arctanh(excess.sum() / total))
    return summarise_null(observed, null)


def locate_groups(scores: Floats, codes: Integers, location: str) -> Floats:
    """Return the (K,) medians or means of groups 0..K-1; `location` is `median` or `mean`."""
    parts = [scores[codes == code] for code in range(int(codes.max()) + 1)]
    means = location == "mean"
    return np.array([np.mean(part) if means else np.median(part) for part in parts], dtype=float)


def name_undefined(kind: type) -> dict[str, float]:
    """Name every figure of a result as NaN, for one that cannot be computed."""
    return {field.name: np.nan for field in fields(kind) if field.type is float}


def divide(numerator: float, denominator: float) -> float:
    """Divide, or return NaN where the denominator is zero to nine decimals."""
    return np.nan if _is_zero(denominator) or np.isnan(denominator) else numerator / denominator


def _contrast(located: Floats, scores: Floats, codes: Integers) -> Floats:
    """Drawn location of the highest group less that of the lowest, both as they are in the (n,)
    scores themselves.
    """
    medians = locate_groups(scores, codes, "median")
    return np.asarray(located[:, medians.argmax()] - located[:, medians.argmin()])


def _is_zero(value: float) -> bool:
    return bool(abs(value) < 0.5 * 10.0**-DECIMALS)


def _row_squares(values: Floats) -> Floats:
    filled = (
        values
        if not np.isnan(values).any()
        else np.where(np.isnan(values), np.nanmean(values, 1)[:, None], values)
    )
    return np.asarray(filled.var(axis=1) * filled.shape[1])


def _why_untestable(difference: Floats, total: Floats, freedom: int) -> str | None:
    if freedom < 1:
        return "too_few"
    if not np.any(np.round(difference, DECIMALS)):
        return "no_difference"
    if not np.any(np.round(total, DECIMALS)):
        return "no_variation"
    return None


def _regress_hc3(response: Floats, regressor: Floats) -> tuple[float, float]:
    centred = regressor - regressor.mean()
    scale = float(centred @ centred)
    slope = float(centred @ response / scale)
    residual = response - response.mean() - slope * centred
    leverage = 1 / len(response) + centred**2 / scale
    # A point that decides the line alone has leverage 1 and no residual: it says nothing about the
    # error.
    ratio = np.divide(
        residual, 1 - leverage, out=np.zeros_like(residual), where=leverage < 1 - 1e-12
    )
    error = float(np.sqrt(np.sum(centred**2 * ratio**2))) / scale
    return slope, slope / error if error > 0 else float(np.copysign(np.inf, slope))
