"""What tests that found nothing could have found, in the tables of an audit and in words."""

import numpy as np
import pandas as pd
import pytest

from tworulers.battery.audit import AuditResult, audit_scores
from tworulers.report.words.power import tell_unknown_power
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes


@pytest.fixture(scope="module")
def audited() -> AuditResult:
    rng = np.random.default_rng(0)
    exams = [f"e{i:02d}" for i in range(40)]
    values = {
        "vb": rng.normal(0.9, 0.03, 40),
        "disc": np.where(np.arange(40) % 2, 0.8, 0.7) + rng.normal(0, 0.01, 40),
        "cord": np.full(40, 0.9),
    }
    rows = [
        {"exam_id": exam, "structure": name, "metric": "dice", "value": value}
        for name, column in values.items()
        for exam, value in zip(exams, column, strict=True)
    ]
    facts = {"regime": "mix", "ruler": "gold", "provenance": "gold", "undefined_because": None}
    groups = pd.DataFrame(
        {
            "half": pd.Categorical.from_codes(np.arange(40) % 2, ["a", "b"], ordered=True),
            "few": pd.Categorical.from_codes((np.arange(40) < 1) * 1, ["a", "b"], ordered=True),
        },
        index=exams,
    )
    settings = Audit(
        metrics=["dice"], thresholds={}, bootstrap_draws=20, permutations=20, power_draws=200,
        linear=False,
    )  # fmt: skip
    people = pd.Series(exams, exams)
    return audit_scores(
        pd.DataFrame(rows).assign(**facts), groups, people, settings, Attributes("x")
    )


def test_every_test_that_found_nothing_has_its_own_answer(audited: AuditResult) -> None:
    power = audited.power.set_index(["grouping", "structure", "correction"]).sort_index()
    assert ("half", "disc", "none") not in power.index
    assert len(power) == 2 * (2 * 3 - 1)
    known = power.loc[("half", "vb")]
    assert known["detectable_gap"].between(0.01, 0.08).all()
    assert (known["detectable_gap_low"] < known["detectable_gap"]).all()
    assert (known["detectable_gap"] < known["detectable_gap_high"]).all()
    assert known["undefined_because"].isna().all()
    flat = power.loc[("half", "cord", "none")]
    assert flat["undefined_because"] == "scores do not vary within groups"
    assert np.isnan(flat["detectable_gap"])


def test_tests_that_were_not_computed_say_why(audited: AuditResult) -> None:
    few = audited.power[audited.power["grouping"] == "few"]
    assert len(few) == 6
    assert few["undefined_because"].str.startswith("fewer than two groups").all()
    assert few["detectable_gap"].isna().all()


def test_the_report_says_for_which_tests_nobody_knows(audited: AuditResult) -> None:
    told = tell_unknown_power(audited)
    assert told.startswith("Of 5 tests that found nothing by gold, no such gap is known for 4: ")
    assert "scores do not vary within groups (1 test)" in told
    assert "(3 tests)" in told
