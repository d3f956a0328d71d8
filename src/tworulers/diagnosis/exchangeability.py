"""Are exams with and without an expert label drawn alike?"""

import numpy as np
import pandas as pd
from scipy import stats

from tworulers.stats.families import adjust_p

COVARIATES = ("sex", "age", "race", "ethnicity", "manufacturer", "field_strength_t")
"""What exams with and without an expert label should have in common."""


def assess_exchangeability(
    has_gold: pd.Series, covariates: pd.DataFrame, *, alpha: float, draws: int, seed: int
) -> pd.DataFrame:
    """Test for every attribute whether exams with and without a gold label differ in it.

    Parameters
    ----------
    has_gold : bool, whether an exam has an expert label; index `exam_id`.
    covariates : same index: attributes and scanner, numbers or text; the silver score belongs here.
    alpha : level of the warning, on p adjusted by Holm over the attributes.
    draws : permutations of the chi-squared test of text columns.
    seed : of the permutations.

    Returns
    -------
    One row a column: `test`, `p`, `p_holm`, `warning`. Numbers are compared by Mann-Whitney, text
    by a permuted chi-squared test; missing values are left out of numbers and a level of their own
    in text. A column that does not vary has no p.
    """
    rows = []
    for name in covariates.columns:
        column = covariates[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            test, p = "mann_whitney", _compare_numbers(column, has_gold)
        else:
            text = column.astype(object).where(column.notna(), "missing").astype(str)
            test, p = "chi_squared", _compare_levels(text, has_gold, draws, seed)
        rows.append({"attribute": str(name), "test": test, "p": p})
    found = pd.DataFrame(rows, columns=["attribute", "test", "p"])
    found["p_holm"] = adjust_p(found["p"].to_numpy(dtype=float), "holm")
    return found.assign(warning=found["p_holm"] < alpha)


def _compare_numbers(column: pd.Series, has_gold: pd.Series) -> float:
    values = column.to_numpy(dtype=float)
    used = np.isfinite(values)
    first, second = values[used & has_gold.to_numpy()], values[used & ~has_gold.to_numpy()]
    if min(len(first), len(second)) < 2 or np.ptp(values[used]) == 0:
        return np.nan
    return float(stats.mannwhitneyu(first, second).pvalue)


def _compare_levels(text: pd.Series, has_gold: pd.Series, draws: int, seed: int) -> float:
    level = pd.factorize(text, sort=True)[0]
    count = int(level.max()) + 1
    sides = np.bincount(has_gold.to_numpy().astype(int), minlength=2)
    if count < 2 or sides.min() == 0:
        return np.nan
    totals = np.bincount(level)
    expected = totals * sides[1] / sides.sum()
    observed = np.bincount(level[has_gold.to_numpy()], minlength=count)
    # With both margins fixed, chi squared grows with this sum, so it orders the tables alike.
    rng = np.random.default_rng(seed)
    drawn = rng.multivariate_hypergeometric(totals, int(sides[1]), size=draws, method="marginals")
    reached = ((drawn - expected) ** 2 / totals).sum(axis=1)
    least = ((observed - expected) ** 2 / totals).sum()
    return float((1 + np.sum(reached >= least - 1e-12)) / (draws + 1))
