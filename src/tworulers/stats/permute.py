"""How often chance alone would part the groups as far: label permutation of rates and of ranks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from tworulers.stats.groups import GroupedSample
from tworulers.stats.ranks import tie_term
from tworulers.stats.rates import TOLERANCE, impact_ratio, parity_difference

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

CHUNK = 2_000_000
"""Permuted values held in memory at a time."""


@dataclass(frozen=True)
class Shuffled:
    """What each group holds after each permutation: a sum of values, and how many exams.

    Attributes
    ----------
    sums : shape (draws, k).
    sizes : exams of each group, shape (draws, k).
    """

    sums: FloatArray
    sizes: IntArray


def permute_successes(
    sample: GroupedSample, success: NDArray[np.bool_], draws: int, rng: np.random.Generator
) -> Shuffled:
    """Shuffle who belongs to which group and count each group's successes.

    Where every exam is its own patient this is a multivariate hypergeometric draw; otherwise labels
    change places as in `permute_sums`.
    """
    if _one_exam_each(sample.patients):
        total = int(success.sum())
        drawn = rng.multivariate_hypergeometric(sample.sizes, total, size=draws, method="marginals")
        return Shuffled(drawn.astype(float), np.broadcast_to(sample.sizes, drawn.shape))
    found = permute_sums(sample, success.astype(float), draws, rng)
    return Shuffled(np.rint(found.sums), found.sizes)


def permute_sums(
    sample: GroupedSample, values: FloatArray, draws: int, rng: np.random.Generator
) -> Shuffled:
    """Shuffle labels over patients and sum values by group.

    The null is that a patient's vector of labels is independent of the patient's record. Where
    every patient keeps one label, labels move freely among all patients, so that the number of
    exams of a group varies; where labels vary within patients, vectors move among patients with
    equally many exams.

    Parameters
    ----------
    sample : whose groups and patients are used, n exams.
    values : what is summed, shape (n,), such as ranks.
    draws : number of permutations.
    rng : source of chance.
    """
    k = len(sample.names)
    sums = np.zeros((draws, k))
    sizes = np.zeros((draws, k), dtype=np.int64)
    for labels, parts in _list_moves(sample, values):
        wide = labels.shape[1]
        member = (labels.ravel()[:, None] == np.arange(k)).astype(float)
        step = max(1, CHUNK // parts[0].size)
        for start in range(0, draws, step):
            now = min(step, draws - start)
            here = slice(start, start + now)
            value, count = parts
            if wide == 1 and np.ptp(count) == 0:
                moved = rng.permuted(np.broadcast_to(value[:, 0], (now, len(value))), axis=1)
                sums[here] += moved @ member
                sizes[here] += np.rint(count[0, 0] * member.sum(axis=0)).astype(np.int64)
                continue
            order = rng.permuted(np.broadcast_to(np.arange(len(value)), (now, len(value))), axis=1)
            sums[here] += value[order].reshape(now, -1) @ member
            counted = count[order].reshape(now, -1) @ member
            sizes[here] += np.rint(counted).astype(np.int64)
    return Shuffled(sums, sizes)


def count_arrangements(sample: GroupedSample) -> float:
    """Count the different ways in which labels can lie over patients, infinity beyond floats.

    With few of them no permutation test can reject: the smallest p there is, is one over them.
    """
    log = 0.0
    for labels, _ in _list_moves(sample, np.zeros(len(sample.values))):
        _, count = np.unique(labels, axis=0, return_counts=True)
        log += float(special.gammaln(len(labels) + 1) - special.gammaln(count + 1).sum())
    return float(np.rint(np.exp(log))) if log < 700 else float("inf")


def _list_moves(
    sample: GroupedSample, values: FloatArray
) -> list[tuple[IntArray, tuple[FloatArray, FloatArray]]]:
    """List the sets of patients among whom labels move.

    Each is the labels, (patients, width), and what moves against them: summed values and numbers of
    exams, (patients, width).
    """
    _, unit, count = np.unique(sample.patients, return_inverse=True, return_counts=True)
    first = np.full(len(count), len(sample.names), dtype=np.int64)
    np.minimum.at(first, unit, sample.codes)
    if (sample.codes == first[unit]).all():
        summed = np.bincount(unit, weights=values, minlength=len(count)).astype(np.float64)
        return [(first[:, None], (summed[:, None], count[:, None].astype(np.float64)))]
    rows = np.argsort(unit, kind="stable")
    of_row = count[unit[rows]]
    blocks = [rows[of_row == m].reshape(-1, m) for m in np.unique(count)]
    return [(sample.codes[block], (values[block], np.ones(block.shape))) for block in blocks]


def _one_exam_each(patients: IntArray) -> bool:
    return len(np.unique(patients)) == len(patients)


def p_of_impact_ratio(successes: IntArray, n: IntArray, permuted: Shuffled) -> float:
    """Two-sided p of DIR about its mean under permutation, without the customary + 1.

    Parameters
    ----------
    successes, n : counts in the data, shape (k,).
    permuted : successes of each permutation.

    Returns
    -------
    Share of permutations whose DIR is at least as far from their mean; NaN where DIR is undefined.
    """
    observed, drawn = (
        float(impact_ratio(successes, n)),
        impact_ratio(permuted.sums, permuted.sizes),
    )
    drawn = drawn[~np.isnan(drawn)]
    if np.isnan(observed) or not len(drawn):
        return float("nan")
    centre = drawn.mean()
    return float((np.abs(drawn - centre) >= abs(observed - centre) - TOLERANCE).mean())


def p_of_parity_difference(successes: IntArray, n: IntArray, permuted: Shuffled) -> float:
    """One-sided p of DPD: (1 + permutations with a DPD as large) / (1 + permutations)."""
    observed = float(parity_difference(successes, n))
    drawn = parity_difference(permuted.sums, permuted.sizes)
    return float((1 + (drawn >= observed - TOLERANCE).sum()) / (1 + len(drawn)))


def p_of_ranks(sample: GroupedSample, draws: int, rng: np.random.Generator) -> float:
    """Permutation p of the tie-corrected Kruskal-Wallis H; of squared z for two groups.

    Returns
    -------
    (1 + permutations with an H as large) / (1 + permutations); 1 where no value varies.
    """
    ranks = stats.rankdata(sample.values)
    if np.ptp(ranks) == 0:
        return 1.0
    n, sizes = len(ranks), sample.sizes
    scale = 12 / (n * (n + 1)) / (1 - tie_term(ranks) / (n**3 - n))
    centred = ranks - (n + 1) / 2
    observed = np.bincount(sample.codes, weights=centred, minlength=len(sizes))
    h = scale * float((observed**2 / sizes).sum())
    permuted = permute_sums(sample, centred, draws, rng)
    drawn = scale * (permuted.sums**2 / permuted.sizes).sum(axis=1)
    return float((1 + (drawn >= h - 1e-9).sum()) / (1 + draws))
