"""How often chance alone would part the groups as far: label permutation of rates and of ranks, rulers exchanged."""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy import special, stats

from tworulers.stats.groups import GroupedSample
from tworulers.stats.ranks import measure_distances, sum_ranks
from tworulers.stats.rates import TOLERANCE, impact_ratio, parity_difference
from tworulers.stats.types import BoolArray, FloatArray, IntArray

CHUNK = 2_000_000
"""Permuted values held in memory at a time."""

ALL_SIGNS = 14
"""Patients up to whom all changes of sign are listed."""

FEW = 20
"""Arrangements of labels up to which no permutation p can fall below .05."""

MOST_TABLES = 200_000
"""Success tables above which permutations are drawn instead of enumerated."""


@dataclass(frozen=True)
class Shuffled:
    """What each group holds after each permutation: a sum of values, and how many exams.

    Attributes
    ----------
    sums : shape (draws, k).
    sizes : exams of each group, shape (draws, k).
    chance : probability of each row where the rows are all there can be, shape (draws,); None of draws.
    """

    sums: FloatArray
    sizes: IntArray
    chance: FloatArray | None = None


def permute_successes(
    sample: GroupedSample, success: BoolArray, draws: int, rng: np.random.Generator
) -> Shuffled:
    """Shuffle who belongs to which group and count each group's successes.

    Where every exam is its own patient these are the multivariate hypergeometric tables, all of them with their
    probability up to `MOST_TABLES`, so that no p depends on chance, and draws beyond; otherwise labels change places as
    in `permute_sums`.
    """
    if _one_exam_each(sample.patients):
        total = int(success.sum())
        tables = enumerate_tables(sample.sizes, total)
        if tables is not None:
            sizes = np.broadcast_to(sample.sizes, tables.shape)
            return Shuffled(tables.astype(float), sizes, _weigh_tables(tables, sample.sizes))
        drawn = rng.multivariate_hypergeometric(sample.sizes, total, size=draws, method="marginals")
        return Shuffled(drawn.astype(float), np.broadcast_to(sample.sizes, drawn.shape))
    found = permute_sums(sample, success.astype(float), draws, rng)
    return Shuffled(np.rint(found.sums), found.sizes)


def enumerate_tables(n: IntArray, total: int) -> IntArray | None:
    """List every way in which `total` successes can lie over groups of n exams, shape (ways, k).

    None where there are more than `MOST_TABLES`.
    """
    after = n.sum() - np.cumsum(n)
    tables, left = np.zeros((1, 0), dtype=np.int64), np.array([total])
    for size, room in zip(n, after, strict=True):
        least, most = np.maximum(left - room, 0), np.minimum(left, size)
        ways = most - least + 1
        if ways.sum() > MOST_TABLES:
            return None
        here = np.arange(ways.sum()) - np.repeat(np.cumsum(ways) - ways, ways)
        here += np.repeat(least, ways)
        tables = np.column_stack([np.repeat(tables, ways, axis=0), here])
        left = np.repeat(left, ways) - here
    return tables


def _weigh_tables(tables: IntArray, n: IntArray) -> FloatArray:
    """Give the multivariate hypergeometric probability of each table."""
    log = (
        special.gammaln(n + 1) - special.gammaln(tables + 1) - special.gammaln(n - tables + 1)
    ).sum(axis=1)
    chance = np.exp(log - log.max())
    return np.asarray(chance / chance.sum())


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
    permuted : successes of each permutation, or every table with its probability.

    Returns
    -------
    Share of permutations whose DIR is at least as far from their mean; NaN where DIR is undefined.
    """
    observed, drawn = (
        float(impact_ratio(successes, n)),
        impact_ratio(permuted.sums, permuted.sizes),
    )
    defined = ~np.isnan(drawn)
    if np.isnan(observed) or not defined.any():
        return float("nan")
    drawn = drawn[defined]
    if permuted.chance is None:
        # The mean of draws is known to its error only: what may be as far, counts as far.
        weights, slack = None, TOLERANCE + 2 * float(drawn.std()) / len(drawn) ** 0.5
    else:
        weights, slack = permuted.chance[defined], TOLERANCE
    centre = np.average(drawn, weights=weights)
    reached = np.abs(drawn - centre) >= abs(observed - centre) - slack
    return float(min(np.average(reached, weights=weights), 1.0))


def p_of_parity_difference(successes: IntArray, n: IntArray, permuted: Shuffled) -> float:
    """One-sided p of DPD: the probability of one as large, of draws (1 + those as large) / (1 + draws)."""
    observed = float(parity_difference(successes, n))
    drawn = parity_difference(permuted.sums, permuted.sizes)
    reached = drawn >= observed - TOLERANCE
    if permuted.chance is not None:
        return float(min(permuted.chance[reached].sum(), 1.0))
    return float((1 + reached.sum()) / (1 + len(drawn)))


def p_of_ranks(sample: GroupedSample, draws: int, rng: np.random.Generator) -> float:
    """Permutation p of the tie-corrected Kruskal-Wallis H; of squared z for two groups.

    Returns
    -------
    (1 + permutations with an H as large) / (1 + permutations); 1 where no value varies.
    """
    return p_of_scores(sample, stats.rankdata(sample.values), draws, rng)


def p_of_scores(
    sample: GroupedSample, scores: FloatArray, draws: int, rng: np.random.Generator
) -> float:
    """Permutation p of the sum of squares of scores between groups, labels moving over patients.

    Of ranks that is Kruskal and Wallis' H, of distances from group medians Brown and Forsythe's F,
    both up to what no permutation changes.

    Parameters
    ----------
    sample : whose groups and patients are used, n exams.
    scores : finite, shape (n,).
    draws : number of permutations.
    rng : source of chance.

    Returns
    -------
    (1 + permutations with as much between groups) / (1 + permutations); 1 where no score varies.
    """
    centred = scores - scores.mean()
    total = float(centred @ centred)
    if np.ptp(scores) == 0:
        return 1.0
    observed = sum_ranks(sample, centred)
    permuted = permute_sums(sample, centred, draws, rng)
    between = _square_sums(observed, sample.sizes)
    drawn = _square_sums(permuted.sums, permuted.sizes)
    return float((1 + (drawn >= between - 1e-9 * total).sum()) / (1 + draws))


def p_of_spreads(sample: GroupedSample, draws: int, rng: np.random.Generator) -> float:
    """Permutation p of Brown and Forsythe's F, the distances from group medians moving by patients.

    NaN where fewer than two groups have two finite scores, no distance varies within a group, or so
    few arrangements of labels exist that no p can fall below .05.
    """
    placed, distances = measure_distances(sample)
    within = [np.ptp(distances[placed.codes == g]) for g in range(len(placed.names))]
    if draws < 1 or len(within) < 2 or not max(within) > 0 or count_arrangements(placed) <= FEW:
        return float("nan")
    return p_of_scores(placed, distances, draws, rng)


def compare_pairs_by_patient(
    sample: GroupedSample, draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Compare the mean joint ranks of all pairs of groups as Dunn does, labels moving over patients.

    Parameters
    ----------
    sample : at least two groups of n exams.
    draws : number of permutations, one or more.
    rng : source of chance.

    Returns
    -------
    z of each pair in the order of `itertools.combinations`, positive where the first ranks higher,
    by the spread that permutations give it, and its two-sided permutation p; both (pairs,).
    """
    ranks = stats.rankdata(sample.values)
    sums = sum_ranks(sample, ranks)
    permuted = permute_sums(sample, ranks, draws, rng)
    first, second = np.array(list(combinations(range(len(sample.names)), 2))).T
    observed, drawn = (
        _pair_means(total, sizes, first, second)
        for total, sizes in ((sums, sample.sizes), (permuted.sums, permuted.sizes))
    )
    spread = np.sqrt(np.nanmean(drawn**2, axis=0))
    z = np.divide(observed, spread, out=np.zeros(len(observed)), where=spread > 0)
    reached = (np.abs(drawn) >= np.abs(observed) - 1e-9).sum(axis=0)
    return z, np.asarray((1 + reached) / (1 + np.isfinite(drawn).sum(axis=0)))


def p_of_signed_ranks(difference: FloatArray, patients: IntArray) -> float:
    """Test whether paired differences lie about 0, the signs of a patient's changing together.

    Wilcoxon's signed-rank statistic, whose ranks are summed within patients: all changes of sign
    where patients are few, the normal approximation by the same sums above (Rosner, Glynn and Lee
    2006).

    Parameters
    ----------
    difference : shape (n,); zeros take no part.
    patients : of each exam, shape (n,).

    Returns
    -------
    Two-sided p; 1 where every difference, or every patient's sum, is 0.
    """
    used = difference != 0
    ranks = np.sign(difference[used]) * stats.rankdata(np.abs(difference[used]))
    sums = np.bincount(np.unique(patients[used], return_inverse=True)[1], weights=ranks)
    total, squares = abs(float(sums.sum())), float(sums @ sums)
    if squares == 0:
        return 1.0
    if len(sums) > ALL_SIGNS:
        return float(2 * stats.norm.sf(total / np.sqrt(squares)))
    signs = np.array(list(product((-1.0, 1.0), repeat=len(sums))))
    return float((np.abs(signs @ sums) >= total - 1e-9).mean())


def _pair_means(sums: FloatArray, sizes: IntArray, first: IntArray, second: IntArray) -> FloatArray:
    """Difference of mean ranks of each pair over the root of 1/n + 1/m, (..., pairs)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums / sizes
        apart = means[..., first] - means[..., second]
        return np.asarray(apart / np.sqrt(1 / sizes[..., first] + 1 / sizes[..., second]))


def _square_sums(sums: FloatArray, sizes: IntArray) -> FloatArray:
    """Sum of squares between groups from centred sums and sizes, (..., k) each."""
    parts = np.divide(sums**2, sizes, out=np.zeros(sums.shape), where=sizes > 0)
    return np.asarray(parts.sum(axis=-1))


@dataclass(frozen=True)
class SwapTest:
    """A statistic, and the share of random exchanges of the two rulers, exam by exam, that reach
    it.
    """

    statistic: float
    p: float
    null_sd: float
    draws: int


def summarise_null(observed: float, null: FloatArray) -> SwapTest:
    """Compare a statistic with its null draws: two-sided p = (1 + as extreme) / (draws + 1).

    Without a draw there is no p (NaN).
    """
    if len(null) == 0:
        return SwapTest(float(observed), np.nan, np.nan, 0)
    reached = int(np.sum(np.abs(null) >= abs(observed) - 1e-9))
    finite = null[np.isfinite(null)]
    return SwapTest(
        float(observed), (1 + reached) / (len(null) + 1), float(np.std(finite)), len(null)
    )
