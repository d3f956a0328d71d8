"""Whether two rulers spread the same exams equally within groups."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from tworulers.schema.metric import DECIMALS
from tworulers.stats.dispersion import name_undefined
from tworulers.stats.groups import GroupedSample, group_means, group_medians
from tworulers.stats.types import FloatArray
from tworulers.stats.wild import fit_by_patient


@dataclass(frozen=True)
class SpreadTest:
    """Paired tests of equal within-group spread; a positive statistic says that the base ruler
    spreads wider.

    `spread_p` is what a verdict rests on: `hc3_p` where every patient has one exam, the p of the same
    slope with patients as units otherwise (`spread_by`), with its own reason where there is none.
    """

    pitman_morgan_r: float
    pitman_morgan_t: float
    pitman_morgan_df: int
    pitman_morgan_p: float
    hc3_slope: float
    hc3_t: float
    hc3_p: float
    spearman_rho: float
    spearman_p: float
    wilcoxon_p: float
    share_base_wider: float
    spread_p: float
    spread_by: str
    undefined_because: str | None


def compare_paired_spreads(
    sample: GroupedSample, *, draws: int, rng: np.random.Generator
) -> SpreadTest:
    """Test whether two rulers spread the same exams equally within groups.

    Parameters
    ----------
    sample : finite scores (2, n) of the same exams, base first.
    draws : vectors of weights of the bootstrap, where a patient has several exams.
    rng : their source.

    Notes
    -----
    With residuals a and b, a - b and a + b are uncorrelated exactly when the variances are equal
    (Pitman 1939, Morgan 1939; n - K - 1 degrees of freedom). Under heavy tails the slope of a - b
    on a + b with the HC3 covariance (MacKinnon and White 1985) holds its level better; it carries
    the verdict. Spearman's correlation of the same pair and Wilcoxon's test of |a| - |b| use
    residuals from group medians. All of them count every exam on its own; where a patient has
    several, the slope of the scores' difference on their sum, given the groups, is tested by the
    wild cluster bootstrap (`fit_by_patient`).
    """
    a, b = sample.values - group_means(sample)[:, sample.codes]
    difference, total, freedom = a - b, a + b, len(a) - len(sample.names) - 1
    if reason := _why_untestable(difference, total, freedom):
        return SpreadTest(
            pitman_morgan_df=max(freedom, 0),
            **name_undefined(SpreadTest),
            spread_by="patient" if sample.repeats else "exam",
            undefined_because=reason,
        )
    r = float(difference @ total / np.sqrt((difference @ difference) * (total @ total)))
    t = r * np.sqrt(freedom / (1 - r * r)) if abs(r) < 1 else np.copysign(np.inf, r)
    slope, slope_t = _regress_hc3(difference, total)
    hc3_p = float(2 * stats.t.sf(abs(slope_t), len(a) - 2))
    together = sample.repeats
    spread_p = _p_of_patients(sample, draws, rng) if together else hc3_p
    a, b = sample.values - group_medians(sample)[:, sample.codes]
    rho = stats.spearmanr(np.round(a - b, DECIMALS), np.round(a + b, DECIMALS))
    wider = np.round(np.abs(a) - np.abs(b), DECIMALS)
    return SpreadTest(
        pitman_morgan_r=r,
        pitman_morgan_t=float(t),
        pitman_morgan_df=freedom,
        pitman_morgan_p=float(2 * stats.t.sf(abs(t), freedom)),
        hc3_slope=slope,
        hc3_t=slope_t,
        hc3_p=hc3_p,
        spearman_rho=float(rho.statistic),
        spearman_p=float(rho.pvalue),
        wilcoxon_p=float(stats.wilcoxon(wider).pvalue) if np.any(wider) else 1.0,
        share_base_wider=float(np.mean(wider > 0)),
        spread_p=spread_p,
        spread_by="patient" if together else "exam",
        undefined_because=None,
    )


def _p_of_patients(sample: GroupedSample, draws: int, rng: np.random.Generator) -> float:
    """Test the slope of the difference on the sum of both rulers' scores, given the groups."""
    base, other = sample.values
    member = (sample.codes[:, None] == np.arange(1, len(sample.names))).astype(np.float64)
    # centred within groups, as the groups' own columns would do, so that no digits are lost
    total = (base + other) - group_means(sample).sum(axis=0)[sample.codes]
    X = np.column_stack([np.ones(len(base)), member, total])
    found = fit_by_patient(
        *(base - other, X, sample.patients), draws=draws, rng=rng, only=X.shape[1] - 1
    )
    return float(found.p[-1])


def _why_untestable(difference: FloatArray, total: FloatArray, freedom: int) -> str | None:
    if freedom < 1:
        return "too_few"
    if not np.any(np.round(difference, DECIMALS)):
        return "no_difference"
    if not np.any(np.round(total, DECIMALS)):
        return "no_variation"
    return None


def _regress_hc3(response: FloatArray, regressor: FloatArray) -> tuple[float, float]:
    centred = regressor - regressor.mean()
    scale = float(centred @ centred)
    slope = float(centred @ response / scale)
    residual = response - response.mean() - slope * centred
    leverage = 1 / len(response) + centred**2 / scale
    # A point that decides the line alone has leverage 1 and no residual: it says nothing about the
    # error.
    ratio = np.divide(
        residual, 1 - leverage, out=np.zeros_like(residual), where=leverage < 1 - 1e-12
    )
    error = float(np.sqrt(np.sum(centred**2 * ratio**2))) / scale
    return slope, slope / error if error > 0 else float(np.copysign(np.inf, slope))
