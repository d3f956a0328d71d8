"""The wild cluster bootstrap, against statsmodels, enumeration by hand, and copies of exams."""

from itertools import product

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS

from tworulers.stats.wild import draw_weights, fit_by_patient


def make(patients: int, exams: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    unit = np.repeat(np.arange(patients), exams)
    sex = rng.permutation(patients) % 2
    X = np.column_stack([np.ones(patients), sex, rng.normal(50, 15, patients)])[unit]
    return rng.normal(size=patients)[unit] + rng.normal(size=len(unit)), X, unit


def test_errors_are_those_of_statsmodels() -> None:
    y, X, unit = make(30, 3, np.random.default_rng(0))
    found = fit_by_patient(y, X, unit, draws=999, rng=np.random.default_rng(1))
    fit = OLS(y, X).fit(cov_type="cluster", cov_kwds={"groups": unit})
    assert found.errors == pytest.approx(fit.bse, rel=1e-9)
    assert (found.weights, found.draws) == ("rademacher", 999)
    inside = (found.low < fit.params) & (fit.params < found.high)
    assert inside.all()


def test_p_is_that_of_refitting_every_vector_of_weights() -> None:
    y, X, unit = make(12, 2, np.random.default_rng(2))
    found = fit_by_patient(y, X, unit, draws=5000, rng=np.random.default_rng(0))
    assert found.draws == 2**12

    def wald(values: np.ndarray, columns: list[int]) -> float:
        fit = OLS(values, X).fit(cov_type="cluster", cov_kwds={"groups": unit})
        part = fit.params[columns]
        return float(part @ np.linalg.solve(fit.cov_params()[np.ix_(columns, columns)], part))

    every = np.array(list(product((-1.0, 1.0), repeat=12)))
    weights = np.random.default_rng(8).permutation(every)[:300]
    for kept, columns, p in (([0, 2], [1], found.p[1]), ([0], [1, 2], found.joint_p)):
        null = X[:, kept] @ np.linalg.lstsq(X[:, kept], y, rcond=None)[0]
        drawn = [wald(null + (y - null) * v[unit], columns) for v in weights]
        share = np.mean(np.array(drawn) >= wald(y, columns) - 1e-9)
        assert share == pytest.approx(p, abs=4 * np.sqrt(p / len(weights)))


def test_an_interval_holds_what_its_p_does_not_reject() -> None:
    y, X, unit = make(20, 3, np.random.default_rng(4))
    found = fit_by_patient(y, X, unit, draws=1999, rng=np.random.default_rng(0), only=1)
    assert np.isnan(found.p[[0, 2]]).all()
    for bound, step in ((found.low[1], -0.02), (found.high[1], 0.02)):
        inner, outer = (
            fit_by_patient(
                y - X[:, 1] * b, X, unit, draws=1999, rng=np.random.default_rng(0), only=1
            ).p[1]
            for b in (bound - step, bound + step)
        )
        assert outer < 0.05 <= inner


def test_copies_of_exams_change_nothing() -> None:
    y, X, unit = make(16, 2, np.random.default_rng(5))
    once, thrice = (
        fit_by_patient(
            np.repeat(y, r),
            np.repeat(X, r, axis=0),
            np.repeat(unit, r),
            draws=499,
            rng=np.random.default_rng(3),
        )
        for r in (1, 3)
    )
    assert thrice.p == pytest.approx(once.p)
    assert thrice.joint_p == once.joint_p
    assert thrice.low == pytest.approx(once.low, rel=1e-6)


def test_what_patients_cannot_say_has_a_reason() -> None:
    y, X, unit = make(10, 2, np.random.default_rng(6))
    X[:, 1] = unit == 0
    found = fit_by_patient(y, X, unit, draws=99, rng=np.random.default_rng(0))
    assert found.undefined_because == "one patient alone determines a coefficient"
    assert np.isnan(found.p).all()
    few = fit_by_patient(y[:8], X[:8], unit[:8], draws=99, rng=np.random.default_rng(0))
    assert few.undefined_because == "4 patients for 2 regressors"


def test_few_patients_get_six_weights() -> None:
    weights, name, complete = draw_weights(4, 2000, np.random.default_rng(0))
    assert (name, complete, len(weights)) == ("webb", True, 6**4)
    assert weights.mean() == pytest.approx(0)
    assert (weights**2).mean() == pytest.approx(1)
    assert not draw_weights(8, 2000, np.random.default_rng(0))[2]
