"""Labels of groups moved between patients at random, within strata where these are held fixed."""

import numpy as np

from tworulers.stats.types import FloatArray, IntArray


def draw_labels(
    codes: IntArray,
    patients: IntArray,
    draws: int,
    rng: np.random.Generator,
    strata: IntArray | None = None,
) -> IntArray:
    """Shuffle the groups of exams over patients, each patient's exams kept together.

    Where every patient keeps one label, labels move freely among the patients of a stratum; where
    labels vary within patients, whole vectors move among its patients with equally many exams.

    Parameters
    ----------
    codes, patients : group and patient of each exam, (n,).
    draws : how often.
    rng : source of chance.
    strata : of each exam, (n,), the same for all exams of a patient; one stratum if None.

    Returns
    -------
    Groups of the exams in each draw, (draws, n).
    """
    _, unit, count = np.unique(patients, return_inverse=True, return_counts=True)
    strata = np.zeros(len(codes), dtype=np.int64) if strata is None else strata
    first = np.zeros(len(count), dtype=np.int64)
    first[unit] = codes
    moved = np.empty((draws, len(codes)), dtype=np.int64)
    if (codes == first[unit]).all():
        block = np.zeros(len(count), dtype=np.int64)
        block[unit] = strata
        labels = np.empty((draws, len(count)), dtype=np.int64)
        for number in np.unique(block):
            here = np.flatnonzero(block == number)
            labels[:, here] = rng.permuted(np.broadcast_to(first[here], (draws, len(here))), axis=1)
        return labels[:, unit]
    order = np.argsort(unit, kind="stable")
    width = count[unit[order]]
    for number, size in np.unique(np.stack([strata[order], width]), axis=1).T:
        rows = order[(strata[order] == number) & (width == size)].reshape(-1, size)
        place = np.broadcast_to(np.arange(len(rows)), (draws, len(rows)))
        moved[:, rows] = codes[rows][rng.permuted(place, axis=1)]
    return moved


def share_as_large(observed: float, drawn: FloatArray) -> float:
    """Give the permutation p of a statistic that is large under the alternative: (1 + as large) / (1 + draws)."""
    return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + len(drawn)))
