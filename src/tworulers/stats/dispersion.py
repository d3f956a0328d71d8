"""Is the within-group spread under one ruler really smaller than under another, and did the gap
between groups change?

Two rulers score the same exams, so every quantity is paired: `base` is the ruler compared with
(usually the experts' labels), `other` the ruler in question. Ratios of spread are base / other, so
more than 1 says that the other ruler has collapsed the variance; the ratio of gaps is other / base.
"""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from tworulers.schema.metric import DECIMALS
from tworulers.stats import recount
from tworulers.stats.draw import draw_exchanges, draw_within_groups, split_draws
from tworulers.stats.groups import GroupedSample, group_means, group_medians
from tworulers.stats.interval import percentile_interval
from tworulers.stats.lattice import find_unit, spread_ties
from tworulers.stats.permute import SwapTest, summarise_null
from tworulers.stats.types import FloatArray, IntArray

MAD_SCALE = 1.4826
"""Makes the median absolute deviation an estimate of the standard deviation under normal noise."""


@dataclass(frozen=True)
class Spread:
    """Pooled within-group spread and gap between group locations under both rulers, and their
    ratios.

    A ratio with a zero denominator is NaN and named in `undefined_because`. `coarse_unit` is the unit of record of the
    coarser side where the scores of one lie on a lattice; ties are then spread over it before the median absolute
    deviation is taken. NaN where neither does.
    """

    n: int
    coarse_unit: float
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


@dataclass(frozen=True)
class GapIntervals:
    """The intervals of `SpreadIntervals` that are of gaps alone."""

    gap_ratio_low: float
    gap_ratio_high: float
    gap_change_low: float
    gap_change_high: float
    growth_low: float
    growth_high: float
    shrinkage_low: float
    shrinkage_high: float
    draws_without_base_gap: int


def measure_spread(sample: GroupedSample) -> Spread:
    """Measure the pooled spread within groups and the gap between them under two rulers.

    Parameters
    ----------
    sample : finite scores (2, n) of the same exams, base first.

    Notes
    -----
    Standard deviation: squared deviations from group means over n - K. Median absolute deviation: over all exams, from
    group medians, ties of coarse scores spread over their unit. Gap: largest minus smallest group location.
    Signal-to-noise ratios pair medians with the median absolute deviation, and means with the standard deviation.
    """
    n, n_groups = len(sample.codes), len(sample.names)
    units, finer = refine_scores(sample)
    figures: dict[str, float] = {"coarse_unit": float(np.fmax.reduce(units))}
    medians, means = group_medians(sample), group_means(sample)
    absolute = np.abs(finer.values - group_medians(finer)[:, sample.codes])
    for side, scores, median, mean, deviation in zip(
        ("base", "other"), sample.values, medians, means, absolute, strict=True
    ):
        from_mean, from_median = scores - mean[sample.codes], scores - median[sample.codes]
        variance = float(from_mean @ from_mean) / (n - n_groups) if n > n_groups else np.nan
        figures[f"sd_{side}"] = float(np.sqrt(variance))
        figures[f"mad_{side}"] = MAD_SCALE * float(np.median(deviation))
        figures[f"iqr_{side}"] = float(np.subtract(*np.quantile(from_median, [0.75, 0.25])))
        figures[f"gap_{side}_median"] = float(np.ptp(median))
        figures[f"gap_{side}_mean"] = float(np.ptp(mean))
    for kind in ("sd", "mad", "iqr"):
        figures[f"vcr_{kind}"] = divide(figures[f"{kind}_base"], figures[f"{kind}_other"])
    for kind, spread in (("median", "mad"), ("mean", "sd")):
        ratio = divide(figures[f"gap_other_{kind}"], figures[f"gap_base_{kind}"])
        figures[f"gap_ratio_{kind}"] = ratio
        figures[f"snr_ratio_{spread}"] = ratio * figures[f"vcr_{spread}"]
    absent = {
        "no_spread_other": _is_zero(figures["sd_other"]) or _is_zero(figures["mad_other"]),
        "no_gap_base": n_groups > 1 and _is_zero(figures["gap_base_median"]),
        "one_group": n_groups == 1,
    }
    undefined = ", ".join(reason for reason, is_so in absent.items() if is_so)
    return Spread(n=n, **figures, undefined_because=undefined or None)


def bootstrap_spread(
    sample: GroupedSample, *, draws: int, rng: np.random.Generator, level: float = 0.95
) -> SpreadIntervals:
    """Give percentile intervals for the ratios of spread and gap: units drawn within groups, pairs
    kept.

    Parameters
    ----------
    sample : finite scores (2, n) of the same exams, base first.
    draws : number of bootstrap samples.
    rng : source of the draws.
    level : nominal coverage.

    Notes
    -----
    The ratio of gaps is that of medians. Draws whose base gap is zero have no ratio of gaps; they
    are left out of its interval and counted. A draw without spread under the other ruler counts as
    an infinite ratio.
    """
    located, squares, mads = _redraw_sides(sample, draws, rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        vcr_sd = np.sqrt(squares[0] / squares[1])
        vcr_mad = _tidy(mads[0]) / _tidy(mads[1])
    bounds = _bound({"vcr_sd": vcr_sd, "vcr_mad": vcr_mad}, level)
    gaps = _bound_gaps(sample, located, level)
    return SpreadIntervals(
        draws=draws,
        **bounds,
        **asdict(gaps),
        draws_without_other_spread=int(np.sum(~np.isfinite(vcr_mad))),
    )


def bootstrap_gaps(
    sample: GroupedSample, *, draws: int, rng: np.random.Generator, level: float = 0.95
) -> GapIntervals:
    """Give the intervals of `bootstrap_spread` that are of gaps alone, in a third of its time.

    Parameters
    ----------
    sample : finite scores (2, n) of the same exams, base first.
    draws : number of bootstrap samples.
    rng : source of the draws.
    level : nominal coverage.
    """
    blocks = []
    for block in _split_draws(sample, draws):
        if _has_many(sample):
            groups = recount.recount_groups(sample, draws=block, rng=rng)
            located = [_recount_medians(scores, groups) for scores in sample.values]
        else:
            picked = draw_within_groups(sample, draws=block, rng=rng)
            located = [_redraw_medians(scores, picked)[1] for scores in sample.values]
        blocks.append(np.stack(located))
    return _bound_gaps(sample, np.concatenate(blocks, axis=1), level)


def _bound_gaps(sample: GroupedSample, located: FloatArray, level: float) -> GapIntervals:
    """Bound what changes of a gap, from both sides' redrawn group medians (2, draws, K)."""
    gaps = [_tidy(np.ptp(medians, axis=1)) for medians in located]
    with np.errstate(divide="ignore", invalid="ignore"):
        gap_ratio = gaps[1] / gaps[0]
    has_gap = gaps[0] > 0
    # How far apart a side's own best and worst group lie on it, less how far the other side sees
    # the same two.
    own = [(at.argmax(), at.argmin()) for at in group_medians(sample)]
    growth, shrinkage = (
        located[side][:, own[side][0]]
        - located[side][:, own[side][1]]
        - (located[1 - side][:, own[side][0]] - located[1 - side][:, own[side][1]])
        for side in (1, 0)
    )
    drawn = {
        "gap_ratio": gap_ratio[has_gap],
        "gap_change": gaps[1] - gaps[0],
        "growth": _tidy(growth),
        "shrinkage": _tidy(shrinkage),
    }
    return GapIntervals(**_bound(drawn, level), draws_without_base_gap=int(np.sum(~has_gap)))


def _bound(drawn: dict[str, FloatArray], level: float) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    for name, values in drawn.items():
        low, high = percentile_interval(values, level, observed=True)
        bounds |= {f"{name}_low": low, f"{name}_high": high}
    return bounds


def permute_spread(sample: GroupedSample, *, draws: int, rng: np.random.Generator) -> SwapTest:
    """Test log(SD base / SD other) by exchanging the two residuals of a unit (exam or patient) with
    probability one half.

    Parameters
    ----------
    sample : finite scores (2, n) of the same exams, base first.
    draws : number of exchanges.
    rng : source of the draws.
    """
    squared = (sample.values - group_means(sample)[:, sample.codes]) ** 2
    total, excess = squared.sum(), squared[0] - squared[1]
    # spread that is rounding alone is none
    if total == 0 or _is_zero(float(np.sqrt(squared.sum(axis=1).min() / total))):
        return SwapTest(np.nan, np.nan, np.nan, draws)
    moved = [
        draw_exchanges(sample.units, draws=block, rng=rng) @ excess
        for block in split_draws(draws, len(excess))
    ]
    share = (excess.sum() - 2.0 * np.concatenate(moved)) / total
    with np.errstate(divide="ignore"):
        null = np.arctanh(np.clip(share, -1, 1))
    return summarise_null(float(np.arctanh(excess.sum() / total)), null)


def name_undefined(kind: type) -> dict[str, float]:
    """Name every figure of a result as NaN, for one that cannot be computed."""
    return {field.name: np.nan for field in fields(kind) if field.type is float}


def divide(numerator: float, denominator: float) -> float:
    """Divide, or return NaN where the denominator is zero to nine decimals."""
    return np.nan if _is_zero(denominator) or np.isnan(denominator) else numerator / denominator


def refine_scores(sample: GroupedSample) -> tuple[FloatArray, GroupedSample]:
    """Give the unit of record of each side, NaN where there is none, and the sample with ties spread over it."""
    units = np.array([find_unit(scores) for scores in sample.values])
    if np.isnan(units).all():
        return units, sample
    # one order for both sides, so that equal scores stay equal
    finer = [spread_ties(*one) for one in zip(sample.values, units, strict=True)]
    return units, replace(sample, values=np.stack(finer))


def _redraw_sides(
    sample: GroupedSample, draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Redraw both sides: group medians (2, draws, K), pooled squares and median absolute deviation (2, draws)."""
    finer = refine_scores(sample)[1].values
    blocks = []
    for block in _split_draws(sample, draws):
        if _has_many(sample):
            blocks.append(_recount_sides(sample, finer, block, rng))
            continue
        picked = draw_within_groups(sample, draws=block, rng=rng)
        sides = [_redraw(*side, picked) for side in zip(sample.values, finer, strict=True)]
        blocks.append([np.stack(part) for part in zip(*sides, strict=True)])
    medians, squares, mads = (np.concatenate(part, axis=1) for part in zip(*blocks, strict=True))
    return medians, squares, mads


def _has_many(sample: GroupedSample) -> bool:
    """Tell whether counting what is drawn is quicker than sorting it."""
    return len(sample.codes) > recount.MANY


def _split_draws(sample: GroupedSample, draws: int) -> list[int]:
    split = recount.split_counted if _has_many(sample) else split_draws
    return split(draws, len(sample.codes))


def _recount_sides(
    sample: GroupedSample, finer: FloatArray, draws: int, rng: np.random.Generator
) -> list[FloatArray]:
    """Do the same for many exams, from the same draws."""
    groups = recount.recount_groups(sample, draws=draws, rng=rng)
    medians, squares, mads = [], [], []
    for scores, fine in zip(sample.values, finer, strict=True):
        medians.append(_recount_medians(scores, groups))
        squares.append(sum(recount.sum_squares(scores[one.rows], one.often) for one in groups))
        same = np.array_equal(scores, fine)
        centres = medians[-1] if same else _recount_medians(fine, groups)
        mads.append(recount.find_deviations(fine, groups, centres))
    return [np.stack(part) for part in (medians, squares, mads)]


def _recount_medians(scores: FloatArray, groups: list[recount.Recount]) -> FloatArray:
    """Give the group medians of counted draws, (draws, K)."""
    return np.stack([recount.find_medians(scores[one.rows], one.often) for one in groups], axis=1)


def _redraw(
    scores: FloatArray, finer: FloatArray, picked: list[IntArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Group medians (draws, K) and pooled squares of redrawn scores, and median absolute deviation of
    the finer ones (draws,).
    """
    values, medians = _redraw_medians(scores, picked)
    squares = np.sum([_row_squares(part) for part in values], axis=0)
    centres = medians.T
    if not np.array_equal(scores, finer):
        padded = np.append(finer, np.nan)
        values = [padded[index] for index in picked]
        centres = np.stack([row_medians(part) for part in values])
    absolute = [np.abs(part - at[:, None]) for part, at in zip(values, centres, strict=True)]
    return medians, squares, row_medians(np.concatenate(absolute, axis=1))


def _redraw_medians(
    scores: FloatArray, picked: list[IntArray]
) -> tuple[list[FloatArray], FloatArray]:
    """Give each group's redrawn scores, (draws, width), and the group medians, (draws, K)."""
    padded = np.append(scores, np.nan)
    values = [padded[index] for index in picked]
    return values, np.stack([row_medians(part) for part in values], axis=1)


def row_medians(values: FloatArray) -> FloatArray:
    """Return the median of each row of (rows, width) values, NaN left out; sorts, so faster than
    `numpy.nanmedian`.
    """
    ordered = np.sort(values, axis=1)
    counts = np.full(len(values), values.shape[1])
    if np.isnan(ordered[:, -1]).any():
        counts = counts - np.isnan(ordered).sum(axis=1)
    rows = np.arange(len(values))
    return np.asarray(0.5 * (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]))


def _tidy(values: FloatArray) -> FloatArray:
    return np.asarray(np.round(values, DECIMALS + 3))


def _is_zero(value: float) -> bool:
    return bool(abs(value) < 0.5 * 10.0**-DECIMALS)


def _row_squares(values: FloatArray) -> FloatArray:
    filled = (
        values
        if not np.isnan(values).any()
        else np.where(np.isnan(values), np.nanmean(values, 1)[:, None], values)
    )
    return np.asarray(filled.var(axis=1) * filled.shape[1])
