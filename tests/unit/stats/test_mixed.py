"""Mixed models, held to statsmodels, to what lme4 prints of its own examples, and to balanced sums of squares."""

import warnings

import numpy as np
import pytest

from tworulers.stats.mixed import fit_mixed

DYESTUFF = (
    (1545, 1440, 1440, 1520, 1580),
    (1540, 1555, 1490, 1560, 1495),
    (1595, 1550, 1605, 1510, 1560),
    (1445, 1440, 1595, 1465, 1545),
    (1595, 1630, 1515, 1635, 1625),
    (1520, 1455, 1450, 1480, 1445),
)
DYESTUFF2 = (
    (7.298, 3.846, 2.434, 9.566, 7.990),
    (5.220, 6.556, 0.608, 11.788, -0.892),
    (0.110, 10.386, 13.434, 5.510, 8.166),
    (2.212, 4.852, 7.092, 9.288, 4.980),
    (0.282, 9.014, 4.458, 9.446, 7.198),
    (1.722, 4.782, 8.106, 0.758, 3.758),
)


@pytest.mark.parametrize(
    ("yields", "mean", "error", "batch", "residual", "criterion"),
    [
        (DYESTUFF, 1527.5, 19.38, 42.00, 49.51, 319.6543),
        (DYESTUFF2, 5.6656, 0.6784, 0.0, 3.7157, 161.8283),
    ],
)
def test_batches_of_dyestuff_as_lme4_prints_them(
    yields: tuple[tuple[float, ...], ...],
    mean: float,
    error: float,
    batch: float,
    residual: float,
    criterion: float,
) -> None:
    y = np.array(yields, dtype=float).ravel()
    fit = fit_mixed(y, np.ones((30, 1)), [np.repeat(np.arange(6), 5)])
    assert fit.coefficients[0] == pytest.approx(mean, abs=1e-4)
    assert np.sqrt(fit.covariance[0, 0]) == pytest.approx(error, abs=0.005)
    assert fit.effect_sds[0] == pytest.approx(batch, abs=0.005)
    assert fit.residual_sd == pytest.approx(residual, abs=0.005)
    assert fit.criterion == pytest.approx(criterion, abs=1e-4)


@pytest.mark.parametrize("share", [0.6, 0.1])
def test_one_factor_is_statsmodels(share: float) -> None:
    from statsmodels.regression.mixed_linear_model import MixedLM

    rng = np.random.default_rng(0)
    patients = np.sort(rng.integers(0, 40, 130))
    X = np.column_stack([np.ones(130), rng.normal(size=130), (patients % 2).astype(float)])
    y = X @ [1, 0.5, 0.2] + np.sqrt(share) * rng.normal(size=40)[patients]
    y += np.sqrt(1 - share) * rng.normal(size=130)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = MixedLM(y, X, patients).fit(reml=True)
    fit = fit_mixed(y, X, [patients])
    assert fit.coefficients == pytest.approx(wanted.fe_params, abs=1e-4)
    assert fit.effect_sds[0] == pytest.approx(np.sqrt(wanted.cov_re[0, 0]), rel=1e-3)
    assert fit.residual_sd == pytest.approx(np.sqrt(wanted.scale), rel=1e-3)
    assert fit.criterion == pytest.approx(-2 * wanted.llf, abs=1e-4)
    together = (patients[:, None] == patients) * fit.effect_sds[0] ** 2
    V = together + fit.residual_sd**2 * np.eye(130)
    assert fit.covariance == pytest.approx(np.linalg.inv(X.T @ np.linalg.solve(V, X)), rel=1e-8)


def test_two_crossed_factors_are_the_sums_of_squares_of_a_balanced_table() -> None:
    """Where every patient meets every scanner, REML is Henderson's analysis of variance."""
    rng = np.random.default_rng(1)
    a, b = 12, 9
    patient, scanner = np.repeat(np.arange(a), b), np.tile(np.arange(b), a)
    y = rng.normal(size=a)[patient] + 0.8 * rng.normal(size=b)[scanner] + rng.normal(size=a * b)
    table = y.reshape(a, b)
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    residual = table - rows[:, None] - columns + y.mean()
    error = (residual**2).sum() / ((a - 1) * (b - 1))
    of_rows = (b * rows.var(ddof=1) - error) / b
    of_columns = (a * columns.var(ddof=1) - error) / a
    fit = fit_mixed(y, np.ones((a * b, 1)), [patient, scanner])
    found = (*fit.effect_sds, fit.residual_sd)
    assert found == pytest.approx(tuple(np.sqrt((of_rows, of_columns, error))), rel=1e-3)


def test_without_factors_it_is_least_squares() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([np.ones(30), rng.normal(size=30)])
    y = rng.normal(size=30)
    fit = fit_mixed(y, X, [])
    wanted, squares = np.linalg.lstsq(X, y, rcond=None)[:2]
    assert fit.coefficients == pytest.approx(wanted)
    assert fit.residual_sd == pytest.approx(np.sqrt(squares[0] / 28))
