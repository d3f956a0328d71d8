import numpy as np
import pandas as pd
import pytest
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy import stats

from tworulers.stats.anchored import (
    anchor_gaps,
    anchor_groups,
    anchor_mean,
    assess_exchangeability,
    tune_weight,
)


def draw(seed: int, n: int = 40, more: int = 300, rho: float = 0.6, shrink: float = 0.25):
    """Gold scores of spread .05 and silver scores of a quarter of it, correlated by rho."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=(2, n + more))
    gold = 0.9 + 0.05 * common
    silver = 0.97 + 0.05 * shrink * (rho * common + np.sqrt(1 - rho**2) * own)
    return gold[:n], silver[:n], silver[n:]


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_estimate_and_error_at_a_fixed_weight_are_those_of_ppi_python(weight) -> None:
    gold, silver, more = draw(1)
    found = anchor_mean(gold, silver, more, weight=weight)
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
    assert anchor_mean(gold, silver, more).mean == pytest.approx(theirs, abs=2e-4)


def test_the_tuned_weight_has_the_smallest_error() -> None:
    gold, silver, more = draw(3)
    tuned = anchor_mean(gold, silver, more)
    assert tuned.weight > 1  # silver scores are shrunken
    others = [anchor_mean(gold, silver, more, weight=w).error for w in (0, 1, tuned.weight * 1.5)]
    assert tuned.error < min(others)
    assert tuned.effective_n > len(gold)


def test_without_silver_exams_the_gold_mean_and_its_t_interval_remain() -> None:
    gold, silver, _ = draw(4)
    found = anchor_mean(gold, silver, np.empty(0))
    low, high = stats.ttest_1samp(gold, 0).confidence_interval(0.95)
    assert [found.low, found.high] == pytest.approx([low, high])
    assert found.effective_n == pytest.approx(len(gold))
    assert "fewer than two exams" in found.undefined_because


def test_constant_silver_scores_do_not_help_and_two_gold_exams_do_not_do() -> None:
    gold, silver, more = draw(5)
    found = anchor_mean(gold, np.ones_like(silver), np.ones_like(more))
    assert found.weight == 0
    assert found.mean == pytest.approx(gold.mean())
    assert anchor_mean(gold[:2], silver[:2], more).undefined_because == "fewer than 3 gold exams"


def test_intervals_cover_and_are_narrower_than_gold_alone() -> None:
    covered, narrower = [], []
    for seed in range(600):
        gold, silver, more = draw(seed, n=30, more=200, rho=0.5)
        found = anchor_mean(gold, silver, more)
        covered.append(found.low <= 0.9 <= found.high)
        narrower.append((found.high - found.low) / (found.gold_high - found.gold_low))
    assert np.mean(covered) == pytest.approx(0.95, abs=0.027)
    assert np.mean(narrower) < 0.95


def frame(seed: int) -> tuple[pd.Series, pd.Series, pd.Series]:
    parts = [draw(seed + i) for i in range(2)]
    gold = np.concatenate([np.append(g, np.full(len(m), np.nan)) for g, _, m in parts])
    silver = np.concatenate([np.append(s, m) for _, s, m in parts])
    codes = np.repeat(["b", "a"], len(gold) // 2)
    groups = pd.Series(pd.Categorical(codes, categories=["b", "a", "none"], ordered=True))
    return pd.Series(gold), pd.Series(silver), groups


def test_groups_keep_their_order_and_gaps_are_second_minus_first() -> None:
    gold, silver, groups = frame(0)
    means = anchor_groups(gold, silver, groups)
    assert list(means["group"]) == ["b", "a", "none"]
    assert list(means["n_gold"]) == [40, 40, 0]
    assert list(means["n_silver"]) == [300, 300, 0]
    gaps = anchor_gaps(means)
    assert list(gaps["group_a"]) == ["b", "b", "a"]
    first = gaps.iloc[0]
    assert first["difference"] == pytest.approx(means["mean"][1] - means["mean"][0])
    in_a, in_b = (gold[(groups == g) & gold.notna()] for g in ("a", "b"))
    welch = stats.ttest_ind(in_a, in_b, equal_var=False).confidence_interval(0.95)
    assert [first["gold_difference_low"], first["gold_difference_high"]] == pytest.approx(
        [welch.low, welch.high]
    )
    assert gaps.iloc[1][["difference_low", "difference_high"]].isna().all()


def test_exams_without_a_finite_silver_score_are_left_out() -> None:
    gold, silver, groups = frame(1)
    silver.iloc[:10] = np.nan
    assert anchor_groups(gold, silver, groups)["n_gold"][0] == 30


def test_a_scanner_that_decides_who_has_a_gold_label_is_a_warning() -> None:
    rng = np.random.default_rng(0)
    has_gold = pd.Series(np.arange(200) < 80)
    covariates = pd.DataFrame(
        {
            "scanner": np.where(has_gold ^ (rng.random(200) < 0.2), "GE", "Siemens"),
            "sex": rng.choice(["F", "M"], 200),
            "age": rng.normal(55, 15, 200),
            "score": rng.normal(0, 1, 200) + 0.8 * has_gold,
            "site": "one",
        }
    )
    covariates.loc[3, "age"] = np.nan
    found = assess_exchangeability(has_gold, covariates, alpha=0.05, draws=2_000, seed=0)
    found = found.set_index("attribute")
    assert set(found.index[found["warning"]]) == {"scanner", "score"}
    table = pd.crosstab(covariates["sex"], has_gold)
    exact = stats.fisher_exact(table).pvalue
    assert found.loc["sex", "p"] == pytest.approx(exact, abs=0.04)
    assert np.isnan(found.loc["site", "p"])
    assert found.loc["scanner", "p_holm"] >= found.loc["scanner", "p"]


def test_exchangeable_exams_are_seldom_warned_about() -> None:
    warned = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        has_gold = pd.Series(rng.permutation(np.arange(120) < 50))
        covariates = pd.DataFrame(
            {"sex": rng.choice(["F", "M"], 120), "race": rng.choice(list("abc"), 120),
             "age": rng.normal(size=120)}
        )  # fmt: skip
        found = assess_exchangeability(has_gold, covariates, alpha=0.05, draws=400, seed=seed)
        warned += bool(found["warning"].any())
    assert warned <= 9
