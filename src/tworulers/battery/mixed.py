"""What groups differ by when patients, scanners and numbers such as age are taken into one model."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from tworulers.battery.beside import Part, is_made_of, list_given, take_part
from tworulers.battery.questions import KEY, Question
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes
from tworulers.schema.tables import pack_names
from tworulers.stats.mixed import MixedFit, fit_mixed
from tworulers.stats.types import FloatArray, IntArray, Row

FEWEST_PATIENTS = 20
"""Patients below which no model is fitted."""

MOST_FIXED = 8
"""Levels from which on a column is a random effect and no fixed one."""

PATIENT = "patient"
LOGIT, LOG1P, IDENTITY = "logit", "log1p", "identity"

COLUMNS = [*KEY, "term", "coefficient", "standard_error", "low", "high", "t", "df", "p"]
COLUMNS += ["response", "n", "n_patients", "n_left_out", "n_infinite", "fixed", "random"]
COLUMNS += ["random_sd", "residual_sd", "group_f", "group_df", "group_p", "undefined_because"]


@dataclass(frozen=True)
class Design:
    """Fixed effects (n, p) with an intercept first, their names, and random intercepts by name.

    `n_contrasts` of the effects, after the intercept, are those of the groups.
    """

    X: FloatArray
    terms: list[str]
    n_contrasts: int
    fixed: list[str]
    factors: dict[str, IntArray]


def fit_models(
    questions: list[Question],
    table: pd.DataFrame,
    groups: pd.DataFrame,
    exams: pd.DataFrame | None,
    settings: Audit,
    attributes: Attributes,
) -> pd.DataFrame:
    """Fit every question by a mixed model: groups and what is given fixed, patients random.

    Levels of a given column are fixed effects below eight of them, random ones from there on. Shares
    from 0 to 1 are fitted as logits, squeezed off the ends (Smithson and Verkuilen 2006), distances
    and volumes as log(1 + x) of the finite ones, others as they are.

    Returns
    -------
    One row a term of a model, on the scale that `response` names, its numbers repeated; t has
    patients less fixed effects degrees of freedom. A model that was not fitted is one row without a
    term that says why.
    """
    rows: list[Row] = []
    columns = list_given(exams, settings)
    for question in questions if settings.linear else ():
        given = {
            name: column
            for name, column in columns.items()
            if not is_made_of(question.grouping, name, attributes)
        }
        part = take_part(question, table, groups)
        rows += [question.key | row for row in _fit(question.metric, part, given, settings)]
    return pd.DataFrame(rows, columns=COLUMNS)


def transform(values: FloatArray, metric: Metric) -> tuple[FloatArray, str]:
    """Bring finite scores, (n,), to a scale on which differences are alike, and name it."""
    if (metric.low, metric.high) == (0, 1):
        squeezed = (values * (len(values) - 1) + 0.5) / len(values)
        return np.log(squeezed / (1 - squeezed)), LOGIT
    if metric.low == 0:
        return np.log1p(values), LOG1P
    return values, IDENTITY


def _fit(metric: Metric, part: Part, given: dict[str, pd.Series], settings: Audit) -> list[Row]:
    """Fit one question, or say why not."""
    known = np.isfinite(part.values)
    for column in given.values():
        known &= column.iloc[part.rows].notna().to_numpy()
    kept = part.where(known)
    people = len(np.unique(kept.patients))
    facts: Row = {
        "n": len(kept.rows),
        "n_patients": people,
        "n_left_out": len(part.rows) - len(kept.rows),
        "n_infinite": int(np.isinf(part.values).sum()),
    }
    design = _design(kept, given)
    facts |= {"fixed": pack_names(design.fixed), "random": pack_names(design.factors)}
    if fault := _find_fault(kept, design, people):
        return [facts | {"undefined_because": fault}]
    if fault := find_stray(kept.values, metric):
        return [facts | {"undefined_because": fault}]
    y, facts["response"] = transform(kept.values, metric)
    if np.ptp(y) < 1e-12:
        return [facts | {"undefined_because": "the score does not vary"}]
    fit = fit_mixed(y, design.X, list(design.factors.values()))
    return _tabulate(fit, design, people - design.X.shape[1], 1 - settings.alpha, facts)


def find_stray(values: FloatArray, metric: Metric) -> str | None:
    """Say which score lies beyond the bounds that its metric declares, where its scale is by them."""
    low, high = metric.low, metric.high if metric.low == 0 else None
    beyond = (values < low) if low == 0 else np.zeros(len(values), dtype=bool)
    if high is not None:
        beyond |= values > high
    if not beyond.any():
        return None
    return f"a score of {values[beyond][0]:g} lies beyond the bounds of {metric.title}"


def _design(part: Part, given: dict[str, pd.Series]) -> Design:
    """Lay out fixed and random effects."""
    columns = [np.ones(len(part.rows))]
    terms, fixed, factors = ["intercept"], [], {}
    for code, name in enumerate(part.names[1:], start=1):
        columns.append((part.codes == code).astype(float))
        terms.append(f"{name} - {part.names[0]}")
    if part.repeats:
        factors[PATIENT] = part.patients
    for name, column in given.items():
        here = column.iloc[part.rows]
        if pd.api.types.is_numeric_dtype(column):
            columns.append(here.to_numpy(dtype=float))
            terms.append(name)
            fixed.append(name)
            continue
        levels, names = pd.factorize(here, sort=True)
        if len(names) >= MOST_FIXED:
            factors[name] = levels.astype(np.int64)
        elif len(names) > 1:
            fixed.append(name)
            for level, label in enumerate(names[1:], start=1):
                columns.append((levels == level).astype(float))
                terms.append(f"{name}: {label} - {names[0]}")
    return Design(np.column_stack(columns), terms, len(part.names) - 1, fixed, factors)


def _find_fault(part: Part, design: Design, people: int) -> str | None:
    """Say why a model cannot be fitted, or None."""
    p = design.X.shape[1]
    if len(part.names) < 2:
        return "fewer than two groups with two exams and all values"
    if people < FEWEST_PATIENTS:
        return f"{people} patients, fewer than {FEWEST_PATIENTS}"
    if people <= p:
        return f"{people} patients for {p} fixed effects"
    centred = design.X[:, 1:] - design.X[:, 1:].mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    if (length < 1e-12).any():
        return f"{design.terms[1 + int(length.argmin())]} does not vary"
    if np.linalg.matrix_rank(centred / length) < p - 1:
        return "fixed effects are collinear"
    return None


def _tabulate(fit: MixedFit, design: Design, df: int, level: float, facts: Row) -> list[Row]:
    """Lay a fit out as one row a term, with the test that all groups are alike."""
    error = np.sqrt(np.diag(fit.covariance))
    t = fit.coefficients / error
    reach = float(stats.t.ppf((1 + level) / 2, df)) * error
    low, high = fit.coefficients - reach, fit.coefficients + reach
    p = 2 * stats.t.sf(np.abs(t), df)
    here = slice(1, 1 + design.n_contrasts)
    contrast = fit.coefficients[here]
    f = float(contrast @ np.linalg.solve(fit.covariance[here, here], contrast))
    f /= design.n_contrasts
    facts = facts | {
        "df": df,
        "random_sd": pack_names(f"{sd:.6g}" for sd in fit.effect_sds),
        "residual_sd": fit.residual_sd,
        "group_f": f,
        "group_df": design.n_contrasts,
        "group_p": float(stats.f.sf(f, design.n_contrasts, df)),
        "undefined_because": None,
    }
    names = ("term", "coefficient", "standard_error", "low", "high", "t", "p")
    table = zip(design.terms, fit.coefficients, error, low, high, t, p, strict=True)
    return [dict(zip(names, row, strict=True)) | facts for row in table]
