"""The joint regression and the test given a covariate, against statsmodels, pingouin and recorded
values.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from tworulers.battery.linear import fit_joint_model, tabulate_model


def ordered(values: list[Any], order: list[str]) -> pd.Series:
    return pd.Series(pd.Categorical(values, order, ordered=True))


@pytest.fixture
def twelve() -> tuple[pd.Series, pd.DataFrame]:
    """Twelve exams, two without an age, category names with spaces."""
    black = "Black or African American"
    race = ["White", "White", black, black, "White", "White"]
    race += [black, "White", "White", black, "White", black]
    age = [34, 45, 52, 61, np.nan, 70, 29, 58, 66, np.nan, 41, 37]
    score = [0.91, 0.90, 0.88, 0.84, 0.95, 0.86, 0.93, 0.89, 0.87, 0.80, 0.92, 0.90]
    terms = pd.DataFrame(
        {
            "sex": ordered(["F", "M"] * 6, ["F", "M"]),
            "race": ordered(race, [black, "White"]),
            "age": age,
        }
    )
    return pd.Series(score), terms


def test_rows_without_age_are_left_out_and_counted(
    twelve: tuple[pd.Series, pd.DataFrame],
) -> None:
    model = fit_joint_model(*twelve)
    assert (model.n, model.n_total, model.df) == (10, 12, (3, 6))
    assert model.left_out == {"age": 2}
    assert model.references == {"sex": "F", "race": "Black or African American"}
    assert (model.r2, model.f) == pytest.approx((0.878827, 14.505378), abs=1e-6)
    assert model.coefficients["coefficient"].tolist()[1:] == pytest.approx(
        [-0.006314, 0.017852, -0.001805], abs=1e-6
    )
    used = twelve[1]["age"].notna()
    X = np.column_stack(
        [
            np.ones(10),
            twelve[1]["sex"][used] == "M",
            twelve[1]["race"][used] == "White",
            twelve[1]["age"][used],
        ]
    ).astype(float)
    expected = sm.OLS(twelve[0][used], X).fit()
    assert model.r2 == pytest.approx(expected.rsquared, abs=1e-9)
    assert model.f == pytest.approx(expected.fvalue, abs=1e-7)
    assert model.p == pytest.approx(expected.f_pvalue, abs=1e-9)
    table = model.coefficients
    assert table["term"].tolist()[2] == "race: White - Black or African American"
    assert np.allclose(table["coefficient"], expected.params, atol=1e-9)
    assert np.allclose(table["p"], expected.pvalues, atol=1e-9)
    assert np.allclose(table[["low", "high"]], expected.conf_int(), atol=1e-9)


def test_robust_covariance_agrees_with_statsmodels(
    twelve: tuple[pd.Series, pd.DataFrame],
) -> None:
    score, terms = twelve
    model = fit_joint_model(score, terms, "HC3")
    used = terms["age"].notna()
    X = pd.DataFrame({"m": terms["sex"] == "M", "w": terms["race"] == "White", "a": terms["age"]})
    expected = sm.OLS(score[used], sm.add_constant(X[used].astype(float))).fit(
        cov_type="HC3", use_t=True
    )
    assert np.allclose(model.coefficients["standard_error"], expected.bse, atol=1e-9)
    assert model.f == pytest.approx(float(expected.fvalue), rel=1e-6)


def test_golden_regressions(e2_table: pd.DataFrame, battery_golden: dict[str, Any]) -> None:
    terms = pd.DataFrame(
        {
            "sex": ordered(e2_table["sex"].tolist(), ["Female", "Male"]),
            "race_wb": ordered(e2_table["race"].tolist(), ["Black", "White"]),
            "age": e2_table["age"],
        }
    )
    for ruler, golden in battery_golden["rulers"].items():
        expected = golden["ols"]
        for covariance, part in (("nonrobust", expected), ("HC3", expected["hc3"])):
            model = fit_joint_model(e2_table[f"{ruler}_dice_macro"], terms, covariance)
            assert (model.n, model.df[0]) == (expected["n"], expected["k"])
            assert model.r2 == pytest.approx(expected["r2"], abs=1e-8)
            assert model.f == pytest.approx(part["F"], abs=1e-7)
            assert model.p == pytest.approx(part["p"], abs=1e-8)
            coefficients = list(expected["coef"].values())
            assert np.allclose(model.coefficients["coefficient"], coefficients, atol=1e-8)


def test_what_cannot_be_fitted_says_why(twelve: tuple[pd.Series, pd.DataFrame]) -> None:
    score, terms = twelve
    few = fit_joint_model(score[:6], terms[:6])
    assert few.undefined_because == "5 exams for 3 regressors"
    doubled = fit_joint_model(score, terms.assign(months=terms["age"] * 12))
    assert doubled.undefined_because is not None
    assert "collinear" in doubled.undefined_because
    flat = fit_joint_model(score, terms.assign(age=50.0))
    assert flat.undefined_because == "age does not vary"
    one = fit_joint_model(score, terms.assign(sex=ordered(["F"] * 12, ["F", "M"])))
    assert one.references["sex"] == "F"
    assert one.df == (2, 7)
    same = fit_joint_model(score * 0, terms)
    assert same.undefined_because == "the score does not vary"
    assert tabulate_model(same)["undefined_because"].tolist() == ["the score does not vary"]


def test_unknown_covariance_is_refused(twelve: tuple[pd.Series, pd.DataFrame]) -> None:
    with pytest.raises(ValueError, match="expected 'nonrobust' or 'HC3'"):
        fit_joint_model(*twelve, "HC4")
