"""Whether groups differ in the order of their scores, whatever their spreads: Brunner and Munzel's test and its
extension to several groups.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from tworulers.stats.relabel import draw_labels, share_as_large
from tworulers.stats.types import FloatArray, IntArray

CHUNK = 1_000_000
"""Placements held in memory at a time."""

NO_OVERLAP = "no score of one group lies among those of another"


@dataclass(frozen=True)
class UnequalTest:
    """A rank test that does not take groups to spread alike.

    Attributes
    ----------
    statistic, df, p : F with its two degrees of freedom; t squared for two groups.
    effects : chance that a score of the group lies above one of the average group, ties half, (k,).
    """

    statistic: float
    df: tuple[float, float]
    p: float
    effects: FloatArray
    undefined_because: str | None = None


@dataclass(frozen=True)
class _Moments:
    """Relative effects (draws, k), their covariance (draws, k, k), and what each group adds to its trace."""

    effects: FloatArray
    covariance: FloatArray
    parts: FloatArray
    people: IntArray


def compare_unequal(values: FloatArray, codes: IntArray, patients: IntArray) -> UnequalTest:
    """Test whether all groups have the same relative effect, by the ANOVA-type statistic.

    Parameters
    ----------
    values : scores, (n,), no NaN.
    codes, patients : group and patient of each exam, (n,); every group 0 to k - 1 has two patients.

    Notes
    -----
    For two groups this is Brunner and Munzel's test (2000). For more it is the ANOVA-type statistic
    of Brunner, Dette and Munk (1997) of unweighted effects (Brunner, Konietschke, Pauly and Puri
    2017). The second degrees of freedom are Satterthwaite's. Where patients have several exams,
    what a patient adds to an effect is summed before the variance is taken.
    """
    k = int(codes.max()) + 1
    found = _measure(values, codes[None], patients, k)
    effects, covariance = found.effects[0], found.covariance[0]
    contrast = np.eye(k) - 1 / k
    trace = float(np.trace(contrast @ covariance))
    between = float(effects @ contrast @ effects)
    if trace < 1e-12:
        if between < 1e-12:
            return UnequalTest(0.0, (k - 1.0, np.inf), 1.0, effects)
        return UnequalTest(np.nan, (np.nan, np.nan), np.nan, effects, NO_OVERLAP)
    squared = contrast @ covariance
    first = trace**2 / float(np.trace(squared @ squared))
    parts, people = found.parts[0], found.people[0]
    second = float(parts.sum() ** 2 / np.sum(parts**2 / (people - 1)))
    statistic = between / trace
    return UnequalTest(
        statistic, (first, second), float(stats.f.sf(statistic, first, second)), effects
    )


def permute_unequal(
    values: FloatArray, codes: IntArray, patients: IntArray, draws: int, rng: np.random.Generator
) -> float:
    """Give the permutation p of the statistic, its variance taken anew in every draw.

    Being studentized, the test holds its level where spreads differ, too (Neubert and Brunner 2007;
    Pauly, Brunner and Konietschke 2015).

    Parameters
    ----------
    values, codes, patients : as of `compare_unequal`.
    draws : permutations of labels over patients.
    rng : source of chance.
    """
    k = int(codes.max()) + 1
    labels = draw_labels(codes, patients, draws, rng)
    step = max(1, CHUNK // (len(values) * k))
    observed = _studentize(_measure(values, codes[None], patients, k))[0]
    drawn = [
        _studentize(_measure(values, labels[at : at + step], patients, k))
        for at in range(0, draws, step)
    ]
    return share_as_large(float(observed), np.concatenate(drawn))


def _studentize(found: _Moments) -> FloatArray:
    """Return the statistic of each draw; infinite where groups lie apart, 0 where nothing varies."""
    effects = found.effects - found.effects.mean(axis=1, keepdims=True)
    between = np.sum(effects**2, axis=1)
    trace = found.parts.sum(axis=1)
    apart = np.where(between < 1e-12, 0.0, np.inf)
    return np.asarray(np.divide(between, trace, out=apart, where=trace > 1e-12))


def _measure(values: FloatArray, codes: IntArray, patients: IntArray, k: int) -> _Moments:
    """Measure effects and what patients add to them for labels (draws, n)."""
    order = np.argsort(patients, kind="stable")
    values, codes = values[order], codes[:, order]
    starts = np.flatnonzero(np.diff(patients[order], prepend=patients[order[0]] - 1))
    by_value = np.argsort(values, kind="stable")
    ordered = values[by_value]
    below = np.searchsorted(ordered, values, side="left")
    up_to = np.searchsorted(ordered, values, side="right")
    member = codes[:, None, :] == np.arange(k)[:, None]
    size = member.sum(axis=2)
    people = np.stack([(codes[:, starts] == g).sum(axis=1) for g in range(k)], axis=1)
    counted = np.zeros((len(codes), k, len(values) + 1))
    np.cumsum(member[:, :, by_value], axis=2, out=counted[:, :, 1:])
    placed = (counted[:, :, below] + counted[:, :, up_to]) / (2 * size[:, :, None])
    average = placed.mean(axis=1)
    # mean placement of each group's exams (draws, of group g, among group h)
    mean = np.einsum("dhn,dgn->dgh", placed, member) / size[:, :, None]
    effects = mean.mean(axis=2)
    own = np.take_along_axis(mean, codes[:, :, None], axis=1)
    added = -(placed - own.transpose(0, 2, 1)) / k
    centred = average - np.take_along_axis(effects, codes, axis=1)
    added += member * centred[:, None, :]
    few = np.sqrt(people / np.maximum(people - 1, 1)) / size
    added *= np.take_along_axis(few, codes, axis=1)[:, None, :]
    summed = np.add.reduceat(added, starts, axis=2)
    covariance = summed @ summed.transpose(0, 2, 1)
    summed -= summed.mean(axis=1, keepdims=True)
    share = np.sum(summed**2, axis=1)
    first = codes[:, starts]
    parts = np.stack([np.where(first == g, share, 0).sum(axis=1) for g in range(k)], axis=1)
    return _Moments(effects, covariance, parts, people)
