"""The p of two columns that go together, where patients have several exams."""

import numpy as np
import pandas as pd
from scipy import stats

from tworulers.stats.groups import GroupedSample, group_sample
from tworulers.stats.permute import FEW, count_arrangements, p_of_ranks, permute_sums
from tworulers.stats.types import FloatArray, IntArray
from tworulers.stats.wild import fit_by_patient

DRAWS = 1_999


def repeat_patients(patients: pd.Series | None) -> bool:
    """Tell whether a patient has several of the exams."""
    return patients is not None and bool(patients.duplicated().any())


def p_of_levels(first: pd.Series, second: pd.Series, patients: pd.Series, seed: int = 0) -> float:
    """Permutation p of chi-squared of two categorical columns, labels of the first moving over patients.

    Parameters
    ----------
    first, second, patients : without missing values, of the same exams.
    seed : of the permutations.

    Returns
    -------
    (1 + permutations with a chi-squared as large) / (1 + permutations); NaN where labels can lie in so few ways that no
    p can fall below .05.
    """
    codes, names = pd.factorize(first, sort=True)
    levels = pd.factorize(second, sort=True)[0]
    marks = (levels[:, None] == np.arange(levels.max() + 1)).astype(np.float64)
    sample = _sample(codes.astype(np.int64), tuple(map(str, names)), patients)
    if count_arrangements(sample) <= FEW:
        return float("nan")
    # one seed for every level, so that all columns are moved by the same permutations
    moved = [permute_sums(sample, one, DRAWS, np.random.default_rng(seed)) for one in marks.T]
    drawn = _chi_squared(np.stack([one.sums for one in moved], axis=-1), moved[0].sizes)
    counts = [np.bincount(codes, one, len(names)).astype(np.float64) for one in marks.T]
    table = np.stack(counts, axis=-1)
    observed = float(_chi_squared(table, sample.sizes))
    return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + DRAWS))


def p_of_numbers(values: pd.Series, groups: pd.Series, patients: pd.Series, seed: int = 0) -> float:
    """Permutation p of the rank test of a number between groups, labels moving over patients.

    Parameters
    ----------
    values, groups, patients : of the same exams; groups categorical, missing values left out.
    seed : of the permutations.
    """
    sample = group_sample(
        values.to_numpy(dtype=float), groups, pd.factorize(patients)[0].astype(np.int64)
    ).at_least(1)
    if len(sample.names) < 2 or count_arrangements(sample) <= FEW:
        return float("nan")
    return p_of_ranks(sample, DRAWS, np.random.default_rng(seed))


def p_of_slope(first: pd.Series, second: pd.Series, patients: pd.Series, seed: int = 0) -> float:
    """Test by the wild cluster bootstrap whether the ranks of two numbers rise together.

    Parameters
    ----------
    first, second, patients : without missing values, of the same exams.
    seed : of the weights.
    """
    x, y = (stats.rankdata(one) for one in (first, second))
    X = np.column_stack([np.ones(len(x)), x])
    people = pd.factorize(patients)[0].astype(np.int64)
    chance = np.random.default_rng(seed)
    return float(fit_by_patient(y, X, people, draws=DRAWS, rng=chance, only=1).p[1])


def _sample(codes: IntArray, names: tuple[str, ...], patients: pd.Series) -> GroupedSample:
    people = pd.factorize(patients)[0].astype(np.int64)
    nothing = np.zeros(len(names), dtype=np.int64)
    return GroupedSample(np.zeros(len(codes)), codes, names, people, people, nothing, 0)


def _chi_squared(table: FloatArray, sizes: IntArray) -> FloatArray:
    """Pearson's chi-squared of tables (..., groups, levels) with sizes of groups (..., groups)."""
    n = sizes.sum(axis=-1)[..., None, None]
    expected = sizes[..., :, None] * table.sum(axis=-2, keepdims=True) / n
    parts = np.divide(
        (table - expected) ** 2, expected, out=np.zeros(table.shape), where=expected > 0
    )
    return np.asarray(parts.sum(axis=(-2, -1)))
