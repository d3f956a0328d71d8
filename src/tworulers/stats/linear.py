"""What sex, race and age explain together, and whether groups still differ given a covariate."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

FloatArray = NDArray[np.float64]


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
        is HC3.
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
    undefined_because: str | None = None


def fit_joint_model(
    score: pd.Series, terms: pd.DataFrame, covariance: str = "nonrobust", level: float = 0.95
) -> JointModel:
    """Fit a score on several attributes together by ordinary least squares.

    Exams without a finite score, a group or a number are left out and counted. Nothing is fitted
    where n is at most two above the number of regressors, or the regressors are collinear.

    Parameters
    ----------
    score : one value an exam.
    terms : same index; a categorical column enters as indicators against its first group that has
        exams, any other column as a number.
    covariance : `nonrobust` or `HC3` (MacKinnon and White 1985).
    level : confidence level of the coefficients' intervals.

    Raises
    ------
    ValueError : for another covariance, or where the indexes differ.
    """
    if covariance not in ("nonrobust", "HC3"):
        raise ValueError(f"covariance is {covariance!r}, expected 'nonrobust' or 'HC3'")
    if not score.index.equals(terms.index):
        raise ValueError("the score and its terms are about different exams")
    known = terms.notna()
    usable = known.all(axis=1) & np.isfinite(score)
    left_out = {str(name): int((~known[name]).sum()) for name in terms if not known[name].all()}
    if (unscored := int((~np.isfinite(score)).sum())) > 0:
        left_out["score"] = unscored
    n = int(usable.sum())
    design, references = _build_design(terms[usable])
    k = design.shape[1]
    base = JointModel(n, len(score), covariance, references=references, left_out=left_out)
    fault = _name_fault(n, design)
    if fault:
        return replace(base, undefined_because=fault)
    y = score[usable].to_numpy(dtype=float)
    if np.ptp(y) == 0:
        return replace(base, undefined_because="the score does not vary")
    X = np.column_stack([np.ones(n), design.to_numpy(dtype=float)])
    inverse = np.linalg.inv(X.T @ X)
    beta = inverse @ X.T @ y
    residual = y - X @ beta
    rest = n - k - 1
    if covariance == "HC3":
        leverage = np.einsum("ij,jk,ik->i", X, inverse, X)
        if leverage.max() > 1 - 1e-10:
            fault = "HC3 is undefined: one exam alone determines a coefficient"
            return replace(base, undefined_because=fault)
        scaled = X * (residual / (1 - leverage))[:, None]
        V = inverse @ (scaled.T @ scaled) @ inverse
    else:
        V = inverse * (residual @ residual) / rest
    r2 = 1 - float(residual @ residual) / float(((y - y.mean()) ** 2).sum())
    f = float(beta[1:] @ np.linalg.solve(V[1:, 1:], beta[1:])) / k
    error = np.sqrt(np.diag(V))
    p = 2 * stats.t.sf(np.abs(beta) / error, rest)
    half = stats.t.ppf(0.5 + level / 2, rest) * error
    coefficients = pd.DataFrame(
        {
            "term": ["intercept", *design.columns],
            "coefficient": beta,
            "standard_error": error,
            "low": beta - half,
            "high": beta + half,
            "p": p,
        }
    )
    return replace(
        base,
        r2=r2,
        r2_adjusted=1 - (1 - r2) * (n - 1) / rest,
        f=f,
        df=(k, rest),
        p=float(stats.f.sf(f, k, rest)),
        coefficients=coefficients,
    )


def tabulate_model(model: JointModel) -> pd.DataFrame:
    """Lay a joint model out as one row a term, the model's own numbers repeated in each.

    A model that was not fitted is one row without a term that says why.
    """
    facts: dict[str, Any] = {
        "n": model.n,
        "n_total": model.n_total,
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
        terms = ("term", "coefficient", "standard_error", "low", "high", "p")
        return pd.DataFrame([dict.fromkeys(terms, np.nan) | {"term": None} | facts])
    return model.coefficients.assign(**facts)


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


@dataclass(frozen=True)
class PartialTest:
    """A test of group given a covariate."""

    f: float
    df: tuple[int, int]
    p: float
    undefined_because: str | None = None


def compare_given_covariate(
    values: FloatArray, covariate: FloatArray, codes: NDArray[np.int64]
) -> PartialTest:
    """Test whether groups differ in a score given a covariate, by ranks (Quade 1967).

    Parameters
    ----------
    values, covariate : without NaN, shape (n,).
    codes : group of each exam, shape (n,).
    """
    ry, rx = (stats.rankdata(part) - (len(part) + 1) / 2 for part in (values, covariate))
    groups = np.unique(codes)
    n, k = len(values), len(groups)
    if k < 2 or n <= k:
        nan = float("nan")
        return PartialTest(
            nan, (k - 1, n - k), nan, "fewer than two groups, or no more exams than groups"
        )
    slope = float(rx @ ry / (rx @ rx)) if (rx**2).sum() > 0 else 0.0
    residual = ry - slope * rx
    parts = [residual[codes == g] for g in groups]
    between = sum(len(part) * part.mean() ** 2 for part in parts) - n * residual.mean() ** 2
    within = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    if within <= 1e-12:
        return PartialTest(float("nan"), (k - 1, n - k), float("nan"), "no variation within groups")
    f = float(between / (k - 1) / (within / (n - k)))
    return PartialTest(f, (k - 1, n - k), float(stats.f.sf(f, k - 1, n - k)))
