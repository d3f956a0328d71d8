"""How much better does a model look under one ruler than under another, exam by exam?"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from tworulers.schema.metric import DECIMALS
from tworulers.stats.dispersion import divide, name_undefined
from tworulers.stats.permute import p_of_signed_ranks
from tworulers.stats.selection import median_of_sums
from tworulers.stats.types import FloatArray, IntArray


@dataclass(frozen=True)
class Inflation:
    """Paired differences other - base over the exams that are finite under both rulers.

    `forgiven_share` is the part of the base ruler's distance to a perfect score that the other
    ruler forgives. `p_verdict` is Wilcoxon's p, with a patient's exams kept together where one has
    several; `wilcoxon_p` counts every exam on its own. Correlations are NaN where a ruler does not
    vary, and `undefined_because` says so.
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
    p_verdict: float
    forgiven_share: float
    pearson: float
    spearman: float
    undefined_because: str | None


def measure_inflation(
    base: FloatArray,
    other: FloatArray,
    *,
    perfect: float,
    level: float = 0.95,
    patients: IntArray | None = None,
) -> Inflation:
    """Measure the paired difference between the scores of the same predictions under two rulers.

    Parameters
    ----------
    base, other : (n,) finite scores of the same exams.
    perfect : the score of a faultless prediction: 1 for overlap, 0 for a distance, NaN for neither.
    level : coverage of the t interval of the mean difference.
    patients : (n,) number of each exam's patient, 0 and up; None where every exam is a patient's only one.

    Notes
    -----
    The location is also given as the median of all Walsh averages (Hodges and Lehmann 1963), the
    one that belongs to Wilcoxon's signed-rank test. Identical scores give differences of 0 and p =
    1. Where patients have several exams the t interval is over patients (Liang and Zeger 1986, with C / (C - 1) for C
    patients), and the signs of a patient's differences change together; one exam each gives the usual interval and p.
    """
    n = len(base)
    if n < 2:
        nothing = name_undefined(Inflation)
        return Inflation(n=n, **nothing, undefined_because="fewer_than_two_exams")
    difference = other - base
    rounded = np.round(difference, DECIMALS)
    mean, sd = float(difference.mean()), float(difference.std(ddof=1))
    half = _half_width(difference - mean, level, patients)
    wilcoxon_p = float(stats.wilcoxon(rounded).pvalue) if np.any(rounded) else 1.0
    p_verdict = wilcoxon_p
    if patients is not None and len(np.unique(patients)) < n:
        p_verdict = p_of_signed_ranks(rounded, patients)
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
        hodges_lehmann=median_of_sums(difference),
        wilcoxon_p=wilcoxon_p,
        p_verdict=p_verdict,
        forgiven_share=divide(mean, perfect - float(base.mean())),
        pearson=float(stats.pearsonr(base, other).statistic) if varies else np.nan,
        spearman=float(
            stats.spearmanr(np.round(base, DECIMALS), np.round(other, DECIMALS)).statistic
        )
        if varies
        else np.nan,
        undefined_because=None if varies else "no_variation",
    )


def _half_width(residual: FloatArray, level: float, patients: IntArray | None) -> float:
    """Give half the t interval of a mean from its (n,) residuals, summed within patients."""
    sums = residual if patients is None else np.bincount(patients, residual)
    units = len(sums)
    if units < 2:
        return np.nan
    error = np.sqrt(units / (units - 1) * float(sums @ sums)) / len(residual)
    return float(stats.t.ppf(0.5 + level / 2, units - 1) * error)
