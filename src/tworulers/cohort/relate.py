"""Whether two columns of a cohort go together, how strongly, and by which test."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

PERMUTATIONS = 9_999
"""Random tables drawn where an expected count is too small for the chi-squared distribution."""

MIN_EXPECTED = 5
"""Smallest expected count that the chi-squared distribution is trusted with (Cochran 1954)."""


@dataclass(frozen=True)
class Relation:
    """One test of two columns; everything but `n` is NaN where `undefined_because` says why."""

    test: str
    n: int
    statistic: float = float("nan")
    df: float = float("nan")
    p: float = float("nan")
    effect: float = float("nan")
    effect_name: str = ""
    ratio_of_means: float = float("nan")
    highest: str = ""
    undefined_because: str | None = None


def relate_levels(first: pd.Series, second: pd.Series, *, seed: int = 0) -> Relation:
    """Test whether two categorical columns are independent.

    Pearson's chi-squared without Yates' correction and Cramer's V; where an expected count is below
    five, Fisher's exact p for two by two, otherwise the p of random tables with the same margins.

    Parameters
    ----------
    first, second : columns with a common index; exams missing either are left out.
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
    return Relation(test, n, float(chi2), float(df), float(p), v, "cramers_v")


def relate_numbers(values: pd.Series, groups: pd.Series) -> Relation:
    """Test by ranks whether a number differs between groups.

    Mann-Whitney for two groups, with Cliff's delta 2U/(n1 n2) - 1 of the first group against the
    second and the ratio of means, second to first; Kruskal-Wallis for more, with epsilon squared
    (H - k + 1)/(n - k).

    Parameters
    ----------
    values : numbers; exams without one are left out.
    groups : ordered categorical with the same index; exams in no group are left out.
    """
    both = values.notna() & groups.notna()
    parts = {
        str(name): part.to_numpy(float)
        for name, part in values[both].groupby(groups[both], observed=True, sort=True)
    }
    n, k = int(both.sum()), len(parts)
    test = "mann_whitney" if k <= 2 else "kruskal_wallis"
    small = [name for name, part in parts.items() if len(part) < 2]
    if k < 2 or small:
        reason = f"fewer than two exams in {', '.join(small)}" if small else "fewer than two groups"
        return Relation(test, n, undefined_because=reason)
    ranks = pd.Series(stats.rankdata(values[both]), index=values[both].index)
    highest = str(ranks.groupby(groups[both], observed=True).mean().idxmax())
    if k == 2:
        (_, a), (_, b) = parts.items()
        result = stats.mannwhitneyu(a, b)
        delta = 2 * result.statistic / (len(a) * len(b)) - 1
        ratio = float(b.mean() / a.mean()) if a.mean() else float("nan")
        return Relation(
            test,
            n,
            result.statistic,
            float("nan"),
            result.pvalue,
            delta,
            "cliffs_delta",
            ratio,
            highest,
        )
    if ranks.min() == ranks.max():
        return Relation(test, n, 0.0, k - 1, 1.0, 0.0, "epsilon_squared")
    result = stats.kruskal(*parts.values())
    epsilon = float((result.statistic - k + 1) / (n - k)) if n > k else float("nan")
    return Relation(
        test, n, result.statistic, k - 1, result.pvalue, epsilon, "epsilon_squared", highest=highest
    )


def relate_ranks(first: pd.Series, second: pd.Series) -> Relation:
    """Test whether two numbers rise together: Spearman's rank correlation."""
    both = first.notna() & second.notna()
    n = int(both.sum())
    if n < 3 or first[both].nunique() < 2 or second[both].nunique() < 2:
        return Relation("spearman", n, undefined_because="fewer than three exams, or no variation")
    result = stats.spearmanr(first[both], second[both])
    return Relation("spearman", n, result.statistic, n - 2, result.pvalue, result.statistic, "rho")


def _permutation_p(table: np.ndarray, expected: np.ndarray, chi2: float, seed: int) -> float:
    """Share of random tables with the same margins that are at least as far from independence."""
    drawn = stats.random_table(table.sum(axis=1), table.sum(axis=0)).rvs(
        PERMUTATIONS, random_state=np.random.default_rng(seed)
    )
    distances = ((drawn - expected) ** 2 / expected).sum(axis=(1, 2))
    return float((1 + (distances >= chi2 - 1e-9).sum()) / (1 + PERMUTATIONS))
