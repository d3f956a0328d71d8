import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from tworulers.diagnosis.failures import rate_failures, rate_groups
from tworulers.diagnosis.few_labels import FewLabels
from tworulers.metrics.known.dice import DICE


def judge(gold, silver, patients=None) -> FewLabels:
    whose = np.arange(len(gold)) if patients is None else patients
    return FewLabels.of(np.asarray(gold, float), np.asarray(silver, float), whose, DICE, 0.8)


def test_gold_alone_has_the_exact_interval() -> None:
    found = rate_failures(judge([0.5] * 2 + [0.9] * 28, [0.9] * 30))
    exact = stats.binomtest(2, 30).proportion_ci(method="exact")
    assert [found.gold_low, found.gold_high] == pytest.approx([exact.low, exact.high])
    assert found.undefined_because == "fewer than two exams with a silver score alone"
    assert np.isnan(found.rate)


def test_the_threshold_itself_fails() -> None:
    assert rate_failures(judge([0.8, 0.81, 0.9], [0.9] * 3)).failed == 1


def test_the_anchored_rate_weighs_classes_by_all_exams() -> None:
    gold = [0.5] * 4 + [0.9] * 1 + [0.5] * 1 + [0.9] * 24
    silver = [0.5] * 5 + [0.9] * 25
    other = [0.5] * 60 + [0.9] * 40
    found = rate_failures(judge(gold + [np.nan] * 100, silver + other))
    share = 65 / 130
    assert found.rate == pytest.approx(share * 4 / 5 + (1 - share) * 1 / 25)
    assert found.gold_rate == pytest.approx(5 / 30)
    assert found.low < found.rate < found.high
    assert (found.failed, found.silver_failed) == (5, 60)


def test_a_better_silver_label_makes_the_rate_sharper_and_it_covers() -> None:
    rng = np.random.default_rng(0)
    inside, sharper = [], []
    for _ in range(300):
        fails = rng.random(240) < 0.2
        gold = np.where(fails, 0.5, 0.9)
        silver = np.where(fails ^ (rng.random(240) < 0.03), 0.5, 0.95)
        gold[40:] = np.nan
        found = rate_failures(judge(gold, silver))
        inside.append(found.low <= 0.2 <= found.high)
        sharper.append((found.high - found.low) / (found.gold_high - found.gold_low))
    assert np.mean(inside) > 0.93
    assert np.mean(sharper) < 0.85


@pytest.mark.parametrize(
    ("silver", "because"),
    [
        ([0.9] * 20 + [0.5] * 2 + [0.9] * 8, "no gold exam among those failed by silver"),
        ([0.5] * 20 + [0.9] * 10, "no gold exam among those not failed by silver"),
    ],
)
def test_nothing_is_anchored_in_a_class_without_a_gold_exam(silver, because) -> None:
    found = rate_failures(judge([0.9] * 20 + [np.nan] * 10, silver))
    assert found.undefined_because == because
    assert np.isnan([found.rate, found.low, found.high]).all()
    assert found.gold_high == pytest.approx(stats.binomtest(0, 20).proportion_ci().high)


def test_where_silver_sees_no_failure_the_two_rates_agree() -> None:
    found = rate_failures(judge([0.5] + [0.9] * 19 + [np.nan] * 50, [0.9] * 70))
    assert [found.rate, found.low, found.high] == pytest.approx(
        [found.gold_rate, found.gold_low, found.gold_high]
    )


def test_copies_of_an_exam_tell_no_more_than_the_exam() -> None:
    gold = np.array([0.5] * 3 + [0.9] * 17)
    once = rate_failures(judge(gold, np.full(20, 0.9)))
    copies = judge(np.repeat(gold, 4), np.full(80, 0.9), np.repeat(np.arange(20), 4))
    thrice = rate_failures(copies)
    assert thrice.failed == 12
    assert [thrice.gold_low, thrice.gold_high] == pytest.approx(
        [once.gold_low, once.gold_high], abs=0.01
    )


def test_groups_keep_their_order_and_gaps_are_second_minus_first() -> None:
    gold = [0.5] * 2 + [0.9] * 18 + [0.5] * 8 + [0.9] * 12
    names = pd.Series(pd.Categorical(["b"] * 20 + ["a"] * 20, categories=["b", "a", "none"]))
    rates, gaps = rate_groups(judge(gold, [0.9] * 40), names)
    assert list(rates["group"]) == ["b", "a", "none"]
    assert rates["undefined_because"][2] == "no gold exam"
    first = gaps.iloc[0]
    assert (first["group_a"], first["group_b"]) == ("b", "a")
    assert first["gold_difference"] == pytest.approx(0.3)
    low, high = confint_proportions_2indep(8, 20, 2, 20, method="newcomb")
    assert first[["gold_difference_low", "gold_difference_high"]].tolist() == pytest.approx(
        [low, high]
    )
    assert gaps.iloc[1][["gold_difference", "gold_difference_low"]].isna().all()
