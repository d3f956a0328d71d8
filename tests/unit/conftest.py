"""The simulated audit of 76 exams that several tests start from, and the values it should give."""

import json
from typing import Any

import pandas as pd
import pytest

from tworulers.schema.settings import Audit
from tworulers.schema.sources import Grouping


@pytest.fixture(scope="session")
def battery_golden(root: Any) -> dict[str, Any]:
    return json.loads((root / "tests/golden/e2_battery.json").read_text())


@pytest.fixture(scope="session")
def e2_table(root: Any) -> pd.DataFrame:
    """76 simulated exams with demographics and nine scores under two rulers."""
    table = pd.read_csv(root / "tests/golden/e2_scores.csv", dtype={"exam_id": str})
    return table.assign(age_over_89=table["age_over_89"].astype(bool))


@pytest.fixture(scope="session")
def paper_groupings() -> dict[str, Grouping]:
    """The seven groupings of the published audit and two crossings."""
    white, black = {"White": ["White"]}, {"Black": ["Black"]}
    return {
        "sex": Grouping("Sex", "levels", "sex", {"Female": ["Female"], "Male": ["Male"]}),
        "race_wb": Grouping("Race", "levels", "race", black | white),
        "race_wbo": Grouping("Race", "levels", "race", black | {"Other": ["*"]} | white),
        "race_wn": Grouping("Race", "levels", "race", {"Non-White": ["*"]} | white),
        "age_3bin": Grouping("Age", "bins", "age", edges=[40, 60], over_89="60+"),
        "age_median": Grouping("Age", "quantiles", "age", quantiles=2),
        "ethnicity": Grouping(
            "Ethnicity",
            "levels",
            "ethnicity",
            {"Hispanic": ["Hispanic"], "Non-Hispanic": ["Non-Hispanic"]},
        ),
        "sex_x_race_wb": Grouping("Sex by race", "intersection", of=["sex", "race_wb"]),
        "sex_x_age_median": Grouping("Sex by age", "intersection", of=["sex", "age_median"]),
    }


@pytest.fixture(scope="session")
def paper_audit() -> Audit:
    """The published battery."""
    rates = [0.70, 0.75, 0.80, 0.85, 0.90]
    return Audit(
        name="paper",
        thresholds={"dice": 0.8, "ndsc": 0.8, "hd95": 5.0},
        sweep={"dice": rates, "ndsc": rates, "hd95": [2.0, 5.0, 10.0]},
    )


def lengthen(table: pd.DataFrame, ruler: str, regime: str = "gold") -> pd.DataFrame:
    """Lay the nine scores of a ruler out as a scores table."""
    parts = []
    for metric in ("dice", "hd95", "ndsc"):
        for structure in ("vb", "disc", "macro"):
            part = table[["exam_id"]].assign(
                regime=regime,
                ruler=ruler,
                provenance=ruler,
                structure=structure,
                metric=metric,
                value=table[f"{ruler}_{metric}_{structure}"],
                undefined_because=None,
            )
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="session")
def e2_scores(e2_table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The scores of each ruler as a scores table."""
    return {ruler: lengthen(e2_table, ruler) for ruler in ("gold", "silver")}
