"""How well do groups score by the experts' labels, learnt from few of those and many machine
labels?
"""

from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.spread import name_undefined

Floats = NDArray[np.float64]

FEWEST = 3
"""Gold exams below which a group has no interval."""

MOST_LEVERAGE = 0.5
"""An exam's leverage on lambda counts at most this much."""


@dataclass(frozen=True)
class AnchoredMean:
    """A mean gold score estimated from exams with both scores and exams with the silver score
    alone.

    `effective_n` is the number of gold exams that would give the same standard error alone;
    `weight` is the power-tuned lambda, 0 where silver scores do not help.
    """

    n_gold: int
    n_silver: int
    gold_mean: float
    gold_low: float
    gold_high: float
    mean: float
    error: float
    low: float
    high: float
    weight: float
    correlation: float
    effective_n: float
    undefined_because: str | None


def anchor_mean(
    gold: Floats,
    silver: Floats,
    silver_only: Floats,
    *,
    weight: float | None = None,
    level: float = 0.95,
) -> AnchoredMean:
    """Estimate the mean gold score of a population from few gold and many silver scores.

    Parameters
    ----------
    gold, silver : (n,) finite scores of the same exams by the expert's and the machine's label.
    silver_only : (N,) finite silver scores of exams without an expert label.
    weight : lambda; None tunes it for the smallest variance.
    level : coverage of the intervals.

    Notes
    -----
    Prediction-powered inference (Angelopoulos, Duchi and Zrnic 2023): the gold mean is corrected by
    lambda times the difference of the mean silver score without and with a gold label,

        mean(gold) + lambda [mean(silver_only) - mean(silver)],

    with variance var(gold - lambda silver) / n + lambda^2 var(silver_only) / N, which is smallest
    at lambda = cov(gold, silver) / [(1 + n / N) var(silver)]. Lambda is not held to 0..1: silver
    scores vary less than gold ones, so the best lambda is often above 1. A tuned lambda follows the
    residuals it is judged by, so these are scaled by their leverage (HC2, MacKinnon and White 1985)
    and one degree of freedom of t is spent; a given lambda has the plain variance. Intervals hold
    where exams with and without a gold label come from one population (`assess_exchangeability`),
    and, like every t interval, cover too seldom where single failures far below the rest decide the
    mean.
    """
    n, more = len(gold), len(silver_only)
    if n < FEWEST:
        nothing = name_undefined(AnchoredMean)
        too_few = f"fewer than {FEWEST} gold exams"
        return AnchoredMean(n_gold=n, n_silver=more, **nothing, undefined_because=too_few)
    gold_mean, gold_error = float(gold.mean()), float(gold.std(ddof=1) / np.sqrt(n))
    gold_half = float(stats.t.ppf(0.5 + level / 2, n - 1)) * gold_error
    varies = min(np.ptp(silver), np.ptp(gold)) > 0
    correlation = float(np.corrcoef(gold, silver)[0, 1]) if varies else np.nan
    reason: str | None = None
    tuned = False
    if more < 2:
        weight, reason = 0.0, "fewer than two exams with a silver score alone"
    elif weight is None:
        weight = tune_weight(gold, silver, silver_only)
        tuned = weight != 0
    leverage = np.full(n, 1 / n)
    if tuned:
        centred = silver - silver.mean()
        leverage += centred**2 / float(centred @ centred)
    residual = gold - weight * silver
    residual = residual - residual.mean()
    # Beyond one half an exam pulls lambda to itself so much that dividing by what its residual has
    # left would only add noise.
    scaled = residual**2 / (1 - np.minimum(leverage, MOST_LEVERAGE))
    variance = float(scaled.sum()) / n**2
    shift = 0.0
    if more >= 2:
        shift = float(silver_only.mean() - silver.mean())
        variance += weight**2 * float(np.var(silver_only, ddof=1)) / more
    freedom = n - 2 if tuned else n - 1
    half = float(stats.t.ppf(0.5 + level / 2, freedom)) * np.sqrt(variance)
    mean = gold_mean + weight * shift
    return AnchoredMean(
        n_gold=n,
        n_silver=more,
        gold_mean=gold_mean,
        gold_low=gold_mean - gold_half,
        gold_high=gold_mean + gold_half,
        mean=mean,
        error=float(np.sqrt(variance)),
        low=mean - float(half),
        high=mean + float(half),
        weight=weight,
        correlation=correlation,
        effective_n=float(np.var(gold, ddof=1)) / variance if variance > 0 else np.nan,
        undefined_because=reason,
    )


def tune_weight(gold: Floats, silver: Floats, silver_only: Floats) -> float:
    """Return the lambda of smallest estimated variance, 0 where silver scores do not vary."""
    spread = float(np.var(np.concatenate([silver, silver_only]), ddof=1))
    if spread == 0 or np.ptp(silver) == 0:
        return 0.0
    return float(np.cov(gold, silver)[0, 1]) / spread / (1 + len(gold) / len(silver_only))


def anchor_groups(
    gold: pd.Series, silver: pd.Series, groups: pd.Series, *, level: float = 0.95
) -> pd.DataFrame:
    """Estimate the mean gold score of every group, one row each in the order of the groups.

    Parameters
    ----------
    gold : gold score of each exam, missing without an expert label; index `exam_id`.
    silver : silver score of each exam; same index. Exams without a finite silver score are left
        out.
    groups : ordered categorical, same index; missing is in no group.
    level : coverage.

    Returns
    -------
    `group` and the fields of `AnchoredMean`.
    """
    rows = []
    for group in groups.cat.categories:
        inside = (groups == group).to_numpy() & np.isfinite(silver.to_numpy(dtype=float))
        gold_in, silver_in = gold.to_numpy(float)[inside], silver.to_numpy(float)[inside]
        drawn = np.isfinite(gold_in)
        found = anchor_mean(gold_in[drawn], silver_in[drawn], silver_in[~drawn], level=level)
        rows.append({"group": str(group), **asdict(found)})
    return pd.DataFrame(rows)


def anchor_gaps(means: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Estimate the difference of mean gold scores of every pair of groups, second minus first.

    Parameters
    ----------
    means : as `anchor_groups` gives them.
    level : coverage; Welch's degrees of freedom.

    Returns
    -------
    `group_a`, `group_b`, the difference with its interval, and the interval from gold scores alone.
    """
    quantile = 0.5 + level / 2
    rows = []
    for (_, a), (_, b) in combinations(means.iterrows(), 2):
        row = {"group_a": a["group"], "group_b": b["group"]}
        for name, centre, errors in (
            ("difference", "mean", (a["error"], b["error"])),
            ("gold_difference", "gold_mean", tuple(_gold_error(x, level) for x in (a, b))),
        ):
            value = b[centre] - a[centre]
            squares = np.array(errors) ** 2
            spent = 2 if name == "difference" else 1
            freedom = np.array([a["n_gold"], b["n_gold"]]) - spent
            if np.isfinite(squares).all() and squares.sum() > 0 and freedom.min() > 0:
                df = squares.sum() ** 2 / (squares**2 / freedom).sum()
                half = stats.t.ppf(quantile, df) * np.sqrt(squares.sum())
            else:
                half = np.nan
            row |= {name: value, f"{name}_low": value - half, f"{name}_high": value + half}
        rows.append(row)
    return pd.DataFrame(rows)


def assess_exchangeability(
    has_gold: pd.Series, covariates: pd.DataFrame, *, alpha: float, draws: int, seed: int
) -> pd.DataFrame:
    """Test for every attribute whether exams with and without a gold label differ in it.

    Parameters
    ----------
    has_gold : bool, whether an exam has an expert label; index `exam_id`.
    covariates : same index: attributes and scanner, numbers or text; the silver score belongs here.
    alpha : level of the warning, on p adjusted by Holm over the attributes.
    draws : permutations of the chi-squared test of text columns.
    seed : of the permutations.

    Returns
    -------
    One row a column: `test`, `p`, `p_holm`, `warning`. Numbers are compared by Mann-Whitney, text
    by a permuted chi-squared test; missing values are left out of numbers and a level of their own
    in text. A column that does not vary has no p.
    """
    rows = []
    for name in covariates.columns:
        column = covariates[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            test, p = "mann_whitney", _compare_numbers(column, has_gold)
        else:
            text = column.astype(object).where(column.notna(), "missing").astype(str)
            test, p = "chi_squared", _compare_levels(text, has_gold, draws, seed)
        rows.append({"attribute": str(name), "test": test, "p": p})
    found = pd.DataFrame(rows, columns=["attribute", "test", "p"])
    found["p_holm"] = _adjust_holm(found["p"].to_numpy(dtype=float))
    return found.assign(warning=found["p_holm"] < alpha)


def _gold_error(row: pd.Series, level: float) -> float:
    if row["n_gold"] < FEWEST:
        return np.nan
    width = float(row["gold_high"] - row["gold_low"])
    return width / 2 / float(stats.t.ppf(0.5 + level / 2, row["n_gold"] - 1))


def _compare_numbers(column: pd.Series, has_gold: pd.Series) -> float:
    values = column.to_numpy(dtype=float)
    used = np.isfinite(values)
    first, second = values[used & has_gold.to_numpy()], values[used & ~has_gold.to_numpy()]
    if min(len(first), len(second)) < 2 or np.ptp(values[used]) == 0:
        return np.nan
    return float(stats.mannwhitneyu(first, second).pvalue)


def _compare_levels(text: pd.Series, has_gold: pd.Series, draws: int, seed: int) -> float:
    level = pd.factorize(text, sort=True)[0]
    count = int(level.max()) + 1
    sides = np.bincount(has_gold.to_numpy().astype(int), minlength=2)
    if count < 2 or sides.min() == 0:
        return np.nan
    totals = np.bincount(level)
    expected = totals * sides[1] / sides.sum()
    observed = np.bincount(level[has_gold.to_numpy()], minlength=count)
    # With both margins fixed, chi squared grows with this sum, so it orders the tables alike.
    rng = np.random.default_rng(seed)
    drawn = rng.multivariate_hypergeometric(totals, int(sides[1]), size=draws, method="marginals")
    reached = ((drawn - expected) ** 2 / totals).sum(axis=1)
    least = ((observed - expected) ** 2 / totals).sum()
    return float((1 + np.sum(reached >= least - 1e-12)) / (draws + 1))


def _adjust_holm(p: Floats) -> Floats:
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p)[: int(np.isfinite(p).sum())]
    stepped = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
