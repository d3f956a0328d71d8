import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tworulers.diagnosis.exchangeability import assess_exchangeability


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
