"""Numbers that pages quote of the embedded example are those of its record."""

from collections.abc import Mapping

import pandas as pd
import pytest

from documents import PAGES, ROOT, read_table
from tworulers.runner.verify.gist import load_gist

RECORD = ROOT / "docs/example.json"
AGE = "main/ndsc/macro/age_3bin"
UNTOLD = ("sex", "race_wb", "race_wbo", "race_wn")
"""Groupings by which the truth cannot say whether groups differ."""


@pytest.fixture(scope="module")
def record() -> dict[str, pd.DataFrame]:
    return load_gist(RECORD)


@pytest.fixture(scope="module")
def verdicts(record: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return record["comparisons/rulers/mix/gold_silver/verdicts.parquet"]


def share(value: float, places: int = 3) -> str:
    return f"{value:.{places}f}".removeprefix("0")


def points(value: float) -> str:
    return f"{100 * value:.2f}"


def require(page: str, *phrases: str) -> None:
    """Require phrases of a page, whatever its line breaks."""
    text = " ".join(PAGES[page].read_text().replace("\n> ", "\n").split())
    assert [phrase for phrase in phrases if phrase not in text] == [], f"to be said by {page}"


def test_the_rise_and_what_is_forgiven(record: Mapping[str, pd.DataFrame]) -> None:
    rise = record["comparisons/rulers/mix/gold_silver/inflation.parquet"].loc["dice/macro"]
    gold, silver = rise["mean_base"], rise["mean_other"]
    forgiven = (silver - gold) / (1 - gold)
    terms = [share(mean, 4) for mean in (silver, gold)]
    require(
        "concepts",
        f"The score rose by {points(rise['mean'])} points",
        f"{forgiven:.0%}".replace("%", " %"),
    )
    require("concepts", f"({terms[0]} − {terms[1]}) / (1 − {terms[1]})")
    require("statistics", f"$({terms[0]} - {terms[1]})/(1 - {terms[1]}) = {share(forgiven, 2)}$")
    require("verdicts", f"forgiving {100 * forgiven:.0f} % of its error")


def test_what_differs_and_why(record: Mapping[str, pd.DataFrame]) -> None:
    found = {}
    for ruler in ("silver", "truth"):
        answers = record[f"audits/mix/{ruler}/tests.parquet"]["answer"]
        found[ruler] = answers.index[answers == "differs"].str.split("/").str[-1].to_list()
    of_age = [name for name in found["truth"] if name.startswith("age")]
    assert all(name.startswith("age") for name in found["silver"]), "five tests differ, all of age"
    require("concepts", f"{len(found['truth'])} of 63 tests differ, {len(of_age)} of them of age")
    require("verdicts", f"Age, three bins ({of_age.count('age_3bin')} of 9 scores")
    table = record["comparisons/rulers/mix/gold_silver/verdicts.parquet"]
    crossed, why = (table["flip"] != "neither").sum(), table["mechanism"].value_counts()
    within = why["consistent_with_noise_part"]
    corrected = why["made_by_correction"]
    assert crossed == within + corrected == 5
    require("verdicts", f"{crossed} conclusions crossed the level", f"not shown in {within}")
    require("verdicts", f"made by the correction in {corrected}")


def test_the_test_that_is_worked_through(verdicts: pd.DataFrame) -> None:
    age = verdicts.loc[AGE]
    require(
        "concepts",
        f"lie {points(age['gap_base'])} points apart under gold and {points(age['gap_other'])} points under silver",
        f"{age['vcr_mad']:.0f} times narrower under silver",
        f"therefore {age['gap_over_noise']:.1f} times larger",
        f"adjusted p {share(age['p_verdict_fdr_base'])} by gold, {share(age['p_verdict_fdr_other'])} by silver",
        f"swap p {share(age['swap_p'], 2)} for this test, {share(age['swap_p_fdr'], 2)} after correction",
    )
    assert 7 < age["gap_base"] / age["gap_other"] < 9, "an eighth"
    parts = [f"{age[part]:+.1f}".replace("-", "−") for part in ("gap_part", "noise_part")]
    require("statistics", f"gap part {parts[0]}, noise part {parts[1]}")
    beyond = int((verdicts["swap_p_fdr"] < 0.05).sum())
    require("verdicts", f"{beyond} of 63 tests changed beyond chance")


def test_what_could_have_been_found(
    record: Mapping[str, pd.DataFrame], verdicts: pd.DataFrame
) -> None:
    assert len(verdicts)
    gaps = record["audits/mix/gold/power.parquet"]["detectable_gap"]
    strictest = gaps[gaps.index.str.startswith("dice/macro/") & gaps.index.str.endswith("(2)")]
    low, high = points(strictest.min()), points(strictest.max())
    require("concepts", f"gaps below {low} points ({high} in the smallest groups)")
    second = record["comparisons/rulers/mix/gold_silver/closeness.parquet"]["second_expert_exams"]
    require("concepts", f"on how many exams: {second['macro']:.0f} here")
    needed = record["audits/mix/truth/tests.parquet"]["n_needed"]
    asked = needed[[f"main/dice/macro/{name}" for name in UNTOLD]]
    require("verdicts", f"about {asked.min():,.0f} to {asked.max():,.0f} exams would settle")


def test_the_spread_and_the_groups_of_the_table(
    record: Mapping[str, pd.DataFrame], verdicts: pd.DataFrame
) -> None:
    assert len(verdicts)
    rows = {row[0].partition(",")[0]: row for row in read_table("concepts", "One example, worked")}
    rulers = ("gold", "silver", "truth")
    spreads = [
        record[f"audits/mix/{ruler}/overall.parquet"]["sd"]["dice/macro"] for ruler in rulers
    ]
    assert rows["standard deviation"][1:] == [share(spread, 4) for spread in spreads]
    groups = record["audits/mix/gold/groups.parquet"]["n"]
    for told, group in {
        "age below 40": "<40",
        "age 40 to 60": "40-60",
        "age 60 and over": "60+",
    }.items():
        assert rows[told][0] == f"{told}, {groups[f'dice/macro/age_3bin/{group}']:.0f} exams"
