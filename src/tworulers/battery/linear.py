"""What sex, race and age explain together."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from tworulers.schema.settings import MACRO, Audit
from tworulers.stats.draw import named_stream
from tworulers.stats.types import FloatArray
from tworulers.stats.wild import PatientFit, fit_by_patient

OF_VERDICT = ("p_verdict", "verdict_low", "verdict_high", "model_p_verdict")
"""What a joint model is shown and judged by."""


@dataclass(frozen=True)
class JointModel:
    """Ordinary least squares of one score on groups and numbers together.

    Attributes
    ----------
    coefficients : one row a term: term, coefficient, standard_error, low, high, p. A group's term
        is named `grouping: group - reference`.
    references : reference group of each grouping.
    left_out : exams without a value, by the term that lacks it (an exam may lack several).
    f, df, p : test that all coefficients but the intercept are 0, by Wald's F where the covariance
        is HC3; exams count as independent here, and in the columns of `coefficients`.
    n_patients : of the n exams.
    by_patient : the same asked with patients as units; None where every patient has one exam.
    undefined_because : why nothing was fitted, or None.
    """

    n: int
    n_total: int
    covariance: str
    r2: float = float("nan")
    r2_adjusted: float = float("nan")
    f: float = float("nan")
    df: tuple[int, int] = (0, 0)
    p: float = float("nan")
    coefficients: pd.DataFrame = field(default_factory=pd.DataFrame)
    references: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    n_patients: int = 0
    by_patient: PatientFit | None = None
    undefined_because: str | None = None


def fit_joint_model(
    score: pd.Series,
    terms: pd.DataFrame,
    covariance: str = "nonrobust",
    level: float = 0.95,
    patients: pd.Series | None = None,
    chance: tuple[int, np.random.Generator] | None = None,
) -> JointModel:
    """Fit a score on several attributes together by ordinary least squares.

    Where one of the patients has several exams, the wild cluster bootstrap tests the same model with
    patients as units (`fit_by_patient`).

    Exams without a finite score, a group or a number are left out and counted. Nothing is fitted
    where n is at most two above the number of regressors, or the regressors are collinear.

    Parameters
    ----------
    score : one value an exam.
    terms : same index; a categorical column enters as indicators against its first group that has
        exams, any other column as a number.
    covariance : `nonrobust` or `HC3` (MacKinnon and White 1985).
    level : confidence level of the coefficients' intervals.
    patients : patient of each exam, same index; every exam is its own patient if None.
    chance : draws of the bootstrap and their source; 999 from seed 0 if None.

    Raises
    ------
    ValueError : for another covariance, or where the indexes differ.
    """
    _check(score, terms, covariance)
    usable, left_out = _find_usable(score, terms)
    n = int(usable.sum())
    people = np.arange(n) if patients is None else pd.factorize(patients[usable])[0]
    n_patients = len(np.unique(people))
    design, references = _build_design(terms[usable])
    base = JointModel(n, len(score), covariance, references=references, left_out=left_out)
    base = replace(base, n_patients=n_patients)
    fault = _name_fault(n, design)
    if fault:
        return replace(base, undefined_because=fault)
    y = score[usable].to_numpy(dtype=float)
    if np.ptp(y) == 0:
        return replace(base, undefined_because="the score does not vary")
    X = np.column_stack([np.ones(n), design.to_numpy(dtype=float)])
    leverage = np.einsum("ij,ji->i", X, np.linalg.pinv(X))
    if covariance == "HC3" and leverage.max() > 1 - 1e-10:
        fault = "HC3 is undefined: one exam alone determines a coefficient"
        return replace(base, undefined_because=fault)
    together = None
    if n_patients < n:
        draws, rng = chance or (999, np.random.default_rng(0))
        together = fit_by_patient(y, X, people, draws=draws, rng=rng, level=level)
    return replace(_fit(base, y, X, list(design.columns), level), by_patient=together)


def _fit(
    base: JointModel, y: FloatArray, X: FloatArray, names: list[str], level: float
) -> JointModel:
    """Fit a model by least squares, exams counting as independent; X begins with the intercept."""
    from statsmodels.regression.linear_model import OLS

    fit = OLS(y, X).fit(cov_type=base.covariance, use_t=True)
    low, high = fit.conf_int(1 - level).T
    return replace(
        base,
        r2=float(fit.rsquared),
        r2_adjusted=float(fit.rsquared_adj),
        f=float(fit.fvalue),
        df=(len(names), len(y) - len(names) - 1),
        p=float(fit.f_pvalue),
        coefficients=pd.DataFrame(
            {
                "term": ["intercept", *names],
                "coefficient": fit.params,
                "standard_error": fit.bse,
                "low": low,
                "high": high,
                "p": fit.pvalues,
            }
        ),
    )


def _check(score: pd.Series, terms: pd.DataFrame, covariance: str) -> None:
    """Refuse what no model can be made of."""
    if covariance not in ("nonrobust", "HC3"):
        raise ValueError(f"covariance is {covariance!r}, expected 'nonrobust' or 'HC3'")
    if not score.index.equals(terms.index):
        raise ValueError("the score and its terms are about different exams")


def _find_usable(score: pd.Series, terms: pd.DataFrame) -> tuple[pd.Series, dict[str, int]]:
    """Find the exams with a score and every term, and count the others by what they lack."""
    known = terms.notna()
    left_out = {str(name): int((~known[name]).sum()) for name in terms if not known[name].all()}
    if (unscored := int((~np.isfinite(score)).sum())) > 0:
        left_out["score"] = unscored
    return known.all(axis=1) & np.isfinite(score), left_out


def fit_stated_terms(
    table: pd.DataFrame,
    groups: pd.DataFrame,
    covariates: pd.DataFrame | None,
    settings: Audit,
    patients: pd.Series | None = None,
) -> pd.DataFrame:
    """Fit the macro score of the first metric on the stated groupings and numbers."""
    metric = table.columns[0][1]
    structure = MACRO if (MACRO, metric) in table else table.columns[0][0]
    score = table[structure, metric]
    terms: dict[str, pd.Series] = {}
    absent = []
    for name in settings.linear_terms if settings.linear else ():
        if name in groups:
            terms[name] = groups[name]
        elif covariates is not None and name in covariates:
            terms[name] = pd.to_numeric(covariates[name]).reindex(table.index)
        else:
            absent.append(name)
    if not settings.linear:
        reason = "not asked for"
    elif absent:
        reason = f"neither a grouping nor a numeric column: {', '.join(absent)}"
    else:
        frame = pd.DataFrame(terms, index=table.index)
        chance = settings.bootstrap_draws, named_stream(settings.seed, "joint model")
        level = 1 - settings.alpha
        patients = None if patients is None else patients.loc[table.index]
        model = fit_joint_model(score, frame, settings.covariance, level, patients, chance)
        return tabulate_model(model).assign(structure=structure, metric=metric)
    model = JointModel(0, len(score), settings.covariance, undefined_because=reason)
    return tabulate_model(model).assign(structure=structure, metric=metric)


def tabulate_model(model: JointModel) -> pd.DataFrame:
    """Lay a joint model out as one row a term, the model's own numbers repeated in each.

    `p_verdict`, `verdict_low`, `verdict_high` and `model_p_verdict` are what is shown and judged by:
    of exams where every patient has one (`verdict_by` is `exam`), of patients otherwise. A model
    that was not fitted is one row without a term that says why.
    """
    facts: dict[str, Any] = {
        "n": model.n,
        "n_total": model.n_total,
        "n_patients": model.n_patients,
        "covariance": model.covariance,
        "r2": model.r2,
        "r2_adjusted": model.r2_adjusted,
        "f": model.f,
        "df_model": model.df[0],
        "df_residual": model.df[1],
        "model_p": model.p,
        "references": "; ".join(f"{name}: {group}" for name, group in model.references.items()),
        "left_out": "; ".join(f"{name}: {count}" for name, count in model.left_out.items()),
        "undefined_because": model.undefined_because,
    }
    if model.undefined_because is not None:
        figures = ("term", "coefficient", "standard_error", "low", "high", "p", *OF_VERDICT)
        facts |= {"verdict_undefined_because": model.undefined_because, "verdict_by": "exam"}
        return pd.DataFrame([dict.fromkeys(figures, np.nan) | {"term": None} | facts])
    terms, found = model.coefficients, model.by_patient
    shown: tuple[Any, ...]
    if found is None:
        shown = (terms["p"], terms["low"], terms["high"], model.p)
        facts |= {"verdict_by": "exam", "verdict_undefined_because": None}
    else:
        shown = (found.p, found.low, found.high, found.joint_p)
        facts |= {"verdict_by": "patient", "verdict_undefined_because": found.undefined_because}
    facts |= dict(zip(OF_VERDICT, shown, strict=True))
    return terms.assign(**facts)


def _build_design(terms: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Turn groups into indicators against the first group that has exams; numbers stay."""
    columns: dict[str, pd.Series] = {}
    references: dict[str, str] = {}
    for name, values in terms.items():
        if isinstance(values.dtype, pd.CategoricalDtype):
            present = [group for group in values.cat.categories if (values == group).any()]
            if present:
                references[str(name)] = str(present[0])
            for group in present[1:]:
                columns[f"{name}: {group} - {present[0]}"] = (values == group).astype(float)
        else:
            columns[str(name)] = values.astype(float)
    return pd.DataFrame(columns, index=terms.index), references


def _name_fault(n: int, design: pd.DataFrame) -> str | None:
    """Say why a model cannot be fitted, or None."""
    k = design.shape[1]
    if k == 0:
        return "no term varies"
    if n <= k + 2:
        return f"{n} exams for {k} regressors"
    X = design.to_numpy(dtype=float)
    # centred and scaled, so that a long column does not hide a dependence among short ones
    centred = X - X.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    if (length == 0).any():
        return f"{design.columns[int(length.argmin())]} does not vary"
    if np.linalg.matrix_rank(centred / length) < k:
        return "regressors are collinear: " + ", ".join(map(str, design.columns))
    return None
