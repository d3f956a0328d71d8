"""Which differences of AUCs a test of two groups would have found."""

import pandas as pd
from scipy import stats

from tworulers.auc.audit import RiskAudit

POWER = 0.8


def tabulate_detectable(audit: RiskAudit) -> pd.DataFrame:
    """Estimate for every pair of groups the difference of AUCs that its test finds with 80 % power.

    Returns
    -------
    One row a pair: `grouping`, `group_a`, `group_b`, `difference`, `se`, `alpha`, `power`, `detectable_difference`, by
    the width of the pair's interval; NaN where that is undefined.
    """
    pairs = audit.tests[audit.tests["family"] == "pairs"]
    alpha = 1 - audit.use.level
    # A bound lies one quantile of the normal away, whatever made it.
    quantile = stats.norm.isf(alpha / 2)
    error = (pairs["high"] - pairs["low"]) / (2 * quantile)
    reach = (quantile + stats.norm.ppf(POWER)) * error
    pairs = pairs[["grouping", "group_a", "group_b", "difference", "se"]]
    return pairs.assign(alpha=alpha, power=POWER, detectable_difference=reach)
