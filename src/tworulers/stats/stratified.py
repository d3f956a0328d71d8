"""Whether groups differ in a score given something else: rank tests within strata."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from tworulers.stats.relabel import draw_labels, share_as_large
from tworulers.stats.types import FloatArray, IntArray

NOTHING_SHARED = "no stratum holds two groups"


@dataclass(frozen=True)
class StratifiedTest:
    """A test of groups within strata.

    Attributes
    ----------
    statistic, df, p : chi squared; p counts patients as units where they repeat.
    p_permutation : by labels moved over patients within strata; NaN where none was asked for.
    n_compared : exams in strata that hold at least two groups.
    strata : those strata.
    """

    statistic: float
    df: int
    p: float
    p_permutation: float
    n: int
    n_compared: int
    strata: int
    undefined_because: str | None = None


def cut_strata(values: FloatArray, patients: IntArray, parts: int) -> IntArray:
    """Cut patients at quantiles of a number: those with equal numbers stay together.

    Parameters
    ----------
    values : one number an exam, (n,), no NaN; a patient with several has their mean.
    patients : whose each exam is, (n,).
    parts : how many strata at most.

    Returns
    -------
    Stratum of each exam, (n,), 0 to fewer than `parts`.
    """
    _, unit, count = np.unique(patients, return_inverse=True, return_counts=True)
    means = np.bincount(unit, weights=values) / count
    inner = np.quantile(means, np.arange(1, parts) / parts)
    place = np.searchsorted(np.unique(inner), means, side="right")
    return np.unique(place, return_inverse=True)[1].astype(np.int64)[unit]


def join_levels(levels: pd.Series, patients: IntArray) -> IntArray:
    """Make a stratum of each level; a patient seen in several levels is in a stratum of their union.

    Parameters
    ----------
    levels : one level an exam, none missing.
    patients : whose each exam is, (n,).
    """
    codes, names = pd.factorize(levels)
    _, unit = np.unique(patients, return_inverse=True)
    seen = np.zeros((int(unit.max(initial=-1)) + 1, len(names)), dtype=bool)
    seen[unit, codes] = True
    return np.unique(seen, axis=0, return_inverse=True)[1].astype(np.int64)[unit]


def compare_within_strata(
    values: FloatArray,
    codes: IntArray,
    strata: IntArray,
    patients: IntArray,
    *,
    draws: int = 0,
    rng: np.random.Generator | None = None,
) -> StratifiedTest:
    """Test whether groups differ in the order of their scores within strata.

    Parameters
    ----------
    values : scores, (n,), no NaN; infinite ones rank last.
    codes, strata, patients : of each exam, (n,); a patient is in one stratum.
    draws : permutations of labels over patients within strata; 0 asks for none.
    rng : source of chance, where there are draws.

    Notes
    -----
    Scores are ranked within strata, with the locally best weights 1 / (n + 1) (van Elteren 1960),
    which for any number of groups is Cochran, Mantel and Haenszel's test of row means of modified
    ridits. They are summed by patient, and the covariance of the groups' sums is that of labels moved
    over the patients of a stratum: with one exam a patient the textbook's, ties corrected.
    """
    k = int(codes.max(initial=-1)) + 1
    scores = _score(values, strata)
    member = np.eye(k)[codes]
    held = np.zeros((int(strata.max(initial=-1)) + 1, k))
    np.add.at(held, strata, member)
    compared = (held > 0).sum(axis=1) > 1
    facts = (len(values), int(compared[strata].sum()), int(compared.sum()))
    covariance = _spread_of_sums(scores, member, strata, patients)
    scale = float(np.trace(covariance))
    rank = int(np.linalg.matrix_rank(covariance, tol=1e-9 * scale)) if scale > 1e-12 else 0
    if rank == 0:
        reason = "no score varies within a stratum" if compared.any() else NOTHING_SHARED
        return StratifiedTest(np.nan, 0, np.nan, np.nan, *facts, undefined_because=reason)
    inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
    total = scores @ member
    statistic = float(total @ inverse @ total)
    p_permutation = np.nan
    if draws > 0 and rng is not None:
        labels = draw_labels(codes, patients, draws, rng, strata)
        sums = np.stack([(labels == g) @ scores for g in range(k)], axis=1)
        p_permutation = share_as_large(statistic, np.sum(sums @ inverse * sums, axis=1))
    p = float(stats.chi2.sf(statistic, rank))
    return StratifiedTest(statistic, rank, p, p_permutation, *facts)


def _score(values: FloatArray, strata: IntArray) -> FloatArray:
    """Rank within strata, so that every stratum sums to zero, (n,)."""
    scores = np.zeros(len(values))
    for stratum in np.unique(strata):
        part = strata == stratum
        ranks = stats.rankdata(values[part])
        scores[part] = (ranks - ranks.mean()) / (len(ranks) + 1)
    return scores


def _spread_of_sums(
    scores: FloatArray, member: FloatArray, strata: IntArray, patients: IntArray
) -> FloatArray:
    """Covariance (k, k) of the groups' sums of scores where labels lie at random over patients.

    It is that of permuted labels within strata; where labels vary within patients, the outer
    products of what each patient adds stand for it.
    """
    first, unit = np.unique(patients, return_index=True, return_inverse=True)[1:]
    k = member.shape[1]
    covariance = np.zeros((k, k))
    constant = bool((member == member[first][unit]).all())
    summed = np.bincount(unit, weights=scores)
    for stratum in np.unique(strata):
        rows = strata == stratum
        people = np.flatnonzero(strata[first] == stratum)
        if constant and len(people) > 1:
            labels, weight = member[first[people]], summed[people]
            labels, weight = labels - labels.mean(axis=0), weight - weight.mean()
            covariance += (weight @ weight) * (labels.T @ labels) / (len(people) - 1)
        elif not constant:
            added = np.zeros((len(first), k))
            np.add.at(added, unit[rows], scores[rows, None] * (member[rows] - member[rows].mean(0)))
            covariance += added.T @ added
    return covariance
