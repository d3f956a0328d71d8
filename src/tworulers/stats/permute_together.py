"""Permutation p of the rank test of several scores of the same exams, from one set of permutations."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from tworulers.stats.draw import split_draws
from tworulers.stats.groups import GroupedSample
from tworulers.stats.relabel import draw_labels
from tworulers.stats.types import FloatArray, IntArray


def p_of_ranks_together(
    samples: Sequence[GroupedSample], draws: int, rng: np.random.Generator
) -> FloatArray:
    """Permutation p of each sample's tie-corrected Kruskal-Wallis H, as `permute.p_of_ranks` gives it one by one.

    Labels move over patients, once for all samples, so that each p has its own law and the p of two scores are as
    dependent as the scores are.

    Parameters
    ----------
    samples : of the same exams in the same order: equal groups and patients, other values.
    draws : number of permutations.
    rng : source of chance.

    Returns
    -------
    (1 + permutations with an H as large) / (1 + permutations), (samples,); 1 where no value varies.

    Raises
    ------
    ValueError : the samples have other groups or patients.
    """
    first = samples[0]
    if not all(share_labels(first, sample) for sample in samples):
        raise ValueError("expected samples of the same exams: their groups or patients differ")
    ranks = np.stack([stats.rankdata(sample.values) for sample in samples], axis=1)
    centred = ranks - ranks.mean(axis=0)
    total = np.einsum("ij,ij->j", centred, centred)
    k, reached = len(first.names), np.zeros(len(samples), dtype=np.int64)
    observed = _part_squares(first.codes[None], centred, k)[0]
    for block in split_draws(draws, len(first.codes)):
        labels = draw_labels(first.codes, first.patients, block, rng)
        reached += (_part_squares(labels, centred, k) >= observed - 1e-9 * total).sum(axis=0)
    return np.where(total > 0, (1 + reached) / (1 + draws), 1.0)


def share_labels(sample: GroupedSample, other: GroupedSample) -> bool:
    """Tell whether two samples have the same groups and patients, exam by exam."""
    return np.array_equal(sample.codes, other.codes) and np.array_equal(
        sample.patients, other.patients
    )


def _part_squares(labels: IntArray, centred: FloatArray, k: int) -> FloatArray:
    """Sum of squares between groups of centred scores (n, m) under labels (draws, n), shape (draws, m)."""
    between = np.zeros((len(labels), centred.shape[1]))
    for g in range(k):
        member = (labels == g).astype(np.float64)
        size = member.sum(axis=1)[:, None]
        sums = member @ centred
        between += np.divide(sums**2, size, out=np.zeros(sums.shape), where=size > 0)
    return between
