"""Agreement of two raters against pingouin, the definitions, and what many simulated raters give."""

import doctest

import matplotlib as mpl
import numpy as np
import pandas as pd
import pingouin
import pytest

from tworulers.stats import agreement
from tworulers.stats.agreement import measure_agreement

mpl.use("Agg")


def rate(seed: int, n: int = 25) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(0.85, 0.05, n)
    return truth + 0.02 * rng.normal(size=n), truth + 0.01 + 0.03 * rng.normal(size=n)


@pytest.mark.parametrize("seed", range(5))
def test_icc_and_its_interval_are_those_of_pingouin(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = rate(seed)
    monkeypatch.setitem(pingouin.options, "round.column.CI95", None)
    monkeypatch.setitem(pingouin.options, "round", None)
    n = len(first)
    long = pd.DataFrame(
        {
            "exam": np.tile(np.arange(n), 2),
            "rater": np.repeat([0, 1], n),
            "value": [*first, *second],
        }
    )
    table = pingouin.intraclass_corr(long, "exam", "rater", "value").set_index("Type")
    expected = table.loc["ICC(A,1)"]
    found = measure_agreement(first, second)
    assert found.icc == pytest.approx(expected["ICC"], abs=1e-9)
    assert (found.icc_low, found.icc_high) == pytest.approx(tuple(expected["CI95"]), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_bias_and_limits_are_those_that_pingouin_draws(seed: int) -> None:
    first, second = rate(seed)
    axes = pingouin.plot_blandaltman(second, first)
    _, bias, high, low = (line.get_ydata()[0] for line in axes.lines)
    bands = [sorted((p.get_y(), p.get_y() + p.get_height())) for p in axes.patches]
    found = measure_agreement(first, second)
    assert (found.bias, found.upper_limit, found.lower_limit) == pytest.approx(
        (bias, high, low), abs=1e-9
    )
    own = [
        [found.bias_low, found.bias_high],
        [found.upper_limit_low, found.upper_limit_high],
        [found.lower_limit_low, found.lower_limit_high],
    ]
    np.testing.assert_allclose(own, bands, atol=1e-9)
    axes.figure.clear()


def test_concordance_is_correlation_times_closeness_to_the_line() -> None:
    first, second = rate(9, 400)
    r = np.corrcoef(first, second)[0, 1]
    scale, shift = first.std() / second.std(), first.mean() - second.mean()
    closeness = 2 / (scale + 1 / scale + shift**2 / (first.std() * second.std()))
    found = measure_agreement(first, second)
    assert found.ccc == pytest.approx(r * closeness, abs=1e-12)
    drawn = []
    for _ in range(500):
        rows = np.random.default_rng(len(drawn)).integers(0, 400, 400)
        drawn.append(measure_agreement(first[rows], second[rows]).ccc)
    assert (found.ccc_low, found.ccc_high) == pytest.approx(
        tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.015
    )


def test_figures_do_not_depend_on_where_zero_lies() -> None:
    first, second = rate(2)
    near, far = (measure_agreement(first + at, second + at) for at in (0.0, 1e4))
    assert far.icc == pytest.approx(near.icc, abs=1e-6)
    assert far.ccc_low == pytest.approx(near.ccc_low, abs=1e-6)
    assert far.upper_limit == pytest.approx(near.upper_limit, abs=1e-9)


def test_several_exams_of_a_patient_widen_every_interval() -> None:
    rng = np.random.default_rng(1)
    owner = np.repeat(np.arange(20), 5)
    truth = rng.normal(size=20)[owner]
    first, second = (truth + 0.4 * rng.normal(size=20)[owner] for _ in range(2))
    alone, kept = (measure_agreement(first, second, patients=p) for p in (None, owner))
    assert (alone.n_patients, kept.n_patients, kept.n) == (100, 20, 100)
    for name in ("icc", "ccc", "bias", "lower_limit", "upper_limit"):
        assert getattr(kept, name) == getattr(alone, name)
        widths = [getattr(x, f"{name}_high") - getattr(x, f"{name}_low") for x in (alone, kept)]
        assert widths[1] > 1.5 * widths[0], name


def test_the_example_of_the_docstring_is_right() -> None:
    found = doctest.testmod(agreement)
    assert (found.failed, found.attempted) == (0, 6)


def test_what_has_no_agreement_says_so() -> None:
    values = np.array([0.8, 0.9, 0.85, 0.7])
    assert measure_agreement(values[:2], values[:2]).undefined_because == "fewer than 3 patients"
    one = measure_agreement(values, values, patients=np.array([0, 0, 1, 1]))
    assert np.isnan(one.icc)
    assert measure_agreement(np.ones(4), np.ones(4)).undefined_because == "no_variation"
    equal = measure_agreement(values, values)
    assert (equal.icc, equal.icc_low, equal.ccc_high, equal.upper_limit) == (1.0, 1.0, 1.0, 0.0)
    shifted = measure_agreement(values, values + 0.1)
    assert shifted.icc < 1
    assert np.isnan(shifted.icc_low)
    assert shifted.lower_limit == pytest.approx(0.1)
