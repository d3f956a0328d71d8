"""How well do the exams of a group that do not fail score by the experts' labels, learnt from few of those and many
machine labels?

Prediction-powered inference (Angelopoulos, Duchi and Zrnic 2023) of the mean over the exams that do not fail: the
gold mean of these is corrected by lambda times the difference of a function of the silver score without and with a
gold label. The function is the silver score less its mean where that does not fail, and 0 where it does; whatever it
is, the estimate keeps to the gold score. With n gold exams, m of them not failed, an exam's influence on the gold mean
is (score - mean) n / m where it did not fail and 0 where it did; lambda makes the variance of influence less lambda
times the function smallest, and is not held to 0..1: silver scores vary less than gold ones, so the best is often
above 1. A tuned lambda follows the residuals it is judged by, so these are scaled by their leverage (HC2, MacKinnon
and White 1985) and one degree of freedom of t is spent. Influences are summed by patient.

Intervals hold where exams with and without a gold label come from one population (`assess_exchangeability`). A single
failure far below the rest would decide the mean of all exams, and a sample without one does not know it: therefore
failures are counted apart (`diagnosis.failures`), and what is said of all exams is `stats.gaffke`.
"""

from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from tworulers.diagnosis.few_labels import FewLabels
from tworulers.stats.dispersion import name_undefined
from tworulers.stats.types import BoolArray, FloatArray, IntArray, Row

FEWEST = 3
"""Patients with a gold exam that did not fail, below which a group has no interval."""

MOST_LEVERAGE = 0.5
"""A patient's leverage on lambda counts at most this much."""


@dataclass(frozen=True)
class AnchoredMean:
    """A mean gold score over exams that do not fail, from exams with both scores and exams with the silver score alone.

    `n_gold` exams have a gold label, `n_rest` of them, of `n_patients`, did not fail. `effective_n` is the number of
    gold exams that did not fail which would give the same standard error alone; `weight` is the power-tuned lambda, 0
    where silver scores do not help.
    """

    n_gold: int
    n_silver: int
    n_rest: int
    n_patients: int
    gold_mean: float
    gold_error: float
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


@dataclass(frozen=True)
class Estimate:
    """An anchored mean, and by how much every patient moves it and the mean of gold alone, each (patients,)."""

    told: AnchoredMean
    moved: FloatArray
    gold_moved: FloatArray


def anchor_mean(scores: FewLabels, *, weight: float | None = None, level: float = 0.95) -> Estimate:
    """Estimate the mean gold score of the exams of a population that do not fail from few gold and many silver scores.

    Parameters
    ----------
    scores : of a sample of the population.
    weight : lambda; None tunes it for the smallest variance.
    level : coverage of the intervals.
    """
    drawn, more = scores.labelled, int((~scores.labelled).sum())
    rest = drawn & ~scores.failed
    sizes: Row = {"n_gold": int(drawn.sum()), "n_silver": more, "n_rest": int(rest.sum())}
    people = len(np.unique(scores.patients[rest]))
    if people < FEWEST:
        nobody = np.full(scores.n_patients, np.nan)
        nothing: Row = name_undefined(AnchoredMean)
        too_few = f"fewer than {FEWEST} patients with a gold exam that did not fail"
        told = AnchoredMean(**sizes, n_patients=people, **nothing, undefined_because=too_few)
        return Estimate(told, nobody, nobody)
    gold_mean = float(scores.gold[rest].mean())
    influence = np.where(rest, scores.gold - gold_mean, 0.0)[drawn] * drawn.sum() / rest.sum()
    control = _centre_kept(scores)
    with_gold, without = control[drawn], control[~drawn]
    tuned = more >= 2 and weight is None
    if more < 2:
        weight = 0.0
    elif weight is None:
        weight = tune_weight(influence, with_gold, without)
    tuned = tuned and weight != 0
    share = rest[drawn] / rest.sum()
    whose, n = scores.patients[drawn], scores.n_patients
    gold_moved = _sum_scaled(influence, share, whose, n)
    moved, mean = gold_moved, gold_mean
    if weight:
        centred = with_gold - with_gold.mean()
        leverage = share + (centred**2 / float(centred @ centred) if tuned else 0.0)
        moved = _sum_scaled(influence - weight * centred, leverage, whose, n)
        moved = moved + weight * _sum_centred(without, scores.patients[~drawn], n)
        mean += weight * float(without.mean() - with_gold.mean())
    gold_error, error = (float(np.sqrt(part @ part)) for part in (gold_moved, moved))
    t = stats.t.ppf(0.5 + level / 2, np.array([people - 1, people - 2 if tuned else people - 1]))
    gold_half, half = map(float, t * [gold_error, error])
    told = AnchoredMean(
        **sizes,
        n_patients=people,
        gold_mean=gold_mean,
        gold_error=gold_error,
        gold_low=gold_mean - gold_half,
        gold_high=gold_mean + gold_half,
        mean=mean,
        error=error,
        low=mean - half,
        high=mean + half,
        weight=weight,
        correlation=_correlate(scores, rest & ~scores.silver_failed),
        effective_n=sizes["n_rest"] * (gold_error / error) ** 2 if error > 0 else np.nan,
        undefined_because=None if more >= 2 else "fewer than two exams with a silver score alone",
    )
    return Estimate(told, moved, gold_moved)


def tune_weight(influence: FloatArray, with_gold: FloatArray, without: FloatArray) -> float:
    """Return the lambda of smallest estimated variance, 0 where silver scores do not vary.

    Parameters
    ----------
    influence : (n,) of exams with a gold label on the gold mean.
    with_gold, without : (n,) and (N,) the function of their silver score, and of the exams without a gold label.
    """
    spread = float(np.var(np.concatenate([with_gold, without]), ddof=1))
    if spread == 0 or np.ptp(with_gold) == 0:
        return 0.0
    return float(np.cov(influence, with_gold)[0, 1]) / spread / (1 + len(with_gold) / len(without))


def anchor_groups(
    scores: FewLabels, groups: pd.Series, *, level: float = 0.95
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate the mean gold score of the exams that do not fail of every group, and the differences of every pair.

    Parameters
    ----------
    scores : of n exams.
    groups : (n,) ordered categorical of the same exams; missing is in no group.
    level : coverage; of differences with Welch's degrees of freedom.

    Returns
    -------
    `group` and the fields of `AnchoredMean`, one row a group in order; and `group_a`, `group_b`, the difference second
    minus first with its interval, and that from gold scores alone. A patient with exams in both groups moves the
    difference once.
    """
    names = [str(name) for name in groups.cat.categories]
    found = [
        anchor_mean(scores.part((groups == name).to_numpy()), level=level)
        for name in groups.cat.categories
    ]
    means = pd.DataFrame(
        {"group": name, **asdict(one.told)} for name, one in zip(names, found, strict=True)
    )
    gaps = [
        {"group_a": names[a], "group_b": names[b], **_compare(found[a], found[b], level)}
        for a, b in combinations(range(len(names)), 2)
    ]
    return means, pd.DataFrame(gaps)


def _compare(first: Estimate, second: Estimate, level: float) -> dict[str, float]:
    a, b = first.told, second.told
    row: dict[str, float] = {}
    for name, value, parts, errors, spent in (
        ("difference", b.mean - a.mean, (first.moved, second.moved), (a.error, b.error), 2),
        (
            "gold_difference",
            b.gold_mean - a.gold_mean,
            (first.gold_moved, second.gold_moved),
            (a.gold_error, b.gold_error),
            1,
        ),
    ):
        squares = np.square(errors)
        freedom = np.array([a.n_patients, b.n_patients]) - spent
        half = np.nan
        if np.isfinite(squares).all() and squares.sum() > 0 and freedom.min() > 0:
            df = squares.sum() ** 2 / (squares**2 / freedom).sum()
            error = np.sqrt(np.sum((parts[1] - parts[0]) ** 2))
            half = float(stats.t.ppf(0.5 + level / 2, df) * error)
        row |= {name: value, f"{name}_low": value - half, f"{name}_high": value + half}
    return row


def _centre_kept(scores: FewLabels) -> FloatArray:
    """Return silver scores less their mean over the exams that silver does not call failed, 0 for the others."""
    kept = ~scores.silver_failed
    if not kept.any():
        return np.zeros(len(kept))
    return np.where(kept, scores.silver - scores.silver[kept].mean(), 0.0)


def _sum_scaled(residual: FloatArray, leverage: FloatArray, whose: IntArray, n: int) -> FloatArray:
    """Sum what exams move a mean by patient, scaled by the patient's leverage (HC2).

    Beyond one half a patient pulls lambda to itself so much that dividing by what its residual has left would only add
    noise.
    """
    summed = np.bincount(whose, weights=residual, minlength=n) / len(residual)
    pull = np.bincount(whose, weights=leverage, minlength=n)
    return np.asarray(summed / np.sqrt(1 - np.minimum(pull, MOST_LEVERAGE)))


def _sum_centred(values: FloatArray, whose: IntArray, n: int) -> FloatArray:
    people = len(np.unique(whose))
    summed = np.bincount(whose, weights=values - values.mean(), minlength=n) / len(values)
    return np.asarray(summed * np.sqrt(people / max(people - 1, 1)))


def _correlate(scores: FewLabels, both: BoolArray) -> float:
    gold, silver = scores.gold[both], scores.silver[both]
    if len(gold) < 2 or min(np.ptp(gold), np.ptp(silver)) == 0:
        return float("nan")
    return float(np.corrcoef(gold, silver)[0, 1])
