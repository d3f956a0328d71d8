import numpy as np
import pandas as pd
import pytest
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy import stats

from tworulers.diagnosis.anchored_means import AnchoredMean, anchor_groups, anchor_mean, tune_weight
from tworulers.diagnosis.few_labels import FewLabels
from tworulers.metrics.known.dice import DICE


def draw(seed: int, n: int = 40, more: int = 300, rho: float = 0.6, shrink: float = 0.25):
    """Gold scores of spread .05 and silver scores of a quarter of it, correlated by rho."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=(2, n + more))
    gold = 0.9 + 0.05 * common
    silver = 0.97 + 0.05 * shrink * (rho * common + np.sqrt(1 - rho**2) * own)
    return gold[:n], silver[:n], silver[n:]


def join(gold, silver, more, patients=None, threshold=None) -> FewLabels:
    every = np.append(gold, np.full(len(more), np.nan))
    whose = np.arange(len(every)) if patients is None else patients
    return FewLabels.of(every, np.append(silver, more), whose, DICE, threshold)


def anchor(gold, silver, more, weight=None, **others) -> AnchoredMean:
    return anchor_mean(join(gold, silver, more, **others), weight=weight).told


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_estimate_and_error_at_a_fixed_weight_are_those_of_ppi_python(weight) -> None:
    gold, silver, more = draw(1)
    found = anchor(gold, silver, more, weight=weight)
    assert found.mean == pytest.approx(
        float(np.squeeze(ppi_mean_pointestimate(gold, silver, more, lam=weight)))
    )
    low, high = (
        float(np.squeeze(bound)) for bound in ppi_mean_ci(gold, silver, more, 0.05, lam=weight)
    )
    theirs = (high - low) / 2 / stats.norm.ppf(0.975)
    n, many = len(gold), len(more)
    ours = np.sqrt(  # theirs divides by n, ours by n - 1
        np.var(gold - weight * silver) / n + weight**2 * np.var(more) / many
    )
    assert theirs == pytest.approx(ours)
    assert found.error == pytest.approx(theirs, rel=1.5 / n)


def test_the_tuned_weight_inside_the_unit_interval_is_that_of_ppi_python() -> None:
    gold, silver, more = draw(2, shrink=1.0)
    weight = tune_weight(gold, silver, more)
    assert 0 < weight < 1
    theirs = float(np.squeeze(ppi_mean_pointestimate(gold, silver, more)))
    assert anchor(gold, silver, more).mean == pytest.approx(theirs, abs=2e-4)


def test_the_tuned_weight_has_the_smallest_error() -> None:
    gold, silver, more = draw(3)
    tuned = anchor(gold, silver, more)
    assert tuned.weight > 1  # silver scores are shrunken
    others = [anchor(gold, silver, more, weight=w).error for w in (0, 1, tuned.weight * 1.5)]
    assert tuned.error < min(others)
    assert tuned.effective_n > len(gold)


def test_without_silver_exams_the_gold_mean_and_its_t_interval_remain() -> None:
    gold, silver, _ = draw(4)
    found = anchor(gold, silver, np.empty(0))
    low, high = stats.ttest_1samp(gold, 0).confidence_interval(0.95)
    assert [found.low, found.high] == pytest.approx([low, high])
    assert found.effective_n == pytest.approx(len(gold))
    assert "fewer than two exams" in found.undefined_because


def test_failures_are_left_out_of_the_mean_and_of_its_interval() -> None:
    gold, silver, more = draw(4)
    gold[:4] = [0.2, 0.5, 0.8, 0.1]
    found = anchor(gold, silver, np.empty(0), threshold=0.8)
    rest = gold[gold > 0.8]
    low, high = stats.ttest_1samp(rest, 0).confidence_interval(0.95)
    assert [found.gold_mean, found.low, found.high] == pytest.approx([rest.mean(), low, high])
    assert (found.n_gold, found.n_rest) == (40, len(rest))
    # A silver failure moves the mean of the rest no more than an exam of its average does.
    shifted = more.copy()
    shifted[0], level = 0.0, np.append(silver, more[1:]).mean()
    assert anchor(gold, silver, shifted, threshold=0.8).mean == pytest.approx(
        anchor(gold, silver, np.append(level, more[1:]), threshold=0.8).mean, abs=2e-5
    )


def test_constant_silver_scores_do_not_help_and_two_gold_exams_do_not_do() -> None:
    gold, silver, more = draw(5)
    found = anchor(gold, np.ones_like(silver), np.ones_like(more))
    assert found.weight == 0
    assert found.mean == pytest.approx(gold.mean())
    few = anchor(gold[:2], silver[:2], more)
    assert few.undefined_because == "fewer than 3 patients with a gold exam that did not fail"


def test_intervals_cover_and_are_narrower_than_gold_alone() -> None:
    covered, narrower = [], []
    for seed in range(600):
        gold, silver, more = draw(seed, n=30, more=200, rho=0.5)
        found = anchor(gold, silver, more)
        covered.append(found.low <= 0.9 <= found.high)
        narrower.append((found.high - found.low) / (found.gold_high - found.gold_low))
    assert np.mean(covered) == pytest.approx(0.95, abs=0.027)
    assert np.mean(narrower) < 0.95


def test_copies_of_an_exam_tell_no_more_than_the_exam() -> None:
    gold, silver, more = draw(6, n=12, more=60)
    once = anchor(gold, silver, more)
    thrice = [np.repeat(part, 3) for part in (gold, silver, more)]
    patients = np.repeat(np.arange(72), 3)
    found = anchor(*thrice, patients=patients)
    assert found.n_patients == 12
    assert [found.mean, found.gold_low, found.gold_high] == pytest.approx(
        [once.mean, once.gold_low, once.gold_high], rel=1e-3
    )
    # Only lambda, tuned by exams, is not quite the same.
    assert [found.low, found.high] == pytest.approx([once.low, once.high], abs=1e-3)
    blind = anchor(*thrice)
    assert blind.high - blind.low < 0.7 * (found.high - found.low)


def frame(seed: int) -> tuple[FewLabels, pd.Series]:
    parts = [draw(seed + i) for i in range(2)]
    gold = np.concatenate([np.append(g, np.full(len(m), np.nan)) for g, _, m in parts])
    silver = np.concatenate([np.append(s, m) for _, s, m in parts])
    codes = np.repeat(["b", "a"], len(gold) // 2)
    groups = pd.Series(pd.Categorical(codes, categories=["b", "a", "none"], ordered=True))
    return FewLabels.of(gold, silver, np.arange(len(gold)), DICE), groups


def test_groups_keep_their_order_and_gaps_are_second_minus_first() -> None:
    scores, groups = frame(0)
    means, gaps = anchor_groups(scores, groups)
    assert list(means["group"]) == ["b", "a", "none"]
    assert list(means["n_gold"]) == [40, 40, 0]
    assert list(means["n_silver"]) == [300, 300, 0]
    assert list(gaps["group_a"]) == ["b", "b", "a"]
    first = gaps.iloc[0]
    assert first["difference"] == pytest.approx(means["mean"][1] - means["mean"][0])
    in_a, in_b = (scores.gold[(groups == g).to_numpy() & scores.labelled] for g in ("a", "b"))
    welch = stats.ttest_ind(in_a, in_b, equal_var=False).confidence_interval(0.95)
    assert [first["gold_difference_low"], first["gold_difference_high"]] == pytest.approx(
        [welch.low, welch.high]
    )
    assert gaps.iloc[1][["difference_low", "difference_high"]].isna().all()


def test_a_gap_within_patients_is_known_better_than_one_between_them() -> None:
    rng = np.random.default_rng(2)
    person = np.repeat(rng.normal(0.9, 0.04, 30), 2)
    gold = person + rng.normal(0, 0.01, 60)
    groups = pd.Series(pd.Categorical(["a", "b"] * 30, ordered=True))
    widths = []
    for patients in (np.repeat(np.arange(30), 2), np.arange(60)):
        scores = FewLabels.of(gold, np.ones(60), patients, DICE)
        row = anchor_groups(scores, groups)[1].iloc[0]
        widths.append(row["gold_difference_high"] - row["gold_difference_low"])
    paired = stats.ttest_rel(gold[1::2], gold[::2]).confidence_interval(0.95)
    # Welch's degrees of freedom stand in for those of the pairs.
    assert widths[0] == pytest.approx(paired.high - paired.low, rel=0.03)
    assert widths[0] < widths[1] / 2


def test_exams_without_a_finite_silver_score_are_left_out() -> None:
    gold, silver, more = draw(1)
    silver[:10] = np.nan
    assert anchor(gold, silver, more).n_gold == 30
