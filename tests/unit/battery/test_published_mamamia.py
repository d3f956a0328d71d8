"""The published audits of MAMA-MIA, computed again from their counts, means and spreads.

S1 is "Who Does Your Algorithm Fail?" (arXiv 2510.27421, Table 1), S2 "Investigating Label Bias and Representational
Sources" (arXiv 2511.00477, Table 2). Their age groups hold 349, 754 and 400 patients; S2 draws 349 of each.
"""

import numpy as np
import pandas as pd
import pytest

import tworulers as tr
from tworulers.battery.linear import fit_joint_model
from tworulers.ingest.mamamia import DOCUMENTED, PUBLISHED_AGES
from tworulers.stats.groups import group_means, group_sample, spread_of
from tworulers.stats.rates import compare_rates, impact_ratio, parity_difference

GROUPS = ("Young", "Middle", "Older")
S2_N = 349

RATES = {
    # training and ruler: Dice > 0.8 in how many Young and Older of 349 (inferred), DPD, DIR (published)
    "gold by gold": (189, 217, 0.0802, 0.8710),
    "gold by silver": (163, 200, 0.1060, 0.8150),
    "Young swapped by gold": (193, 218, 0.0716, 0.8853),
    "silver by gold": (150, 190, 0.1146, 0.7895),
}
UNFIT = {"Older swapped by gold": (0.0777, 0.8755), "balanced by gold": (0.0762, 0.8761)}
"""DPD and DIR that no two whole numbers of 349 give."""

MEANS = {
    # Young, Middle, Older; best minus worst as published
    "S1 automatic": (0.8082, 0.8204, 0.8612, 0.0530),
    "gold by gold": (0.7304, 0.7333, 0.7703, 0.0399),
    "gold by silver": (0.6941, 0.7104, 0.7500, 0.0559),
    "Young swapped by gold": (0.7320, 0.7379, 0.7739, 0.0419),
    "Older swapped by gold": (0.7298, 0.7316, 0.7869, 0.0571),
    "silver by gold": (0.6797, 0.7132, 0.7458, 0.0661),
}


def draw_exact(mean: float, sd: float, n: int) -> np.ndarray:
    """Scores with exactly this mean and standard deviation."""
    values = np.linspace(-1, 1, n)
    return mean + sd * (values - values.mean()) / values.std(ddof=1)


def count_fits(dpd: float, ratio: float) -> list[tuple[int, int]]:
    """All pairs of successes of 349 whose DPD and DIR round to the published ones."""
    young, older = np.meshgrid(np.arange(S2_N + 1), np.arange(1, S2_N + 1), indexing="ij")
    pairs = np.stack([young, older], axis=-1).reshape(-1, 2)
    pairs = pairs[pairs[:, 0] <= pairs[:, 1]]
    n = np.full_like(pairs, S2_N)
    fits = (np.abs(parity_difference(pairs, n) - dpd) <= 0.5001e-4) & (
        np.abs(impact_ratio(pairs, n) - ratio) <= 0.5001e-4
    )
    return [(int(a), int(b)) for a, b in pairs[fits]]


@pytest.mark.parametrize(("young", "older", "dpd", "ratio"), RATES.values(), ids=list(RATES))
def test_the_counts_behind_the_published_rates(
    young: int, older: int, dpd: float, ratio: float
) -> None:
    found = compare_rates(np.array([young, older]), np.array([S2_N, S2_N]))
    assert found.dpd == pytest.approx(dpd, abs=0.5001e-4)
    assert found.dir == pytest.approx(ratio, abs=0.5001e-4)
    assert found.below_four_fifths == (ratio < 0.8)
    assert count_fits(dpd, ratio) == [(young, older)]


@pytest.mark.parametrize(("dpd", "ratio"), UNFIT.values(), ids=list(UNFIT))
def test_rates_that_no_counts_give(dpd: float, ratio: float) -> None:
    assert count_fits(dpd, ratio) == []


def test_the_best_quarter_of_the_first_audit() -> None:
    found = compare_rates(np.array([72, 118]), np.array([349, 400]))
    assert (round(found.dpd, 4), round(found.dir, 3)) == (0.0887, 0.699)


@pytest.mark.parametrize("published", MEANS.values(), ids=list(MEANS))
def test_gaps_between_published_means(published: tuple[float, ...]) -> None:
    *means, gap = published
    scores = pd.Series(np.repeat(means, 5))
    sample = group_sample(scores, pd.Series(pd.Categorical(np.repeat(GROUPS, 5), GROUPS)))
    assert spread_of(group_means(sample)) == pytest.approx(gap, abs=1e-9)


def test_one_published_gap_is_of_two_groups_alone() -> None:
    means = dict(zip(GROUPS, (0.7317, 0.7308, 0.7678), strict=True))
    assert means["Older"] - means["Young"] == pytest.approx(0.0361)
    assert spread_of(np.array(list(means.values()))) == pytest.approx(0.0370)


def test_the_gap_grows_by_silver_and_by_learning_from_silver() -> None:
    gold, by_silver, from_silver = (
        MEANS[name][-1] for name in ("gold by gold", "gold by silver", "silver by gold")
    )
    assert round(100 * (by_silver / gold - 1)) == 40
    assert round(100 * (from_silver / gold - 1)) == 66


@pytest.mark.parametrize(
    ("means", "sds", "sizes", "p"),
    [
        ((0.8082, 0.8204, 0.8612), (0.2193, 0.2139, 0.1679), PUBLISHED_AGES, 0.0006),
        ((0.7304, 0.7333, 0.7703), (0.2333, 0.2253, 0.1899), (S2_N,) * 3, 0.0260),
    ],
    ids=["S1 automatic", "gold by gold"],
)
def test_tests_of_the_published_means(
    means: tuple[float, ...],
    sds: tuple[float, ...],
    sizes: tuple[int, ...],
    p: float,
) -> None:
    """The fourth digit moves with the fifth of the means, which is not published."""
    parts = [draw_exact(*part) for part in zip(means, sds, sizes, strict=True)]
    ages = pd.Categorical(np.repeat(GROUPS, sizes), GROUPS)
    found = fit_joint_model(pd.Series(np.concatenate(parts)), pd.DataFrame({"age": ages}))
    assert found.p == pytest.approx(p, abs=2e-4)


@pytest.mark.parametrize(
    ("n", "r2", "p"), [(1503, 0.0104, 0.0001), (1503, 0.0093, 0.0002), (1180, 0.0093, 0.0009)]
)
def test_lines_over_age(n: int, r2: float, p: float) -> None:
    """The published p of HD95, .0009, is that of some 1,180 exams; of all 1,503 it would be .0002."""
    age = np.linspace(20, 90, n)
    unit = (age - age.mean()) / np.linalg.norm(age - age.mean())
    rest = np.cos(np.arange(n) * 2.5)
    rest -= rest.mean() + unit * (unit @ rest)
    rest /= np.linalg.norm(rest)
    score = pd.Series(np.sqrt(r2) * unit + np.sqrt(1 - r2) * rest)
    found = fit_joint_model(score, pd.DataFrame({"age": age}))
    assert found.r2 == pytest.approx(r2, abs=1e-9)
    assert round(found.p, 4) == p


def test_the_whole_audit_gives_the_published_rates() -> None:
    counts = {"Young": 189, "Older": 217}
    dice = np.concatenate([np.where(np.arange(S2_N) < n, 0.9, 0.6) for n in counts.values()])
    ages = np.repeat(list(counts), S2_N)
    dice += np.linspace(0, 0.05, 2 * S2_N)
    found = tr.audit(dice, {"age": ages}, provenance="gold", metric="dice", success=0.8)
    (row,) = found.study.audit().disparities.to_dict("records")
    assert (round(row["dpd"], 4), round(row["dir"], 4)) == (0.0802, 0.8710)
    assert not row["below_four_fifths"]


def test_sizes_of_the_download_and_of_its_age_groups() -> None:
    train, test = (200, 104, 849, 47), (91, 67, 131, 17)
    assert dict(zip(DOCUMENTED, np.add(train, test).tolist(), strict=True)) == DOCUMENTED
    assert (sum(train), sum(test), sum(DOCUMENTED.values())) == (1200, 306, 1506)
    assert np.round(100 * np.array(PUBLISHED_AGES) / 1503, 1).tolist() == [23.2, 50.2, 26.6]
    assert sum(PUBLISHED_AGES) == sum(DOCUMENTED.values()) - 3
    means = np.array(MEANS["S1 automatic"][:3])
    assert round(float(means @ PUBLISHED_AGES / 1503), 4) == 0.8284


def test_the_fairness_of_the_challenge_by_hand() -> None:
    """F of one variable is 1 minus the mean of both ranges of group means; three groups, two of them of two."""
    groups = pd.Series(pd.Categorical(list("AABBC"), list("ABC")))
    dice = group_sample(pd.Series([0.8, 0.6, 0.9, 0.7, 0.5]), groups)
    distance = group_sample(pd.Series([15.0, 45.0, 30.0, 0.0, 75.0]) / 150, groups)
    ranges = [spread_of(group_means(one)) for one in (dice, distance)]
    assert ranges == pytest.approx([0.3, 0.4])
    assert 1 - sum(ranges) / 2 == pytest.approx(0.65)
