import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from tworulers.stats.clustered_rates import design_effect, difference_interval
from tworulers.stats.rates import bound_rate, rate_interval


def test_exams_of_their_own_have_no_design_effect_and_copies_a_full_one() -> None:
    outcome = np.arange(40) < 12
    assert design_effect(outcome, np.arange(40)) == 1
    assert design_effect(np.repeat(outcome, 3), np.repeat(np.arange(40), 3)) == pytest.approx(
        3, abs=0.06
    )


def test_without_a_failure_patients_are_counted_and_not_exams() -> None:
    units = np.repeat(np.arange(20), 4)
    assert design_effect(np.zeros(80, dtype=bool), units) == 4
    one = np.arange(80) == 0
    # One failure in one exam looks like independence, and tells next to nothing.
    assert 3 < design_effect(one, units) < 4


@pytest.mark.parametrize("likeness", [0.0, 0.5, 1.0])
def test_the_exact_interval_covers_with_patients_of_several_exams(likeness: float) -> None:
    rng = np.random.default_rng(4)
    units, inside = np.repeat(np.arange(60), 5), []
    for _ in range(300):
        shared = (rng.random(60) < 0.04)[units]
        failed = np.where(rng.random(300) < likeness**0.5, shared, rng.random(300) < 0.04)
        low, high = bound_rate(failed.mean(), 300 / design_effect(failed, units), method="beta")
        inside.append(low <= 0.04 <= high)
    assert np.mean(inside) > 0.93


def test_of_wilson_bounds_the_difference_has_newcombes_interval() -> None:
    low, high = rate_interval(np.array([3, 9]), np.array([40, 35]))
    first, second = ((3 / 40, low[0], high[0]), (9 / 35, low[1], high[1]))
    expected = confint_proportions_2indep(9, 35, 3, 40, method="newcomb")
    assert difference_interval(first, second) == pytest.approx(expected)
