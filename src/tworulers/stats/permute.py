"""How often chance alone would part the groups as far: label permutation of rates and of ranks."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.groups import GroupedSample
from tworulers.stats.ranks import tie_term
from tworulers.stats.rates import TOLERANCE, impact_ratio, parity_difference

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

CHUNK = 2_000_000
"""Permuted values held in memory at a time."""


def permute_successes(
    sample: GroupedSample, success: NDArray[np.bool_], draws: int, rng: np.random.Generator
) -> IntArray:
    """Shuffle who belongs to which group and count each group's successes, shape (draws, k).

    Where every exam is its own patient this is a multivariate hypergeometric draw; otherwise whole
    patients change places, see `permute_sums`.
    """
    if _one_exam_each(sample.patients):
        total = int(success.sum())
        drawn = rng.multivariate_hypergeometric(sample.sizes, total, size=draws, method="marginals")
        return np.asarray(drawn, dtype=np.int64)
    return np.rint(permute_sums(sample, success.astype(float), draws, rng)).astype(np.int64)


def permute_sums(
    sample: GroupedSample, values: FloatArray, draws: int, rng: np.random.Generator
) -> FloatArray:
    """Shuffle values over exams and sum them by group, shape (draws, k).

    Patients with several exams keep their values together: they change places with patients who
    have as many exams, so that group sizes stay as they are.

    Parameters
    ----------
    sample : whose groups and patients are used, n exams.
    values : what is summed, shape (n,), such as ranks.
    draws : number of permutations.
    rng : source of chance.
    """
    k = len(sample.names)
    sums = np.zeros((draws, k))
    for rows in _exchangeable(sample.patients):
        codes, block = sample.codes[rows], values[rows]  # both (patients, exams of each)
        step = max(1, CHUNK // block.size)
        for start in range(0, draws, step):
            now = min(step, draws - start)
            if block.shape[1] == 1:
                shuffled = rng.permuted(np.broadcast_to(block[:, 0], (now, len(block))), axis=1)
            else:
                order = rng.permuted(
                    np.broadcast_to(np.arange(len(block)), (now, len(block))), axis=1
                )
                shuffled = block[order].reshape(now, -1)
            member = codes.ravel()[:, None] == np.arange(k)
            sums[start : start + now] += shuffled @ member
    return sums


def _exchangeable(patients: IntArray) -> list[IntArray]:
    """Rows of patients who may change places: one array (patients, exams) a number of exams."""
    _, unit, count = np.unique(patients, return_inverse=True, return_counts=True)
    rows = np.argsort(unit, kind="stable")
    of_row = count[unit[rows]]
    return [rows[of_row == m].reshape(-1, m) for m in np.unique(count)]


def _one_exam_each(patients: IntArray) -> bool:
    return len(np.unique(patients)) == len(patients)


def p_of_impact_ratio(successes: IntArray, n: IntArray, permuted: IntArray) -> float:
    """Two-sided p of DIR about its mean under permutation, without the customary + 1.

    Parameters
    ----------
    successes, n : counts in the data, shape (k,).
    permuted : successes of each permutation, shape (draws, k).

    Returns
    -------
    Share of permutations whose DIR is at least as far from their mean; NaN where DIR is undefined.
    """
    observed, drawn = (
        float(impact_ratio(successes, n)),
        impact_ratio(permuted, np.broadcast_to(n, permuted.shape)),
    )
    drawn = drawn[~np.isnan(drawn)]
    if np.isnan(observed) or not len(drawn):
        return float("nan")
    centre = drawn.mean()
    return float((np.abs(drawn - centre) >= abs(observed - centre) - TOLERANCE).mean())


def p_of_parity_difference(successes: IntArray, n: IntArray, permuted: IntArray) -> float:
    """One-sided p of DPD: (1 + permutations with a DPD as large) / (1 + permutations)."""
    observed = float(parity_difference(successes, n))
    drawn = parity_difference(permuted, np.broadcast_to(n, permuted.shape))
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
    drawn = scale * (permute_sums(sample, centred, draws, rng) ** 2 / sizes).sum(axis=1)
    return float((1 + (drawn >= h - 1e-9).sum()) / (1 + draws))
