"""Whether two columns of a cohort go together, how strongly, and by which test."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from tworulers.cohort.together import p_of_levels, p_of_numbers, p_of_slope, repeat_patients
from tworulers.stats.groups import group_sample
from tworulers.stats.ranks import compare_ranks

PERMUTATIONS = 9_999
"""Random tables drawn where an expected count is too small for the chi-squared distribution."""

MIN_EXPECTED = 5
"""Smallest expected count that the chi-squared distribution is trusted with (Cochran 1954)."""


@dataclass(frozen=True)
class Relation:
    """One test of two columns; everything but `n` is NaN where `undefined_because` says why.

    `p` counts every exam on its own; `p_verdict`, which is shown, keeps a patient's exams together where one has
    several, and is NaN where labels can lie over patients in too few ways.
    """

    test: str
    n: int
    statistic: float = float("nan")
    df: float = float("nan")
    p: float = float("nan")
    p_verdict: float = float("nan")
    effect: float = float("nan")
    effect_name: str = ""
    ratio_of_means: float = float("nan")
    highest: str = ""
    undefined_because: str | None = None


def relate_levels(
    first: pd.Series, second: pd.Series, patients: pd.Series | None = None, *, seed: int = 0
) -> Relation:
    """Test whether two categorical columns are independent.

    Pearson's chi-squared without Yates' correction and Cramer's V; where an expected count is below
    five, Fisher's exact p for two by two, otherwise the p of random tables with the same margins.

    Parameters
    ----------
    first, second : columns with a common index; exams missing either are left out.
    patients : patient of each exam, same index; every exam is its own patient if None.
    seed : seed of the random tables.
    """
    both = first.notna() & second.notna()
    table = pd.crosstab(first[both], second[both])
    n = int(table.to_numpy().sum())
    if min(table.shape, default=0) < 2:
        return Relation("chi_squared", n, undefined_because="fewer than two levels")
    chi2, p, df, expected = stats.chi2_contingency(table.to_numpy(), correction=False)
    test = "chi_squared"
    if expected.min() < MIN_EXPECTED:
        if table.shape == (2, 2):
            test, p = "fisher_exact", stats.fisher_exact(table.to_numpy())[1]
        else:
            test, p = "permutation", _permutation_p(table.to_numpy(), expected, chi2, seed)
    v = float(np.sqrt(chi2 / (n * (min(table.shape) - 1))))
    shown = float(p)
    if patients is not None and repeat_patients(patients[both]):
        shown = p_of_levels(first[both], second[both], patients[both], seed)
    return Relation(test, n, float(chi2), float(df), float(p), shown, v, "cramers_v")


def relate_numbers(
    values: pd.Series, groups: pd.Series, patients: pd.Series | None = None
) -> Relation:
    """Test by ranks whether a number differs between groups.

    Mann-Whitney for two groups, with Cliff's delta 2U/(n1 n2) - 1 of the first group against the
    second and the ratio of means, second to first; Kruskal-Wallis for more, with epsilon squared
    (H - k + 1)/(n - k).

    Parameters
    ----------
    values : numbers; exams without one are left out.
    groups : ordered categorical with the same index; exams in no group are left out.
    patients : patient of each exam, same index; every exam is its own patient if None.
    """
    labels = groups.astype("category")
    sample = group_sample(values.reindex(groups.index).to_numpy(dtype=float), labels)
    sample = sample.keep([g for g, size in enumerate(sample.sizes) if size > 0])
    found = compare_ranks(sample)
    n, k = found.n, len(sample.names)
    test = "mann_whitney" if k <= 2 else "kruskal_wallis"
    if found.undefined_because:
        small = [x for x, size in zip(sample.names, sample.sizes, strict=True) if size < 2]
        reason = f"fewer than two exams in {', '.join(small)}" if small else "fewer than two groups"
        return Relation(test, n, undefined_because=reason)
    shown = found.p
    if patients is not None and repeat_patients(patients.reindex(groups.index)):
        shown = p_of_numbers(values.reindex(groups.index), labels, patients.reindex(groups.index))
    highest = "" if found.highest is None else sample.names[found.highest]
    if k > 2:
        return Relation(
            *(test, n, found.statistic, k - 1, found.p, shown, found.effect, "epsilon_squared"),
            highest=highest,
        )
    first, second = sample.of(0).mean(), sample.of(1).mean()
    return Relation(
        *(test, n, found.statistic, np.nan, found.p, shown, found.effect_textbook, "cliffs_delta"),
        ratio_of_means=float(second / first) if first else np.nan,
        highest=highest,
    )


def relate_ranks(
    first: pd.Series, second: pd.Series, patients: pd.Series | None = None
) -> Relation:
    """Test whether two numbers rise together: Spearman's rank correlation."""
    both = first.notna() & second.notna()
    n = int(both.sum())
    if n < 3 or first[both].nunique() < 2 or second[both].nunique() < 2:
        return Relation("spearman", n, undefined_because="fewer than three exams, or no variation")
    result = stats.spearmanr(first[both], second[both])
    rho, p = float(result.statistic), float(result.pvalue)
    shown = p
    if patients is not None and repeat_patients(patients[both]):
        shown = p_of_slope(first[both], second[both], patients[both])
    return Relation("spearman", n, rho, n - 2, p, shown, rho, "rho")


def _permutation_p(table: np.ndarray, expected: np.ndarray, chi2: float, seed: int) -> float:
    """Share of random tables with the same margins that are at least as far from independence."""
    drawn = stats.random_table(table.sum(axis=1), table.sum(axis=0)).rvs(
        PERMUTATIONS, random_state=np.random.default_rng(seed)
    )
    distances = ((drawn - expected) ** 2 / expected).sum(axis=(1, 2))
    return float((1 + (distances >= chi2 - 1e-9).sum()) / (1 + PERMUTATIONS))
