"""How much better does a model look under one ruler than under another, exam by exam?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tworulers.stats.spread import DECIMALS, divide, name_undefined

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Inflation:
    """Paired differences other - base over the exams that are finite under both rulers.

    `forgiven_share` is the part of the base ruler's distance to a perfect score that the other
    ruler forgives. Correlations are NaN where a ruler does not vary, and `undefined_because` says
    so.
    """

    n: int
    mean_base: float
    mean_other: float
    mean: float
    mean_low: float
    mean_high: float
    sd: float
    median: float
    hodges_lehmann: float
    wilcoxon_p: float
    forgiven_share: float
    pearson: float
    spearman: float
    undefined_because: str | None


def measure_inflation(
    base: Floats, other: Floats, *, perfect: float, level: float = 0.95
) -> Inflation:
    """Measure the paired difference between the scores of the same predictions under two rulers.

    Parameters
    ----------
    base, other : (n,) finite scores of the same exams.
    perfect : the score of a faultless prediction: 1 for overlap, 0 for a distance, NaN for neither.
    level : coverage of the t interval of the mean difference.

    Notes
    -----
    The location is also given as the median of all Walsh averages (Hodges and Lehmann 1963), the
    one that belongs to Wilcoxon's signed-rank test. Identical scores give differences of 0 and p =
    1.
    """
    n = len(base)
    if n < 2:
        nothing = name_undefined(Inflation)
        return Inflation(n=n, **nothing, undefined_because="fewer_than_two_exams")
    difference = other - base
    rounded = np.round(difference, DECIMALS)
    mean, sd = float(difference.mean()), float(difference.std(ddof=1))
    half = stats.t.ppf(0.5 + level / 2, n - 1) * sd / np.sqrt(n)
    varies = bool(np.ptp(np.round(base, DECIMALS)) > 0 and np.ptp(np.round(other, DECIMALS)) > 0)
    return Inflation(
        n=n,
        mean_base=float(base.mean()),
        mean_other=float(other.mean()),
        mean=mean,
        mean_low=float(mean - half),
        mean_high=float(mean + half),
        sd=sd,
        median=float(np.median(difference)),
        hodges_lehmann=locate_walsh(difference),
        wilcoxon_p=float(stats.wilcoxon(rounded).pvalue) if np.any(rounded) else 1.0,
        forgiven_share=divide(mean, perfect - float(base.mean())),
        pearson=float(stats.pearsonr(base, other).statistic) if varies else np.nan,
        spearman=float(
            stats.spearmanr(np.round(base, DECIMALS), np.round(other, DECIMALS)).statistic
        )
        if varies
        else np.nan,
        undefined_because=None if varies else "no_variation",
    )


def locate_walsh(difference: Floats) -> float:
    """Return the median of the averages of all pairs, each value with itself included, of (n,)
    differences.
    """
    first, second = np.triu_indices(len(difference))
    return float(np.median(0.5 * (difference[first] + difference[second])))
